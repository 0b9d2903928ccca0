"""Kernels that count substrings wherever they occur, on strings and lattices."""
