"""Estimators and data of the problems of `auto_problems.py`, and problems that are drawn at random."""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import kernelweave as kw
from mkl_common import DATA

Array = np.ndarray


class Made(NamedTuple):
    """An estimator with solver="auto", rows and targets."""

    model: Any
    X: Any
    y: Any


def classifier(kernels: Any, X: Any, y: Any, **params: Any) -> Made:
    """Return a classifier with many kernels, on one thread."""
    return Made(kw.MKLClassifier(kernels, n_jobs=1, **params), X, y)


def regressor(kernels: Any, X: Any, y: Any, **params: Any) -> Made:
    """Return a regressor with many kernels, on one thread."""
    return Made(kw.MKLRegressor(kernels, n_jobs=1, **params), X, y)


def one(kernel: Any, X: Any, y: Any, **params: Any) -> Made:
    """Return a classifier with one kernel, on one thread."""
    return Made(kw.KernelClassifier(kernel, n_jobs=1, **params), X, y)


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
    found = lines_of("text/reuters21578_modapte.jsonl.gz")[:n]
    return [f"{s['title']} {s['body']}"[:1500] for s in found], np.array(["acq" in s["topics"] for s in found])


def lines_of(name: str) -> list[Any]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def terms(n: int, most: int) -> tuple[Array, Array]:
    """Return tf-idf columns of posts about cars and motorcycles, dense."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    found = lines_of("text/20ng_autos_motorcycles.jsonl.gz")
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
