"""Solvers that learn from a stream of blocks."""
