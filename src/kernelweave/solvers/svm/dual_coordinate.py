"""Dual coordinate descent on explicit features (Hsieh et al. 2008; Allauzen, Cortes and Mohri, Algorithm 2).

Solves the separable dual of `problems.Problem` for operators whose rows have explicit features.  The normal
vector ``w = sum_i alpha_i Phi(x_i)`` is kept, so a step along row i costs what the row's features cost:

    f_i = <w, Phi(x_i)> + b;   move v_i to its best value in the box;   w += (change of alpha_i) Phi(x_i)

The best value is a quotient, clipped to the box, for piecewise linear and quadratic losses, and found by Newton's
method in one variable for logistic ones (Yu, Huang and Lin 2011).

One `step` of the solver is a pass over the active rows in random order.  Rows that rest at a bound and push against it
are left out (shrinking); once they are most of the rows, the rest get a normal vector of their own, which is small
enough for the caches.  A certificate looks at all rows again and calls back those that were left out wrongly.

Intercept: a regularised one is a constant feature.  A free one asks for ``sum alpha = e``, which single steps cannot
hold; it is reached by the method of multipliers, the proximal search over b: with ``b = b_0 + rho (sum alpha - e)``
inside a pass and ``b_0 <- b`` after it.  For the certificate alpha is balanced, so it is exactly feasible.

Where features are few, rows cannot but undo one another's steps, and passes may be very many.  Once they have cost a
good part of what the interior-point method would (`interior`), that one ends the fit: whatever the rows, a run takes
little more than the better of the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from kernelweave.losses import BoxQP
from kernelweave.operators.base import (
    DESCENT_STORES,
    Automaton,
    Descent,
    DescentState,
    Factored,
    PrimalOperator,
    StringFeatures,
)
from kernelweave.solvers.certificate import Ledger, PrimalPoint, certify
from kernelweave.solvers.cost import interior_seconds
from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.problems import Array, Problem, dot
from kernelweave.solvers.state import Resumable
from kernelweave.solvers.svm.box import balance
from kernelweave.solvers.svm.interior import InteriorPoint

SINGLE_FROM = 1e-5
"""Tolerance from which on single precision is enough for the normal vector; certificates are in double."""
COMPACT = 0.5
"""The active rows get a normal vector of their own when they are fewer than this share of those that have one."""
SMALL = 512
"""Fewer rows than this are not worth another normal vector."""
SLACK = 4.0
"""A row is left out when it pushes against its bound by more than the worst violation of a free one, and by more than
so many times what the intercept still moves in a pass."""
AHEAD = 2.0
"""A certificate is due once the gap of the active rows, as seen in passing, is within this many tolerances: it falls
while the pass goes on, and a multiple of the classifier does better still."""
FEWEST_PASSES, MOST_PASSES = 3, 30
"""Fewest and most passes between two certificates: one costs about two passes."""
EARLY, SELDOM = 10, 3
"""After so many passes since the last certificate, only every third one is looked at: little changes between two."""
PULL = 0.1
"""rho, as a share of what a step along a row meets already: more couples the rows, less takes passes to balance.
It is never so small that b would take many passes across the range of the targets with every row at its bound."""
PER_FEATURE, ENOUGH = 2e-9, 0.25
"""Seconds of a step for each feature of its row, and the share of the seconds of the interior-point method that passes
may take before that method ends the fit."""
STEADY, PATIENCE = 0.9, 3
"""So many certificates that each leave more than this share of the gap mean that single precision is exhausted."""
ORDERS = ("permuted", "sequential")


class Warm(NamedTuple):
    """Where a descent begins that knows more than the variables.

    alpha (n,), the intercept; the rows that can move and the operator on them, or None for all rows
    """

    alpha: Array
    intercept: float
    rows: Array | None = None
    operator: Any = None


class DualCoordinate(Resumable):
    """Coordinate descent on the dual: one exact step a row along its explicit features, in passes over the rows.

    Parameters
    ----------
    order : "permuted" visits the rows in a new random order in each pass, "sequential" as they are, which takes several
        times as many passes, and with a free intercept may take very many
    shrinking : leave out rows that rest at a bound
    store : "indexed" keeps the normal vector as a flat array over numbered features.  Kernels whose features are
        strings (n-grams, rational kernels) can keep it as an automaton too: "trie", "minimal" or "naive"; the
        classifier is the same, the time is not
    random_state : seed of the order
    """

    keeps = "v b pull random passes due swept seen idle losses rows active drift visited"
    limits = Limits(10_000, patience=500, instead=("newton", "chunking"))
    local_state: DescentState
    local: Descent
    full: Any
    rows: Array
    active: Array
    finisher: InteriorPoint | None = None
    """The method that ends the fit, once passes have turned out to be too many."""

    def __init__(self, order: str = "permuted", shrinking: bool = True, store: str = "indexed", random_state: int = 0):
        if order not in ORDERS:
            raise ValueError(f"order={order!r} must be one of {', '.join(ORDERS)}.")
        if store not in DESCENT_STORES:
            raise ValueError(f"store={store!r} must be one of {', '.join(DESCENT_STORES)}.")
        self.order, self.shrinking, self.store, self.random_state = order, shrinking, store, random_state

    def init(self, problem: Problem, start: Array | Warm | None, stop: Stop) -> None:
        """Start from `start` (alpha, clipped into the box) or from zero."""
        warm = start if isinstance(start, Warm) else None
        alpha = start.alpha if isinstance(start, Warm) else start
        box = problem.loss.separable(problem.y, problem.cost)
        if box is None:
            raise TypeError(f"{problem.loss.name} loss has no separable dual; use solver='newton'.")
        if self.store == "indexed" and not isinstance(problem.operator, PrimalOperator):
            raise TypeError(
                "solver='dual_coordinate' needs a kernel with explicit features and without shifts (such as "
                "WeightedDegree, Spectrum); use 'smo' or 'chunking' for this one."
            )
        self.problem, self.box, self.stop = problem, box, stop
        self.random = np.random.default_rng(self.random_state)
        single = stop.tol >= SINGLE_FROM and self.store == "indexed"
        self.dtype: type = np.float32 if single else np.float64
        self.diag = problem.operator.diag()
        self.v = box.split(np.zeros(problem.operator.n) if alpha is None else np.asarray(alpha, dtype=float))
        self.movable = np.any(box.low < box.high, axis=0)
        self.full = self._descent(problem)
        self.counts_arcs = isinstance(self.full, Automaton)
        if problem.free:
            coupled = PULL * float((self.diag + box.ridge).mean())
            across = (float(np.abs(box.p).mean()) + box.entropy) / max(float(problem.cost.sum()), np.finfo(float).tiny)
            self.pull = max(coupled, across, np.finfo(float).tiny)
            self.b = self._middle() if warm is None else warm.intercept
        else:
            self.pull = problem.shift
            self.b = self.pull * float(self.v.sum())
        self.passes, self.due, self.swept = 0 if warm is None else FEWEST_PASSES - 2, False, 0
        self.visited, self.most_visited = 0, self._most_visited()
        self.ledger, self.seen, self.idle = Ledger(), np.inf, 0
        self.losses = np.zeros(problem.operator.n)
        self.compact = self.store == "indexed" and warm is None  # the passes that are left do not repay it
        if warm is None or warm.rows is None:
            self._enter(np.arange(problem.operator.n), self.full)
        else:
            self._enter(warm.rows, warm.operator.descent(None, self.dtype))

    def _most_visited(self) -> float:
        """Return how many rows may be visited before the interior-point method takes over."""
        operator, problem = self.problem.operator, self.problem
        boxed = problem.loss.box(problem.y, problem.cost) is not None and self.store == "indexed"
        if not (boxed and isinstance(operator, Factored)):
            return np.inf
        return ENOUGH * interior_seconds(operator) / (PER_FEATURE * max(1.0, operator.entries))

    def _descent(self, problem: Problem) -> Descent:
        """Return the normal vector of all rows, in the store that was asked for."""
        if self.store == "indexed":
            assert isinstance(problem.operator, PrimalOperator)
            return problem.operator.descent(None, self.dtype)
        if not isinstance(problem.operator, StringFeatures):
            raise TypeError(f"store={self.store!r} keeps strings; this kernel needs store='indexed'.")
        return problem.operator.stored(self.store)

    def _middle(self) -> float:
        """Return the intercept that a start asks for: what variables between their bounds have in common."""
        inside = (self.v > self.box.low) & (self.v < self.box.high) & (self.v != 0.0)
        if not inside.any():
            return 0.0
        return float(np.median(self.box.gains(self.full.product(self.alpha), self.v)[inside]))

    @property
    def alpha(self) -> Array:
        """Signed dual variables, one a row."""
        return self.v.sum(axis=0)

    def step(self) -> None:
        """One pass over the active rows."""
        if self.finisher is not None:
            self.finisher.step()
            return
        order = self.random.permutation(self.active) if self.order == "permuted" else self.active
        looking = self.passes < EARLY or self.passes % SELDOM == 0
        before = self.local_state.v[:, order].sum(axis=0) if looking else np.empty(0)
        self.fresh = False
        moved = self.local.sweep(order, self.local_state._replace(intercept=self.b))
        self.v[:, self.rows] = self.local_state.v
        drift = self.pull * moved
        if self.problem.free:
            drift += self.pull * (float(self.v.sum()) - self.problem.total)
        self.b += drift
        self.drift = abs(drift)
        self.passes += 1
        self.swept += 1
        self.visited += len(order)
        if looking:
            self._check_due(order, before)

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """When due, evaluate all rows in double precision, offer both points, and call back rows left out wrongly."""
        if self.finisher is not None:
            return self.finisher.certify(ledger)
        self.ledger, crept = ledger, self.visited > self.most_visited
        if self.due or crept or self.passes >= MOST_PASSES or self.swept == self.stop.max_iter:
            self.passes, self.due = 0, False
            outputs = self._offer(ledger)
            if ledger.gap > self.stop.tol and crept:
                self._hand_over()
            elif ledger.gap > self.stop.tol:
                self._sharpen(ledger.gap)
                self._call_back(outputs)
        extra = {"active": float(len(self.active))}
        return extra | {"arcs": float(self.full.n_arcs)} if self.counts_arcs else extra

    def _hand_over(self) -> None:
        """Let the interior-point method end the fit; what passes have found is in the ledger."""
        self.finisher = InteriorPoint()
        self.finisher.init(self.problem, None, self.stop)

    def fallback(self) -> PrimalPoint:
        """Return the current point; a run that ends before its first certificate gets one after all."""
        self._offer(self.ledger)
        assert self.ledger.primal is not None
        return self.ledger.primal

    def _offer(self, ledger: Ledger) -> Array:
        """Offer alpha, balanced, on both sides; return its outputs."""
        v = self.v.copy()
        if self.problem.free:
            balance(v, self.box, self.problem.total)
        alpha = v.sum(axis=0)
        outputs = self.full.product(alpha)
        certify(self.problem, alpha, outputs, ledger, rescale=True)
        self.offered = alpha, outputs
        return outputs

    def _check_due(self, order: Array, before: Array) -> None:
        """From what the rows saw in passing: is a certificate due, and which rows can be left out?"""
        state, problem = self.local_state, self.problem
        f, v = state.outputs[order], state.v[:, order]
        gains = self.box.gains(f, v, self.rows[order])
        low, high = v <= state.low[:, order], v >= state.high[:, order]
        free = ~((low & (gains < 0)) | (high & (gains > 0)))
        worst = float(np.abs(gains[free]).max()) if free.any() else 0.0
        rows = self.rows[order]
        y, cost = problem.y[rows], problem.cost[rows]
        losses = cost * problem.loss.value(f, y)
        self.losses[rows] = losses
        gap = float(losses.sum()) + dot(before, f) - problem.loss.dual_term(before, y, cost)
        value = float(self.losses.sum()) + 0.5 * abs(dot(before, f - self.b))
        self.due = abs(gap) <= AHEAD * self.stop.tol * value and self.passes >= FEWEST_PASSES
        if self.shrinking:
            slack = max(worst, SLACK * self.drift if self.problem.free else 0.0)
            rest = np.all((low & (gains < -slack)) | (high & (gains > slack)), axis=0)
            self.active = np.sort(order[~rest])
            if self.compact and SMALL <= len(self.active) < COMPACT * self.local.n:
                self._enter(self.rows[self.active])

    def _sharpen(self, gap: float) -> None:
        """Go on in double precision once certificates no longer get better."""
        self.idle = self.idle + 1 if gap > STEADY * self.seen else 0
        self.seen = gap
        if self.idle == PATIENCE and self.dtype is np.float32:
            assert isinstance(self.problem.operator, PrimalOperator)
            self.dtype = np.float64
            self.full = self.problem.operator.descent(None, self.dtype)
            self._enter(self.rows)

    def _call_back(self, outputs: Array) -> None:
        """Make active again every row that could move, given all outputs."""
        gains = self.box.gains(outputs + self.b, self.v)
        slack = SLACK * self.drift
        resting = (self.v <= self.box.low) & (gains <= -slack) | (self.v >= self.box.high) & (gains >= slack)
        wanted = ~np.all(resting, axis=0) & self.movable if self.shrinking else self.movable
        here = np.zeros(len(outputs), dtype=bool)
        here[self.rows] = True
        if np.any(wanted & ~here):
            self._enter(np.flatnonzero(wanted | np.any(self.v != 0, axis=0)))
        else:
            self.active = np.flatnonzero(wanted[self.rows])
            self._renew()

    def _enter(self, rows: Array, descent: Descent | None = None) -> None:
        """Give some rows a normal vector of their own; all others stay as they are."""
        n = self.problem.operator.n
        own = len(rows) < COMPACT * n and self.store == "indexed"
        operator = self.problem.operator
        if descent is None:
            descent = operator.descent(rows, self.dtype) if own and isinstance(operator, PrimalOperator) else self.full
        rows = np.arange(n) if descent is self.full else rows
        alpha, others = self.alpha, self.alpha
        others[rows] = 0.0
        fixed = self.full.product(others, rows) if np.any(others) else np.zeros(len(rows))
        self.rows, self.local, self.active = rows, descent, np.flatnonzero(self.movable[rows])
        self.local_state = self._local_state(self.box, rows, fixed)
        descent.start(alpha[rows])
        self.fresh = True

    def _renew(self) -> None:
        """Make the normal vector afresh: rounding does not pile up, and a run can go on from the variables alone."""
        if self.store == "indexed":
            self.local.start(self.alpha[self.rows])
            self.fresh = True

    def state(self) -> dict[str, Any] | None:
        """Return what is kept where the normal vector follows from it, as it does after a certificate."""
        if self.finisher is not None:
            return {"finisher": self.finisher.state()}
        found = super().state() if self.fresh or self.store != "indexed" else None
        return None if found is None else {**found, "single": self.dtype is np.float32}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Give the active rows their normal vector again, or go on with the method that ends the fit."""
        if "finisher" in state:
            self._hand_over()
            assert self.finisher is not None
            self.finisher.resume(state["finisher"])
            return
        super().resume({name: value for name, value in state.items() if name != "single"})
        if state["single"] != (self.dtype is np.float32):
            self.dtype = np.float32 if state["single"] else np.float64
            self.full = self._descent(self.problem)
        self._enter(self.rows)
        self.active = state["active"]

    def _local_state(self, box: BoxQP, rows: Array, fixed: Array) -> DescentState:
        def cut(values: Array) -> Any:
            return np.ascontiguousarray(values[..., rows])

        ridge = cut(np.broadcast_to(box.ridge, self.diag.shape))
        curvature = cut(self.diag) + ridge + self.pull
        curvature = np.maximum(curvature, np.finfo(float).tiny)
        return DescentState(
            cut(box.p), ridge, box.entropy, cut(box.low), cut(box.high), curvature, fixed, self.b, self.pull,
            cut(self.v), np.zeros(len(rows)),
        )  # fmt: skip
