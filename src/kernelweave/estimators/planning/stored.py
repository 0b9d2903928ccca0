"""Stores on disk in estimators: read where a solver needs all rows in memory, scored part by part."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kernelweave.data.kinds import Description, kind_of, matched
from kernelweave.data.stores import Stored, in_memory, is_stored
from kernelweave.engines import Engine, Remote, Serial, Shared
from kernelweave.operators.expansion.base import Expansion
from kernelweave.operators.memory import memory_budget

Array = np.ndarray
Model = tuple[Expansion, Description]
"""What rows are scored with, and what rows it knows."""
REMEDY = 'raise memory_limit, or use solver="active_set", which reads a store part by part'


def loaded(X: Any, memory_limit: float | str) -> Any:
    """Return rows in memory, those of a store where the memory limit allows it."""
    return in_memory(X, memory_budget(memory_limit), REMEDY) if is_stored(X) else X


def memory_left(memory_limit: float | str, used: int) -> float | str:
    """Return a memory limit without bytes that are in use; "auto" sees by itself that there is less to be had."""
    return memory_limit if memory_limit in (None, "auto") or not used else max(1, memory_budget(memory_limit) - used)


def part_by_part(X: Stored, model: Model, engine: Engine, what: str) -> list[Array]:
    """Score a store, and return what its parts give, in their order.

    Where memory is shared, the engine works inside of one part after the other, so that one part is in memory; other
    processes open the store themselves and are sent the model once and the bounds of parts.

    Parameters
    ----------
    X : rows on disk
    model : expansion, and description of the rows that it was trained on
    engine : where to work
    what : "scores" or "contributions" of the expansion
    """
    if not isinstance(engine, Remote):
        return [score_part(model, what, X, engine, part) for part in X.parts]
    return engine.map(partial(_score_shared, engine.share(model), what, X), X.parts)


def score_part(model: Model, what: str, X: Stored, engine: Engine, part: slice) -> Array:
    """Score the rows of one part, checked as rows in memory are."""
    expansion, trained = model
    rows = matched(X.take(part, ids=False), trained)
    kind = kind_of(rows)
    if kind.tabular and rows.dtype.kind != "f":
        rows = rows.astype(np.float64)
    kind.check(rows, f"input, rows {part.start} to {part.stop - 1},")
    return getattr(expansion, what)(rows, engine)


def _score_shared(model: Shared[Model], what: str, X: Stored, part: slice) -> Array:
    return score_part(model.get(), what, X, Serial(), part)
