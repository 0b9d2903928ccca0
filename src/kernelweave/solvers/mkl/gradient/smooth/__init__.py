"""Entropy-smoothed multiple kernel learning."""
