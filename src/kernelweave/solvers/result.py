"""What comes back from a solver: the model, its certificate and how it got there."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kernelweave.solvers.certificate import DualPoint, PrimalPoint, relative_gap

COLUMNS = ("seconds", "primal", "dual", "gap")


@dataclass
class Trace:
    """One line per certified iteration: seconds since the start, best primal, best dual, relative gap.

    A solver may add columns of its own; a missing value is NaN.
    """

    columns: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in COLUMNS})

    def add(self, **values: float) -> None:
        """Append a line."""
        length = len(self.columns["seconds"])
        for name, value in values.items():
            if name not in self.columns:
                self.columns[name] = [np.nan] * length
            self.columns[name].append(float(value))
        for column in self.columns.values():
            column.extend([np.nan] * (length + 1 - len(column)))

    def __getitem__(self, name: str) -> np.ndarray:
        return np.asarray(self.columns[name])

    def __len__(self) -> int:
        return len(self.columns["seconds"])

    def __repr__(self) -> str:
        return f"Trace({len(self)} lines: {', '.join(self.columns)})"


@dataclass(frozen=True)
class Result:
    """The best primal point, the dual point that certifies it, the history, and what ended it.

    A run ends by "tol", "limit" (of iterations), "effort" (its other limit), "stalled" (nothing moved any more) or
    "interrupted".
    """

    primal: PrimalPoint
    dual: DualPoint | None
    trace: Trace
    n_iter: int
    converged: bool
    ended: str = "limit"

    @property
    def interrupted(self) -> bool:
        """Whether a user or a callback ended it."""
        return self.ended == "interrupted"

    @property
    def gap(self) -> float:
        """Relative duality gap between the two points."""
        return relative_gap(self.primal.value, self.dual.value if self.dual is not None else -np.inf)
