"""Working sets over rows of any number (Sonnenburg et al. 2006, Algorithm 4, with a set as large as the support).

Solves `problems.Problem`, or with many kernels `mkl.problem.MKLProblem`, for losses that cost nothing over a whole
range of outputs (hinge, squared hinge, epsilon-insensitive ones), on operators with the ability `Sharded`.

    S = a first sample;  alpha = 0
    repeat
        master       solve the problem of S in memory, from the former alpha, to a tenth of the gap
        every part   f = linadd(support rows, part);  return the sum of c_i loss_i and the rows with the largest shares
        gap          sum of all losses + 1/2 alpha'K alpha - dual: exact for all n rows, one number a part
        S            {alpha != 0} and the largest shares of all parts; enlarged where the gap fell less than twofold

Legend: n rows, S the working set, alpha (n,) signed dual variables, zero outside S, b intercept, c costs.  Any alpha
that is feasible on S is feasible for all rows, and its dual value is the same; the primal value adds the losses of the
rows outside.  So a round certifies what it has found, whatever S was.  Nothing is held outside between two rounds: a
part is a pure function of the model and its rows, so a lost worker costs its parts and a lost master one round.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kernelweave.losses import Loss
from kernelweave.operators.base import Sharded
from kernelweave.solvers.active.pilot import Pilot, pilot_sizes
from kernelweave.solvers.active.working_set import (
    ENLARGED,
    FIRST,
    LEAST_ROOM,
    PILOT,
    RETURNED,
    RETURNED_MORE,
    Targets,
    largest,
    sample,
    shares,
)
from kernelweave.solvers.certificate import DualPoint, Ledger, PrimalPoint
from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.problems import Array

INNER_SHARE, FINEST = 0.02, 0.2
"""The master solves its set to the first share of the outer gap, and never more closely than the second of `tol`."""
PILOT_TOL = 0.1
"""How closely pilot samples are solved."""
TWOFOLD = 0.5
"""A gap that is more than this share of the former one makes the working set grow."""


@dataclass(frozen=True)
class Solved:
    """What the master found on its rows.

    alpha : (rows,) of the classifier
    proof : (rows,) feasible, the dual point; often the same, or a multiple of it
    intercept : b
    weights : (m,) of the kernels; one for a single kernel
    dual : from ``alpha'K alpha`` of the classifier, which the parts tell, to the dual objective of the proof
    """

    alpha: Array
    proof: Array
    intercept: float
    weights: Array
    dual: Callable[[float], float]


class Tried(NamedTuple):
    """A classifier of a pilot sample of so many rows: support rows, their alpha, weights of the kernels, seconds."""

    of: int
    rows: Array
    alpha: Array
    weights: Array
    seconds: float


class Rounds(ABC):
    """The outer loop; a subclass says how the master solves its set.

    Parameters
    ----------
    solver : of the master, "auto" for the fastest
    first : rows of the first sample; None for what a pilot says
    most : most rows of the working set; None for what fits the memory
    random_state : seed of the samples
    """

    limits = Limits(100, patience=12, effort=100)
    coarsest = 0.003  # never is a working set solved more coarsely

    def __init__(self, solver: str = "auto", first: int | None = None, most: int | None = None, random_state: int = 0):
        for name, value in (("first", first), ("most", most)):
            if value is not None and (not isinstance(value, int | np.integer) or value < 2):
                raise ValueError(f"{name}={value!r} must be a number of rows, at least 2, or None.")
        self.solver, self.first, self.most, self.random_state = solver, first, most, random_state

    @abstractmethod
    def _facts(self, problem: Any) -> tuple[Any, Array]:
        """Return the operator, or the operators, and the targets (n,) of a problem."""

    @abstractmethod
    def _solve(self, rows: Array, tol: float) -> Solved:
        """Solve the problem of some rows, starting from `self.proof` there."""

    def init(self, problem: Any, start: Any, stop: Stop) -> None:
        """Find the size of the working set by a pilot, and take a first sample; `start` is a former alpha."""
        operator, y = self._facts(problem)
        if not isinstance(operator, Sharded):
            raise TypeError("solver='active_set' needs rows that are worked through part by part.")
        check_sparse(problem.loss, problem.total)
        self.problem, self.stop, self.operator, self.y = problem, stop, operator, y
        self.n, self.random = operator.n, np.random.default_rng(self.random_state)
        self.told = Targets.of(y, problem.cost)
        self.alpha, self.proof = np.zeros(self.n), np.zeros(self.n)
        self.beta: Array | None = None
        self.round, self.gap, self.former = 0, np.inf, np.inf
        limit = min(self.n, operator.most_rows if self.most is None else self.most)
        self.largest_set = max(limit, 2)
        self.pilot = self._pilot()
        self.capacity = self.pilot.capacity
        first = self.n if self.capacity == self.n else int(FIRST * self.capacity) + 1
        self.rows = sample(y, min(self.largest_set, self.first or first), self.random)
        if start is not None:
            self._begin_from(start)

    def _begin_from(self, start: Any) -> None:
        """Take a former alpha, or a point with it and with weights."""
        self.beta = getattr(start, "beta", None)
        self.proof = np.array(getattr(start, "alpha", start), dtype=np.float64).reshape(-1)
        self.rows = np.union1d(self.rows, np.flatnonzero(self.proof))[: self.largest_set]

    @property
    def warning(self) -> str | None:
        """What the pilot has to say before the first round; None where rounds will do."""
        return self.pilot.warning

    def _pilot(self) -> Pilot:
        """Solve two samples, by which the number of support vectors and the working set are judged."""
        sizes = pilot_sizes(self.n, PILOT)
        self.tried = self.try_sample(sizes[0]), self.try_sample(sizes[1])
        self.beta = None
        (small, large) = self.tried
        return Pilot(
            self.n, self.largest_set, (small.of, large.of), (len(small.rows), len(large.rows)),
            (small.seconds, large.seconds),
        )  # fmt: skip

    def try_sample(self, size: int) -> Tried:
        """Solve a sample of so many rows."""
        rows, began = sample(self.y, size, self.random), time.perf_counter()
        solved = self._solve(rows, PILOT_TOL)
        used = np.flatnonzero(solved.alpha)
        return Tried(len(rows), rows[used], solved.alpha[used], solved.weights, time.perf_counter() - began)

    def step(self) -> None:
        """Solve the working set, let every part score its rows, and choose the next set."""
        every = len(self.rows) == self.n
        coarsest = self.stop.tol / 2 if every else self.coarsest
        tol = float(np.clip(INNER_SHARE * self.gap, FINEST * self.stop.tol, coarsest))
        self.solved = self._solve(self.rows, tol)
        self.alpha[:] = self.proof[:] = 0.0
        self.alpha[self.rows], self.proof[self.rows] = self.solved.alpha, self.solved.proof
        self.support = self.rows[(self.solved.alpha != 0.0) | (self.solved.proof != 0.0)]
        self.found, self.travelled = self._score()
        self.round += 1

    def _score(self) -> tuple[list[tuple], int]:
        """Return what every part says of the classifier, and the bytes that went there and back."""
        wanted = self.capacity - len(self.support)
        parts, jobs = self.operator.parts, []
        for cut in parts:
            low, high = np.searchsorted(self.support, (cut.start, cut.stop))
            places = self.support[low:high]
            jobs.append((*self.told.part(cut), (places - cut.start).astype(np.uint32), self.alpha[places]))
        share = RETURNED * max(wanted, 0) / self.n
        size = int(share * (parts[0].stop - parts[0].start)) + RETURNED_MORE
        fn = partial(shares, self.problem.loss, self.solved.intercept, size)
        answer: tuple[list[tuple], int] = self.operator.scored(
            self.solved.weights, self.support, self.alpha[self.support], fn, jobs
        )
        return answer

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer the classifier and its alpha with both objectives over all rows, and choose the next working set."""
        losses, energy = (float(sum(one[i] for one in self.found)) for i in (0, 1))
        b, problem = self.solved.intercept, self.problem
        primal = 0.5 * energy + losses + (0.5 * b * b if problem.intercept == "regularized" else 0.0)
        self._offer(ledger, primal, self.solved.dual(energy))
        self.former, self.gap = self.gap, ledger.gap
        extra = {
            "working_set": float(len(self.rows)), "support": float(len(self.support)),
            "violators": float(sum(one[2] for one in self.found)), "megabytes": self.travelled / 1e6,
        }  # fmt: skip
        if ledger.gap > self.stop.tol:
            self._choose_rows()
        return extra

    def _offer(self, ledger: Ledger, primal: float, dual: float) -> None:
        """Offer both points."""
        alpha, proof, b = self.alpha.copy(), self.proof.copy(), self.solved.intercept
        if self.beta is None:
            ledger.offer(primal=PrimalPoint(alpha, b, primal), dual=DualPoint(proof, dual))
        else:
            point = PrimalPoint(alpha[None], np.array([b]), primal, self.solved.weights)
            ledger.offer(primal=point, dual=DualPoint(proof[None], dual))

    def _choose_rows(self) -> None:
        """Keep the rows with an alpha, and add those with the largest shares."""
        if self.gap > TWOFOLD * self.former:
            self.capacity = int(ENLARGED * self.capacity)
        self.capacity = min(self.largest_set, max(self.capacity, int(LEAST_ROOM * len(self.support))))
        more = largest(self.found, self.operator.parts, max(0, self.capacity - len(self.support)))
        self.rows = np.union1d(self.support, more)

    def state(self) -> dict[str, Any]:
        """Return what the next round begins with."""
        return {
            "rows": self.rows, "support": self.support, "proof": self.proof[self.support], "round": self.round,
            "gap": float(self.gap), "capacity": self.capacity,
            "beta": np.zeros(0) if self.beta is None else np.asarray(self.beta),
        }  # fmt: skip

    def resume(self, state: dict[str, Any]) -> None:
        """Go on with the next round."""
        self.rows, self.support = np.asarray(state["rows"]), np.asarray(state["support"])
        self.proof[:] = 0.0
        self.proof[self.support] = state["proof"]
        self.round, self.gap, self.capacity = int(state["round"]), float(state["gap"]), int(state["capacity"])
        self.beta = np.asarray(state["beta"]) if len(state["beta"]) else None


def check_sparse(loss: Loss, total: float) -> None:
    """Raise where every row would carry a part of the solution."""
    if total:
        raise ValueError("solver='active_set' is not for novelty detection; use another solver.")
    if not loss.sparse:
        raise ValueError(
            f"solver='active_set' needs a loss that costs nothing beyond a margin, and under {loss.name!r} every row "
            "has a part in the solution; use loss='hinge', 'squared_hinge' or 'epsilon_insensitive'."
        )
