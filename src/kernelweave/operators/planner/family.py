"""`bind_family`: choose how many kernels on the same rows are held, within the memory limit, and say why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Positional, has_codes
from kernelweave.kernels.base import Kernel, count
from kernelweave.operators.features.set import FeatureSet
from kernelweave.operators.gram.family import SharedSet, StoredSet
from kernelweave.operators.gram.mixture import Family
from kernelweave.operators.gram.rank_one import RankOneSet, rank_one_vectors
from kernelweave.operators.kmers.prefixes import PREFIX_BITS, index_bytes
from kernelweave.operators.kmers.set import PositionalSet, divided
from kernelweave.operators.memory import memory_budget, show_bytes
from kernelweave.operators.planner.one import (
    DOUBLE_UP_TO,
    FEWEST_COLUMNS,
    FINE_TOLERANCE,
    GRAM_UP_TO,
    Plan,
    feature_bytes,
)

JOINED = 1.5
"""Features of all kernels and, beside them, those of their weighted sum."""
STORE_UP_TO = 0.6e9
"""Beyond this, reading stored matrices costs as much as making kernel values from shared base numbers."""


def plan_family(n: int, m: int, groups: int, limit: float | str | None = "auto", tol: float = 1e-3) -> Plan:
    """Choose between stored, shared, recomputed and cached for m kernels in `groups` groups on n rows.

    Examples
    --------
    >>> plan_family(455, 403, 62, "4GB").kind, plan_family(20_000, 10, 1, "4GB").kind
    ('stored', 'shared')
    """
    budget = memory_budget(limit)
    one = 4 * n * n
    fine = tol < FINE_TOLERANCE
    double = 2 * one * (m + 1)
    if double <= (budget if fine else min(budget, DOUBLE_UP_TO)):
        return Plan("stored", np.float64, n, double, f"{m} Gram matrices in float64 take {show_bytes(double)}")
    single = one * (m + 1)
    if single <= budget and (single <= STORE_UP_TO or groups == m):
        return Plan("stored", np.float32, n, single, f"{m} Gram matrices in float32 take {show_bytes(single)}")
    shared = one * (groups + 1)
    if groups < m and shared <= budget:
        reason = (
            f"{m} Gram matrices would take {show_bytes(single)}; the {groups} they derive from {show_bytes(shared)}"
        )
        return Plan("shared", np.float32, n, shared, reason)
    if one <= budget:
        reason = f"{m} Gram matrices would take {show_bytes(single)}, so they are recomputed around one sum of them"
        return Plan("recomputed", np.float32, n, one, reason)
    columns = int(budget // (4 * n))
    if columns < min(n, FEWEST_COLUMNS):
        raise MemoryError(
            f"{FEWEST_COLUMNS} kernel columns of {n} rows take {show_bytes(FEWEST_COLUMNS * 4.0 * n)}, more than the "
            f"memory_limit of {show_bytes(budget)}; raise the limit or train on fewer rows."
        )
    reason = f"one Gram matrix would take {show_bytes(one)} of the {show_bytes(budget)} allowed, so columns are cached"
    return Plan("cached", np.float32, columns, columns * 4 * n, reason)


def plan_rank_one(n: int, m: int, limit: float | str | None = "auto") -> Plan | None:
    """Return the plan for m kernels of rank one on n rows, or None where even their vectors do not fit."""
    budget, vectors, gram = memory_budget(limit), 8 * n * m, 8 * n * n
    if vectors > budget:
        return None
    sums = "their weighted sum as a matrix" if vectors + gram <= budget else "columns of their weighted sum on demand"
    size = vectors + gram if vectors + gram <= budget else vectors
    reason = f"{m} kernels of rank one are one vector each, {show_bytes(vectors)}, and {sums}"
    return Plan("rank_one", np.float64, n if size > vectors else 0, size, reason)


def bind_positional(
    kernels: Sequence[Kernel], X: Any, engine: Engine, limit: float | str | None
) -> tuple[Any, Plan] | None:
    """Bind kernels that divide the k-mers of the same rows among themselves; None where they are something else."""
    n = X.shape[0]
    if n <= GRAM_UP_TO or not all(isinstance(kernel, Positional) for kernel in kernels):
        return None
    able = [cast(Positional, kernel) for kernel in kernels]
    prepared = kernels[0].prepare(X)
    cells, shifts = [kernel.cells(prepared.codes.shape[1]) for kernel in able], able[0].shift_weights()
    if not all(np.array_equal(kernel.shift_weights(), shifts) for kernel in able) or not divided(cells):
        return None
    made = PositionalSet(kernels, prepared, engine)
    if made.rows.spelling.bits > PREFIX_BITS:
        return None
    size = index_bytes(n, prepared.codes.shape[1], made.degree, made.rows.spelling) + 8 * n * made.m
    if size > memory_budget(limit):
        raise MemoryError(
            f"The sorted k-mers of {n} sequences and the outputs of {made.m} kernels take {show_bytes(size)}, more "
            f"than the memory_limit of {show_bytes(memory_budget(limit))}; raise the limit or train on fewer rows."
        )
    reason = f"{made.m} kernels share the sorted k-mers of {n} sequences, {show_bytes(size)} with their outputs"
    return made, Plan("positional", np.float64, 0, size, reason)


def bind_features(
    kernels: Sequence[Kernel], X: Any, engine: Engine, limit: float | str | None
) -> tuple[Any, Plan] | None:
    """Bind kernels that all have explicit features, where there are many rows; None where they do not or do not fit."""
    n = X.shape[0]
    able = all(has_codes(kernel) and not isinstance(kernel, Positional) for kernel in kernels)
    if n <= GRAM_UP_TO or not able:
        return None
    try:
        size = JOINED * sum(feature_bytes(kernel, X) for kernel in kernels)
        if size > memory_budget(limit):
            return None
        made = FeatureSet.of(kernels, X, engine)
    except ValueError:  # more features than columns can be numbered, or than a row may have: kernel values can do it
        return None
    return made, Plan("features", np.float64, 0, int(size), f"the features of {made.m} kernels take {show_bytes(size)}")


def bind_family(
    kernels: Sequence[Kernel], X: Any, engine: Engine, limit: float | str | None = "auto", tol: float = 1e-3
) -> tuple[Any, Plan]:
    """Bind kernels to training rows in the representation that fits the memory limit; return the set with its plan."""
    together = bind_positional(kernels, X, engine, limit)
    together = together or bind_features(kernels, X, engine, limit)
    if together is not None:
        return together
    family = Family(kernels)
    prepared = family.prepare(X)
    n = count(prepared)
    simple = plan_rank_one(n, len(family.kernels), limit)
    vectors = None if simple is None else rank_one_vectors(family, prepared, n)
    if simple is not None and vectors is not None:
        return RankOneSet(vectors, engine, stored=simple.columns > 0), simple
    chosen = plan_family(n, len(family.kernels), len(family.bases), limit, tol)
    if chosen.kind == "stored":
        return StoredSet(family, prepared, n, engine, chosen.dtype), chosen
    columns = chosen.columns if chosen.kind == "cached" else None
    return SharedSet(family, prepared, n, engine, chosen.kind == "shared", columns), chosen
