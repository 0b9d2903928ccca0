"""The problems on which solvers are compared with what `solver="auto"` chooses: `auto_choice.py` runs them.

Each is a function that returns an estimator and its data.  They cover 2 to 100,000 kernels, 30 to 1,000,000 rows, norms
1, 4/3, 2 and infinity, every loss, C from 1e-3 to 1e4, dense tables, kernels of rank one, features of low rank,
sequences, text, lattices, views, one and many classes, and machines with one kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import kernelweave as kw
from auto_data import (
    Made,
    blocks,
    classifier,
    clusters,
    drawn,
    lines_of,
    one,
    regressor,
    stories,
    subsets,
    terms,
    tfidf,
    views,
    waves,
)  # fmt: skip
from mkl_common import DATA, many_kernels, split, uci

__all__ = ["PROBLEMS", "Made", "drawn"]
PROBLEMS: dict[str, Callable[[], Made]] = {}


def problem(make: Callable[[], Made]) -> Callable[[], Made]:
    """Enter a problem under the name of its function."""
    PROBLEMS[make.__name__] = make
    return make


# Many kernels on tables


def _wdbc(n: int = 455, **params: Any) -> Made:
    X, y, _, _ = split(*uci("wdbc"), n)
    return classifier(many_kernels(X.shape[1]), X, y, **params)


@problem
def wdbc_403() -> Made:
    return _wdbc()


@problem
def wdbc_403_C100() -> Made:
    return _wdbc(C=100.0)


@problem
def wdbc_403_C10000() -> Made:
    return _wdbc(C=1e4, tol=1e-2)


@problem
def wdbc_403_C0001() -> Made:
    return _wdbc(C=1e-3)


@problem
def wdbc_403_p2() -> Made:
    return _wdbc(norm=2.0)


@problem
def wdbc_403_logistic_p43() -> Made:
    return _wdbc(norm=4 / 3, loss="logistic")


@problem
def wdbc_403_smooth_hinge() -> Made:
    return _wdbc(200, loss="smooth_hinge:5")


@problem
def sonar_793() -> Made:
    X, y, _, _ = split(*uci("sonar"), 156)
    return classifier(many_kernels(X.shape[1]), X, y)


@problem
def ionosphere_165_squared_hinge() -> Made:
    X, y, _, _ = split(*uci("ionosphere"), 300)
    return classifier(kw.per_feature(kw.RBF.grid([0.1, 0.5, 2.0, 8.0, 32.0]), X.shape[1]), X, y, loss="squared_hinge")


@problem
def many_918_on_29() -> Made:
    X, y = waves(29, 102)
    return classifier(kw.per_feature(kw.RBF.grid(list(2.0 ** np.arange(-3, 6))), 102), X, y > 0)


@problem
def two_on_30() -> Made:
    X, y = waves(30, 4)
    return classifier([kw.Linear(), kw.RBF(width=4.0)], X, y > 0)


@problem
def subsets_5000_p43() -> Made:
    X, y = waves(200, 40)
    return classifier(subsets(5000, 40, list(2.0 ** np.arange(-3, 7))), X, y > 0, norm=4 / 3, tol=1e-2)


@problem
def subsets_100000() -> Made:
    X, y = waves(100, 40)
    return classifier(subsets(100_000, 40, list(2.0 ** np.linspace(-3, 7, 20))), X, y > 0, tol=1e-2)


@problem
def widths_10_on_3000() -> Made:
    X, y = clusters(3000, 20)
    return classifier(kw.RBF.grid(list(20 * 2.0 ** np.arange(-4, 6))), X, y)


@problem
def widths_10_on_3000_squared_hinge_p43() -> Made:
    X, y = clusters(3000, 20)
    return classifier(kw.RBF.grid(list(20 * 2.0 ** np.arange(-4, 6))), X, y, loss="squared_hinge", norm=4 / 3)


@problem
def widths_10_on_1500_pinf() -> Made:
    X, y = clusters(1500, 20)
    return classifier(kw.RBF.grid(list(20 * 2.0 ** np.arange(-4, 6))), X, y, norm=np.inf)


@problem
def covertype_three() -> Made:
    found = np.load(DATA / "dense" / "covtype_10000_a.npz")
    rows = np.flatnonzero(found["y"] <= 2)[:6000]
    X = found["X"][rows].astype(float)
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    return classifier([kw.Linear(), kw.RBF(width=20.0), kw.RBF(width=200.0)], X, found["y"][rows])


@problem
def heart_columns_C100() -> Made:
    X, y = uci("heart_statlog")
    return classifier(kw.per_feature([kw.Linear()], X.shape[1]), X, y, C=100.0)


@problem
def novelty_10_widths() -> Made:
    X, _ = waves(1000, 8)
    return Made(kw.MKLNovelty(kw.RBF.grid(list(8 * 2.0 ** np.arange(-4, 6))), nu=0.1, n_jobs=1), X, None)


# Features of low rank


@problem
def terms_3700_on_198() -> Made:
    X, y = terms(198, 3727)
    return classifier(kw.per_feature([kw.Linear()], X.shape[1]), X, y)


@problem
def terms_3700_on_198_logistic() -> Made:
    X, y = terms(198, 3727)
    return classifier(kw.per_feature([kw.Linear()], X.shape[1]), X, y, loss="logistic")


@problem
def blocks_20_on_5000() -> Made:
    X, y = waves(5000, 60)
    return classifier(blocks(20, 3), X, y > 0)


@problem
def blocks_20_on_5000_logistic_p2() -> Made:
    X, y = waves(5000, 60)
    return classifier(blocks(20, 3), X, y > 0, loss="logistic", norm=2.0)


@problem
def blocks_20_on_50000_p2() -> Made:
    X, y = waves(50_000, 60)
    return classifier(blocks(20, 3), X, y > 0, norm=2.0, tol=1e-2)


@problem
def polynomials_5_on_8000_logistic() -> Made:
    X, y = waves(8000, 10)
    return classifier([kw.Polynomial(3).on([2 * k, 2 * k + 1]) for k in range(5)], X, y > 0, loss="logistic")


@problem
def polynomials_5_on_8000_logistic_p2() -> Made:
    X, y = waves(8000, 10)
    kernels = [kw.Polynomial(3).on([2 * k, 2 * k + 1]) for k in range(5)]
    return classifier(kernels, X, y > 0, loss="logistic", norm=2.0)


@problem
def columns_10_on_1000000_logistic() -> Made:
    X, y = waves(1_000_000, 10)
    return classifier(kw.per_feature([kw.Linear()], 10), X, y > 0, loss="logistic", tol=1e-2)


@problem
def fourier_20_on_100000_logistic_p2() -> Made:
    X, y = waves(100_000, 10)
    kernels = [kw.Fourier(kw.RBF(width=10 * 2.0 ** (j % 10 - 4)), 50, random_state=j) for j in range(20)]
    return classifier(kernels, X, y > 0, loss="logistic", norm=2.0)


@problem
def nystrom_10_on_20000_squared_hinge() -> Made:
    X, y = waves(20_000, 10)
    kernels = [kw.Nystrom(kw.RBF(width=10 * 2.0 ** (j - 4)), 50) for j in range(10)]
    return classifier(kernels, X, y > 0, loss="squared_hinge")


@problem
def skewed_blocks_2500() -> Made:
    X, y = waves(2500, 30)
    return classifier(blocks(10, 3), np.exp(X), y > 0)


@problem
def blocks_500_on_2000_squared() -> Made:
    X, y = waves(2000, 2500)
    return regressor(blocks(500, 5), X, y, loss="squared", C=0.1)


@problem
def blocks_50_on_20000_huber_p43() -> Made:
    X, y = waves(20_000, 100)
    return regressor(blocks(50, 2), X, y, loss="huber", norm=4 / 3)


@problem
def tube_10_widths() -> Made:
    X, y = waves(1000, 8)
    return regressor(kw.RBF.grid(list(8 * 2.0 ** np.arange(-4, 6))), X, y, loss="epsilon_insensitive")


@problem
def squared_tube_10_widths_pinf() -> Made:
    X, y = waves(800, 8)
    kernels = kw.RBF.grid(list(8 * 2.0 ** np.arange(-4, 6)))
    return regressor(kernels, X, y, loss="squared_epsilon_insensitive", norm=np.inf)


@problem
def ridge_10_widths_C100_p2() -> Made:
    X, y = waves(1000, 8)
    return regressor(kw.RBF.grid(list(8 * 2.0 ** np.arange(-4, 6))), X, y, loss="squared", C=100.0, norm=2.0)


# Sequences, text, lattices, views


@problem
def degrees_20_on_10000() -> Made:
    X, y = kw.datasets.make_splice(10_000, 141, random_state=0)
    return classifier(kw.WeightedDegree(20).per_degree(), X, y, C=5.0)


@problem
def degrees_20_on_2500_p2() -> Made:
    X, y = kw.datasets.make_splice(2500, 141, random_state=0)
    return classifier(kw.WeightedDegree(20).per_degree(), X, y, norm=2.0)


@problem
def positions_28_on_2000() -> Made:
    X, y = kw.datasets.make_splice(2000, 141, random_state=0)
    return classifier(kw.WeightedDegree(10).per_position(window=5), X, y)


@problem
def spectra_6_on_5000() -> Made:
    X, y = kw.datasets.make_splice(5000, 141, random_state=0)
    return classifier([kw.Spectrum(k) for k in range(1, 7)], X, y, normalize="cosine")


@problem
def ngrams_3_on_5000() -> Made:
    texts, y = stories(5000)
    return classifier([kw.NGram(n) for n in (2, 3, 4)], texts, y, normalize="cosine")


@problem
def ngrams_3_on_3000_logistic_p2() -> Made:
    texts, y = stories(3000)
    return classifier([kw.NGram(n) for n in (2, 3, 4)], texts, y, normalize="cosine", loss="logistic", norm=2.0)


@problem
def lattices_7_classes() -> Made:
    X = kw.read_lattices(DATA / "lattice" / "snips_valid_lattices.fst.txt.gz")
    labels = {line["id"]: line["label"] for line in lines_of("lattice/snips_valid_lattices.jsonl.gz")}
    y = [labels[str(key)] for key in X.ids] if hasattr(X, "ids") else list(labels.values())
    return classifier([kw.NGram(n) for n in (1, 2, 3)], getattr(X, "X", X), y, normalize="cosine")


@problem
def digits_6_views_10_classes() -> Made:
    X, y = views("mfeat_digits_6views")
    return classifier([kw.RBF(gamma="scale").on(name) for name in X], X, y)


@problem
def images_6_views_shared_p2() -> Made:
    X, y = views("msrcv1_6views")
    return classifier([kw.RBF(gamma="scale").on(name) for name in X], X, y, norm=2.0, shared_weights=True)


@problem
def news_3_views_6_classes() -> Made:
    X, y = views("3sources_text_3views")
    return classifier([kw.Linear().on(name) for name in X], X, y)


# One kernel


@problem
def one_rbf_5000() -> Made:
    X, y = clusters(5000, 50)
    return one(kw.RBF(gamma=0.02), X, y)


@problem
def one_rbf_10000_C100() -> Made:
    X, y = clusters(10_000, 50)
    return one(kw.RBF(gamma=0.02), X, y, C=100.0)


@problem
def one_rbf_4000_logistic() -> Made:
    X, y = clusters(4000, 50)
    return one(kw.RBF(gamma=0.02), X, y, loss="logistic")


@problem
def one_linear_20000() -> Made:
    X, y = clusters(20_000, 50)
    return one(kw.Linear(), X, y)


@problem
def one_linear_20000_squared() -> Made:
    X, y = waves(20_000, 50)
    return Made(kw.KernelRegressor(kw.Linear(), loss="squared", n_jobs=1), X, y)


@problem
def one_linear_tfidf() -> Made:
    X, y = tfidf(9000)
    return one(kw.Linear(), X, y)


@problem
def one_degree_20_on_20000() -> Made:
    X, y = kw.datasets.make_splice(20_000, 141, random_state=0)
    return one(kw.WeightedDegree(20), X, y, C=5.0, normalize="trace")


@problem
def one_spectrum_3_on_10000() -> Made:
    X, y = kw.datasets.make_splice(10_000, 141, random_state=0)
    return one(kw.Spectrum(3), X, y, normalize="cosine")


@problem
def one_ngram_5_text() -> Made:
    texts, y = stories(8000)
    return one(kw.NGram(5), texts, y, normalize="cosine")


@problem
def one_tube_3000() -> Made:
    X, y = waves(3000, 8)
    return Made(kw.KernelRegressor(kw.RBF(width=16.0), loss="epsilon_insensitive", n_jobs=1), X, y)
