"""The problems on which solvers are compared with what `solver="auto"` chooses: `auto_choice.py` runs them.

Each is a function that returns an estimator and its data.  They cover 2 to 100,000 kernels, 30 to 1,000,000 rows, norms
1, 4/3, 2 and infinity, every loss, C from 1e-3 to 1e4, dense tables, kernels of rank one, features of low rank,
sequences, text, lattices, views, one and many classes, and machines with one kernel.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import kernelweave as kw
from mkl_common import DATA, many_kernels, split, uci

Array = np.ndarray


class Made(NamedTuple):
    """An estimator with solver="auto", rows and targets."""

    model: Any
    X: Any
    y: Any


PROBLEMS: dict[str, Callable[[], Made]] = {}


def problem(make: Callable[[], Made]) -> Callable[[], Made]:
    """Enter a problem under the name of its function."""
    PROBLEMS[make.__name__] = make
    return make


def classifier(kernels: Any, X: Any, y: Any, **params: Any) -> Made:
    """Return a classifier with many kernels, on one thread."""
    return Made(kw.MKLClassifier(kernels, n_jobs=1, **params), X, y)


def regressor(kernels: Any, X: Any, y: Any, **params: Any) -> Made:
    """Return a regressor with many kernels, on one thread."""
    return Made(kw.MKLRegressor(kernels, n_jobs=1, **params), X, y)


def one(kernel: Any, X: Any, y: Any, **params: Any) -> Made:
    """Return a classifier with one kernel, on one thread."""
    return Made(kw.KernelClassifier(kernel, n_jobs=1, **params), X, y)


# Data


def waves(n: int, d: int, seed: int = 0) -> tuple[Array, Array]:
    """Return a table and real targets: a few columns count, in different ways."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2 % d] + 0.5 * X[:, 3 % d]
    return X, signal + 0.5 * rng.standard_normal(n)


def clusters(n: int, d: int) -> tuple[Array, Array]:
    """Return the table of `svm_vs_sklearn.py`."""
    from sklearn.datasets import make_classification
    from sklearn.preprocessing import StandardScaler

    informative = max(2, 2 * d // 5)
    X, y = make_classification(
        n, d, n_informative=informative, n_redundant=d // 5, n_clusters_per_class=4, flip_y=0.05, random_state=0
    )
    return StandardScaler().fit_transform(X), y


@cache
def stories(n: int) -> tuple[list[str], Array]:
    """Return Reuters stories, and which are about acquisitions."""
    found = _lines("text/reuters21578_modapte.jsonl.gz")[:n]
    return [f"{s['title']} {s['body']}"[:1500] for s in found], np.array(["acq" in s["topics"] for s in found])


def _lines(name: str) -> list[Any]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def terms(n: int, most: int) -> tuple[Array, Array]:
    """Return tf-idf columns of posts about cars and motorcycles, dense."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    found = _lines("text/20ng_autos_motorcycles.jsonl.gz")
    rows = np.random.default_rng(0).permutation(len(found))[:n]
    X = TfidfVectorizer(min_df=2, max_features=most).fit_transform([found[i]["text"] for i in rows])
    return X.toarray(), np.array([found[i]["label"] for i in rows])


def tfidf(n: int) -> tuple[Any, Array]:
    """Return tf-idf rows of Reuters, sparse."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, y = stories(n)
    return TfidfVectorizer(min_df=2).fit_transform(texts), y


def views(name: str) -> tuple[dict[str, Array], Array]:
    """Return standardised views and labels."""
    found = np.load(DATA / "multiview" / f"{name}.npz")
    tables = {key: found[key].astype(float) for key in found.files if key != "y"}
    return {key: (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9) for key, X in tables.items()}, found["y"]


def blocks(count: int, size: int) -> list[Any]:
    """Return linear kernels on successive blocks of columns."""
    return [kw.Linear().on(list(range(size * k, size * (k + 1)))) for k in range(count)]


def subsets(count: int, d: int, widths: list[float], seed: int = 0) -> list[Any]:
    """Return Gaussians of several widths on random sets of columns."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(count // len(widths)):
        columns = sorted(int(c) for c in rng.choice(d, size=int(rng.integers(1, 5)), replace=False))
        found += [kw.RBF(width=len(columns) * w).on(columns) for w in widths]
    return found


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
    labels = {line["id"]: line["label"] for line in _lines("lattice/snips_valid_lattices.jsonl.gz")}
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


# Drawn at random


def drawn(seed: int) -> Made:
    """Return a problem that nobody chose: rows, kernels, loss, norm and C by chance."""
    rng = np.random.default_rng(seed)
    n = int(10 ** rng.uniform(1.6, 3.9))
    d = int(rng.choice([4, 12, 40]))
    X, y = waves(n, d, seed)
    X = X * 10 ** rng.uniform(-0.5, 0.5, d)
    kernels = _drawn_kernels(rng, d)
    norm, C = float(rng.choice([1.0, 1.0, 4 / 3, 2.0, np.inf])), float(10 ** rng.uniform(-2, 3))
    if rng.random() < 0.7:
        loss = str(rng.choice(["hinge", "hinge", "logistic", "squared_hinge", "smooth_hinge"]))
        return classifier(kernels, X, y > np.median(y), loss=loss, norm=norm, C=C, tol=1e-2)
    loss = str(rng.choice(["squared", "epsilon_insensitive", "huber"]))
    return regressor(kernels, X, y, loss=loss, norm=norm, C=C, tol=1e-2)


def _drawn_kernels(rng: np.random.Generator, d: int) -> list[Any]:
    widths = list(d * 2.0 ** np.arange(-4, 6))
    forms = [
        lambda: kw.RBF.grid(widths[: int(rng.integers(2, 11))]),
        lambda: kw.per_feature(kw.RBF.grid([0.1, 1.0, 10.0]), d),
        lambda: kw.per_feature([kw.Linear()], d),
        lambda: blocks(d // 4, 4),
        lambda: [kw.Polynomial(2).on([k, k + 1]) for k in range(d - 1)],
        lambda: subsets(int(rng.choice([200, 1000])), d, [0.5, 2.0, 8.0, 32.0], int(rng.integers(100))),
        lambda: [kw.Fourier(kw.RBF(width=width), 50) for width in widths[::3]],
    ]
    return forms[int(rng.integers(len(forms)))]()
