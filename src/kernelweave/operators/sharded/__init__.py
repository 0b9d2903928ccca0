"""Kernels on rows that are worked through part by part: on disk, or too many for any form that holds features."""
