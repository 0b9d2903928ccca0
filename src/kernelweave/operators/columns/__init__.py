"""Kernel columns for column generation."""
