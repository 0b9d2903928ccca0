"""The one loop that drives every solver: clock, history, tolerance, progress, early stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kernelweave.solvers.certificate import Ledger, PrimalPoint
from kernelweave.solvers.result import Result, Trace

STALLED = 1000
"""A run whose best points have not changed for so many iterations has met the limits of rounding and ends."""
SHOWN = {"columns": "columns", "train_error": "training error", "validation_error": "held-out error"}
"""Further columns of a trace that are worth a word while a run goes on, and their names."""


@dataclass(frozen=True)
class Stop:
    """When to stop: at a relative gap, or after so many iterations (-1: no limit).

    `polish` asks for the exact optimum of the free variables where that is cheap; inner solves do without.
    """

    tol: float = 1e-3
    max_iter: int = -1
    polish: bool = True


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
    """An algorithm: set up, one iteration, candidates for the certificate."""

    def init(self, problem: Any, start: Any, stop: Stop) -> None:
        """Set up the state; `start` is a former solution to begin from, or None."""

    def step(self) -> None:
        """Do one iteration."""

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer the best points at hand to the ledger; return extra columns for the trace."""

    def fallback(self) -> PrimalPoint:
        """Return a valid, if poor, point for a run that is stopped before its first certificate."""


def run(solver: Solver, problem: Any, stop: Stop, monitor: Monitor | None = None, start: Any = None) -> Result:
    """Drive a solver until the gap is reached, the limit is hit, nothing moves, the monitor stops it, or Ctrl-C.

    An interrupted run returns the best point so far.
    """
    began = time.perf_counter()
    ledger, trace, iteration, interrupted = Ledger(problem.smallest_scale), Trace(), 0, False
    seen, idle = (float("inf"), float("-inf")), 0
    try:
        solver.init(problem, start, stop)
        while iteration != stop.max_iter:
            solver.step()
            iteration += 1
            extra = solver.certify(ledger)
            seconds = time.perf_counter() - began
            primal = ledger.primal.value if ledger.primal else float("inf")
            dual = ledger.dual.value if ledger.dual else float("-inf")
            trace.add(seconds=seconds, primal=primal, dual=dual, gap=ledger.gap, **extra)
            asked = monitor(Progress(iteration, seconds, primal, dual, ledger.gap, extra)) if monitor else None
            if ledger.gap <= stop.tol:
                break
            if asked:
                interrupted = True
                break
            seen, idle = (primal, dual), idle + 1 if (primal, dual) == seen else 0
            if idle == STALLED:
                break
    except KeyboardInterrupt:
        interrupted = True
    primal_point = ledger.primal or solver.fallback()
    return Result(primal_point, ledger.dual, trace, iteration, ledger.gap <= stop.tol, interrupted)


def run_inside(solver: Solver, problem: Any, stop: Stop, start: Any = None) -> Result:
    """Drive a solver that is a part of another one: Ctrl-C goes on to the outer run, which keeps its best point."""
    result = run(solver, problem, stop, start=start)
    if result.interrupted:
        raise KeyboardInterrupt
    return result
