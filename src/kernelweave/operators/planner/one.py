"""`bind`: estimate memory first, then choose how a kernel is held, and say why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Features, Positional, has_codes
from kernelweave.kernels.base import Kernel, count
from kernelweave.operators.base import Operator
from kernelweave.operators.features.operator import FeatureOperator
from kernelweave.operators.gram.cached import CachedColumns
from kernelweave.operators.gram.dense import DenseGram
from kernelweave.operators.kmers.positional import LetterRows, PositionalOperator
from kernelweave.operators.kmers.prefixes import PREFIX_BITS, index_bytes, spread
from kernelweave.operators.memory import memory_budget, show_bytes

DOUBLE_UP_TO = 256e6
"""A Gram matrix is kept in double precision up to this size; beyond it, single precision halves the traffic."""
FINE_TOLERANCE = 1e-6
"""Below this tolerance the rounding of single precision would show in the certificate."""
FEWEST_COLUMNS = 64
"""A cache of fewer columns than this would compute the same ones over and over."""

GRAM_UP_TO = 2000
"""Rows up to which a Gram matrix is quicker than a normal vector even for kernels with explicit features."""
SAMPLE, FEATURE_BYTES = 64, 36
"""Rows on which the number of features is judged, and bytes a feature takes: column and value, once more renumbered."""


@dataclass(frozen=True)
class Plan:
    """How a kernel on n rows will be held, how many bytes that takes, and the reason in words."""

    kind: str
    dtype: type
    columns: int
    size: int
    reason: str


def plan(n: int, limit: float | str | None = "auto", tol: float = 1e-3) -> Plan:
    """Choose between a stored Gram matrix and cached columns for n rows.

    Examples
    --------
    >>> plan(1000, "1GB").kind
    'dense'
    >>> plan(100_000, "1GB").kind
    'cached'
    """
    budget = memory_budget(limit)
    for dtype, allowed in (
        (np.float64, budget if tol < FINE_TOLERANCE else min(budget, DOUBLE_UP_TO)),
        (np.float32, budget),
    ):
        size = n * n * np.dtype(dtype).itemsize
        if size <= allowed:
            return Plan(
                "dense",
                dtype,
                n,
                size,
                f"the {n} x {n} Gram matrix in {np.dtype(dtype).name} takes {show_bytes(size)}",
            )
    columns = int(budget // (4 * n))
    if columns < min(n, FEWEST_COLUMNS):
        raise MemoryError(
            f"{FEWEST_COLUMNS} kernel columns of {n} rows take {show_bytes(FEWEST_COLUMNS * 4.0 * n)}, more than the "
            f"memory_limit of {show_bytes(budget)}; raise the limit or train on fewer rows."
        )
    return Plan(
        "cached", np.float32, columns, columns * 4 * n,
        f"the Gram matrix would take {show_bytes(4.0 * n * n)} of the {show_bytes(budget)} allowed, "
        f"so {columns} of {n} columns are cached",
    )  # fmt: skip


def bind(
    kernel: Kernel,
    X: Any,
    engine: Engine,
    limit: float | str | None = "auto",
    tol: float = 1e-3,
    form: str = "auto",
) -> Operator:
    """Bind a kernel to training rows in the representation that fits the memory limit.

    Parameters
    ----------
    kernel : with every learned parameter filled in (`Kernel.fitted`)
    X : training rows
    limit : bytes, a text such as "4GB", or "auto"
    tol : the relative gap that will be asked for; decides on the precision
    form : "gram" for kernel values, "explicit" for a normal vector over the kernel's features, "auto" for the latter
        where there are many rows
    """
    if form == "explicit" or (form == "auto" and X.shape[0] > GRAM_UP_TO):
        try:
            operator = bind_explicit(kernel, X, engine, limit, form == "explicit")
        except (MemoryError, ValueError):  # too many features for the memory or for column numbers
            if form == "explicit":
                raise
            operator = None
        if operator is not None:
            return operator
        if form == "explicit":
            raise TypeError(f"{kernel!r} has no explicit features; use a solver that works on kernel values.")
    prepared = kernel.prepare(X)
    chosen = plan(count(prepared), limit, tol)
    if chosen.kind == "dense":
        return DenseGram(kernel, prepared, engine, chosen.dtype)
    return CachedColumns(kernel, prepared, engine, chosen.columns, chosen.dtype)


def bind_explicit(
    kernel: Kernel, X: Any, engine: Engine, limit: float | str | None, asked: bool = False
) -> Operator | None:  # fmt: skip
    """Bind a kernel through its features: k-mers with a place as tries, others as sparse rows; None without any.

    Features that are the columns of a table are taken where they are asked for: kernel values cost less there.
    """
    if isinstance(kernel, Positional):
        prepared = kernel.prepare(X)
        length = prepared.codes.shape[1]
        cells, shifts = kernel.cells(length), kernel.shift_weights()
        rows = LetterRows(prepared, cells.shape[1], engine)
        if rows.spelling.bits <= PREFIX_BITS:
            size = index_bytes(len(prepared.codes), length, cells.shape[1], rows.spelling)
            _refuse(size, f"The sorted k-mers of {len(prepared.codes)} sequences", limit)
            return PositionalOperator(kernel, prepared, rows, spread(cells, shifts))
    if has_codes(kernel) or (asked and isinstance(kernel, Features)):
        _refuse(feature_bytes(kernel, X), f"The features of {X.shape[0]} rows", limit)
        return FeatureOperator(kernel, X, engine)
    return None


def feature_bytes(kernel: Kernel, X: Any) -> float:
    """Return about how many bytes the features of all rows take while they are made, judged by some of the rows."""
    n = X.shape[0]
    some = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64))
    return float(n * cast(Features, kernel).counts(X[some]).entries / max(1, len(some)) * FEATURE_BYTES)


def _refuse(size: float, what: str, limit: float | str | None) -> None:
    budget = memory_budget(limit)
    if size > budget:
        raise MemoryError(
            f"{what} take {show_bytes(size)}, more than the memory_limit of {show_bytes(budget)}; raise the limit or "
            "train on fewer rows."
        )
