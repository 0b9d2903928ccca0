"""One linear programme for kernels of rank one: weights of single columns under a piecewise-linear loss.

Solves `problem` for p = 1, kernels ``K_k = v_k v_k'`` and losses whose dual is linear over a box (`losses.BoxQP`
without ridge), where  ``max_k q_k = level^2``  and the dual is linear but for one or two squares:

    max over v, level, u, z   p'v - u - z                    alpha = v summed over its copies,  low <= v <= high
    subject to                |v_k' alpha| <= level          for every kernel k            (rows are generated)
                              u >= t level - t^2 / 2         for some t                    (tangents of level^2 / 2)
                              sum alpha = total              for a free intercept
                              z >= t sum alpha - t^2 / 2     for a regularised one         (tangents of its square)

The multipliers of the rows of a kernel are its coefficient w_k, and their sum over kernels N = sum_k |w_k| is a mean of
tangents t.  At the optimum N = level: tangents at both are added, with the rows that alpha violates most, until the
gap is closed; the programme starts hot each time.  Since  w_k = beta_k v_k' alpha  with beta_k = |w_k| / N wherever a
row is tight, (N / level) alpha and beta are the classifier.  This is the 1-norm support vector machine, with a squared
norm; two solutions of the programme are often enough, whatever the number of kernels.

Numbers are scaled: alpha by the size of the best multiple of a corner of the box (``unit``), kernels by the largest
norm (``size``), the objective by ``unit``.
"""

from __future__ import annotations

import numpy as np

from kernelweave.operators.base import RankOneVectors
from kernelweave.solvers.certificate import DualPoint, Ledger, PrimalPoint, best_intercept
from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.lp.highs import INFINITY, precise_model, solve
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import TINY, Array

ADDED = 100
"""Rows that a programme gains at a time: those of the most violated kernels."""
VIOLATED = 1e-9
"""Share of the level by which a kernel exceeds it before its row is added."""
APART = 1e-12
"""Relative distance of two tangents that count as two."""


LARGEST = 1e8
"""Bounds of scaled variables beyond this are cut off: no solution comes near, and the simplex method needs digits."""
SQUARE, OWN = -1, -2
"""In the place of the number of a kernel: a tangent of the square of the level, of that of the sum of alpha."""


class LinearProgram:
    """The dual as a linear programme that gains rows of kernels and tangents of a square."""

    limits = Limits(1000, patience=100, instead=("lp", "hessian"))

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start from the kernels and the level of a former point, and from the best multiple of a corner of the box."""
        if not isinstance(problem.operators, RankOneVectors):
            raise TypeError("LinearProgram needs kernels of rank one, bound as one vector each.")
        self.problem, self.one = problem, problem.outputs(problem.operators)[0]  # type: ignore[arg-type]
        box = problem.loss.box(problem.targets[0], problem.cost)
        assert box is not None
        self.vectors, self.low, self.high = problem.operators.vectors, box.low, box.high
        self.copies, self.n = box.p.shape
        self.size = max(float(np.sqrt(np.square(self.vectors).sum(axis=1).max(initial=0.0))), TINY)
        corner = np.where(box.p > 0, box.high, box.low)
        level = self._reached(corner.sum(axis=0))
        share = min(1.0, float((box.p * corner).sum()) / max(level * level, TINY)) or 1.0
        self.unit = max(share * float(problem.cost.max(initial=0.0)), TINY)
        self.held = np.zeros((2, len(self.vectors)), bool)
        self.kernels, self.signs = np.empty(0, np.int64), np.empty(0)
        self.tangents: list[tuple[bool, float]] = []
        self.alpha, self.w, self.b = np.empty(0), np.empty(0), 0.0
        self._open(box.p)
        self._add_tangent(share * level)
        if start is not None and start.beta is not None:
            used = np.flatnonzero(np.asarray(start.beta).ravel() > 0)
            self._add_kernels(used, np.ones(len(used)))
            self._add_kernels(used, -np.ones(len(used)))
            self._add_tangent(self._reached(np.asarray(start.alpha).reshape(-1, self.n)[0]))

    def _reached(self, alpha: Array) -> float:
        """Return the level that alpha reaches."""
        return float(np.abs(self.vectors @ alpha).max(initial=0.0))

    def _open(self, p: Array) -> None:
        """Begin with variables v, level, u, z and the row of the intercept."""
        self.lp, width = precise_model(), self.copies * self.n
        self.level, self.square, self.own = width, width + 1, width + 2
        low, high = (np.clip(end.ravel() / self.unit, -LARGEST, LARGEST) for end in (self.low, self.high))
        self.lp.addVars(width + 3, np.append(low, [0.0] * 3), np.append(high, [INFINITY] * 3))
        every = np.arange(width + 3, dtype=np.int32)
        self.lp.changeColsCost(width + 3, every, np.append(-p.ravel(), [0.0, 1.0, 1.0]))
        self.places = every[:width]
        if self.one.free:
            total = self.problem.total / self.unit
            self.lp.addRow(total, total, width, self.places, np.ones(width))

    def _add_tangent(self, at: float, own: bool = False) -> None:
        """Bound the square of the level, or of the sum of alpha, from below by its tangent at a number."""
        if at == 0.0 or any(own == of and abs(at - t) <= APART * max(abs(at), abs(t)) for of, t in self.tangents):
            return
        self.tangents.append((own, at))
        what, slope = (self.places, at) if own else (np.array([self.level], np.int32), self.size * at)
        columns = np.append(what, self.own if own else self.square).astype(np.int32)
        line = np.append(np.full(len(what), slope), -1.0)
        self.lp.addRow(-INFINITY, 0.5 * at * at / self.unit, len(columns), columns, line)
        self.kernels, self.signs = np.append(self.kernels, OWN if own else SQUARE), np.append(self.signs, at)

    def _add_kernels(self, kernels: Array, signs: Array) -> None:
        """Add the row ``sign v_k' alpha <= level`` of some kernels."""
        for k, sign in zip(kernels, signs):
            line = np.tile(self.vectors[k], self.copies) * (sign / self.size)
            there = np.flatnonzero(line)
            columns = np.append(self.places[there], np.int32(self.level)).astype(np.int32)
            self.lp.addRow(-INFINITY, 0.0, len(columns), columns, np.append(line[there], -1.0))
        self.kernels, self.signs = np.append(self.kernels, kernels), np.append(self.signs, signs)
        self.held[(np.asarray(signs) < 0).astype(int), kernels] = True

    def step(self) -> None:
        """Solve the programme; add the kernels that its alpha violates, and tangents at its level and its norm."""
        solution = solve(self.lp)
        values = np.array(solution.col_value)
        forces = -np.array(solution.row_dual)[int(self.one.free) :] * self.signs
        of_kernels = self.kernels >= 0
        self.w = np.bincount(self.kernels[of_kernels], forces[of_kernels], len(self.vectors)) / self.size
        self.b = float(forces[self.kernels == OWN].sum())
        self.alpha = self._feasible(values[: self.copies * self.n])
        level = self.unit * self.size * float(values[self.level])
        reached = self.vectors @ self.alpha
        beyond = (np.abs(reached) > level * (1.0 + VIOLATED)) & ~np.where(reached < 0, self.held[1], self.held[0])
        over = np.flatnonzero(beyond)
        over = over[np.argsort(-np.abs(reached[over]), kind="stable")[:ADDED]]
        self._add_kernels(over, np.sign(reached[over]))
        self._add_tangent(level)
        self._add_tangent(float(np.abs(self.w).sum()))
        if self.problem.intercept == "regularized":
            self._add_tangent(float(self.alpha.sum()), own=True)
            self._add_tangent(self.b, own=True)

    def _feasible(self, scaled: Array) -> Array:
        """Return alpha inside its box with exactly the sum that is asked for: rounding is spread over what is free."""
        v = np.clip(self.unit * scaled.reshape(self.copies, self.n), self.low, self.high)
        alpha = v.sum(axis=0)
        if self.one.free:
            low, high = self.low.sum(axis=0), self.high.sum(axis=0)
            for _ in range(2):
                left = alpha.sum() - self.problem.total
                room = alpha - low if left > 0 else high - alpha
                alpha = alpha - left * room / max(float(room.sum()), TINY)
        return alpha

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer alpha, and the classifier that the multipliers are."""
        energies = np.square(self.vectors @ self.alpha)
        alpha = self.alpha[None, :]
        ledger.offer(dual=DualPoint(alpha, self.problem.dual(alpha, energies)))
        norm, level = float(np.abs(self.w).sum()), float(np.sqrt(energies.max(initial=0.0)))
        if norm > 0 and level > 0:
            ledger.offer(primal=self._classifier(np.abs(self.w) / norm, self.alpha * (norm / level)))
        else:
            ledger.offer(primal=self.problem.nothing())
        return {"rows": float(len(self.kernels))}

    def _classifier(self, beta: Array, alpha: Array) -> PrimalPoint:
        reached = self.vectors @ alpha
        f = self.vectors.T @ (beta * reached)
        b = self.b if self.problem.intercept == "regularized" else best_intercept(self.one, f, alpha)
        value = self.one.primal(float(beta @ np.square(reached)), f + b, b)
        return PrimalPoint(alpha[None, :], np.array([b]), value, beta)

    def fallback(self) -> PrimalPoint:
        """Return the zero classifier."""
        return self.problem.nothing()
