"""Synthetic data sets with known structure.

Examples
--------
>>> from kernelweave import datasets
>>> X, y = datasets.make_splice(100, random_state=0)
>>> X.shape
(100, 141)
"""

from kernelweave.data.generators.enhancers import enhancer_log_odds, enhancer_motifs, make_enhancers
from kernelweave.data.generators.peaks import make_peaks
from kernelweave.data.generators.splice import make_splice, splice_signals
from kernelweave.data.generators.toys import make_complementary, make_linear_plus_rbf, make_sines, make_stars

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
