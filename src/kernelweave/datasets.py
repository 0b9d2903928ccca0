"""Synthetic data sets with known structure, under a short name."""

from kernelweave.data.generators.datasets import (
    make_complementary,
    make_linear_plus_rbf,
    make_peaks,
    make_sines,
    make_splice,
    make_stars,
    splice_signals,
)

__all__ = [
    "make_complementary",
    "make_linear_plus_rbf",
    "make_peaks",
    "make_sines",
    "make_splice",
    "make_stars",
    "splice_signals",
]
