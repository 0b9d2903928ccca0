"""Wrappers that alternate between an SVM and the kernel weights."""
