"""Models that are a weight for each explicit feature: what they keep of training.

A solver that walks in the space of features returns the normal vectors w themselves.  The model keeps them with the
kernels and, for features that have codes (n-grams, k-mers), the code of each column; it needs no training row.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelweave.kernels import Features, IncompleteCholesky, Kernel, reference
from kernelweave.kernels.abilities import representatives
from kernelweave.kernels.approximate.embedding import Approximation
from kernelweave.kernels.approximate.landmarks import Landmarks
from kernelweave.kernels.compose import On
from kernelweave.operators.features.design.columns import codes_of
from kernelweave.operators.memory import memory_budget
from kernelweave.solvers.result import Result

Array = np.ndarray
FEATURE_PARAMS = {"feature_tolerance": None, "feature_rank": None}
"""What `solver_params` may say about kernels that have no features of their own."""
STREAM_PARAMS = ("total_rows",)
"""What only `partial_fit` reads."""
FINER = 0.1
"""Features are this much more exact than the duality gap that is asked for, by default."""
LEAST_RANK = 64
"""Features of a kernel for which room is always tried."""
FINER_AGAIN = 0.01
"""By how much the tolerance of features shrinks where the gap for the kernels themselves is open."""
MOST_VALUES = 2e9
"""Kernel values that a bound for the kernels themselves may take; beyond, the bound is that of their features."""
SHARE_OF_MEMORY = 0.6
"""What made features may take of the memory limit; the rest is for the rows of which parts are made."""
TWICE, SQUARES = 2, 4
"""Tables of a kernel, and square matrices, that are there while it is factorised, beside those that stay."""


def split_params(params: dict[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what `solver_params` say about features, with defaults, and what is left for the solver."""
    if params is not None and not isinstance(params, dict):
        raise ValueError(f"solver_params={params!r} must be a dict of names and values.")
    given = dict(params or {})
    features = {name: given.pop(name, default) for name, default in FEATURE_PARAMS.items()}
    return features, {name: value for name, value in given.items() if name not in STREAM_PARAMS}


def with_features(
    kernels: Sequence[Kernel], X: Any, weight: Array, params: dict[str, Any], limit: float | str, tol: float
) -> tuple[list[Kernel], bool]:
    """Return the kernels, those without explicit features factorised to a tolerance, and whether there are such.

    Parameters
    ----------
    kernels : fitted
    params : "feature_tolerance", the share of the trace that may be missed (None: a tenth of `tol`), and
        "feature_rank", the most features of a kernel (None: what the memory limit has room for)
    """
    bare = {id(kernel) for kernel in kernels if not has_features(kernel, X)}
    rank, tolerance = params["feature_rank"], params["feature_tolerance"]
    tolerance = FINER * tol if tolerance is None else tolerance
    if rank is None and bare:
        rank = _affordable_rank(X.shape[0], len(bare), SHARE_OF_MEMORY * memory_budget(limit) / 8)
    made = [_factorised(kernel, X, weight, tolerance, rank) if id(kernel) in bare else kernel for kernel in kernels]
    return made, bool(bare)


def _affordable_rank(n: int, m: int, numbers: float) -> int:
    """Return how many features m kernels may have on n rows, with a factor of rank x rank for each of them.

    It solves  rank ((m + TWICE) n + (m + SQUARES) rank) = numbers.
    """
    long, square = float((m + TWICE) * n), float(m + SQUARES)
    rank = 2.0 * numbers / (long + np.sqrt(long * long + 4.0 * square * numbers))
    return min(n, max(LEAST_RANK, int(rank)))


def has_features(kernel: Kernel, X: Any) -> bool:
    """Tell whether a kernel can write out the features of rows like these: a polynomial of many columns cannot."""
    if not isinstance(kernel, Features):
        return False
    try:
        kernel.rows(X[:1])
    except ValueError:
        return False
    return True


def _factorised(kernel: Kernel, X: Any, weight: Array, tolerance: float, rank: int) -> Kernel:
    """Return a kernel through features; say in the user's words where they are too few."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* stopped at .* features", category=UserWarning)
        made = IncompleteCholesky(kernel, tolerance, rank).fitted(X, weight)
    error = approximation_error(made)
    if error > tolerance:
        warnings.warn(
            f"{kernel!r} is factorised into {rank} features with a relative error of {error:.2g}, above the tolerance "
            f"{tolerance:.2g}; raise feature_rank, memory_limit or feature_tolerance, or use kw.Fourier or kw.Nystrom.",
            UserWarning, stacklevel=6,
        )  # fmt: skip
    return made


def asked_for(model: Any, X: Any, weight: Array) -> list[Kernel]:
    """Return the kernels that a fitted model is about: a factorisation that a solver made stands for its kernel."""
    pairs = zip(model._used_kernels, model._kernel_list.on(X, weight))
    return [_asked_for(kernel, given) for kernel, given in pairs]


def _asked_for(kernel: Kernel, given: Kernel) -> Kernel:
    if any(isinstance(one, Approximation) for leaf in given.leaves() for one in (*leaf.path, leaf.kernel)):
        return kernel
    if isinstance(kernel, On) and isinstance(kernel.kernel, Landmarks):
        return On(kernel.kernel.kernel, kernel.columns)
    return kernel.kernel if isinstance(kernel, Landmarks) else kernel


def approximation_error(kernel: Kernel) -> float:
    """Return how far a kernel is from the one asked for, relative to its mean diagonal; 0 where it is exact."""
    return max(float(getattr(leaf.kernel, "approximation_error_", 0.0)) for leaf in kernel.leaves())


def approximation_errors(kernels: Sequence[Kernel]) -> Array:
    """Return the approximation error of each kernel, (m,)."""
    inside = [leaf.kernel for kernel in representatives(kernels) for leaf in kernel.leaves()]
    if not any(hasattr(type(one), "approximation_error_") for one in inside):
        return np.zeros(len(kernels))
    return np.array([approximation_error(kernel) for kernel in kernels])


def keep_vectors(model: Any, results: Sequence[Result], design: Any, X: Any) -> None:
    """Set what the model keeps instead of training rows."""
    model.coef_ = np.concatenate([np.asarray(result.primal.vector) for result in results])
    model.coef_offsets_ = np.asarray(design.offsets)
    model.coef_codes_ = codes_of(design.maps)
    exact = design.table is not None  # nothing but columns of the rows
    model.approximation_errors_ = np.zeros(design.m) if exact else approximation_errors(model.kernels_)
    model.support_ = np.empty(0, np.int64)
    model.dual_coef_ = np.empty((len(model.coef_), 0))
    model.reference_ = X[:1] if exact else reference(model.kernels_, X, np.arange(min(1, X.shape[0])))
    model.expansion_ = model._expand().with_maps(design.maps)


def forget_vectors(model: Any) -> None:
    """Take away what a former fit on explicit features left."""
    _forget(model, "coef_", "coef_offsets_", "coef_codes_", "approximation_errors_")


def forget_stream(model: Any) -> None:
    """Take away what a stream of blocks left."""
    _forget(model, "stream_", "rows_seen_")


def _forget(model: Any, *names: str) -> None:
    for name in names:
        if hasattr(model, name):
            delattr(model, name)
