"""The explicit features of many kernels side by side."""
