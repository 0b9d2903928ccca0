"""Write a small file of every kind that this version of the library writes, with what it must give when it is read.

    .venv/bin/python tests/estimators/former/make.py 2

makes the folder `v2` beside this file.  It is run once for each version of a format, by hand, and its files are
committed: `test_former_files` reads those of every version.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from kernelweave.data.stores import write_store

ROWS = 16


def rows() -> dict[str, Any]:
    """Return the rows of all files; the numbers are short decimals, so that they are the same everywhere."""
    random = np.random.default_rng(0)
    table = random.normal(size=(ROWS, 3)).round(2)
    dna = kw.Sequences.from_strings(["".join(random.choice(list("ACGT"), 9)) for _ in range(ROWS)], "dna")
    words = kw.Sequences.from_tokens([["to", "be"], ["or", "not"], ["be", "or"], ["not", "be", "to"]] * (ROWS // 4))
    arcs = [[(0, 1, "to", 0.5), (0, 1, f"w{n % 3}", 0.5), (1, 2, "be", 1.0)] for n in range(ROWS)]
    return {
        "table": table,
        "sparse": sparse.csr_array(np.maximum(table, 0)),
        "dna": dna,
        "words": words,
        "lattices": kw.Lattices.from_arcs([(some, [2]) for some in arcs]),
        "views": {"table": table, "dna": dna},
    }


def targets() -> np.ndarray:
    """Return labels."""
    return np.where(rows()["table"][:, 0] > 0, 1, -1)


def models() -> dict[str, tuple[str, Any]]:
    """Return the rows and the estimator of each model file."""
    mixed = 0.5 * kw.RBF(width=2.0).on("table") + kw.Spectrum(2).on("dna")
    return {
        "rbf": ("table", kw.KernelClassifier(kw.RBF(width=2.0))),
        "sparse": ("sparse", kw.KernelRegressor(kw.Linear(), loss="squared")),
        "positions": ("dna", kw.KernelClassifier(kw.WeightedDegree(3), normalize="cosine")),
        "gapped": ("dna", kw.KernelClassifier(kw.GappedKmer(4, 3))),
        "words": ("words", kw.KernelClassifier(kw.NGram(2))),
        "lattices": ("lattices", kw.KernelClassifier(kw.NGram(1))),
        "views": ("views", kw.KernelClassifier(mixed)),
        "novelty": ("table", kw.KernelNovelty(kw.RBF(width=2.0), nu=0.3)),
        "mkl": ("table", kw.MKLClassifier(kw.RBF.grid([0.5, 5.0]))),
        "boost": ("table", kw.CGBoostClassifier(kw.RBF.grid([0.5, 5.0]))),
        "pipeline": ("table", make_pipeline(StandardScaler(), kw.KernelClassifier("rbf:1"))),
    }


def checkpointed(path: Path, **given: Any) -> Any:
    """Return the estimator whose run the checkpoint is of."""
    return kw.KernelClassifier(kw.RBF(width=2.0), solver="smo", tol=1e-6, checkpoint=(str(path), 0.0), **given)


def scores(model: Any, X: Any) -> np.ndarray:
    """Return decision values, or the numbers that a regressor predicts."""
    return np.asarray(model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X))


def make(folder: Path) -> None:
    """Write all files."""
    folder.mkdir()
    given, y, expected = rows(), targets(), {}
    for name in ("dna", "words"):
        given[name].save(folder / f"{name}.kwseq")
    given["lattices"].save(folder / "lattices.kwlat")
    for name in ("table", "sparse", "dna", "lattices"):
        write_store(folder / f"{name}.kws", given[name], y)
    for name, (kind, model) in models().items():
        fitted = model.fit(given[kind]) if name == "novelty" else model.fit(given[kind], y)
        kw.save(fitted, folder / f"{name}.kw")
        expected[name] = scores(fitted, given[kind]).tolist()
    fitted = checkpointed(folder / "fit.kwc").fit(given["table"], y)
    expected["fit"] = scores(fitted, given["table"]).tolist()
    (folder / "expected.json").write_text(json.dumps({"version": kw.__version__, "scores": expected}) + "\n")


if __name__ == "__main__":
    make(Path(__file__).parent / f"v{int(sys.argv[1])}")
