"""Learning with kernels on sequences, text and tables, with a certificate on every fit.

The names below are loaded when they are first used, so that importing the package costs next to nothing.

>>> import kernelweave as kw
>>> kw.RBF(width=2.0)
RBF(width=2.0)
"""

from __future__ import annotations

import gc
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kernelweave._version import __version__

if TYPE_CHECKING:
    from kernelweave import datasets
    from kernelweave.data import Alphabet, Lattices, Sequences, Stored, Views
    from kernelweave.estimators import (
        CGBoostClassifier,
        CGBoostNovelty,
        CGBoostRegressor,
        KernelClassifier,
        KernelNovelty,
        KernelRegressor,
        KernelTransformer,
        MKLClassifier,
        MKLClassifierCV,
        MKLNovelty,
        MKLRegressor,
        MKLRegressorCV,
        ViewTransformer,
        learned_kernel,
        load,
        save,
    )
    from kernelweave.estimators.planning.plan import plan
    from kernelweave.estimators.scanning import scan
    from kernelweave.interpret.explain.rows import explain
    from kernelweave.interpret.variants.stream import variants
    from kernelweave.io import read, read_fasta
    from kernelweave.io.lattices import read_lattices
    from kernelweave.judge import verify
    from kernelweave.kernels import (
        LSGKM,
        RBF,
        Fourier,
        GappedKmer,
        GappyNGram,
        Identity,
        IncompleteCholesky,
        InducedRBF,
        Laplacian,
        Linear,
        Mismatch,
        NGram,
        Nystrom,
        Polynomial,
        Precomputed,
        Product,
        Rational,
        Sigmoid,
        Spectrum,
        Sum,
        TfIdf,
        WeightedDegree,
        per_feature,
    )
    from kernelweave.report.write import write_report
    from kernelweave.selection.calibrate import calibrate, hold_precision
    from kernelweave.selection.copies import near_copies
    from kernelweave.selection.groups import groups_of
    from kernelweave.selection.intervals import fold_scores
    from kernelweave.selection.search import search

_ROOMS = {
    "data": ("Alphabet", "Lattices", "Sequences", "Stored", "Views"),
    "io": ("read", "read_fasta"),
    "io.lattices": ("read_lattices",),
    "kernels": (
        "Fourier",
        "GappedKmer",
        "GappyNGram",
        "Identity",
        "IncompleteCholesky",
        "InducedRBF",
        "LSGKM",
        "Laplacian",
        "Linear",
        "Mismatch",
        "NGram",
        "Nystrom",
        "Polynomial",
        "Precomputed",
        "Product",
        "RBF",
        "Rational",
        "Sigmoid",
        "Spectrum",
        "Sum",
        "TfIdf",
        "WeightedDegree",
        "per_feature",
    ),
    "estimators": (
        "CGBoostClassifier",
        "CGBoostNovelty",
        "CGBoostRegressor",
        "KernelClassifier",
        "KernelNovelty",
        "KernelRegressor",
        "KernelTransformer",
        "MKLClassifier",
        "MKLClassifierCV",
        "MKLNovelty",
        "MKLRegressor",
        "MKLRegressorCV",
        "ViewTransformer",
        "learned_kernel",
        "load",
        "save",
    ),
    "estimators.planning.plan": ("plan",),
    "estimators.scanning": ("scan",),
    "interpret.explain.rows": ("explain",),
    "interpret.variants.stream": ("variants",),
    "judge": ("verify",),
    "report.write": ("write_report",),
    "selection.calibrate": ("calibrate", "hold_precision"),
    "selection.copies": ("near_copies",),
    "selection.groups": ("groups_of",),
    "selection.intervals": ("fold_scores",),
    "selection.search": ("search",),
}
_HOME = {name: f"{__name__}.{room}" for room, names in _ROOMS.items() for name in names}

__all__ = [  # noqa: RUF022 - in the order of use: data, kernels, estimators, files
    "Alphabet",
    "Lattices",
    "Sequences",
    "Views",
    "Stored",
    "datasets",
    "read",
    "read_fasta",
    "read_lattices",
    "Identity",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Precomputed",
    "RBF",
    "Sigmoid",
    "Spectrum",
    "Mismatch",
    "GappedKmer",
    "LSGKM",
    "WeightedDegree",
    "NGram",
    "GappyNGram",
    "Rational",
    "IncompleteCholesky",
    "Nystrom",
    "Fourier",
    "InducedRBF",
    "Product",
    "Sum",
    "TfIdf",
    "per_feature",
    "KernelClassifier",
    "KernelNovelty",
    "KernelRegressor",
    "MKLClassifier",
    "MKLClassifierCV",
    "MKLNovelty",
    "MKLRegressor",
    "MKLRegressorCV",
    "ViewTransformer",
    "KernelTransformer",
    "learned_kernel",
    "CGBoostClassifier",
    "CGBoostNovelty",
    "CGBoostRegressor",
    "load",
    "save",
    "plan",
    "scan",
    "explain",
    "variants",
    "verify",
    "write_report",
    "search",
    "fold_scores",
    "calibrate",
    "hold_precision",
    "groups_of",
    "near_copies",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its room at first use and keep it."""
    if name == "datasets":
        return import_module("kernelweave.datasets")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    collecting = gc.isenabled()
    gc.disable()  # nearly all that an import makes stays: looking for garbage in it takes longer than making it
    try:
        value = getattr(import_module(_HOME[name]), name)
    finally:
        if collecting:
            gc.enable()
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
