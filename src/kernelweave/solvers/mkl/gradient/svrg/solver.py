"""Multi-epoch SVRG for lp-norm multiple kernel learning (Alioscha-Perez et al.), on explicit features.

Solves, for losses with a bounded second derivative and every p >= 1,

    min over w, b   1/2 (sum_k |w_k|^r)^(2/r) + sum_i c_i loss(f_i, y_i),     f = X w + b,     r = 2p / (p + 1)

and gives back w, b, the kernel weights that belong to w, and the dual point of the last snapshot (`walk`).

An epoch takes a snapshot of the full gradient and then walks over rows, each correcting the snapshot by how much its
own slope has changed since.  The kernel weights get their closed form between epochs.  Two schedules under one name:
"paper" is their Algorithm 1 with the constants of their Proposition 1.  "adaptive" is another algorithm on the same
idea: batches without repetition, steps that follow a measured curvature and shrink within an epoch, weights that follow
w several times an epoch, epochs that are taken back or extrapolated (`adaptive` lists all).  The theorems of the paper
are about "paper" only; the certificate is about both.

Where the problem is so badly conditioned (a large C) that an epoch shrinks the gap by little, what is left lies in few
flat directions, in which the points of successive epochs line up.  The adaptive schedule then starts the next epoch
from a point farther along, with Nesterov's momentum over epochs.
"""

from __future__ import annotations

import numpy as np

from kernelweave.solvers.certificate import Ledger, PrimalPoint
from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.mkl.gradient.primal import PrimalEvaluation, PrimalSolver
from kernelweave.solvers.mkl.gradient.svrg.adaptive import AdaptiveEpochs
from kernelweave.solvers.mkl.gradient.svrg.loops import Epoch
from kernelweave.solvers.mkl.gradient.svrg.paper import PaperEpochs
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import Array, dot

SLOW = 0.3
"""An epoch that leaves more than this share of the gap is slow..."""
WARM_UP = 3
"""...unless it is one of the first."""


class SVRG(PrimalSolver):
    """Stochastic variance reduced gradients in several epochs.

    Parameters
    ----------
    schedule : "adaptive" or "paper"
    batch : rows of a step ("adaptive")
    epoch_passes : rows walked over in an epoch, in units of all rows ("adaptive")
    refreshes : how often the weights follow w within an epoch ("adaptive")
    epsilon : what a round of epochs reduces the error by ("paper"); None for the tolerance
    momentum : whether slow epochs are extrapolated ("adaptive")
    weights : "learned", or "fixed" to keep equal weights (a problem of its own, which then is what is certified)
    random_state : seed of the order of the rows
    """

    keeps = (
        "rng seen pace epoch reached open epochs.eta epochs.most epochs.steepest epochs.updates "
        "epochs.bound epochs.past"
    )
    limits = Limits(500, patience=50, instead=("lp", "hessian"))
    seen: PrimalEvaluation | None
    """The snapshot of the next epoch."""

    def __init__(
        self,
        schedule: str = "adaptive",
        batch: int = 8,
        epoch_passes: float = 2.0,
        refreshes: int = 10,
        epsilon: float | None = None,
        momentum: bool = True,
        weights: str = "learned",
        random_state: int = 0,
    ):
        if schedule not in ("adaptive", "paper"):
            raise ValueError(f"schedule={schedule!r} is unknown; choose 'adaptive' or 'paper'.")
        if weights not in ("learned", "fixed"):
            raise ValueError(f"weights={weights!r} must be 'learned' or 'fixed'.")
        if batch < 1 or refreshes < 1 or not epoch_passes > 0:
            raise ValueError("batch and refreshes must be at least 1, and epoch_passes positive.")
        if epsilon is not None and not 0 < epsilon < 1:
            raise ValueError(f"epsilon={epsilon!r} must lie between 0 and 1.")
        self.schedule, self.batch, self.epoch_passes, self.refreshes = schedule, int(batch), epoch_passes, refreshes
        self.momentum = momentum and schedule == "adaptive"
        self.epsilon, self.fixed_weights, self.random_state = epsilon, weights == "fixed", random_state

    @property
    def certifies(self) -> str:
        """The problem that the certificate is for."""
        return "fixed weights" if self.fixed_weights else "mkl"

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start from a former normal vector, or from zero."""
        super().init(problem, start, stop)
        self.rng, self.seen = np.random.default_rng(self.random_state), None
        self.pace, self.epoch = 1.0, 0
        self.scale = float(self.cost.sum())
        self.weight = self.cost * (len(self.cost) / self.scale)
        self.slope, self.shape = problem.loss.compiled_slope()
        if self.schedule == "paper":
            self.epochs: PaperEpochs | AdaptiveEpochs = PaperEpochs(self, self.epsilon or min(stop.tol, 0.5))
        else:
            self.epochs = AdaptiveEpochs(self, self.batch, self.epoch_passes, self.refreshes)

    def step(self) -> None:
        """Run one epoch and look at where it led."""
        if self.seen is None:
            self.seen = self.evaluate(self.w, self.b)
            self.reached, self.open = self.seen.w, self.gap(self.seen)
        w, b = self.epochs.run(self.seen)
        self.epoch += 1
        farther = self._momentum(self.seen, w)
        start = w + farther * (w - self.reached) if farther else w
        new = self.evaluate(start, b) if np.isfinite(start).all() and np.isfinite(b) else None
        left = np.inf if new is None else self.gap(new)
        if self.epochs.accepts(Epoch(self.seen, new, self.open, left, bool(farther))) and new is not None:
            slow = self.epoch > WARM_UP and left > SLOW * self.open
            self.pace = self._next_pace() if slow else 1.0
            self.seen, self.reached, self.open = new, w, left
        else:
            self.pace, self.reached = 1.0, self.seen.w

    def _momentum(self, seen: PrimalEvaluation, w: Array) -> float:
        """Return how much farther to go than an epoch led; nothing where it turned back."""
        if not self.momentum:
            return 0.0
        if dot(seen.w - w, w - self.reached) > 0:
            self.pace = 1.0
        return (self.pace - 1.0) / self._next_pace()

    def _next_pace(self) -> float:
        return 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self.pace**2))

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer what was seen, and say how the epochs go."""
        return {**super().certify(ledger), **self.epochs.report()}

    def weights(self, norms: Array) -> Array:
        """Return the weights that belong to block norms, or those that are held."""
        return np.full(self.design.m, 1.0 / self.design.m) if self.fixed_weights else super().weights(norms)

    def support(self, q: Array) -> float:
        """Return the dual norm of the energies."""
        return float(self.weights(q) @ q) if self.fixed_weights else super().support(q)
