"""Slow, obvious twins of the fast code."""
