"""An interior-point method for kernels of low rank (Mehrotra 1992; for low rank Ferris and Munson 2002).

    min over v   1/2 a'K a + 1/2 sum ridge v^2 - sum p v,     low <= v <= high,     a = v.sum(axis=0),
                 sum v = total for a free intercept;          K = X X' + diag(own),  X (n, d) with few columns

Given: an operator that can be factored (`Factored`), a loss with a box-constrained dual.  Back comes a point of any
accuracy after some twenty steps, whatever C and the scale of the rows: a step costs n d^2, so this is for d << n.

Newton's method on the optimality conditions, complementary products driven to zero together:

    p - X w - own a - ridge v - b + zl - zu = 0,   w = X'a,   sum v = total,   zl (v - low) = zu (high - v) = mu -> 0

The normal vector w has a variable of its own: X'a would be the difference of large numbers in every step.  With
``T = ridge + zl / sl + zu / su`` a step solves ``X dw + own da + T dv + db = r`` for two right sides.  Over the copies
``u = sum 1 / T``, ``U = u / (1 + u own)``, so that ``da = R - U (X dw + db)``, and dw follows from

    [ I + X'UX   X'U1 ] [ dw ]   [ X'R + X'a - w ]
    [ 1'UX       1'U1 ] [ db ] = [ 1'R - missing ]          (with a free intercept)

Letters: sl, su distances to the bounds; zl, zu their multipliers; b intercept; mu mean complementary product.
Variables whose multiplier outweighs their distance to a bound are put on it for the certificate, which is therefore
that of a sparse classifier.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve

from kernelweave.operators.base import Factored
from kernelweave.solvers.certificate import Ledger, PrimalPoint, certify
from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.problems import TINY, Array, Problem, dot
from kernelweave.solvers.state import Resumable
from kernelweave.solvers.svm.box import FINE, BoxSolver, balance
from kernelweave.solvers.svm.newton import positive_factor
from kernelweave.solvers.svm.polish import polish

BACK_OFF = 0.99
"""Share of the way to the nearest bound that a step may go."""
NEARLY = 4.0
"""Within so many tolerances of the goal, the best intercept is searched for each certificate."""
FIRST_SLACK = 0.5
"""Where variables start, as a share of the width of their box."""


class InteriorPoint(Resumable):
    """Newton steps through the inside of the box, for kernels with few explicit features; any C in few steps."""

    keeps = "v w b zl zu former"
    limits = Limits(300, patience=120, instead=("dual_coordinate",))

    def init(self, problem: Problem, start: Array | None, stop: Stop) -> None:
        """Start inside the box: a former solution lies on its faces; it is offered as it is, and may do already."""
        box = problem.loss.box(problem.y, problem.cost)
        if box is None:
            raise TypeError(f"{problem.loss.name} loss has no box-constrained dual; use solver='newton'.")
        if not isinstance(problem.operator, Factored):
            raise TypeError("solver='interior_point' needs a kernel with explicit features; use 'smo' or 'chunking'.")
        self.problem, self.stop, self.box = problem, stop, box
        X, self.own = problem.operator.factor()
        self.X = np.hstack([X, np.ones((len(X), 1))]) if problem.shift else X
        self.diag = np.einsum("ij,ij->i", self.X, self.X) + self.own
        self.low, self.high = box.low, box.high
        self.moving = self.high > self.low
        self.below, self.above = self.moving & np.isfinite(self.low), self.moving & np.isfinite(self.high)
        self.former = None if start is None else box.split(np.asarray(start, dtype=float))
        self._start()

    def _start(self) -> None:
        """Set v well inside, multipliers with equal complementary products, and no intercept."""
        size = (float(np.abs(self.box.p).mean()) + 1.0) / max(float(self.diag.mean()), TINY)
        width = np.minimum(FIRST_SLACK * (self.high - self.low), size)
        low, high = np.where(self.below, self.low, 0.0), np.where(self.above, self.high, 0.0)
        inside = np.where(self.below, low + width, np.where(self.above, high - width, 0.0))
        self.v, self.b = np.where(self.moving, inside, self.low), 0.0
        self.w = self.X.T @ self.alpha
        sl, su = self._slacks()
        mu = size * max(float(np.abs(self._gains()[self.moving]).mean()) if self.moving.any() else 1.0, TINY)
        self.zl, self.zu = (
            _quotient(np.full_like(sl, mu), sl, self.below),
            _quotient(np.full_like(su, mu), su, self.above),
        )

    @property
    def alpha(self) -> Array:
        """Signed dual variables, one a row."""
        return self.v.sum(axis=0)

    def _gains(self) -> Array:
        """Return the derivative of the dual objective in each variable, (copies, n), intercept included."""
        return self.box.p - self.X @ self.w - self.own * self.alpha - self.b - self.box.ridge * self.v

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # a step that is not finite is not taken
    def step(self) -> None:
        """Predict without centring, then correct: two solutions of one system."""
        sl, su = self._slacks()
        T = self.box.ridge + _quotient(self.zl, sl, self.below) + _quotient(self.zu, su, self.above)
        inverse = _quotient(np.ones_like(T), T, self.moving)
        solve = self._factored(inverse)
        residual = self._gains() + self.zl - self.zu
        pairs = max(1, int(self.below.sum() + self.above.sum()))
        mu = float((self.zl * sl).sum() + (self.zu * su).sum()) / pairs
        zero = np.zeros_like(T)
        dv, _, _, dl, du = self._direction(solve, inverse, residual, sl, su, zero, zero)
        t = self._length(sl, su, dv, dl, du)
        ahead = (self.zl + t * dl) * (sl + t * dv) * self.below + (self.zu + t * du) * (su - t * dv) * self.above
        share = float(ahead.sum()) / pairs / max(mu, TINY)
        centre = mu * share * share * share
        dv, dw, db, dl, du = self._direction(solve, inverse, residual, sl, su, centre - dl * dv, centre + du * dv)
        t = BACK_OFF * self._length(sl, su, dv, dl, du)
        if not (np.isfinite(dv).all() and np.isfinite(dw).all() and np.isfinite(db)):
            return
        self.v, self.w, self.b = self.v + t * dv, self.w + t * dw, self.b + t * db
        self.zl, self.zu = np.maximum(self.zl + t * dl, 0.0), np.maximum(self.zu + t * du, 0.0)

    def _slacks(self) -> tuple[Array, Array]:
        """Return the distances to both bounds, 1 where there is none."""
        tiny = TINY**0.5
        sl = np.where(self.below, np.maximum(self.v - np.where(self.below, self.low, 0.0), tiny), 1.0)
        su = np.where(self.above, np.maximum(np.where(self.above, self.high, 0.0) - self.v, tiny), 1.0)
        return sl, su

    def _factored(self, inverse: Array):  # type: ignore[no-untyped-def]
        """Return a function R -> (da, dw, db) that solves the system of the header."""
        u = inverse.sum(axis=0)
        damped = 1.0 + u * self.own
        U = u / damped
        d, free = self.X.shape[1], self.problem.free
        M = np.empty((d + free, d + free))
        scaled = self.X * np.sqrt(U)[:, None]
        M[:d, :d] = scaled.T @ scaled
        M[np.arange(d), np.arange(d)] += 1.0
        if free:
            M[:d, d] = M[d, :d] = self.X.T @ U
            M[d, d] = max(float(U.sum()), TINY)
        factor = positive_factor(M)
        alpha = self.alpha
        astray, missing = self.X.T @ alpha - self.w, self.problem.total - float(alpha.sum())

        def solve(R: Array) -> tuple[Array, Array, float]:
            R = R / damped
            right = self.X.T @ R + astray
            found = cho_solve(factor, np.append(right, float(R.sum()) - missing) if free else right, check_finite=False)
            dw, db = found[:d], float(found[d]) if free else 0.0
            return R - U * (self.X @ dw + db), dw, db

        return solve

    def _direction(self, solve, inverse, residual, sl, su, aim_low, aim_high):  # type: ignore[no-untyped-def]
        """Return dv, dw, db, dzl, dzu towards complementary products `aim_low` and `aim_high`."""
        toward_low = _quotient(aim_low, sl, self.below) - self.zl
        toward_high = _quotient(aim_high, su, self.above) - self.zu
        r = residual + toward_low - toward_high
        da, dw, db = solve((inverse * r).sum(axis=0))
        dv = inverse * (r - self.X @ dw - self.own * da - db)
        dl = np.where(self.below, toward_low - _quotient(self.zl, sl, self.below) * dv, 0.0)
        du = np.where(self.above, toward_high + _quotient(self.zu, su, self.above) * dv, 0.0)
        return dv, dw, db, dl, du

    def _length(self, sl: Array, su: Array, dv: Array, dl: Array, du: Array) -> float:
        """Return how far a step may go before a distance or a multiplier vanishes, at most 1."""
        t = 1.0
        for value, change, there in (
            (sl, dv, self.below), (su, -dv, self.above), (self.zl, dl, self.below), (self.zu, du, self.above)
        ):  # fmt: skip
            falling = there & (change < 0)
            if falling.any():
                t = min(t, float((value[falling] / -change[falling]).min()))
        return t

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer the point with its settled variables on their bounds; with the best intercept once nearly there."""
        if self.former is not None:
            certify(self.problem, *self._feasible(self.former), ledger)
            self.former = None
        alpha, outputs = self._settled()
        known = ledger.primal is not None and self._rounding(alpha) <= self.stop.tol * abs(ledger.primal.value)
        certify(
            self.problem, alpha, outputs, ledger, feasible=known or ledger.dual is None, guess=self._intercept(alpha)
        )
        if known and min(ledger.gap, self._open(ledger)) <= NEARLY * self.stop.tol:
            certify(self.problem, alpha, outputs, ledger, rescale=ledger.gap > self.stop.tol)
            if ledger.gap > self.stop.tol and min(ledger.gap, self._open(ledger)) <= FINE:
                self._finish(alpha, ledger)
        return {}

    def _rounding(self, alpha: Array) -> float:
        """Return how much of ``alpha' K alpha`` may be rounding: in rows of huge scale large terms cancel."""
        length = dot(np.abs(alpha), np.sqrt(self.diag))
        return float(np.finfo(float).eps) * length * length

    def _open(self, ledger: Ledger) -> float:
        """Return the gap as the complementary products have it."""
        assert ledger.primal is not None
        sl, su = self._slacks()
        products = float((self.zl * sl).sum() + (self.zu * su).sum())
        return products / max(abs(ledger.primal.value), self.problem.smallest_scale)

    def _finish(self, alpha: Array, ledger: Ledger) -> None:
        """Offer the exact solution of the free variables: with a large C, rounding of alpha costs more than the gap."""
        exact = BoxSolver()
        exact.init(self.problem, alpha, self.stop)
        if polish(exact):
            certify(self.problem, exact.alpha, exact.F, ledger)

    def _settled(self) -> tuple[Array, Array]:
        """Return a feasible alpha on the faces of the box that the multipliers point to, and its outputs."""
        sl, su = self._slacks()
        size = float(np.abs(self.box.p).mean()) + float(np.abs(self.X @ self.w).mean())
        unit = float(np.abs(self.alpha).mean()) / max(size, TINY)
        v = np.where(self.below & (sl < unit * self.zl), self.low, self.v)
        return self._feasible(np.where(self.above & (su < unit * self.zu), self.high, v))

    def _feasible(self, v: Array) -> tuple[Array, Array]:
        """Return alpha, balanced where the intercept is free, and its outputs."""
        if self.problem.free:
            balance(v, self.box, self.problem.total)
        alpha = v.sum(axis=0)
        outputs = self.X @ (self.X.T @ alpha) + self.own * alpha
        return alpha, outputs - self.problem.shift * float(alpha.sum())

    def _intercept(self, alpha: Array) -> float:
        return self.b if self.problem.free else self.problem.shift * float(alpha.sum())

    def fallback(self) -> PrimalPoint:
        """Return the current point."""
        ledger = Ledger()
        alpha, outputs = self._settled()
        certify(self.problem, alpha, outputs, ledger)
        assert ledger.primal is not None
        return ledger.primal


def _quotient(a: Array, b: Array, where: Array) -> Array:
    """Return a / b in some places and 0 elsewhere."""
    return np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=where)
