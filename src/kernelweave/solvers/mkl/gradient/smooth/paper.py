"""The schedule "paper" of `smooth`: Algorithm 2 of Xu et al. (2010), Nesterov's method of 2005, in runs of N steps.

With T the projection onto the feasible set (for their problem, which has no intercept, a clip to [0, C]):

    beta^k  = T(alpha^k - f'(alpha^k) / L)                                         (15)
    gamma^k = T(alpha^0 - 1/L sum_{j <= k} (j + 1)/2 f'(alpha^j))                  (18)
    alpha^{k+1} = tau_k gamma^k + (1 - tau_k) beta^k,      tau_k = 2 / (k + 3)     (19)

The solution is beta^N.  alpha^0 is the SVM of equal weights; it is the centre of the prox function, too, since centred
at 0, as (18) has it, the first steps would lead away from it.  Where N steps have not closed the gap, the sequences
begin anew from beta^N.

The constants, mended where the printed ones do not hold.  With ``a = max_k eigmax(K_k)``, ``D^2`` the squared diameter
of the box (n C^2 for the hinge loss) and s the number of copies in v (1 or 2; `objective`),

    L = s a + ridge + b D^2 / lambda,      b = 2 s a^2                             (Corollary 3)
    lambda = 2 D^2 sqrt(b / ln m) / (N + 1),

where lambda is the minimiser of the bound of Corollary 5, ``2 L D^2 / (N + 1)^2 + (lambda / 2) ln m``.  This L holds
everywhere and is far larger than what a run meets.  So by default L is doubled where the quadratic bound fails, from
the mean diagonal of the kernels on, and never exceeds that of Corollary 3: Theorem 4 holds with the largest L so far,

    f(beta^k) - f(alpha*) <= 2 L |alpha* - alpha^0|^2 / ((k + 1) (k + 2)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from kernelweave.losses import BoxQP
from kernelweave.operators.base import Operator, product
from kernelweave.solvers.mkl.gradient.smooth.adaptive import GROW, holds
from kernelweave.solvers.mkl.gradient.smooth.objective import SmoothedDual
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import TINY, Array

FEWEST_ROWS = 3
"""Rows from which on Lanczos steps find eigenvalues."""
EIGEN_TOL = 1e-3
"""Relative accuracy of an eigenvalue; it is taken to be larger by twice as much."""


@dataclass(frozen=True)
class Constants:
    """What the steps and the rates depend on.

    Parameters
    ----------
    a, b, diameter2, ridge, copies : see the module
    m : number of kernels
    """

    a: float
    b: float
    diameter2: float
    ridge: float
    copies: int
    m: int

    @classmethod
    def of(cls, problem: MKLProblem, box: BoxQP) -> Constants:
        """Return the constants of a problem whose box is bounded."""
        width = box.high - box.low
        if not np.isfinite(width).all():
            raise ValueError(
                f"schedule='paper' needs dual variables that are bounded, which those of {problem.loss.name} are not; "
                "use schedule='adaptive' or loss='hinge'."
            )
        a, copies = largest_eigenvalue(problem), len(box.p)
        a += problem.operators.n if problem.intercept == "regularized" else 0.0
        ridge = float(np.max(box.ridge, initial=0.0))
        return cls(a, 2.0 * copies * a * a, float((width * width).sum()), ridge, copies, problem.operators.m)

    def smoothing(self, steps: int) -> float:
        """Return the lambda of the smallest bound after so many steps.

        >>> round(Constants(a=1.0, b=2.0, diameter2=4.0, ridge=0.0, copies=1, m=3).smoothing(9), 4)
        1.0794
        """
        return 2.0 * self.diameter2 * float(np.sqrt(self.b / max(np.log(self.m), TINY))) / (steps + 1)

    def lipschitz(self, lam: float) -> float:
        """Return the L of Corollary 3."""
        return self.copies * self.a + self.ridge + self.b * self.diameter2 / lam


class NesterovSteps:
    """The three sequences; v (copies, n) is the last beta, with its value.

    Parameters
    ----------
    objective : what is minimised
    v : a feasible point to start from
    constants : of the problem
    steps : N
    measured : whether L grows from a small one, instead of being that of Corollary 3
    """

    def __init__(self, objective: SmoothedDual, v: Array, constants: Constants, steps: int, measured: bool = True):
        self.objective, self.steps, self.measured = objective, steps, measured
        self.most = constants.lipschitz(objective.lam)
        mean = float(np.mean(objective.problem.operators.diagonals()))
        self.lipschitz = min(max(mean, TINY), self.most) if measured else self.most
        self.value, _, _ = objective.evaluate(v)
        self.v = v
        self._begin()

    def _begin(self) -> None:
        """Begin the sequences at v."""
        self.centre, self.alpha, self.total, self.k = self.v.copy(), self.v.copy(), np.zeros_like(self.v), 0

    def step(self) -> None:
        """Do the step from k to k + 1, or begin anew after N of them."""
        if self.k > self.steps:
            self._begin()
        value, gradient, _ = self.objective.evaluate(self.alpha)
        self.v, self.value = self._beta(value, gradient)
        self.total += 0.5 * (self.k + 1) * gradient
        gamma = self.objective.feasible(self.centre - self.total / self.lipschitz)
        tau = 2.0 / (self.k + 3)
        self.alpha = tau * gamma + (1.0 - tau) * self.v
        self.k += 1

    def _beta(self, value: float, gradient: Array) -> tuple[Array, float]:
        """Return beta and its value; L grows until the quadratic bound holds."""
        while True:
            beta = self.objective.feasible(self.alpha - gradient / self.lipschitz)
            new = self.objective.evaluate(beta)[0]
            enough = self.lipschitz >= self.most
            if enough or not self.measured or holds(value, gradient, beta - self.alpha, self.lipschitz, new):
                return beta, new
            self.lipschitz = min(GROW * self.lipschitz, self.most)


def largest_eigenvalue(problem: MKLProblem) -> float:
    """Return ``max_k eigmax(K_k)``, or a little more."""
    operators = problem.operators
    traces = operators.diagonals().sum(axis=1)
    if operators.n < FEWEST_ROWS:
        return float(traces.max())
    found = 0.0
    for k in np.argsort(-traces):
        if traces[k] > found:  # an eigenvalue is no more than the trace
            size = _top(operators.combined(np.eye(1, operators.m, k)[0])) * (1.0 + 2.0 * EIGEN_TOL)
            found = max(found, min(size, float(traces[k])))
    return found


def _top(operator: Operator) -> float:
    """Return the largest eigenvalue of a kernel, by Lanczos steps from a fixed vector."""
    n = operator.n
    matrix = LinearOperator((n, n), matvec=lambda x: product(operator, np.ravel(x)), dtype=float)
    start = np.random.default_rng(0).standard_normal(n)
    return float(eigsh(matrix, k=1, which="LA", v0=start, tol=EIGEN_TOL, return_eigenvectors=False)[0])
