"""Kernels held as explicit features and a normal vector."""
