"""A small fitted model of every kind that a model file can hold, with rows to score."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from kernelweave.estimators.files.container import MODELS

ROWS = 24


class Saved(NamedTuple):
    """What the file of a model holds, and a few rows that the model can score."""

    header: dict[str, Any]
    tensors: dict[str, np.ndarray]
    rows: Any


def cases() -> dict[str, tuple[Any, Any, Any]]:
    """Return models that are not fitted, rows and targets, by name."""
    random = np.random.default_rng(0)
    table = random.normal(size=(ROWS, 3))
    signs = np.where(table[:, 0] + 0.3 * random.normal(size=ROWS) > 0, 1, -1)
    names = np.array(["low", "middle", "high"])[np.arange(ROWS) % 3]
    dna = kw.Sequences.from_strings(
        ["".join(random.choice(list("ACGT"), 9)) for _ in range(ROWS)], ids=map(str, range(ROWS))
    )
    words = kw.Sequences.from_tokens([["to", "be"], ["or", "not"], ["be", "or"]] * (ROWS // 3))
    heard = kw.Lattices.from_arcs(
        [([(0, 1, "to", 0.6), (0, 1, f"w{n % 3}", 0.4), (1, 2, "be", 1.0)], [2]) for n in range(ROWS)]
    )
    thin = sparse.csr_array(np.maximum(table, 0))
    views = {"numbers": table, "dna": dna, "thin": thin}
    mixed = 0.5 * kw.RBF(gamma="scale").on("numbers") + kw.Spectrum(2).on("dna") + kw.Linear().on("thin")
    two, gapped, wd = kw.RBF.grid([0.5, 5.0]), kw.GappedKmer(4, 3), kw.WeightedDegree(3)
    return {
        "rbf": (kw.KernelClassifier(kw.RBF(width=2.0)), table, names),
        "columns": (kw.KernelClassifier(kw.RBF(1.0).on([0, 2]) * kw.Linear().on(slice(0, 2))), table, signs),
        "sparse": (kw.KernelClassifier(kw.Linear()), thin, signs),
        "polynomial": (kw.KernelRegressor(kw.Polynomial(2), loss="squared"), table, table[:, 0]),
        "centred": (kw.KernelClassifier("rbf:1", normalize="variance", fit_intercept=False), table, signs),
        "cosine": (kw.KernelClassifier(kw.Spectrum(2), normalize="cosine"), dna, signs),
        "positions": (kw.KernelClassifier(wd), dna, signs),
        "spectrum": (kw.KernelClassifier(kw.Spectrum(3)), dna, names),
        "mismatch": (kw.KernelClassifier(kw.Mismatch(3, 1)), dna, signs),
        "gapped": (kw.KernelClassifier(gapped), dna, signs),
        "words": (kw.KernelClassifier(kw.NGram(1)), words, signs),
        "gappy": (kw.KernelClassifier(kw.GappyNGram(2, 0.5)), words, signs),
        "lattices": (kw.KernelClassifier(kw.NGram(2)), heard, signs),
        "precomputed": (kw.KernelClassifier("precomputed"), table @ table.T, signs),
        "views": (kw.KernelClassifier(mixed), views, signs),
        "novelty": (kw.KernelNovelty(kw.RBF(width=2.0), nu=0.3), table, None),
        "mkl": (kw.MKLClassifier(two), table, names),
        "mkl regressor": (kw.MKLRegressor([kw.Linear(), kw.RBF(width=1.0)], normalize="variance"), table, table[:, 0]),
        "mkl novelty": (kw.MKLNovelty(two, nu=0.3), table, None),
        "mkl cv": (kw.MKLClassifierCV(two, cv=2), table, signs),
        "windows": (kw.MKLClassifier(wd.per_position(window=3)), dna, signs),
        "features": (
            kw.MKLClassifier([kw.Spectrum(2), kw.Spectrum(3)], solver="svrg", loss="logistic", norm=2.0), dna, signs,
        ),
        "fourier": (kw.KernelClassifier(kw.Fourier(kw.RBF(width=1.0), n_components=16)), table, signs),
        "nystrom": (kw.KernelClassifier(kw.Nystrom(kw.RBF(width=1.0), n_components=8)), table, signs),
        "boost": (kw.CGBoostClassifier(two), table, names),
        "boost regressor": (kw.CGBoostRegressor(two), table, table[:, 0]),
        "boost novelty": (kw.CGBoostNovelty(two), table, None),
        "pipeline": (make_pipeline(StandardScaler(), kw.KernelClassifier("rbf:1")), table, signs),
    }  # fmt: skip


@cache
def models() -> dict[str, Saved]:
    """Fit and save all models, and return what their files hold."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.kw"
        for name, (model, X, y) in cases().items():
            kw.save(model.fit(X) if y is None else model.fit(X, y), path)
            header, tensors = MODELS.read(path)
            rows = {view: part[:4] for view, part in X.items()} if isinstance(X, dict) else X[:4]
            found[name] = Saved(header, tensors, rows)
    return found
