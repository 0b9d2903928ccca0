"""Estimators with many kernels, one weight each."""
