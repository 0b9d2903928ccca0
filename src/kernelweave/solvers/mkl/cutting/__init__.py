"""Cutting-plane methods on the kernel weights."""
