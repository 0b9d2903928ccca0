"""Sparse mixtures of kernels."""
