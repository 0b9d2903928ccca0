"""Kernels whose values are given: a matrix, or the identity."""
