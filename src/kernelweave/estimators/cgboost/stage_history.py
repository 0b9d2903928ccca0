"""What a boosted model keeps: the columns of its last round, and those of all rounds before in little memory.

A column is a kernel and a training row.  Of the training data a model keeps the rows that have a column in any round
up to the one it stands for; `place` numbers them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kernelweave.operators.expansion.base import Share
from kernelweave.solvers.boost.stages import BoostResult

Array = np.ndarray
COLUMN = np.dtype([("kernel", np.int64), ("example", np.int64), ("coefficient", np.float64), ("output", np.int64)])
"""A line of `columns_`: number of a kernel, training row, coefficient, output (0 unless there are several classes)."""


@dataclass(frozen=True)
class StageHistory:
    """The rounds of one output, up to the one that is kept.

    Parameters
    ----------
    kernels, examples : (columns,) kernel and training row of each column that a round uses
    bounds : (rounds + 1,) where each round begins in `columns` and `coef`
    columns, coef : numbers of the columns with a coefficient, and the coefficients, round after round
    intercept, level : (rounds,)
    """

    kernels: Array
    examples: Array
    bounds: Array
    columns: Array
    coef: Array
    intercept: Array
    level: Array

    def __len__(self) -> int:
        return len(self.intercept)

    def round(self, number: int) -> tuple[Array, Array]:
        """Return columns and coefficients of a round; the last one stands for those that were not done."""
        number = min(number, len(self) - 1)
        part = slice(int(self.bounds[number]), int(self.bounds[number + 1]))
        return self.columns[part], self.coef[part]

    def intercept_at(self, number: int) -> float:
        """Return the intercept of a round."""
        return float(self.intercept[min(number, len(self) - 1)])


def stage_history(result: BoostResult, rows: Array, scale: Array | None = None) -> StageHistory:
    """Return the rounds of a result up to the kept one; `rows` and `scale` are numbers and scale of the pool's rows."""
    rounds = [result.stages[number] for number in range(result.best_round + 1)]
    every = np.concatenate([stage.places for stage in rounds])
    used, numbers = np.unique(every, return_inverse=True)
    factor = 1.0 if scale is None else scale[result.rows[every]]
    return StageHistory(
        result.kernels[used],
        rows[result.rows[used]],
        np.concatenate([[0], np.cumsum([len(stage.places) for stage in rounds])]).astype(np.int64),
        numbers.astype(np.int32),
        np.concatenate([stage.coef for stage in rounds]) * factor,
        np.array([stage.intercept for stage in rounds]),
        np.array([stage.level for stage in rounds]),
    )


def last_columns(histories: Sequence[StageHistory]) -> Array:
    """Return the columns of the kept rounds as records, by output, kernel and example."""
    found = []
    for output, history in enumerate(histories):
        columns, coef = history.round(len(history) - 1)
        part = np.empty(len(columns), COLUMN)
        part["kernel"], part["example"] = history.kernels[columns], history.examples[columns]
        part["coefficient"], part["output"] = coef, output
        found.append(part[np.lexsort((part["example"], part["kernel"]))])
    return np.concatenate(found)


def columns_per_kernel(columns: Array, m: int, outputs: int) -> Array:
    """Return how many columns each kernel has, (m,), or (outputs, m) for several outputs."""
    counts = np.bincount(columns["output"] * m + columns["kernel"], minlength=outputs * m).reshape(outputs, m)
    return counts if outputs > 1 else counts[0]


def support_rows(histories: Iterable[StageHistory]) -> Array:
    """Return the training rows that have a column in any round."""
    return np.unique(np.concatenate([history.examples for history in histories]))


def column_shares(columns: Array, support: Array, outputs: int) -> list[Share]:
    """Return the columns of each kernel as places among the kept rows `support` and coefficients of the outputs."""
    if not np.isin(columns["example"], support).all() or not np.isin(columns["output"], range(outputs)).all():
        raise ValueError("columns_ names rows or outputs that the model does not have")
    shares = []
    for kernel in np.unique(columns["kernel"]):
        mine = columns[columns["kernel"] == kernel]
        examples, place = np.unique(mine["example"], return_inverse=True)
        coef = np.zeros((len(examples), outputs))
        coef[place, mine["output"]] = mine["coefficient"]
        shares.append(Share(int(kernel), np.searchsorted(support, examples), coef))
    return shares


def round_columns(histories: Sequence[StageHistory], numbers: range) -> tuple[Array, Array]:
    """Return the columns of some rounds as if each round of each output were an output, and the intercepts.

    Round i of the numbers and output o is output ``i outputs + o``; intercepts are (rounds, outputs).
    """
    found, intercepts = [], np.empty((len(numbers), len(histories)))
    for place, number in enumerate(numbers):
        for output, history in enumerate(histories):
            columns, coef = history.round(number)
            part = np.empty(len(columns), COLUMN)
            part["kernel"], part["example"] = history.kernels[columns], history.examples[columns]
            part["coefficient"], part["output"] = coef, place * len(histories) + output
            found.append(part)
            intercepts[place, output] = history.intercept_at(number)
    return np.concatenate(found), intercepts
