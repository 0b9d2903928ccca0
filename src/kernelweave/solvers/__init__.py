"""Solvers: the one problem, the one loop, the certificate, and the algorithms."""
