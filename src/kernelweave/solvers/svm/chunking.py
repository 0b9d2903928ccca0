"""Decomposition with large working sets: for Gram matrices that do not fit, and fast on those that do.

Solves the box-constrained dual of `problems.Problem` (Joachims, 1999; paper Algorithm 3 with a kernel in the place of
the sparse normal vector).  One `step`:

    1. choose Q rows: half of them kept, half new, those that violate the optimality conditions most in each direction;
    2. solve the quadratic programme of those rows, all others fixed, by pair steps on their Q x Q matrix in cache, of
       which the part of the rows that were kept is there already;
    3. carry the change over to all outputs: F += K[:, W] delta   (`Operator.add_to`).

Where products go through a normal vector (linadd), a step costs in proportion to the rows it looks up.  Working sets of
many rows are then chosen first, and the Q rows of a step among these:

    W      rows that move: those that violate the conditions most, those near to it, and the free variables; at first
           few rows, evenly spread, and more each time
    inner  solve the problem of W by steps as above, all other rows fixed where they are
    F      compute all outputs afresh, in one product; certify

So the rows beyond W, and those that rest at a bound, cost nothing until W is solved (shrinking, begun from below).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kernelweave.operators.base import Blocks, Linadd, Operator, product
from kernelweave.solvers.certificate import DualPoint, Ledger, PrimalPoint
from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.problems import Array, Problem, dot
from kernelweave.solvers.svm.box import BoxSolver
from kernelweave.solvers.svm.face import follow_face

CHUNK, CHUNK_ROWS, LARGEST_CHUNK = 512, 50_000, 4096
"""Default Q of up to so many rows; with four times the rows it doubles: a step then costs more to carry over to all
outputs, and larger programmes take fewer steps.  No default is larger than the last."""
INNER_ACCURACY = 0.1
"""The inner problem is solved to this fraction of the outer violation."""
INNER_STEPS = 100
"""Most inner steps per row of the working set."""
KEPT = 0.5
"""Share of the former working set that stays for another round."""

SHRINK_FROM, EVERY = 4000, 8
"""Rows from which on shrinking pays, and how many steps lie between two looks at what can be left out."""
FIRST_ROWS, FIRST_SHARE, WIDER = 4096, 32, 4.0
"""Rows of the first W: at least so many, one of so many; and how many times larger each further one may be."""
NARROW = 0.6
"""Rows are left out when fewer than this share remain."""
ROOM = 1.5
"""W has so many rows for each one that moves: the nearest to moving come next."""
CLOSER, MOST_INNER_STEPS = 0.1, 16
"""W is solved until its violation is this share of the present one, or for so many times as many steps as it has Qs."""
VISITS = 0.5
"""All free variables are moved together when working sets have brought so many new rows for each of them."""

NOT_URGENT = float(np.finfo(float).min)
"""Of a row that cannot move; still above a row that is already chosen, so that none is chosen twice."""


class Chunking(BoxSolver):
    """Working sets of many rows, solved one after the other, for losses whose dual is a quadratic programme in a box.

    Parameters
    ----------
    chunk_size : Q, at least 2; None to choose it by the number of rows
    shrinking : leave out rows that rest at a bound, where that saves work
    """

    known: Array | None = None
    """Outputs of the alpha to start from, where they are at hand."""

    keeps = "rows steps goal widest visited"
    limits = Limits(2000, rows=20, patience=300, instead=("newton", "dual_coordinate", "smo"))

    def __init__(self, chunk_size: int | None = None, shrinking: bool = True):
        whole = isinstance(chunk_size, int | np.integer) and not isinstance(chunk_size, bool)
        if chunk_size is not None and (not whole or chunk_size < 2):
            raise ValueError(f"chunk_size={chunk_size!r} must be an integer of at least 2: a step moves two rows.")
        self.chunk_size, self.shrinking = chunk_size, shrinking

    def init(self, problem: Problem, start: Array | None, stop: Stop) -> None:
        """Start without a former working set."""
        super().init(problem, start, stop)
        self.rows, self.values = np.empty(0, dtype=np.int64), np.empty((0, 0))
        self.part: tuple[Array, Chunking] | None = None
        self.visited = 0
        self.steps, self.widest = 0, first_rows(problem.operator.n)
        self.can_narrow = self.shrinking and isinstance(problem.operator, Linadd) and problem.operator.n >= SHRINK_FROM

    def outputs(self, alpha: Array) -> Array:
        """Return ``K alpha``, or what is known of it."""
        return super().outputs(alpha) if self.known is None else self.known.copy()

    def state(self) -> dict[str, Any]:
        """Return what is kept, and the same of the rows that are not left out."""
        part = None if self.part is None else {"rows": self.part[0], "state": self.part[1].state()}
        return {**(super().state() or {}), "part": part}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on, among the rows that are not left out where there are some."""
        super().resume({name: value for name, value in state.items() if name != "part"})
        part = state["part"]
        self.part = None if part is None else (part["rows"], self._narrowed(part["rows"]))
        if self.part is not None:
            self.part[1].resume(part["state"])

    def step(self) -> None:
        """Choose rows, solve their programme, update all outputs; or do so among the rows that are not left out."""
        gains = self.gains() if self.part is None else None
        if gains is not None and self.can_narrow and self.steps % EVERY == 0:
            self._narrow(gains)
        self.steps += 1
        if self.part is not None:
            self._step_inside(*self.part)
            return
        assert gains is not None
        violation = self.violation(gains)
        former, self.rows = self.rows, self._choose(gains)
        K = self._matrix(former)
        v = np.ascontiguousarray(self.v[:, self.rows])
        local = np.ascontiguousarray(gains[:, self.rows])
        self.solve_inner(K, self.rows, v, local, INNER_ACCURACY * violation, INNER_STEPS * len(self.rows))
        self.move(self.rows, v)
        if isinstance(self.problem.operator, Linadd):
            self._follow_face()

    def _follow_face(self) -> None:
        """Move all free variables together, once working sets have had the time to visit them."""
        self.visited += len(self.rows) - self._staying(len(self.rows), len(self.rows))
        free = np.count_nonzero((self.v > self.box.low) & (self.v < self.box.high))
        if free > len(self.rows) and self.visited >= VISITS * free:
            self.visited = 0
            follow_face(self)

    def exchange(self, operator: Operator, outputs: Array | None) -> None:
        """Go on from the same alpha with another kernel; `outputs` are its ``K alpha``, where they are at hand."""
        if self.part is not None:
            self._widen(*self.part)
        self.problem, self.values = replace(self.problem, operator=operator), np.empty((0, 0))
        self.F = product(operator, self.alpha) if outputs is None else outputs
        self.diag, self.visited = operator.diag(), operator.n

    def fallback(self) -> PrimalPoint:
        """Return the current point, with what the rows that are not left out have reached."""
        if self.part is not None:
            self._widen(*self.part)
        return super().fallback()

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer the point at hand; while rows are left out, the dual objective that the others have reached."""
        at_work = float(self.problem.operator.n if self.part is None else len(self.part[0]))
        if ledger.primal is None or self.part is None:
            super().certify(ledger)
        if self.part is not None:
            alpha, energy = self._inside(*self.part)
            ledger.offer(dual=DualPoint(alpha, self.problem.dual(alpha, energy)))
        return {"rows": at_work}

    def _narrow(self, gains: Array) -> None:
        """Choose the rows to work on for a while; nothing changes where these are most."""
        n = self.problem.operator.n
        rows = rows_at_work(self, gains, self.widest)
        if len(rows) < n:
            self.part, self.steps = (rows, self._narrowed(rows)), 0
            self.goal, self.widest = CLOSER * self.violation(gains), int(WIDER * self.widest)

    def _narrowed(self, rows: Array) -> Chunking:
        """Return a solver of the problem of some rows, all others fixed where they are."""
        problem, alpha, operator = self.problem, self.alpha, self.problem.operator
        assert isinstance(operator, Linadd)
        others = float(alpha.sum() - alpha[rows].sum())
        few = replace(
            problem, operator=operator.narrowed(rows), y=problem.y[rows], cost=problem.cost[rows],
            total=problem.total - others,
        )  # fmt: skip
        inner = Chunking(self.chunk_size or default_chunk(len(rows)))
        inner.known = self.F[rows] + problem.shift * others
        inner.init(few, alpha[rows], self.stop)
        return inner

    def _inside(self, rows: Array, inner: Chunking) -> tuple[Array, float]:
        """Return alpha with what some rows have reached, and its energy ``alpha'K alpha``."""
        alpha = self.alpha
        energy, change = dot(alpha, self.F), inner.alpha - alpha[rows]
        alpha[rows] += change
        others = self.problem.shift * float(self.alpha.sum() - self.alpha[rows].sum())
        return alpha, energy + dot(change, self.F[rows] + inner.F - others)

    def _step_inside(self, rows: Array, inner: Chunking) -> None:
        """Work on the rows that are not left out; when they are solved, compute all outputs afresh."""
        inner.step()
        most = MOST_INNER_STEPS * -(-len(rows) // max(1, len(inner.rows)))
        if self.steps >= most or inner.violation(inner.gains()) <= self.goal:
            self._widen(rows, inner)

    def _widen(self, rows: Array, inner: Chunking) -> None:
        """Return to all rows, with what some of them have reached."""
        if inner.part is not None:
            inner._widen(*inner.part)
        before = self.alpha
        self.v[:, rows] = inner.v
        self.part, self.steps = None, 0
        if self.known is None:
            self.F = product(self.problem.operator, self.alpha)
        else:  # some of the outputs come from rows that are fixed, and not among these
            self.F += product(self.problem.operator, self.alpha - before)

    def _matrix(self, former: Array) -> Array:
        """Return the kernel values of the working set; those between rows of the former one are there already."""
        operator, rows = self.problem.operator, self.rows
        kept = self._staying(len(former), len(rows))
        if not (isinstance(operator, Blocks) and len(self.values) == len(former) and 0 < kept < len(rows)):
            self.values = operator.submatrix(rows)
            return self.values
        made = np.empty((len(rows), len(rows)), self.values.dtype)
        made[:kept, :kept] = self.values[len(former) - kept :, len(former) - kept :]
        made[kept:, :kept] = operator.block(rows[kept:], rows[:kept])
        made[:kept, kept:] = made[kept:, :kept].T
        made[kept:, kept:] = operator.submatrix(rows[kept:])
        self.values = made
        return made

    def _staying(self, former: int, q: int) -> int:
        """Return how many rows of a former working set stay in the next one, in front."""
        return 0 if q == self.problem.operator.n else min(int(KEPT * q), q - 2, former)

    def _choose(self, gains: Array) -> Array:
        """Return the rows to work on: with them, always, the variables that violate the conditions most."""
        n = self.problem.operator.n
        q = min(self.chunk_size or default_chunk(n), n)
        if q == n:
            return np.arange(n)
        rows = self.rows[len(self.rows) - self._staying(len(self.rows), q) :]
        grow = np.max(gains, axis=0, where=self.v < self.box.high, initial=NOT_URGENT)
        fall = np.max(-gains, axis=0, where=self.v > self.box.low, initial=NOT_URGENT)
        if not self.problem.free:
            return _add_best(rows, np.maximum(grow, fall), q)
        # A step moves two variables in opposite directions: both kinds must be there.
        return _add_best(_add_best(rows, grow, (len(rows) + q) // 2), fall, q)


def default_chunk(n: int) -> int:
    """Return Q for so many rows.

    >>> default_chunk(1000), default_chunk(100_000), default_chunk(1_000_000)
    (512, 724, 2289)
    """
    return int(min(LARGEST_CHUNK, max(CHUNK, CHUNK * (n / CHUNK_ROWS) ** 0.5)))


def first_rows(n: int) -> int:
    """Return how many of n rows the first W has.

    >>> first_rows(10_000), first_rows(1_000_000)
    (4096, 31250)
    """
    return max(FIRST_ROWS, n // FIRST_SHARE)


def rows_at_work(state: BoxSolver, gains: Array, widest: int) -> Array:
    """Return the rows that violate the conditions or are nearest to it, rising; all rows where these are most.

    `widest` is how many there may be, unless free variables are more.
    """
    n, v, box = state.problem.operator.n, state.v, state.box
    if v.any():
        push = gains - (state.middle(gains) if state.problem.free else 0.0)
        grow = np.max(push, axis=0, where=v < box.high, initial=NOT_URGENT)
        fall = np.max(-push, axis=0, where=v > box.low, initial=NOT_URGENT)
        urgency = np.maximum(grow, fall)
        free = np.count_nonzero(np.any((v > box.low) & (v < box.high), axis=0))
        size = max(min(int(ROOM * np.count_nonzero(urgency > 0.0)), widest), int(ROOM * free))
        rows = np.arange(n) if size >= n else np.sort(np.argpartition(urgency, n - size)[n - size :])
    else:
        rows = evenly_spread(state.problem.y, min(widest, n))
    return rows if len(rows) < NARROW * n else np.arange(n)


def evenly_spread(y: Array, size: int) -> Array:
    """Return so many rows, rising, of all targets alike.

    >>> evenly_spread(np.array([1, 1, 1, 1, -1, 1]), 3)
    array([1, 4, 5])
    """
    return np.sort(np.argsort(y, kind="stable")[np.linspace(0, len(y) - 1, size).astype(np.int64)])


def _add_best(rows: Array, urgency: Array, size: int) -> Array:
    """Return the rows and, up to the given size, the most urgent of the others."""
    urgency[rows] = -np.inf
    first = len(urgency) - (size - len(rows))
    return np.concatenate([rows, np.argpartition(urgency, first)[first:]])
