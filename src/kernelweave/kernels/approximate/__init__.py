"""Kernels that stand for another kernel through a few features."""
