"""Semi-infinite linear programming, the wrapper (Sonnenburg et al. 2006, Algorithm 1).

Solves `problem` for p = 1.  Alternates between

    the SVM of the current weights:  alpha^t = argmax d(alpha) - 1/2 sum_k beta_k^t q_k(alpha)     (a new cut)
    the linear programme over cuts:  beta^(t+1), theta^(t+1) = argmin max_r d^r - 1/2 sum_k beta_k q_k^r

With the paper's ``S_k(alpha) = 1/2 q_k - d``, its stopping rule is ``|1 - sum_k beta_k S_k / theta| <= eps``; it is in
the trace as `paper_rule`.  The run itself stops at the certified gap: the dual variables of the programme combine
past alphas into one whose dual value is at least theta's.

The minimisers of the programme jump between corners of the simplex.  With ``stabilisation="level"`` the next weights
are their projection onto a level set instead (see `level`), and all else stays as it is.
"""

from __future__ import annotations

import numpy as np

from kernelweave.solvers.certificate import Ledger
from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.mkl.cutting.level import LevelMethod, on_level
from kernelweave.solvers.mkl.problem import MKLProblem

STABILISATIONS = (None, "level")
"""How the weights after a linear programme may be chosen: its minimiser, or the nearest ones on a level set."""


def checked_stabilisation(name: str | None) -> str | None:
    """Return a way to choose weights, or raise one sentence."""
    if name not in STABILISATIONS:
        raise ValueError(f"stabilisation={name!r} must be 'level', or None for the minimiser of the linear programme.")
    return name


class SILP(LevelMethod):
    """Support vector machines around a linear programme that grows by a cut each time (the wrapper algorithm).

    Parameters
    ----------
    stabilisation : None for the weights that minimise the linear programme, as printed in the paper, or "level" for
        the nearest ones on a level set, which takes fewer machines where kernels are many
    """

    keeps = "theta rule"
    limits = Limits(2000, inside=100_000, idle=10_000, patience=300, instead=("level", "hessian", "lp"))

    def __init__(self, stabilisation: str | None = None):
        self.stabilisation = checked_stabilisation(stabilisation)

    def init(self, problem: MKLProblem, start: object, stop: Stop) -> None:
        """Start without a bound."""
        super().init(problem, start, stop)  # type: ignore[arg-type]
        self.theta, self.rule = -np.inf, np.inf

    def step(self) -> None:
        """Solve the SVM, add its cut, solve the programme."""
        self.now = self.evaluate(self.beta)
        self.upper = min(self.upper, self.now.value)
        if np.isfinite(self.theta):
            self.rule = abs(1.0 - (self.now.d - 0.5 * self.beta @ self.now.q) / self.theta)
        self.add_cut(self.now)
        minimiser, self.theta, self.proof = self.lower_bound()
        assert self.master is not None
        level = self.stabilisation == "level"
        self.beta = on_level(self.beta, self.master, self.lower, self.upper) if level else minimiser

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Certify by the cuts, and report the paper's rule."""
        return {"paper_rule": self.rule, **super().certify(ledger)}
