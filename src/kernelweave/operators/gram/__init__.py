"""Kernels held as values: whole matrices, cached columns, shared bases."""
