"""Synthetic data sets with known structure, under a short name."""

from kernelweave.data.generators.datasets import (
    enhancer_log_odds,
    enhancer_motifs,
    make_complementary,
    make_enhancers,
    make_linear_plus_rbf,
    make_peaks,
    make_sines,
    make_splice,
    make_stars,
    splice_signals,
)

__all__ = [
    "enhancer_log_odds",
    "enhancer_motifs",
    "make_complementary",
    "make_enhancers",
    "make_linear_plus_rbf",
    "make_peaks",
    "make_sines",
    "make_splice",
    "make_stars",
    "splice_signals",
]
