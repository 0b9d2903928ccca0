"""Solvers for many kernels, by name, with the losses and norms each one is for."""
