"""Semi-infinite linear programming, the wrapper (Sonnenburg et al. 2006, Algorithm 1).

Solves `problem` for p = 1.  Alternates between

    the SVM of the current weights:  alpha^t = argmax d(alpha) - 1/2 sum_k beta_k^t q_k(alpha)     (a new cut)
    the linear programme over cuts:  beta^(t+1), theta^(t+1) = argmin max_r d^r - 1/2 sum_k beta_k q_k^r

With the paper's ``S_k(alpha) = 1/2 q_k - d``, its stopping rule is ``|1 - sum_k beta_k S_k / theta| <= eps``; it is in
the trace as `paper_rule`.  The run itself stops at the certified gap: the dual variables of the programme combine
past alphas into one whose dual value is at least theta's.
"""

from __future__ import annotations

import numpy as np

from kernelweave.solvers.certificate import Ledger
from kernelweave.solvers.loop import Stop
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.mkl.weights.wrapper import CutWrapper


class SILP(CutWrapper):
    """Support vector machines around a linear programme that grows by a cut each time (the wrapper algorithm)."""

    keeps = "theta rule"

    def init(self, problem: MKLProblem, start: object, stop: Stop) -> None:
        """Start without a bound."""
        super().init(problem, start, stop)  # type: ignore[arg-type]
        self.theta, self.rule = -np.inf, np.inf

    def step(self) -> None:
        """Solve the SVM, add its cut, solve the programme."""
        self.now = self.evaluate(self.beta)
        if np.isfinite(self.theta):
            self.rule = abs(1.0 - (self.now.d - 0.5 * self.beta @ self.now.q) / self.theta)
        self.add_cut(self.now)
        self.beta, self.theta, self.proof = self.lower_bound()

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Certify by the cuts, and report the paper's rule."""
        return {"paper_rule": self.rule, **super().certify(ledger)}
