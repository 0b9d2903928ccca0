"""Block coordinate descent over working sets of kernels."""
