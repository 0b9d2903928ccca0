"""A sample of the rows, explained once: what places add on average, and what the letters that decide have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelweave.data.kinds import alphabet_of, blocks_of, kind_of
from kernelweave.interpret.explain.explanation import Explanation
from kernelweave.interpret.explain.rows import explain, output_names
from kernelweave.report.html import clipped
from kernelweave.report.subject import NOVELTY, NUMBERS, SEVERAL, Subject, rows_of

Array = np.ndarray
ROWS, FEWER = 1000, 300
"""Rows of a class that are explained: of two classes, and of each of several."""
LETTERS = 300_000
"""Letters of the rows of a class that are explained."""
PAIRS = 3_000_000
"""Pairs of a row and a support row whose kernel values are computed for a class."""
MOST_CLASSES = 4
SEED = 0


@dataclass(frozen=True)
class Group:
    """Explained rows of one class.

    Attributes
    ----------
    name : of the class, or "all rows"
    label : the class, None where there is none
    output : number of the decision value that is meant
    told : what each place adds
    """

    name: str
    label: Any
    output: int
    told: Explanation


def groups_of(s: Subject) -> list[Group]:
    """Explain a sample of each class; for several classes those with most rows, each by its own decision value."""
    if s.task in (NUMBERS, NOVELTY):
        return [Group("all rows", None, 0, _explained(s, np.arange(len(s)), ROWS))]
    sizes = [(int(s.called(label).sum()), label) for label in s.classes[::-1]]
    if s.task == SEVERAL:
        sizes = sorted(sizes, key=lambda pair: -pair[0])[:MOST_CLASSES]
    found = []
    for size, label in sizes:
        if size:
            output = s.classes.index(label) if s.task == SEVERAL else 0
            told = _explained(s, np.flatnonzero(s.called(label)), FEWER if s.task == SEVERAL else ROWS)
            found.append(Group(clipped(label), label, output, told))
    return found


def bounded(X: Any, rows: Array, most: int) -> Array:
    """Return a sample of rows that is not larger than what is explained in a few seconds."""
    n = min(most, len(rows))
    if hasattr(X, "shape") and blocks_of(X) is None and alphabet_of(X) is not None:
        letters = max(kind_of(X).letters(X)[0] / max(X.shape[0], 1), 1.0)
        n = min(n, max(1, int(LETTERS / letters)))
    return np.sort(np.random.default_rng(SEED).choice(rows, n, replace=False))


def _explained(s: Subject, rows: Array, most: int) -> Explanation:
    support = max(len(getattr(s.core, "support_", ())), 1)
    some = bounded(s.X, rows, min(most, max(20, PAIRS // support)))
    return replace(explain(s.model, rows_of(s.X, some)), ids=tuple(s.names[row] for row in some.tolist()))


def outputs_of(s: Subject) -> tuple[str, ...]:
    """Return what each decision value speaks for."""
    return tuple(clipped(name) for name in output_names(s.core))
