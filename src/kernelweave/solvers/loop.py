"""The one loop that drives every solver: clock, history, tolerance, progress, early stop."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from kernelweave.solvers.certificate import Ledger, PrimalPoint
from kernelweave.solvers.checkpoint import Checkpoint, Saved, plain_ledger, plain_trace, restore_ledger
from kernelweave.solvers.result import Result, Trace
from kernelweave.solvers.stall import Stall
from kernelweave.solvers.state import plain

INNER_ITERATIONS = 2000
"""Most iterations of one SVM inside another solver: it goes on from where it ended when it is asked for again."""
SHOWN = {"rows": "rows", "columns": "columns", "train_error": "training error", "validation_error": "held-out error"}
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


@dataclass(frozen=True)
class Progress:
    """What a monitor gets after each iteration; `extra` are the further columns of the trace, such as errors, and
    `result` returns what the run would end with here.

    Where a run goes on from a checkpoint, or is found finished in it, the monitor gets its last iteration first, with
    `resumed` set.
    """

    iteration: int
    seconds: float
    primal: float
    dual: float
    gap: float
    extra: Mapping[str, float] = field(default_factory=dict)
    resumed: bool = False
    result: Callable[[], Result] | None = field(default=None, repr=False, compare=False)

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

    It declares its `limits`, and counts as `spent` the effort of solvers inside of it.  One that can go on after it was
    stopped also has `state` and `resume` (`state.Resumable`); others start anew from the best point of a checkpoint.
    """

    def init(self, problem: Any, start: Any, stop: Stop) -> None:
        """Set up the state; `start` is a former solution to begin from, or None."""

    def step(self) -> None:
        """Do one iteration."""

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer the best points at hand to the ledger; return extra columns for the trace."""

    def fallback(self) -> PrimalPoint:
        """Return a valid, if poor, point for a run that is stopped before its first certificate."""


def run(
    solver: Solver,
    problem: Any,
    stop: Stop,
    monitor: Monitor | None = None,
    start: Any = None,
    checkpoint: Checkpoint | None = None,
    begun: Callable[[Any], None] | None = None,
) -> Result:
    """Drive a solver until the gap is reached, a limit is hit, nothing moves, the monitor stops it, or Ctrl-C.

    An interrupted run returns the best point so far.  With a checkpoint, a run goes on from where it was written down,
    and one that is finished there is not run again.  `begun` is called with the solver before its first iteration.
    """
    course = Course(solver, problem, stop, monitor)
    saved = None if checkpoint is None else checkpoint.begin(course.stop)
    ended = "limit"
    try:
        if saved is not None and course.restore(saved, start):
            return saved.result
        if saved is None:
            solver.init(problem, start, course.stop)
        if begun is not None:
            begun(solver)
        while course.iteration < course.stop.max_iter and not course.over:
            course.within = True
            found = course.iterate()
            if found is not None:
                ended = found
                break
            if checkpoint is not None:
                checkpoint.keep(course.stop, course.entry)
    except KeyboardInterrupt:
        ended = "interrupted"
    result = course.result(ended)
    if checkpoint is not None:
        course.write_down(checkpoint, result)
    return result


class Course:
    """The way of one run: ledger, trace, iterations, what stalls, and all of it as an entry of a checkpoint."""

    def __init__(self, solver: Solver, problem: Any, stop: Stop, monitor: Monitor | None):
        self.solver, self.problem, self.monitor, self.limits = solver, problem, monitor, limits_of(solver)
        self.stop = stop if stop.max_iter >= 0 else replace(stop, max_iter=self.limits.most(_rows(problem)))
        self.ledger, self.trace, self.iteration = Ledger(problem.smallest_scale), Trace(), 0
        self.stall, self.idle = Stall(self.limits.patience), Stall(self.limits.idle or sys.maxsize)
        self.began, self.within = time.perf_counter(), True

    @property
    def over(self) -> bool:
        """Whether the solver has ended the run by a rule of its own."""
        return bool(getattr(self.solver, "ended", False))

    @property
    def values(self) -> tuple[float, float]:
        """The best primal and dual objective."""
        primal, dual = self.ledger.primal, self.ledger.dual
        return primal.value if primal else math.inf, dual.value if dual else -math.inf

    def iterate(self) -> str | None:
        """Do one iteration; return what has ended the run, if anything."""
        self.solver.step()
        self.iteration += 1
        extra = self.solver.certify(self.ledger)
        seconds, (primal, dual), gap = time.perf_counter() - self.began, self.values, self.ledger.gap
        self.trace.add(seconds=seconds, primal=primal, dual=dual, gap=gap, **extra)
        self.within = False
        here = partial(self.result, "interrupted")
        told = Progress(self.iteration, seconds, primal, dual, gap, extra, result=here)
        asked = self.monitor(told) if self.monitor else None
        if gap <= self.stop.tol or asked:
            return "tol" if gap <= self.stop.tol else "interrupted"
        spent = int(getattr(self.solver, "spent", 0))
        if self.stall.stalled(self.iteration, primal, dual) or self.idle.stalled(spent, primal, dual):
            return "stalled"
        return "effort" if self.limits.inside and spent >= self.limits.inside else None

    def result(self, ended: str) -> Result:
        """Return the best points and how they were found."""
        primal = self.ledger.primal or self.solver.fallback()
        return Result(primal, self.ledger.dual, self.trace, self.iteration, self.ledger.gap <= self.stop.tol, ended)

    def entry(self, copied: bool = False, result: Result | None = None) -> dict[str, Any] | None:
        """Return the run as an entry of a checkpoint; None while there is no point, or no state, to go on from."""
        resumable = hasattr(self.solver, "resume")
        state = self.solver.state() if resumable else None  # type: ignore[attr-defined]
        point = self.ledger.primal if result is None else result.primal
        if point is None or (result is None and state is None and resumable):
            return None
        stalls = [[stall.at, stall.primal, stall.dual] for stall in (self.stall, self.idle)]
        loop = {
            "iteration": self.iteration, "seconds": time.perf_counter() - self.began, "stalls": stalls,
            "ledger": plain_ledger(self.ledger), "trace": plain_trace(self.trace),
        }  # fmt: skip
        return {
            "ended": None if result is None else result.ended, "primal": plain(point), "gap": self.ledger.gap,
            "loop": loop, "state": plain(state, copied), "lasting": bool(getattr(self.solver, "lasting", False)),
        }  # fmt: skip

    def write_down(self, checkpoint: Checkpoint, result: Result) -> None:
        """Write the end of a run, or where it was when it was stopped."""
        if result.interrupted and self.within:
            checkpoint.interrupted()
            return
        entry = self.entry(result=result)
        assert entry is not None
        if result.interrupted and entry["state"] is None and checkpoint.resumable:
            checkpoint.interrupted()
            return
        checkpoint.end(self.stop, entry, result.interrupted and not self.over)

    def restore(self, saved: Saved, start: Any) -> bool:
        """Go to where a run was; return whether it is finished."""
        found = saved.result
        if saved.finished and saved.state is None:
            self._tell(found)
            return True
        start = self.problem.restart(found.primal, found.dual) if saved.start else start
        self.solver.init(self.problem, start, self.stop)
        if saved.state is not None:
            self._resume(saved.state)
        if saved.start:
            self.iteration, self.trace = found.n_iter, found.trace
            self.began -= float(found.trace["seconds"][-1]) if len(found.trace) else 0.0
            self._tell(found)
        if saved.loop is not None:
            self._restore_loop(saved.loop)
        return saved.finished

    def _resume(self, state: Mapping[str, Any]) -> None:
        try:
            self.solver.resume(state)  # type: ignore[attr-defined]
        except (KeyError, AttributeError, IndexError, TypeError, ValueError) as error:
            raise ValueError(
                f"The checkpoint holds a state that does not fit {type(self.solver).__name__} ({error!r}); remove the "
                "file to begin anew."
            ) from error

    def _restore_loop(self, saved: Mapping[str, Any]) -> None:
        restore_ledger(self.ledger, saved["ledger"])
        for stall, known in zip((self.stall, self.idle), saved["stalls"]):
            stall.at, stall.primal, stall.dual = known

    def _tell(self, found: Result) -> None:
        """Let the monitor know where a run goes on; what it answers counts after the next iteration."""
        if self.monitor:
            dual = -math.inf if found.dual is None else found.dual.value
            seconds = float(found.trace["seconds"][-1]) if len(found.trace) else 0.0
            self.monitor(Progress(found.n_iter, seconds, found.primal.value, dual, found.gap, resumed=True))


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
