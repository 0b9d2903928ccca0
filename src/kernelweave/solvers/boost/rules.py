"""How column generation proceeds and when it ends.

Rules (`TERMINATIONS`) can be combined: the first that holds ends the run, and an optimum always does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kernelweave.solvers.boost.pricing import STRATEGIES
from kernelweave.solvers.boost.problem import Array, BoostProblem

TERMINATIONS = {
    "TR1": "no row with a loss has a column that would help",
    "TR2": "no row at all has one: optimal, to the relative gap `tol` over all columns (default)",
    "TR3": "the error on validation rows has not improved for `patience` rounds; the best round is kept",
    "TR4": "`max_iter` rounds are done",
}
"""The rules that end a fit."""
COARSE_GROWTH, COARSE_FIRST = {"l1": 0.2, "l2": 30.0}, {"l1": 10, "l2": 100}
"""Columns that enter in a round on the way to the optimum (TR2 alone): this share of those in use, at least so many.
The optimum of the 2-norm uses nearly all columns, so that small steps would be wasted."""
FINE_GROWTH, FINE_FIRST = {"l1": 0.15, "l2": 0.2}, {"l1": 8, "l2": 20}
"""The same under other rules, where the rounds are models to choose from."""
PATIENCE, PATIENCE_OTHERWISE = {"l1": 5, "l2": 4}, 10
"""Rounds of patience where rounds grow so (more than twice the columns meanwhile), and where they do not."""
ALL_UP_TO, DRAWN = 4e9, 4096
"""Kernel values up to which a round may look at all rows, and the rows drawn beyond that."""


class NewRows(Protocol):
    """Columns on validation rows (`operators.columns_pool.NewColumns`)."""

    n: int

    def columns(self, kernel: int, rows: Array) -> Array:
        """Return ``K_p(new rows, x_rows)``, (n, len(rows))."""


@dataclass(frozen=True)
class Validation:
    """Rows that were kept from training: their columns, and the error of a model's outputs on them."""

    rows: NewRows
    error: Callable[[Array], float]


@dataclass(frozen=True)
class Rules:
    """How a run proceeds and when it ends.

    Parameters
    ----------
    termination : some of "TR1", "TR2", "TR3", "TR4"
    strategy : "stratified", "regular", "paper" (see `pricing`), or "auto": regular where the run goes to the optimum,
        which does not depend on it, and scores are quick; else stratified, which also favours the first kernels
    columns_per_round : a number, or "auto" for a number that grows with the columns in use ("paper": for one)
    candidates : rows looked at in a round; None for all; "auto" for all with "paper" and where that is cheap, else a
        number of them.
        Where not all are looked at, TR2 and its bound hold for the columns seen in the last round; a scan of all
        follows only where it is cheap.
    tol : relative gap of TR2
    max_rounds : rounds of TR4; without TR4, a run that reaches them has not converged.  -1 for no limit
    patience : rounds without a better validation error before TR3 ends the run; "auto" for 5 (1-norm) or 4 (2-norm), or
        for 10 where rounds do not grow
    seed : of the draws

    Examples
    --------
    >>> Rules(termination=("TR3", "TR4"), max_rounds=500).drawn(n=500_000, m=3)
    4096
    """

    termination: tuple[str, ...] = ("TR2",)
    strategy: str = "stratified"
    columns_per_round: int | str = "auto"
    candidates: int | str | None = "auto"
    tol: float = 1e-3
    max_rounds: int = -1
    patience: int | str = "auto"
    seed: int = 0

    def __post_init__(self) -> None:
        unknown = [rule for rule in self.termination if rule not in TERMINATIONS]
        if unknown or not self.termination or isinstance(self.termination, str):
            raise ValueError(f"termination must name some of {', '.join(TERMINATIONS)}, not {self.termination!r}.")
        if self.strategy not in ("auto", *STRATEGIES):
            raise ValueError(f"strategy must be one of auto, {', '.join(STRATEGIES)}, not {self.strategy!r}.")
        if "TR4" in self.termination and self.max_rounds < 1:
            raise ValueError("TR4 ends a run after max_rounds rounds; give max_rounds a positive number.")
        for name in ("columns_per_round", "candidates", "patience"):
            value = getattr(self, name)
            if value not in ("auto", None) and not (isinstance(value, int) and value >= 1):
                raise ValueError(f"{name} must be a positive number, not {value!r}.")

    def way(self, quick: bool) -> str:
        """Return the strategy, given whether columns are scored without making kernel values."""
        if self.strategy == "auto":
            return "regular" if quick and self.termination == ("TR2",) else "stratified"
        return self.strategy

    def drawn(self, n: int, m: int, quick: bool = False) -> int | None:
        """Return the rows to look at in a round, or None for all."""
        if self.candidates == "auto":
            return None if quick or self.strategy == "paper" or float(n) * n * m <= ALL_UP_TO else DRAWN
        return None if self.candidates is None else int(self.candidates)

    @property
    def grows(self) -> bool:
        """Whether the more columns enter in a round, the more are in use."""
        return self.columns_per_round == "auto" and self.strategy != "paper"

    def waits(self, penalty: str) -> int:
        """Return the rounds without a better validation error that end a run."""
        if self.patience == "auto":
            return PATIENCE[penalty] if self.grows else PATIENCE_OTHERWISE
        return int(self.patience)

    def many_rounds(self, problem: BoostProblem) -> bool:
        """Return whether columns enter in many rounds: towards the optimum of the 2-norm alone it is about three."""
        return problem.penalty == "l1" or self.termination != ("TR2",) or not self.grows

    def most(self, problem: BoostProblem, used: int) -> int:
        """Return how many columns may enter in a round."""
        if self.columns_per_round == "auto" and not self.grows:
            return 1
        if self.columns_per_round == "auto":
            first, growth = (COARSE_FIRST, COARSE_GROWTH) if self.termination == ("TR2",) else (FINE_FIRST, FINE_GROWTH)
            return max(first[problem.penalty], int(growth[problem.penalty] * used))
        return int(self.columns_per_round)
