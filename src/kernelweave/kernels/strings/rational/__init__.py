"""Kernels of weighted transducers."""
