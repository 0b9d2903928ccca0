"""Semi-infinite linear programming inside chunking (Sonnenburg et al. 2006, Algorithm 2): alpha and beta together.

Solves `problem` for p = 1 and losses with a box-constrained dual.  One `step`:

    1. choose Q rows and solve their quadratic programme for the current weights (see `svm.chunking`);
    2. carry the change over to the outputs:  F += sum_k beta_k K_k[:, W] delta;
    3. S_k = 1/2 alpha'K_k alpha - d is a new cut; solve the linear programme over all past cuts for the next weights.

The minimisers of the programme jump between corners of the simplex, and alpha runs after them.  With the default
``stabilisation="level"`` the next weights are the nearest ones on a level set (see `level`), and they are kept until
they have served: until the cut lies above the level by then, or the chunks have solved their SVM to a share of the gap.
``stabilisation=None`` is Algorithm 2 as printed.

Where products go through a normal vector (linadd), rows join as in `svm.chunking`: on R rows, those with an alpha and
those near to one, at first few, both alpha and beta are learned to a share of the gap; then all rows are scored, once.
An alpha that is zero elsewhere is feasible for all rows, so every cut of few rows holds for all of them and is kept.
Weights are then changed only when the chunks have solved their SVM: each change costs an alpha that no longer fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelweave.operators.base import Restrictable
from kernelweave.solvers.certificate import Ledger, PrimalPoint, best_intercept, relative_gap
from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.lp.master import Cut, Master
from kernelweave.solvers.mkl.cutting.carried import carried
from kernelweave.solvers.mkl.cutting.level import LEVEL, on_level
from kernelweave.solvers.mkl.cutting.silp import checked_stabilisation
from kernelweave.solvers.mkl.cutting.weighted_sum import KeptOutputs, through_vectors, weighted_sum
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.mkl.weights.wrapper import prove_by_cuts
from kernelweave.solvers.problems import Array, Problem, dot
from kernelweave.solvers.state import Resumable
from kernelweave.solvers.svm.box import BoxSolver
from kernelweave.solvers.svm.chunking import SHRINK_FROM, WIDER, Chunking, first_rows, rows_at_work

MOST_OUTPUTS = 1 << 23
"""Outputs of all kernels up to which a checkpoint holds them (64 MB); beyond, they are computed again, to rounding."""

SOLVED = 0.5
"""Weights have served when the gap of their SVM is below this share of the distance of its cut to the bounds."""
CLOSER, COARSEST, FINEST = 0.1, 0.05, 0.7
"""Some of the rows are worked on until their gap is this share of the gap of all, but at most so much; and no closer
than this share of the tolerance."""


class SILPChunking(Resumable):
    """The linear programme of "silp" inside chunking: a cut after every chunk, classifier and weights together.

    Parameters
    ----------
    chunk_size : Q, at least 2; None to choose it by the number of rows
    stabilisation : "level" for the nearest weights on a level set, kept until they have served; None for the minimiser
        of the linear programme after each chunk, as printed in the paper
    """

    keeps = "beta rows point lower upper goal widest theta rule proof"
    same_bits = False  # a linear programme that was built again rounds otherwise
    limits = Limits(4000, rows=20, patience=500, instead=("level", "hessian", "lp"))
    former: Sequence[Cut] = ()

    def __init__(self, chunk_size: int | None = None, stabilisation: str | None = "level"):
        self.chunk_size, self.stabilisation = chunk_size, checked_stabilisation(stabilisation)

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start from equal weights, or from former ones."""
        m, n = problem.operators.m, problem.operators.n
        alpha = None if start is None else np.asarray(start.alpha)[0]
        self.beta = problem.ball.uniform(m) if start is None or start.beta is None else np.asarray(start.beta)
        self.problem, self.stop = problem, stop
        self.master: Master | None = None
        self.lower, self.upper, self.theta, self.rule = -np.inf, np.inf, -np.inf, np.inf
        self.goal, self.widest, self.added = 0.0, first_rows(n), False
        self.joining = n >= SHRINK_FROM and through_vectors(problem.operators)
        if self.joining:
            self._score_all(alpha)
        else:
            self._work_on(np.arange(n), alpha)

    def state(self) -> dict[str, Any]:
        """Return what is kept, the cuts, and the outputs of all kernels where they are kept and not too many."""
        each = self.sums.each if isinstance(self.sums, KeptOutputs) else None
        return {
            **(super().state() or {}), "svm": self.svm.state(),
            "each": None if each is None or each.size > MOST_OUTPUTS else each,
            "master": None if self.master is None else self.master.state(),
        }  # fmt: skip

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on with the rows and the cuts so far."""
        parts = ("svm", "each", "master")
        super().resume({name: value for name, value in state.items() if name not in parts})
        cuts = state["master"]
        self.master = None if cuts is None else Master.resumed(self.problem.operators.m, cuts)
        self._work_on(self.rows, None)
        self.svm.resume(state["svm"])
        self.sums.restore(self.svm.alpha, state["each"])

    @property
    def cuts(self) -> Sequence[Cut]:
        """The cuts so far: the next solver on the same kernels may begin with them, as its `former` ones."""
        return self.former if self.master is None else self.master.cuts

    def step(self) -> None:
        """Solve one chunk; where the weights have served, add its cut, solve the programme, change the weights."""
        self.svm.step()
        alpha = self.svm.alpha
        energy = dot(alpha, self.svm.F)
        value = self.few.linear(alpha[None, :]) - 0.5 * energy
        now = self._primal(alpha, energy)
        self.upper = min(self.upper, now.value)
        if len(self.rows) == self.problem.operators.n:
            self.point = now
        if np.isfinite(self.theta):
            self.rule = abs(1.0 - value / self.theta)
        self.added = self._served(value, now.value)
        if self.added:
            self._change_weights(alpha, now.value)

    def _served(self, value: float, top: float) -> bool:
        """Tell whether the weights may change, given the value of the cut at them and the classifier's."""
        if self.stabilisation is None or self.master is None:
            return True
        gap = max(self.upper - self.lower, 0.0)
        if top - value <= SOLVED * (1.0 - LEVEL) * gap:
            return True
        return not self.joining and value > self.lower + LEVEL * gap

    def _change_weights(self, alpha: Array, top: float) -> None:
        if self.master is None:
            self.master = Master(self.problem.operators.m, top)
            for cut in carried(self.former, self.problem):
                self.master.add(cut.d, cut.q, cut.alpha)
        self.master.prune()
        everywhere = self._everywhere(alpha)[None, :]
        self.master.add(self.problem.linear(everywhere), self.sums.energies(alpha), everywhere)
        beta, self.theta, self.proof = self.master.solve()
        self.lower, upper = max(self.lower, self.theta), self.upper
        if self.joining and relative_gap(top, self.lower) <= self.goal:
            self._score_all(everywhere[0])
        if self.stabilisation == "level":
            beta = on_level(self.beta, self.master, self.lower, upper)
        self.beta = beta
        self.sums.change(self.svm, beta)

    def _primal(self, alpha: Array, energy: float) -> PrimalPoint:
        """Return the classifier of the weights before the programme changes them, on the rows that are worked on."""
        inner, outputs = self.svm.problem, self.svm.F
        b = best_intercept(inner, outputs, alpha)
        value = inner.primal(energy, outputs + b, b)
        return PrimalPoint(self._everywhere(alpha)[None, :], np.array([b]), value, self.beta.copy())

    def _everywhere(self, alpha: Array) -> Array:
        """Return an alpha of the rows that are worked on as one of all rows."""
        out = np.zeros(self.problem.operators.n)
        out[self.rows] = alpha
        return out

    def _score_all(self, alpha: Array | None) -> None:
        """Compute the outputs of all rows, and choose those to work on until their gap is a share of the gap of all."""
        problem, whole = self.problem, BoxSolver()
        whole.init(self._output(problem, problem.operators.combined(self.beta)), alpha, self.stop)
        alpha = whole.alpha
        b = best_intercept(whole.problem, whole.F, alpha)
        value = whole.problem.primal(dot(alpha, whole.F), whole.F + b, b)
        self.point = PrimalPoint(alpha[None, :], np.array([b]), value, self.beta.copy())
        gap = relative_gap(value, self.lower)
        self.goal = float(np.clip(CLOSER * gap, FINEST * self.stop.tol, COARSEST))
        rows = np.union1d(rows_at_work(whole, whole.gains(), self.widest), np.flatnonzero(alpha))
        self.widest = min(int(WIDER * self.widest), len(whole.F) // 4)
        self._work_on(rows, alpha[rows], whole.F[rows])

    def _work_on(self, rows: Array, alpha: Array | None, known: Array | None = None) -> None:
        """Begin chunking on some rows; `known` are their outputs, where they are at hand."""
        whole, every = self.problem, len(rows) == self.problem.operators.n
        self.rows, self.upper = rows, np.inf
        self.few = whole if every else self._restricted(rows)
        self.sums = weighted_sum(self.few.operators, self.beta)
        self.svm = Chunking(self.chunk_size, shrinking=False)
        self.svm.known = known
        self.svm.init(self._output(self.few, self.sums.operator), alpha, self.stop)

    def _restricted(self, rows: Array) -> MKLProblem:
        """Return the problem of some of the rows."""
        whole, operators = self.problem, self.problem.operators
        assert isinstance(operators, Restrictable)
        targets, cost = whole.targets[:, rows], whole.cost[rows]
        return replace(whole, operators=operators.restricted(rows), targets=targets, cost=cost)

    def _output(self, problem: MKLProblem, operator: Any) -> Problem:
        """Return the problem of the weighted sum."""
        (output,) = problem.outputs(operator)
        return output

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer both points of the chunk, and the combination of cuts where that is nearer."""
        ledger.offer(primal=self.point)
        assert self.master is not None
        if self.added:
            cut = self.master.cuts[-1]
            self.problem.offer_dual(ledger, cut.alpha, cut.q)
        prove_by_cuts(self.problem, self.master, self.lower, self.proof, ledger, self.stop.tol)
        return {"paper_rule": self.rule, "bound": self.lower, "rows": float(len(self.rows))}

    def fallback(self) -> PrimalPoint:
        """Return the zero classifier."""
        return self.problem.nothing()
