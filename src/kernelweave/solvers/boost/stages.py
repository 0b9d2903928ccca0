"""What column generation gives back: the model, its certificate, and the models of all rounds in little memory."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kernelweave.solvers.boost.masters.restricted import Restricted
from kernelweave.solvers.boost.problem import Array
from kernelweave.solvers.result import Trace
from kernelweave.solvers.state import record


@record
@dataclass(frozen=True)
class Stage:
    """The model of one round: which columns have a coefficient, and which."""

    places: Array
    coef: Array
    intercept: float
    level: float
    objective: float


@record
@dataclass
class Stages:
    """The models of all rounds; columns are numbered in the order in which they entered."""

    rounds: list[Stage] = field(default_factory=list)

    def add(self, found: Restricted) -> None:
        """Keep the model of a round."""
        places = np.flatnonzero(found.coef).astype(np.int32)
        self.rounds.append(Stage(places, found.coef[places], found.intercept, found.level, found.objective))

    def __len__(self) -> int:
        return len(self.rounds)

    def __getitem__(self, number: int) -> Stage:
        return self.rounds[number]


@dataclass(frozen=True)
class BoostResult:
    """A model over kernel columns and what is known of it.

    Parameters
    ----------
    kernels, rows : (columns,) int64, kernel and training row of each column that entered, in that order
    coef : (columns,) coefficients of the round that is kept; many may be zero
    intercept, level : b (for one_class -rho), and rho or e of a nu-form
    u : (n,) prices that prove `bound`
    objective, bound, gap : primal objective of the model, lower bound, their relative difference
    scanned : "all" where the bound holds for the problem over every column, else the number of columns it holds for
    trace : by round seconds, primal, dual, gap, train_error, validation_error, columns (in use), scanned (columns
        scored), made (columns whose kernel values were made), columns_0, columns_1, ... (of a kernel, with coefficient)
    stages : the models of all rounds; `best_round` is the one that is kept
    reason : "TR1" ... "TR4", or "stalled" (rounding), "memory", "interrupted"
    """

    kernels: Array
    rows: Array
    coef: Array
    intercept: float
    level: float
    u: Array
    objective: float
    bound: float
    gap: float
    scanned: str | int
    trace: Trace
    stages: Stages
    best_round: int
    reason: str
    converged: bool

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""
        return len(self.stages)
