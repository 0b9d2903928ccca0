"""Synthetic data sets with known structure."""
