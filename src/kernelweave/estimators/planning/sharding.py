"""Rows that a fit works through part by part: when, and what kernels learn from them.

    solver="active_set"                   always
    solver="auto"                         for stores whose rows, held with their features, would not fit the memory, and
                                          for very many sequences under k-mers with a place, where it is the fastest
    "chunking", "silp_chunking"           with an engine of other processes: its workers compute the outputs of their
                                          parts, as Algorithm 4 of Sonnenburg et al. (2006) has it

What a kernel learns from rows (the width of a Gaussian) it learns from a sample of a store; a scale is the mean over
all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from kernelweave.data.blocks import sample_rows
from kernelweave.data.kinds import describe, kind_of, take
from kernelweave.data.stores import is_stored
from kernelweave.engines import Engine, Remote
from kernelweave.estimators.checks.overlap import warn_if_nothing_shared
from kernelweave.estimators.normalize import LARGEST, Scaling, normalized, too_large
from kernelweave.kernels import Kernel
from kernelweave.kernels.abilities import Positional
from kernelweave.losses import Loss
from kernelweave.operators.memory import memory_budget

Array = np.ndarray
ROUNDS = "active_set"
DISTRIBUTED = ("chunking", "silp_chunking")
"""Solvers whose products workers can compute."""
SAMPLE = 1 << 14
"""Rows of a store from which kernels learn."""
HELD = 32
"""Bytes that features take for each byte of the rows, roughly: those of k-mers with a place."""
MANY = 100_000
"""Rows from which on rounds are faster than coordinate descent on all of them (measured at 60,000: no difference, at
1,000,000: 39 against 98 s)."""


def by_parts(solver: str, X: Any, limit: float | str | None, engine: Engine, loss: Loss) -> tuple[bool, str]:
    """Tell whether rows are worked through part by part, and why."""
    if solver == ROUNDS:
        return True, "as asked"
    if solver in DISTRIBUTED and isinstance(engine, Remote):
        return True, "as asked"
    suits = loss.sparse and loss.task != "novelty"
    if solver == "auto" and is_stored(X) and suits and HELD * X.nbytes > memory_budget(limit):
        return True, "the rows of the store and their features would not fit the memory"
    return False, ""


def faster_by_parts(solver: str, X: Any, kernels: Sequence[Kernel], loss: Loss) -> bool:
    """Tell whether rounds over parts are the fastest for rows in memory."""
    suits = loss.sparse and loss.task != "novelty" and solver == "auto" and X.shape[0] >= MANY
    return suits and all(isinstance(one, Positional) and len(one.shift_weights()) == 1 for one in kernels)


def stored_rows(estimator: Any, X: Any) -> Any:
    """Return the checked rows of a store, which stay there; what they are is remembered on the estimator."""
    if len(X) == 0:
        raise ValueError(f"The store {X.path} has no rows: at least one example is needed.")
    kind = kind_of(X)
    for name in ("n_features_in_", "feature_names_in_"):
        vars(estimator).pop(name, None)
    if kind.tabular:
        estimator.n_features_in_ = X.shape[1]
    kind.check(X, "input")
    estimator._input = describe(X)
    return X


def fitted_to_store(
    kernels: Sequence[Kernel], X: Any, weight: Array, normalize: str | None, engine: Engine, definite: str
) -> Scaling:
    """Return kernels that have learned from a sample of the rows, scaled on all of them."""
    rows = sample_rows(len(X), SAMPLE)
    some, share = take(X, rows), weight[rows]
    fitted = [kernel.fitted(some, share) for kernel in kernels]
    for kernel in fitted:
        if not kernel.definite:
            raise ValueError(f"{kernel!r} is not positive semi-definite; {definite}.")
    warn_if_nothing_shared(fitted, some, engine)
    if normalize == "variance":
        raise ValueError(
            "normalize='variance' compares all rows with each other, which takes too long for rows on disk; use "
            "normalize='trace' or 'cosine'."
        )
    if normalize != "trace":
        return Scaling([normalized(kernel, some, normalize, engine) for kernel in fitted])
    return Scaling([_scaled(kernel, X, weight, engine) for kernel in fitted])


def _scaled(kernel: Kernel, X: Any, weight: Array, engine: Engine) -> Kernel:
    """Return the kernel divided by its mean diagonal over all rows, part by part."""
    jobs = [(part, weight[part]) for part in X.parts] if np.ptp(weight) else [(part, None) for part in X.parts]
    found = engine.map(partial(_diagonal_sum, kernel, X), jobs)
    worst = max((one[1] for one in found), default=0.0)
    if not worst <= LARGEST:
        raise ValueError(too_large(kernel, 0, worst))
    size = sum(one[0] for one in found) / (float(weight.sum()) if np.ptp(weight) else len(X))
    return kernel * (1.0 / size) if size > 0 else kernel


def _diagonal_sum(kernel: Kernel, X: Any, job: tuple[slice, Array | None]) -> tuple[float, float]:
    part, weight = job
    diagonal = kernel.diag(X.take(part, ids=False))
    return float(diagonal.sum() if weight is None else weight @ diagonal), float(diagonal.max(initial=0.0))
