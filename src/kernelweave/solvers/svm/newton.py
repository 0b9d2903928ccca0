"""Newton's method for the smooth losses, on any operator.

Minimises the primal of `problems.Problem` over ``f = K alpha + b``.  With g, h the first and second derivatives of
the costs at f (h >= 0), the quadratic model of the costs leads to

    alpha + h (K alpha + b) = h f - g,      sum alpha = e   (free intercept)

and with S = sqrt(h) to the well-conditioned system ``(I + S K S) u = S f - g / S - b S 1``, ``alpha = S u``; rows
without curvature have ``alpha = -g``.  It is solved by Cholesky for few rows, otherwise by conjugate gradients, which
need nothing but products with K.  A backtracking search along the step makes it converge from anywhere.

The dual point is ``alpha_i = -c_i loss'(f_i)``; with the best intercept for f it is feasible.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kernelweave.operators.base import Dense, product
from kernelweave.solvers.certificate import DualPoint, Ledger, PrimalPoint, best_intercept
from kernelweave.solvers.certificate import certify as offer
from kernelweave.solvers.loop import Stop
from kernelweave.solvers.problems import Array, Problem

DIRECT_UP_TO = 1500
"""Rows up to which a Cholesky factorisation is cheaper than conjugate gradients."""
FLATTEST = 1e-12
"""Curvature, relative to the largest, below which a row counts as flat."""
SUFFICIENT = 1e-4
"""Share of the predicted decrease that a step must reach (Armijo)."""
FORCING = 0.1
"""Conjugate gradients go this far below the square root of the current relative gap."""


class Newton:
    """Damped Newton steps, each a regularised least-squares problem."""

    problem: Problem

    def init(self, problem: Problem, start: Array | None, stop: Stop) -> None:
        """Start from `start` (alpha) or from zero."""
        if not problem.loss.smooth:
            raise TypeError(f"{problem.loss.name} loss has a kink; use solver='smo' or 'chunking'.")
        self.problem, self.stop = problem, stop
        self.alpha = np.zeros(problem.operator.n) if start is None else np.array(start, dtype=float)
        self.F = product(problem.operator, self.alpha)
        self.b = best_intercept(problem, self.F, self.alpha)
        self.gap = 1.0
        few = problem.operator.n <= DIRECT_UP_TO
        self.gram = problem.operator.gram.astype(float) if few and isinstance(problem.operator, Dense) else None

    def step(self) -> None:
        """Solve the quadratic model, then search along the way to its solution."""
        loss, y, cost = self.problem.loss, self.problem.y, self.problem.cost
        f = self.F + self.b
        g, h = cost * loss.derivative(f, y), cost * loss.curvature(f, y)
        alpha, b = self._model_solution(f, g, h)
        F = product(self.problem.operator, alpha)
        self._search(alpha - self.alpha, F - self.F, b - self.b)

    def _model_solution(self, f: Array, g: Array, h: Array) -> tuple[Array, float]:
        curved = np.flatnonzero(h > FLATTEST * max(h.max(initial=0.0), FLATTEST))
        flat = -g.copy()
        flat[curved] = 0.0
        S = np.sqrt(h[curved])
        known = product(self.problem.operator, flat)[curved] + self.problem.shift * flat.sum()
        right = S * (f[curved] - known) - g[curved] / S
        solve = self._solver(curved, S)
        u = solve(right)
        b = 0.0
        if self.problem.free:
            w = solve(S)
            b = (S @ u + flat.sum() - self.problem.total) / max(S @ w, FLATTEST)
            u = u - b * w
        alpha = flat
        alpha[curved] = S * u
        return alpha, float(alpha.sum()) if self.problem.intercept == "regularized" else b

    def _solver(self, rows: Array, S: Array):  # type: ignore[no-untyped-def]
        """Return a function that solves ``(I + S (K + shift) S) u = r`` on the given rows."""
        shift = self.problem.shift
        if self.gram is not None:
            matrix = S[:, None] * (self.gram[np.ix_(rows, rows)] + shift) * S
            matrix[np.diag_indices_from(matrix)] += 1.0
            factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
            return lambda r: cho_solve(factor, r, check_finite=False)

        def times(u: Array) -> Array:
            out, step = np.zeros(self.problem.operator.n), S * u
            self.problem.operator.add_to(out, rows, step)
            return u + S * (out[rows] + shift * step.sum())

        return lambda r: conjugate_gradients(times, r, FORCING * min(1.0, self.gap) ** 0.5 * 0.1)

    def _search(self, d_alpha: Array, d_F: Array, d_b: float) -> None:
        """Halve the step until the primal objective falls as predicted."""
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
                return
            t *= 0.5

    def _value(self, alpha: Array, F: Array, b: float) -> float:
        return self.problem.primal(float(alpha @ F), F + b, b)

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer the iterate, and the dual point that its outputs point to."""
        problem = self.problem
        offer(problem, self.alpha, self.F, ledger, feasible=False)
        b = best_intercept(problem, self.F, self.alpha)
        low, high = problem.loss.dual_range(problem.y, problem.cost)
        alpha = np.clip(-problem.cost * problem.loss.derivative(self.F + b, problem.y), low, high)
        K_alpha = product(problem.operator, alpha)
        ledger.offer(dual=DualPoint(alpha, problem.dual(alpha, float(alpha @ K_alpha))))
        self.gap = max(ledger.gap, 0.0)
        return {}

    def fallback(self) -> PrimalPoint:
        """Return the current point."""
        ledger = Ledger()
        offer(self.problem, self.alpha, self.F, ledger, feasible=False)
        assert ledger.primal is not None
        return ledger.primal


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
