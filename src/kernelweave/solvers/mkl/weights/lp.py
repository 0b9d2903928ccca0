"""lp-norm multiple kernel learning by closed-form weights (Kloft et al. 2011), for every p >= 1.

    min over beta   J(beta),     beta >= 0, |beta|_p <= 1,     J the optimum of the SVM of sum_k beta_k K_k (`problem`)

Alternates between the SVM of the current weights, solved only as well as the gap can use, and the weights that are
optimal for its classifier,

    |w_k| = beta_k sqrt(q_k),      beta_k = |w_k|^(2/(p+1)) / (sum_j |w_j|^(2p/(p+1)))^(1/p).

The primal objective falls with every alternation.
"""

from __future__ import annotations

import numpy as np

from kernelweave.solvers.mkl.weights.wrapper import Wrapper


class LpNorm(Wrapper):
    """Closed-form weights between support vector machines (block coordinate descent)."""

    def step(self) -> None:
        """Solve the SVM, then set the weights."""
        self.now = self.evaluate(self.beta)
        norms = self.beta * np.sqrt(np.maximum(self.now.q, 0.0))
        self.beta = self.problem.ball.minimizer(norms)
