"""Kernels under which strings match although some letters differ: mismatches, gapped k-mers, LS-GKM."""
