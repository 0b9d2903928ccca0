"""Kernels of k-mers that have a position."""
