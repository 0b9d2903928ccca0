"""The one loop that drives every solver: clock, history, tolerance, progress, early stop."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from kernelweave.solvers.certificate import Ledger, PrimalPoint
from kernelweave.solvers.result import Result, Trace

INNER_ITERATIONS = 2000
"""Most iterations of one SVM inside another solver: it goes on from where it ended when it is asked for again."""
PROGRESS = 0.01
"""Share of the gap, or of either objective, that must be gained for a run to count as moving."""
SHOWN = {"columns": "columns", "train_error": "training error", "validation_error": "held-out error"}
"""Further columns of a trace that are worth a word while a run goes on, and their names."""


@dataclass(frozen=True)
class Stop:
    """When to stop: at a relative gap, or after so many iterations (-1: the limit of the solver's own).

    `polish` asks for the best certificate: the best multiple of the classifier, and numbers in double precision.  The
    solves inside of another solver do without.
    """

    tol: float = 1e-3
    max_iter: int = -1
    polish: bool = True


@dataclass(frozen=True)
class Limits:
    """When a solver gives up by itself; a run counts iterations, never seconds, so that results do not depend on them.

    iterations : most iterations, where the user sets no limit
    rows : one more iteration for every so many rows; 0 for none
    inside : most effort of solvers inside, or passes that make features afresh, in all; 0 for no limit
    idle : such effort without progress after which a run has stalled; 0 for any
    effort : what an iteration counts where this solver is inside of another
    patience : iterations without progress after which a run has stalled; later as many as led to the last progress
    instead : solvers that may do where this one gives up, best first
    """

    iterations: int = 10_000
    rows: int = 0
    inside: int = 0
    idle: int = 0
    effort: int = 1
    patience: int = 1000
    instead: tuple[str, ...] = ()

    def most(self, n: int) -> int:
        """Return the most iterations on n rows.

        >>> Limits(500, rows=10).most(1000)
        600
        """
        return self.iterations + (n // self.rows if self.rows else 0)

    def words(self) -> str:
        """Return the most iterations in words.

        >>> Limits(500, rows=10).words()
        '500 + n / 10'
        """
        return f"{self.iterations}" + (f" + n / {self.rows}" if self.rows else "")


def limits_of(solver: Any) -> Limits:
    """Return the limits that a solver, or its class, declares."""
    limits: Limits = getattr(solver, "limits", Limits())
    return limits


class Stall:
    """Tells whether a run still moves.

    The gap, or one of the objectives, must gain a share of itself within a window of iterations, or of the effort of
    solvers inside.  The window is the patience of the solver, and as long as the way to the last progress where that is
    longer: a run that gets ever slower is let go.
    """

    def __init__(self, patience: int):
        self.patience, self.at = patience, 0
        self.primal, self.dual = math.inf, -math.inf

    def stalled(self, iteration: int, primal: float, dual: float) -> bool:
        """Take note of the best objectives after an iteration; return whether the run has stalled.

        >>> stall = Stall(2)
        >>> [stall.stalled(i + 1, primal, 0.0) for i, primal in enumerate([2.0, 1.0, 1.0, 1.0, 1.0])]
        [False, False, False, False, True]
        """
        if self._moved(primal, dual):
            self.at, self.primal, self.dual = iteration, primal, dual
        return iteration - self.at > max(self.patience, self.at)

    def _moved(self, primal: float, dual: float) -> bool:
        if math.isinf(self.primal) or math.isinf(self.dual):
            return primal < self.primal or dual > self.dual
        down, up = self.primal - primal, dual - self.dual
        gap = self.primal - self.dual
        return down + up > PROGRESS * gap or down > PROGRESS * abs(self.primal) or up > PROGRESS * abs(self.dual)


@dataclass(frozen=True)
class Progress:
    """What a monitor gets after each iteration; `extra` are the further columns of the trace, such as errors."""

    iteration: int
    seconds: float
    primal: float
    dual: float
    gap: float
    extra: Mapping[str, float] = field(default_factory=dict)

    def further(self) -> str:
        """Return what else is known of an iteration, as the end of a line.

        >>> Progress(1, 0.1, 2.0, 1.0, 0.5, {"columns": 8.0, "validation_error": 0.25}).further()
        '  columns 8  held-out error 0.25'
        """
        known = {word: self.extra.get(name, math.nan) for name, word in SHOWN.items()}
        return "".join(f"  {word} {value:.4g}" for word, value in known.items() if not math.isnan(value))


Monitor = Callable[[Progress], Any]
"""Called after each iteration; a true answer stops the run."""


class Solver(Protocol):
    """An algorithm: set up, one iteration, candidates for the certificate.

    It declares its `limits`, and counts as `spent` the effort of solvers inside of it.
    """

    def init(self, problem: Any, start: Any, stop: Stop) -> None:
        """Set up the state; `start` is a former solution to begin from, or None."""

    def step(self) -> None:
        """Do one iteration."""

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer the best points at hand to the ledger; return extra columns for the trace."""

    def fallback(self) -> PrimalPoint:
        """Return a valid, if poor, point for a run that is stopped before its first certificate."""


def run(solver: Solver, problem: Any, stop: Stop, monitor: Monitor | None = None, start: Any = None) -> Result:
    """Drive a solver until the gap is reached, a limit is hit, nothing moves, the monitor stops it, or Ctrl-C.

    An interrupted run returns the best point so far.
    """
    began = time.perf_counter()
    limits = limits_of(solver)
    stop = stop if stop.max_iter >= 0 else replace(stop, max_iter=limits.most(_rows(problem)))
    ledger, trace, iteration, ended = Ledger(problem.smallest_scale), Trace(), 0, "limit"
    stall, idle = Stall(limits.patience), Stall(limits.idle or sys.maxsize)
    try:
        solver.init(problem, start, stop)
        while iteration < stop.max_iter:
            solver.step()
            iteration += 1
            extra = solver.certify(ledger)
            seconds = time.perf_counter() - began
            primal = ledger.primal.value if ledger.primal else math.inf
            dual = ledger.dual.value if ledger.dual else -math.inf
            trace.add(seconds=seconds, primal=primal, dual=dual, gap=ledger.gap, **extra)
            asked = monitor(Progress(iteration, seconds, primal, dual, ledger.gap, extra)) if monitor else None
            if ledger.gap <= stop.tol or asked:
                ended = "tol" if ledger.gap <= stop.tol else "interrupted"
                break
            spent = int(getattr(solver, "spent", 0))
            if stall.stalled(iteration, primal, dual) or idle.stalled(spent, primal, dual):
                ended = "stalled"
                break
            if limits.inside and spent >= limits.inside:
                ended = "effort"
                break
    except KeyboardInterrupt:
        ended = "interrupted"
    primal_point = ledger.primal or solver.fallback()
    return Result(primal_point, ledger.dual, trace, iteration, ledger.gap <= stop.tol, ended)


def _rows(problem: Any) -> int:
    """Return the number of rows of a problem of any kind."""
    held = getattr(problem, "operator", None) or getattr(problem, "operators", None)
    return len(problem.y) if held is None else int(held.n)


def run_inside(solver: Solver, problem: Any, stop: Stop, start: Any = None) -> Result:
    """Drive a solver that is a part of another one: Ctrl-C goes on to the outer run, which keeps its best point."""
    own = limits_of(solver).most(_rows(problem))
    result = run(solver, problem, replace(stop, max_iter=min(stop.max_iter, own)), start=start)
    if result.interrupted:
        raise KeyboardInterrupt
    return result
