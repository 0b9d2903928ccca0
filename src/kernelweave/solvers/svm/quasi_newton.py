"""Projected quasi-Newton steps: few products with the whole kernel, for operators whose products cost the same anyway.

Minimises the box-constrained dual of `problems.Problem` over alpha, ``K = K + shift``:

    q(a) = 1/2 a'K a + 1/2 sum ridge a^2 + sum phi(a),     low <= a <= high,     sum a = total for a free intercept

phi_i(a) = -p a, of two copies (epsilon-insensitive losses) with one slope on either side of zero.  One `step`:

    1. B = D - D S (S'D S)^-1 S'D + Y (S'Y)^-1 Y',   S the last directions, Y = K S, D = diag(K):  B S = Y exactly
    2. e = argmin of the same problem with B around alpha: accelerated proximal gradients (FISTA) in the metric L D,
       whose proximal map is exact: a clipped line for each row, and the root mu of  sum x(mu) = total
    3. y = K e, the one product; alpha += t e with the best t of (0, 1], K alpha += t y;  S, Y get e, y

(Schmidt, van den Berg, Friedlander and Murphy, 2009, with all secants of a window instead of L-BFGS updates: K is
constant, so that old products stay true.)  The model knows every large eigenvalue that the iterates have met; what is
left of K is taken for its diagonal, as kernels of long k-mers nearly are.

Letters: a = alpha (n,), F = K alpha, c linear term, x (n,) iterates of the model, mu intercept, L its Lipschitz number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelweave._numba import jit
from kernelweave.losses import BoxQP
from kernelweave.operators.base import AtOnce, product
from kernelweave.solvers.certificate import Ledger, afresh
from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.problems import TINY, Array, Problem, dot
from kernelweave.solvers.svm.box import BoxSolver

MEMORY = 30
"""Directions that the model remembers; 20 took at most a fifth more products than all of them (gapped k-mers, C = 100).
"""
SETTLED, MOST_INNER = 1e-3, 1000
"""Relative change at which the solution of the model is good enough, and most iterations towards it."""
LEAST_CURVATURE = 1e-3
"""Share of the mean diagonal below which no row's curvature is taken to be."""
DEPENDENT = 1e-10
"""Eigenvalue, relative to the largest, below which directions count as dependent."""
UNSEEN = 1e-7
"""Steps below this share of alpha change the objective by less than its rounding: they are taken as the model has them.
"""
ROOT_STEPS = 200
"""Most steps towards an intercept: halving alone takes fewer than this."""


class Shape(NamedTuple):
    """The separable part: slopes of phi below and above zero, bounds, ridge, the sum that alpha must have."""

    below: Array
    above: Array
    low: Array
    high: Array
    ridge: Array
    total: float
    free: bool

    @classmethod
    def of(cls, box: BoxQP, problem: Problem) -> Shape:
        """Return the separable part of a dual; two copies have one sign each."""
        low, high = box.low.min(axis=0), box.high.max(axis=0)
        return cls(box.p[-1], box.p[0], low, high, box.ridge, problem.total, problem.free)

    def rise(self, a: Array, e: Array, slope: Array, mu: float) -> float:
        """Return ``sum phi(a + e) - phi(a) + slope e``.

        Summed row by row with the intercept, which e does not change where it is free: near the optimum each row's term
        is small, where sums of all would differ by their rounding alone.
        """
        after = a + e
        here, there = (np.where((x > 0.0) | ((x == 0.0) & (e > 0.0)), self.above, self.below) for x in (a, after))
        here = np.where(a == 0.0, there, here)  # of zero, either side will do
        there = np.where(after == 0.0, here, there)
        terms = (slope + mu - there) * e + (here - there) * a
        return float(np.sum(terms)) - mu * (0.0 if self.free else float(e.sum()))


class QuasiNewton(BoxSolver):
    """Quasi-Newton models of the whole kernel, solved within the bounds: one product a step, for any kernel.

    Parameters
    ----------
    memory : directions that the model remembers
    """

    keeps = "S Y a mu settled"
    limits = Limits(2000, patience=200, instead=("chunking", "smo", "newton"))

    def __init__(self, memory: int = MEMORY):
        if not isinstance(memory, int | np.integer) or isinstance(memory, bool) or memory < 1:
            raise ValueError(f"memory={memory!r} must be a positive integer.")
        self.memory = int(memory)

    def init(self, problem: Problem, start: Array | None, stop: Stop) -> None:
        """Start without directions."""
        super().init(problem, start, stop)
        if isinstance(problem.operator, AtOnce):
            self.exact_from = 0.0  # no exact solution of the free variables: kernel values cost too much
        self.shape = Shape.of(self.box, problem)
        positive = np.maximum(self.diag + problem.shift, LEAST_CURVATURE * float(np.mean(self.diag)) + problem.shift)
        self.metric = np.where(positive > 0.0, positive, 1.0)
        self.S, self.Y = np.empty((problem.operator.n, 0)), np.empty((problem.operator.n, 0))
        self.a, self.mu, self.settled = self.alpha, 0.0, SETTLED

    def step(self) -> None:
        """Solve the model, multiply its solution by the kernel, go as far towards it as is best."""
        shift = self.problem.shift
        gradient = self.F + shift * self.a.sum()
        e = self._model_solution(gradient)
        change = product(self.problem.operator, e)
        image = change + shift * e.sum()
        ridge = self.shape.ridge
        gain = -self.shape.rise(self.a, e, gradient + ridge * self.a, self.mu)
        curve = dot(e, image) + dot(ridge * e, e)
        size = np.sqrt(dot(e, e))
        tiny = 0.0 < size <= UNSEEN * np.sqrt(dot(self.a, self.a))
        if size == 0.0 or (gain <= 0.0 and not tiny):
            self._begin_again()
            return
        t = 1.0 if tiny else min(1.0, gain / max(curve, TINY))
        self.a = np.clip(self.a + t * e, self.shape.low, self.shape.high)
        self.F = self.F + t * change
        self.v = self.box.split(self.a)
        first = max(0, self.S.shape[1] + 1 - self.memory)
        self.S = np.hstack([self.S[:, first:], e[:, None] / size])
        self.Y = np.hstack([self.Y[:, first:], image[:, None] / size])

    def _begin_again(self) -> None:
        """Forget the model and compute outputs afresh: their rounding, or that of the model, hides what is left."""
        exact = afresh(self.problem, self.a)
        self.F = self.outputs(self.a) if exact is None else exact
        self.settled = max(0.1 * self.settled, DEPENDENT)
        self.S, self.Y = self.S[:, :0], self.Y[:, :0]

    def _model_solution(self, gradient: Array) -> Array:
        """Return the step to the solution of the problem with B around the current point."""
        lower, upper = secants(self.S, self.Y, self.metric)
        D, shape, here = self.metric, self.shape, self.a
        L = 1.0 + _largest(upper, D, self.problem.free)

        def slope(x: Array) -> Array:
            d = x - here
            return gradient + D * d - lower @ (lower.T @ d) + upper @ (upper.T @ d)

        x, z, momentum, best = here.copy(), here, 1.0, None
        for _ in range(MOST_INNER):
            new, self.mu = proximal(L * D * z - slope(z), L * D, shape, self.mu)
            best = new if best is None else best
            if dot(D * (z - new), new - x) > 0.0:
                momentum = 1.0
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
            z = new + (momentum - 1.0) / following * (new - x)
            moved, far = dot(D * (new - x), new - x), dot(D * (new - here), new - here)
            x, momentum = new, following
            if moved <= self.settled**2 * far:
                break
        assert best is not None
        e = x - here
        value = shape.rise(here, e, 0.5 * (gradient + slope(x) + shape.ridge * (x + here)), self.mu)
        return e if value < 0.0 else best - here

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer alpha on both sides; where an exact solution of the free variables moved it, go on from there."""
        found = super().certify(ledger)
        if self.polished:
            self.a = self.alpha
        return found

    def middle(self, gains: Array) -> float:
        """Return the intercept of the last model."""
        return self.mu if self.problem.free else super().middle(gains)


def secants(S: Array, Y: Array, D: Array) -> tuple[Array, Array]:
    """Return V and A of ``B = D - V V' + A A'``, for which ``B S = Y``; dependent directions are left out."""
    if not S.shape[1]:
        return S, Y
    S, Y = _independent(S, Y, (S * D[:, None]).T @ S)
    inner = S.T @ Y
    values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
    used = values > DEPENDENT * max(float(values[-1]), TINY)
    S, Y, vectors = S @ vectors[:, used], Y @ vectors[:, used], values[used]
    roots = np.linalg.cholesky((S * D[:, None]).T @ S)
    return np.linalg.solve(roots, (D[:, None] * S).T).T.copy(), Y / np.sqrt(vectors)


def _independent(S: Array, Y: Array, inner: Array) -> tuple[Array, Array]:
    """Return directions that are orthonormal in the metric of `inner`, and their images."""
    values, vectors = np.linalg.eigh(inner)
    used = values > DEPENDENT * max(float(values[-1]), TINY)
    across = vectors[:, used] / np.sqrt(values[used])
    return S @ across, Y @ across


def _largest(A: Array, D: Array, free: bool) -> float:
    """Return the largest ``|A'z|^2 / z'D z``, of z that add up to zero where the intercept is free."""
    if not A.shape[1]:
        return 0.0
    scaled = A / D[:, None]
    inner = A.T @ scaled
    if free:
        ones = scaled.sum(axis=0)
        inner = inner - np.outer(ones, ones) / float((1.0 / D).sum())
    return max(0.0, float(np.linalg.eigvalsh(inner)[-1]))


def proximal(c: Array, scale: Array, shape: Shape, mu: float) -> tuple[Array, float]:
    """Return ``argmin 1/2 sum (scale + ridge) x^2 - (c, x) + sum phi(x)`` within the bounds, and its intercept.

    The sum of x falls as the intercept grows: its root is found by Newton's steps within a shrinking bracket.
    """
    out = np.empty_like(c)
    arrays = (c, scale, *shape[:5], out)
    if not shape.free:
        _clipped(*arrays, 0.0)
        return out, 0.0
    low, high = -np.inf, np.inf
    reach = 1.0 + abs(mu)
    for _ in range(ROOT_STEPS):
        total, bend = _clipped(*arrays, mu)
        if total > shape.total:
            low = mu
        else:
            high = mu
        excess = total - shape.total
        if excess == 0.0 or abs(excess) <= ROUNDING * bend * max(abs(mu), TINY):
            break
        new = mu + excess / bend if bend > 0.0 else np.inf if excess > 0.0 else -np.inf
        if not low < new < high:
            reach *= 4.0
            new = 0.5 * (low + high) if np.isfinite(low + high) else mu + (reach if excess > 0.0 else -reach)
        if new in (low, high):
            break
        mu = new
    _level(out, shape.low, shape.high, shape.total)
    return out, mu


ROUNDING = 1e-15
"""Relative step of the intercept that is lost in rounding."""


@jit
def _clipped(c, scale, below, above, low, high, ridge, out, mu):  # type: ignore[no-untyped-def]
    # Writes x(mu); returns its sum and minus the slope of the sum.
    total, bend = 0.0, 0.0
    for i in range(len(c)):
        curve = scale[i] + ridge[i]
        x = c[i] - mu + above[i]
        if x <= 0.0:
            x = min(0.0, c[i] - mu + below[i])
        x /= curve
        if x <= low[i]:
            x = low[i]
        elif x >= high[i]:
            x = high[i]
        elif x != 0.0 or above[i] == below[i]:
            bend += 1.0 / curve
        total += x
        out[i] = x
    return total, bend


@jit
def _level(x, low, high, total):  # type: ignore[no-untyped-def]
    # The rounding that is left of the sum goes to rows inside their bounds.
    for _ in range(2):
        left = total - x.sum()
        for i in range(len(x)):
            if left == 0.0:
                return
            if low[i] < x[i] < high[i]:
                new = min(high[i], max(low[i], x[i] + left))
                left -= new - x[i]
                x[i] = new
