"""Second-order descent on the weights (Chapelle and Rakotomamonjy 2008, HessianMKL).

Solves `problem` for p = 1.  At the SVM's optimum, J has the derivatives

    dJ/dbeta_k = -1/2 q_k,       d2J/dbeta_k dbeta_l = g_k' P g_l,      g_k = K_k alpha on the free rows

with ``P`` the inverse of ``K + R`` on the free rows (R: one over the curvature of the loss, zero for the hinge), minus
its projection on the intercept.  The next weights minimise the quadratic model over the simplex, itself a quadratic
programme with one equality: the pair solver of the SVM solves it.  A backtracking search makes it descend.

With few free rows J bends sharply: a model of its curvature here tells nothing of what lies behind the next bend, and
steps must be shortened.  Then steps of the level method, which keep the cuts of all SVMs so far, take over for a while.

Where kernels are very many, all this happens on a working set of them (`working_set`), and a step is one of its rounds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from kernelweave.operators.base import Restrictable
from kernelweave.solvers.certificate import Ledger, PrimalPoint, relative_gap
from kernelweave.solvers.loop import Stop
from kernelweave.solvers.mkl.cutting.level import LevelMethod
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.mkl.weights.nested import nested
from kernelweave.solvers.mkl.weights.working_set import WorkingKernels, suits
from kernelweave.solvers.mkl.weights.wrapper import Evaluation, Wrapper
from kernelweave.solvers.problems import SUFFICIENT, Array
from kernelweave.solvers.svm.pairs import solve_pairs

HALVINGS = 8
SHARP, PAUSE = 0.25, 4
"""Length of a step from which on J is taken to bend sharply, and steps of the level method that follow, more each time.
"""
ROUNDING = 1e-14
"""Relative rise of J that counts as rounding."""
JITTER = 1e-8
"""Added to matrices that may be singular, relative to their mean diagonal."""
SINGULAR, LEVEL_ONLY = 1e-6, 1_000_000
"""Least pivot, as a share of the largest, below which kernels have fewer dimensions than there are free rows: J then
has bends everywhere, and only steps of the level method are taken."""
JITTERS = (1e-6, 1e-4, 1e-2, 1.0)
"""Added beyond that, one after the other, where rounding still leaves a negative pivot."""
NEGLIGIBLE = 1e-8
"""Weights below this are put to zero."""
SAMPLED = 2000
"""Free rows that the model looks at where there are more: factoring all would cost more than it saves in steps."""
BENDS = 0.1, 2.0
"""Least and greatest correction of the curvature of a sample after one step."""
STALLED, SOFTEST = 1e-3, 1e-6
"""Share of the gap that a step must gain for its model to be trusted, and the least that is left of the curvature."""
ROUND_SHARE, COARSEST_ROUND = 0.2, 0.02
"""The problem of a working set is solved to this share of the gap over all kernels, and never more coarsely."""
MODEL_STEPS = 200_000
MODEL_ACCURACY = 1e-3
"""The quadratic programme is solved to this share of the spread of its gradient at the start."""


class HessianMKL(LevelMethod):
    """Newton steps on the simplex of weights.

    Where kernels can be bound to fewer rows cheaply, the search starts from the solution of some of them (`nested`).
    """

    keeps = "bend sampled sharp waiting uncut working.chosen working.beta"
    keep_outputs = True
    coarsest = 0.005  # rows that have not met their bound yet would bend the model
    bend: float
    sampled: bool
    sharp: int
    waiting: int
    uncut: list[Evaluation]
    working: WorkingKernels | None = None
    inside = False  # whether the problem is that of a working set

    def step(self) -> None:
        """Minimise the quadratic model, then search along the way to its minimiser; or do a round of a working set."""
        if self.working is not None:
            self._round(self.working)
            return
        if self.solves == 0:
            self.now = self._seen(self.beta)
            return
        if self.waiting > 0:
            self.waiting -= 1
            self._level_step()
            return
        gradient, H = -0.5 * self.now.q, self._curvature(self.now)
        if self.waiting > 0:
            self._level_step()
            return
        direction = simplex_newton(self.now.beta, gradient, H) - self.now.beta
        slope, t, best, former = float(gradient @ direction), 1.0, self.now, self.now
        for _ in range(HALVINGS):
            made = self._seen(_clean(self.now.beta + t * direction))
            best = min(best, made, key=lambda e: e.value)
            if made.value <= self.now.value + SUFFICIENT * t * slope + ROUNDING * abs(self.now.value):
                break
            t *= 0.5
            if t < SHARP:
                self.sharp += 1
                self.waiting = PAUSE * self.sharp
                break
        # An inexact SVM can hide a small decrease: solve again at the best weights, more closely.
        self.now = best if best is not self.now else self._seen(self.now.beta)
        self.beta = self.now.beta
        self._learn(former, H, shortened=t < 1.0)

    def _seen(self, beta: Array) -> Evaluation:
        """Evaluate J, and keep what the cut needs."""
        made = self.evaluate(beta)
        self.uncut.append(replace(made, outputs=None))
        return made

    def _level_step(self) -> None:
        """Step as the level method does, with the cuts of all steps so far."""
        for made in self.uncut:
            self.add_cut(made)
        self.uncut, self.upper = [], self.now.value
        self.beta = self.projected()
        made = self._seen(self.beta)
        self.now = min(self.now, made, key=lambda e: e.value)

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer what the last step found, and the combination of cuts where there are any."""
        if self.master is not None:
            self.offer_pending(ledger)
            assert ledger.primal is not None
            self.gap = min(ledger.gap, relative_gap(ledger.primal.value, self.lower))
            self.prove(ledger, self.proof)
        return Wrapper.certify(self, ledger)

    def _round(self, working: WorkingKernels) -> None:
        """Solve the problem of the kernels in the working set, price all kernels, exchange some."""
        inner = HessianMKL()
        inner.inside = True
        share = float(np.clip(ROUND_SHARE * self.gap, ROUND_SHARE * self.stop.tol, COARSEST_ROUND))
        point, self.alpha = working.solve(inner, self.alpha, Stop(share, polish=False))
        self.solves, self.spent = self.solves + inner.solves, self.spent + inner.spent
        q = self.problem.energies(self.alpha)
        assert point.beta is not None
        self.now = Evaluation(point.beta, self.alpha.copy(), self.problem.linear(self.alpha), q, point)
        self.pending.append(self.now)
        working.grow(q)

    def _learn(self, former: Evaluation, H: Array, shortened: bool) -> None:
        """Compare the curvature of the last step with the model's: a sample of rows tells its shape, not its size.

        Rows that a kernel does not see make the model far too stiff where the other kernels have no weight: steps then
        stop short of everything.  So where a whole step gains next to nothing of the gap, the model is made softer;
        where the step had to be shortened, the model was too soft.
        """
        if former.value - self.now.value < STALLED * self.gap * abs(former.value):
            self.bend = 1.0 if shortened else max(self.bend * BENDS[0], SOFTEST)
            return
        if not self.sampled:
            self.bend = 1.0
            return
        moved = self.now.beta - former.beta
        expected, found = float(moved @ H @ moved), -0.5 * float((self.now.q - former.q) @ moved)
        if expected > 0 and found > 0:
            self.bend *= float(np.clip(found / expected, *BENDS))

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start from former weights, from the solution of some of the rows, or from equal weights."""
        start = nested(HessianMKL, problem, stop) if start is None else start
        super().init(problem, start, stop)
        self.bend, self.sampled = 1.0, False
        self.sharp, self.waiting = 0, 0
        self.uncut = []
        weights = None if start is None or start.beta is None else np.asarray(start.beta)
        self.working = WorkingKernels(problem, weights) if suits(problem) and not self.inside else None

    def _curvature(self, made: Evaluation) -> Array:
        """Return the Hessian of J, (m, m)."""
        assert made.outputs is not None
        operators = self.problem.operators
        most = operators.curvature_rows if isinstance(operators, Restrictable) else SAMPLED
        total = np.zeros((operators.m, operators.m))
        for alpha, y, G, b in zip(made.alpha, self.problem.targets, made.outputs, np.atleast_1d(made.primal.intercept)):
            rows, ridge = free_rows(self.problem, alpha, y, made.beta @ G + b)
            share = self.bend
            if len(rows) > most:
                chosen = np.linspace(0, len(rows) - 1, most).astype(np.int64)
                rows, ridge, share = rows[chosen], ridge[chosen], self.bend * len(rows) / most
                self.sampled = True
            if len(rows):
                K = operators.combined_submatrix(made.beta, rows)
                K[np.diag_indices_from(K)] += ridge + JITTER * max(K.diagonal().mean(), JITTER)
                if self.problem.intercept == "regularized":
                    K += 1.0
                H, pivot = _projected(K, G[:, rows], self.problem.intercept == "free")
                total += share * H
                if pivot < SINGULAR and not self.problem.loss.smooth:
                    self.waiting = LEVEL_ONLY
        return total


def free_rows(problem: MKLProblem, alpha: Array, y: Array, f: Array) -> tuple[Array, Array]:
    """Return the rows whose alpha follows a change of the kernel, and one over the curvature of their loss."""
    if problem.loss.smooth:
        curve = problem.cost * problem.loss.curvature(f, y)
        rows = np.flatnonzero(curve > JITTER * curve.max())
        return rows, 1.0 / curve[rows]
    low, high = problem.loss.dual_range(y, problem.cost)
    inside = (alpha > low) & (alpha < high) & (alpha != 0.0)
    rows = np.flatnonzero(inside)
    return rows, np.zeros(len(rows))


def _projected(K: Array, G: Array, free: bool) -> tuple[Array, float]:
    """Return ``G P G'`` with P the inverse of K, projected off the ones for a free intercept; and the least pivot."""
    factor = _factor(K)
    solved = cho_solve(factor, G.T, check_finite=False)
    H = G @ solved
    if free:
        ones = cho_solve(factor, np.ones(len(K)), check_finite=False)
        share = G @ ones
        H -= np.outer(share, share) / ones.sum()
    pivots = np.square(factor[0].diagonal())
    return H, float(pivots.min() / pivots.max())


def _factor(K: Array) -> tuple[Array, bool]:
    """Return the Cholesky factor of K, with as much on the diagonal as its rank makes necessary.

    Kernels of few columns leave a K of low rank, and rounding leaves eigenvalues below zero that the usual jitter does
    not lift.  The model may be off by that: it only proposes weights.
    """
    size = max(float(K.diagonal().mean()), JITTER)
    for jitter in (0.0, *JITTERS):
        try:
            return cho_factor(K + jitter * size * np.eye(len(K)) if jitter else K, lower=True, check_finite=False)
        except LinAlgError:
            continue
    return np.sqrt(size) * np.eye(len(K)), True


def simplex_newton(beta: Array, gradient: Array, H: Array) -> Array:
    """Return the minimiser over the simplex of ``gradient'(x - beta) + 1/2 (x - beta)'H(x - beta)``."""
    m = len(beta)
    H = 0.5 * (H + H.T)
    H[np.diag_indices(m)] += JITTER * max(float(H.diagonal().mean()), JITTER)
    x, zeros = beta[None, :].copy(), np.zeros((1, m))
    gain = -gradient[None, :].copy()
    accuracy = MODEL_ACCURACY * (gain.max() - float(gain[0] @ beta))
    solve_pairs(H, H.diagonal().copy(), zeros[0], zeros, np.ones((1, m)), accuracy, MODEL_STEPS, x, gain)
    return x[0]


def _clean(beta: Array) -> Array:
    beta = np.where(beta < NEGLIGIBLE, 0.0, beta)
    return beta / beta.sum()
