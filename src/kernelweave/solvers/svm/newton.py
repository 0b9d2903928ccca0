"""Newton's method for the smooth losses, on any operator.

Minimises the primal of `problems.Problem` over ``f = K alpha + b``.  With g, h the first and second derivatives of
the costs at f (h >= 0), the quadratic model of the costs leads to

    d + h (K d + d_b) = -(alpha + g),      sum (alpha + d) = e   (free intercept)

for the step d from alpha and d_b from b, and with S = sqrt(h) to the well-conditioned system
``(I + S K S) u = -(alpha + g) / S - d_b S 1``, ``d = S u``; rows without curvature go to ``alpha = -g``.  It is solved
by Cholesky for few rows, or for few features in their number (Woodbury), otherwise by conjugate gradients, which need
nothing but products with K.  A backtracking
search along the step makes it converge from anywhere.

The dual point is ``alpha_i = -c_i loss'(f_i)``; with the best intercept for f it is feasible.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from kernelweave.operators.base import Dense, Factored, product
from kernelweave.solvers.certificate import DualPoint, Ledger, PrimalPoint, afresh, best_intercept
from kernelweave.solvers.certificate import certify as offer
from kernelweave.solvers.cost import direct_rank
from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.problems import SUFFICIENT, Array, Problem
from kernelweave.solvers.state import Resumable

DIRECT_UP_TO = 1500
"""Rows up to which a Cholesky factorisation is cheaper than conjugate gradients."""
FLATTEST = 1e-12
"""Curvature, relative to the largest, below which a row counts as flat."""
FORCING = 0.01
"""Conjugate gradients go this far below the square root of the current relative gap."""
SECTIONS = 100
"""Sections of the search for the best share of a dual point: enough for shares as small as 1e-17."""
RIDGES, GROWTH = 16, 10.0
"""How often a ridge is added where a matrix is indefinite by rounding, and by what it grows each time."""
SHORT = 0.1
"""After a step shorter than this, conjugate gradients go ten times further: the direction was too rough."""


class Newton(Resumable):
    """Damped Newton steps by Cholesky factors or conjugate gradients, for differentiable losses."""

    keeps = "alpha F b gap forcing proving"
    limits = Limits(300, effort=10, patience=30, instead=("smo",))
    problem: Problem

    def init(self, problem: Problem, start: Array | None, stop: Stop) -> None:
        """Start from `start` (alpha) or from zero."""
        if not problem.loss.smooth:
            raise TypeError(f"The {problem.loss.name} loss is not differentiable; use solver='smo' or 'chunking'.")
        self.problem, self.stop = problem, stop
        self.alpha = np.zeros(problem.operator.n) if start is None else np.array(start, dtype=float)
        self.F = product(problem.operator, self.alpha)
        self.b = best_intercept(problem, self.F, self.alpha)
        self.gap, self.forcing, self.proving = 1.0, FORCING, False
        few = problem.operator.n <= DIRECT_UP_TO
        self.gram = problem.operator.gram.astype(float) if few and isinstance(problem.operator, Dense) else None
        self.factors: tuple[Array, Array] | None = None
        if isinstance(problem.operator, Factored) and direct_rank(problem.operator):
            self.factors = problem.operator.factor()

    def step(self) -> None:
        """Solve the quadratic model, then search along the way to its solution."""
        g, h = self._derivatives()
        if self.problem.free and not h.any():  # a model without curvature has no best intercept
            self.b = best_intercept(self.problem, self.F, self.alpha)
            g, h = self._derivatives()
        d_alpha, d_b = self._model_solution(g, h)
        if self._search(d_alpha, product(self.problem.operator, d_alpha), d_b) < SHORT:
            self.forcing = max(SHORT * self.forcing, FLATTEST)

    def _derivatives(self) -> tuple[Array, Array]:
        """Return g and h, (n,) each."""
        loss, y, f = self.problem.loss, self.problem.y, self.F + self.b
        return self.problem.cost * loss.derivative(f, y), self.problem.cost * loss.curvature(f, y)

    def _model_solution(self, g: Array, h: Array) -> tuple[Array, float]:
        """Return the step to the solution of the quadratic model."""
        missing = -(self.alpha + g)
        curved = np.flatnonzero(h > FLATTEST * max(h.max(initial=0.0), FLATTEST))
        d = missing.copy()
        d[curved] = 0.0
        S = np.sqrt(h[curved])
        known = product(self.problem.operator, d)[curved] + self.problem.shift * d.sum()
        solve = self._solver(curved, S)
        u = solve(missing[curved] / S - S * known)
        d_b = 0.0
        if self.problem.free and len(curved):
            w = solve(S)
            d_b = (S @ u + d.sum() + self.alpha.sum() - self.problem.total) / max(S @ w, FLATTEST)
            u = u - d_b * w
        d[curved] = S * u
        return d, float((self.alpha + d).sum()) - self.b if self.problem.intercept == "regularized" else d_b

    def _solver(self, rows: Array, S: Array):  # type: ignore[no-untyped-def]
        """Return a function that solves ``(I + S (K + shift) S) u = r`` on the given rows."""
        shift = self.problem.shift
        if self.gram is not None:
            matrix = S[:, None] * (self.gram[np.ix_(rows, rows)] + shift) * S
            matrix[np.diag_indices_from(matrix)] += 1.0
            factor = positive_factor(matrix)
            return lambda r: cho_solve(factor, r, check_finite=False)
        if self.factors is not None:
            X, own = self.factors[0][rows], self.factors[1][rows]
            return low_rank_solver(np.hstack([X, np.ones((len(rows), 1))]) if shift else X, S, 1.0 + S * S * own)

        def times(u: Array) -> Array:
            out, step = np.zeros(self.problem.operator.n), S * u
            self.problem.operator.add_to(out, rows, step)
            return u + S * (out[rows] + shift * step.sum())

        return lambda r: conjugate_gradients(times, r, self.forcing * min(1.0, self.gap) ** 0.5)

    def _search(self, d_alpha: Array, d_F: Array, d_b: float) -> float:
        """Halve the step until the primal objective falls as predicted; return the length taken."""
        problem = self.problem
        here = self._value(self.alpha, self.F, self.b)
        g = problem.cost * problem.loss.derivative(self.F + self.b, problem.y)
        slope = float(self.alpha @ d_F + g @ (d_F + d_b)) + (
            problem.total * d_b if problem.free else problem.shift * self.b * d_b
        )
        t = 1.0
        while t > FLATTEST:
            alpha, F, b = self.alpha + t * d_alpha, self.F + t * d_F, self.b + t * d_b
            if self._value(alpha, F, b) <= here + SUFFICIENT * t * min(slope, 0.0) + FLATTEST * abs(here):
                self.alpha, self.F, self.b = alpha, F, b
                return t
            t *= 0.5
        return 0.0

    def _value(self, alpha: Array, F: Array, b: float) -> float:
        return self.problem.primal(float(alpha @ F), F + b, b)

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer the iterate and the dual point that its outputs point to; from the goal on, in double precision."""
        self._offer(ledger)
        if ledger.gap <= self.stop.tol and self.stop.polish:
            outputs = afresh(self.problem, self.alpha)
            if outputs is not None:
                self.F, self.proving = outputs, True
                ledger.clear()
                self._offer(ledger)
        self.gap = max(ledger.gap, 0.0)
        return {}

    def _offer(self, ledger: Ledger) -> None:
        offer(self.problem, self.alpha, self.F, ledger, feasible=False)
        alpha = self._dual_point()
        K_alpha = afresh(self.problem, alpha) if self.proving else None
        energy = float(alpha @ (product(self.problem.operator, alpha) if K_alpha is None else K_alpha))
        ledger.offer(dual=best_share(self.problem, alpha, energy))

    def _dual_point(self) -> Array:
        """Return the feasible alpha that the outputs point to."""
        problem = self.problem
        b = best_intercept(problem, self.F, self.alpha)
        low, high = problem.loss.dual_range(problem.y, problem.cost)
        return np.clip(-problem.cost * problem.loss.derivative(self.F + b, problem.y), low, high)

    def fallback(self) -> PrimalPoint:
        """Return the current point."""
        ledger = Ledger()
        offer(self.problem, self.alpha, self.F, ledger, feasible=False)
        assert ledger.primal is not None
        return ledger.primal


def best_share(problem: Problem, alpha: Array, energy: float) -> DualPoint:
    """Return a feasible alpha as a dual point, or a share of it where nothing at all would be better."""
    point = DualPoint(alpha, problem.dual(alpha, energy))
    nothing = problem.dual(np.zeros_like(alpha), 0.0)
    if point.value >= nothing or (problem.free and problem.total != 0.0):
        return point
    low, high = 0.0, 1.0
    for _ in range(SECTIONS):
        third = (high - low) / 3.0
        values = [problem.dual(s * alpha, s * s * energy) for s in (low + third, high - third)]
        low, high = (low, high - third) if values[0] >= values[1] else (low + third, high)
    share = 0.5 * (low + high)
    found = DualPoint(share * alpha, problem.dual(share * alpha, share * share * energy))
    return found if found.value > nothing else DualPoint(np.zeros_like(alpha), nothing)


def positive_factor(matrix: Array) -> tuple[Array, bool]:
    """Return the Cholesky factor of a matrix that is positive definite but for rounding.

    Where kernel values exceed 1 by more than double precision holds, the identity is lost in their rounding: as much is
    added to the diagonal as it takes.  Steps then are shorter, and the search along them sees to it that they descend.
    """
    shift = np.finfo(float).eps * float(matrix.diagonal().max(initial=1.0))
    for _ in range(RIDGES):
        try:
            return cho_factor(matrix, lower=True, check_finite=False)
        except LinAlgError:
            matrix[np.diag_indices_from(matrix)] += shift
            shift *= GROWTH
    raise FloatingPointError("Kernel values are not finite or too uneven for Newton's method; scale the columns.")


def low_rank_solver(X: Array, S: Array, diagonal: Array):  # type: ignore[no-untyped-def]
    """Return a function that solves ``(diag + S X X' S) u = r``, by a system in the columns of X."""
    B = X * (S / np.sqrt(diagonal))[:, None]
    matrix = B.T @ B
    matrix[np.diag_indices_from(matrix)] += 1.0
    factor = positive_factor(matrix)

    def solve(r: Array) -> Array:
        scaled = r / np.sqrt(diagonal)
        return (scaled - B @ cho_solve(factor, B.T @ scaled, check_finite=False)) / np.sqrt(diagonal)

    return solve


def conjugate_gradients(times, right: Array, accuracy: float) -> Array:  # type: ignore[no-untyped-def]
    """Solve a positive definite system to a relative residual; `times` multiplies with its matrix."""
    x = np.zeros_like(right)
    residual = right.copy()
    direction = residual.copy()
    size = residual @ residual
    goal = accuracy**2 * size
    for _ in range(10 * len(right)):
        if size <= goal:
            break
        image = times(direction)
        step = size / (direction @ image)
        x += step * direction
        residual -= step * image
        before, size = size, residual @ residual
        direction = residual + (size / before) * direction
    return x
