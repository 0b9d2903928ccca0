"""Semi-infinite linear programming inside chunking (Sonnenburg et al. 2006, Algorithm 2): alpha and beta together.

Solves `problem` for p = 1 and losses with a box-constrained dual.  The outputs ``g_k = K_k alpha`` of all kernels are
kept, (m, n).  One `step`:

    1. choose Q rows and solve their quadratic programme for the current weights (see `svm.chunking`);
    2. g_k += K_k[:, W] delta for every kernel;
    3. S_k = 1/2 alpha'g_k - d is a new cut; solve the linear programme over all past cuts for the next weights.

The minimisers of the programme jump between corners of the simplex, and alpha runs after them.  With the default
``stabilisation="level"`` the next weights are the nearest ones on a level set (see `level`), and they are kept until
they have served: until the cut lies above the level by then, or the chunks have solved their SVM to a share of the gap.
``stabilisation=None`` is Algorithm 2 as printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernelweave.operators.base import OperatorSet
from kernelweave.solvers.certificate import Ledger, PrimalPoint, best_intercept
from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.lp.master import Cut, Master
from kernelweave.solvers.mkl.cutting.carried import carried
from kernelweave.solvers.mkl.cutting.level import LEVEL, on_level
from kernelweave.solvers.mkl.cutting.silp import checked_stabilisation
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.mkl.weights.wrapper import prove_by_cuts
from kernelweave.solvers.problems import Array, Problem
from kernelweave.solvers.state import Resumable
from kernelweave.solvers.svm.chunking import Chunking

MOST_OUTPUTS = 1 << 23
"""Outputs of all kernels up to which a checkpoint holds them (64 MB); beyond, they are computed again, to rounding."""

SOLVED = 0.5
"""Weights have served when the gap of their SVM is below this share of the distance of its cut to the bounds."""


class ContributionOperator:
    """The weighted sum of kernels as an operator that also keeps what every kernel contributes."""

    def __init__(self, operators: OperatorSet, beta: Array):
        self.operators, self.n = operators, operators.n
        self.each = np.zeros((operators.m, operators.n))
        self.diagonals = operators.diagonals()
        self.beta = beta

    def diag(self) -> Array:
        """Return the diagonal of the sum."""
        return self.beta @ self.diagonals

    def submatrix(self, rows: Array) -> Array:
        """Return the sum on some rows."""
        return self.operators.combined_submatrix(self.beta, rows)

    def columns(self, rows: Array) -> Array:
        """Return columns of the sum."""
        return self.operators.combined(self.beta).columns(rows)

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Carry a change of alpha over to every kernel's outputs, and their weighted sum to `out`."""
        if len(rows):
            self.operators.each_add_to(self.each, rows, steps)
        out[:] = self.beta @ self.each


class SILPChunking(Resumable):
    """The linear programme of "silp" inside chunking: a cut after every chunk, classifier and weights together.

    Parameters
    ----------
    chunk_size : Q, at least 2; None to choose it by the number of rows
    stabilisation : "level" for the nearest weights on a level set, kept until they have served; None for the minimiser
        of the linear programme after each chunk, as printed in the paper
    """

    keeps = "kept.beta lower upper theta rule q d point proof"
    same_bits = False  # a linear programme that was built again rounds otherwise
    limits = Limits(4000, rows=20, patience=500, instead=("level", "hessian", "lp"))
    former: Sequence[Cut] = ()

    def __init__(self, chunk_size: int | None = None, stabilisation: str | None = "level"):
        self.chunk_size, self.stabilisation = chunk_size, checked_stabilisation(stabilisation)

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start from equal weights, or from former ones."""
        m = problem.operators.m
        beta = problem.ball.uniform(m) if start is None or start.beta is None else np.asarray(start.beta)
        self.problem, self.stop = problem, stop
        self.kept = ContributionOperator(problem.operators, beta)
        self.svm = Chunking(self.chunk_size)
        inner = Problem(
            self.kept, problem.loss, problem.targets[0], problem.cost, problem.intercept, problem.total
        )  # fmt: skip
        self.svm.init(inner, None if start is None else np.asarray(start.alpha)[0], stop)
        self.master: Master | None = None
        self.lower, self.upper, self.theta, self.rule = -np.inf, np.inf, -np.inf, np.inf

    def state(self) -> dict[str, Any]:
        """Return what is kept, the cuts, and the outputs of all kernels where they are not too many."""
        few = self.kept.each.size <= MOST_OUTPUTS
        return {
            **(super().state() or {}), "svm": self.svm.state(), "each": self.kept.each if few else None,
            "master": None if self.master is None else self.master.state(),
        }  # fmt: skip

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on with the cuts so far."""
        parts = ("svm", "each", "master")
        super().resume({name: value for name, value in state.items() if name not in parts})
        self.svm.resume(state["svm"])
        if state["each"] is not None:
            self.kept.each = state["each"]
        else:
            alpha, self.kept.each = self.svm.alpha, np.zeros_like(self.kept.each)
            rows = np.flatnonzero(alpha)
            self.kept.add_to(self.svm.F, rows, alpha[rows])
        self.svm.diag = self.kept.diag()
        cuts = state["master"]
        self.master = None if cuts is None else Master.resumed(self.problem.operators.m, cuts)

    @property
    def cuts(self) -> Sequence[Cut]:
        """The cuts so far: the next solver on the same kernels may begin with them, as its `former` ones."""
        return self.former if self.master is None else self.master.cuts

    def step(self) -> None:
        """Solve one chunk; where the weights have served, add its cut, solve the programme, change the weights."""
        self.svm.step()
        alpha = self.svm.alpha
        self.q = self.kept.each @ alpha
        self.d = self.problem.linear(alpha[None, :])
        self.point = self._primal(alpha)
        self.upper = min(self.upper, self.point.value)
        value = self.d - 0.5 * float(self.kept.beta @ self.q)
        if np.isfinite(self.theta):
            self.rule = abs(1.0 - value / self.theta)
        if self._served(value):
            self._change_weights(alpha)

    def _served(self, value: float) -> bool:
        """Tell whether the weights may change, given the value of the cut at them."""
        if self.stabilisation is None or self.master is None:
            return True
        gap = max(self.upper - self.lower, 0.0)
        return value > self.lower + LEVEL * gap or self.point.value - value <= SOLVED * (1.0 - LEVEL) * gap

    def _change_weights(self, alpha: Array) -> None:
        if self.master is None:
            self.master = Master(self.problem.operators.m, self.point.value)
            for cut in carried(self.former, self.problem):
                self.master.add(cut.d, cut.q, cut.alpha)
        self.master.prune()
        self.master.add(self.d, self.q, alpha[None, :])
        beta, self.theta, self.proof = self.master.solve()
        self.lower = max(self.lower, self.theta)
        if self.stabilisation == "level":
            beta = on_level(self.kept.beta, self.master, self.lower, self.upper)
        self.kept.beta = beta
        self.svm.F = self.kept.beta @ self.kept.each
        self.svm.diag = self.kept.diag()

    def _primal(self, alpha: Array) -> PrimalPoint:
        """Return the classifier of the weights before the programme changes them."""
        inner, outputs = self.svm.problem, self.kept.beta @ self.kept.each
        b = best_intercept(inner, outputs, alpha)
        value = inner.primal(float(self.kept.beta @ self.q), outputs + b, b)
        return PrimalPoint(alpha[None, :].copy(), np.array([b]), value, self.kept.beta.copy())

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer both points of the chunk, and the combination of cuts where that is nearer."""
        ledger.offer(primal=self.point)
        self.problem.offer_dual(ledger, self.svm.alpha[None, :], self.q)
        assert self.master is not None
        prove_by_cuts(self.problem, self.master, self.lower, self.proof, ledger, self.stop.tol)
        return {"paper_rule": self.rule, "bound": self.lower}

    def fallback(self) -> PrimalPoint:
        """Return the zero classifier."""
        return self.problem.nothing()
