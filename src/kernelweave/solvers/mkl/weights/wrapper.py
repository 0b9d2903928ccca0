"""What the wrapper solvers share: J(beta) by a warm-started SVM, a cut from it, and the certificate from all cuts.

The SVM inside is solved only as well as the outer gap can use: an inexact alpha still gives a valid cut, and an
inexact classifier a valid upper bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelweave.solvers.certificate import Ledger, PrimalPoint, relative_gap
from kernelweave.solvers.choose import choose_svm_solver
from kernelweave.solvers.loop import INNER_ITERATIONS, Limits, Stop, limits_of, run_inside
from kernelweave.solvers.lp.master import Cut, Master
from kernelweave.solvers.mkl.cutting.carried import carried
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import Array
from kernelweave.solvers.state import Resumable, record

INNER_SHARE = 0.2
"""The SVM inside is solved to this share of the outer gap, but no more coarsely than `coarsest`."""
NEARER = 1.5
"""How much nearer the bound of all cuts must be than the best dual point before it is proved by an alpha of its own."""


@record
@dataclass(frozen=True)
class Evaluation:
    """J at beta: the alpha (outputs, n) of its SVM, d and q of the cut, the primal value and its classifier."""

    beta: Array
    alpha: Array
    d: float
    q: Array
    primal: PrimalPoint
    outputs: list[Array] | None = None
    """K_k alpha for every kernel, (m, n), one for each output; only where a solver asks for them."""

    @property
    def value(self) -> float:
        """Upper bound of J(beta)."""
        return self.primal.value


class Wrapper(Resumable):
    """Solves SVMs for given weights; subclasses choose the next weights in `step`."""

    keeps = "gap solves spent alpha beta pending now"
    limits = Limits(1000, inside=100_000, idle=10_000, patience=60, instead=("level", "hessian", "lp"))
    problem: MKLProblem
    stop: Stop
    now: Evaluation
    keep_outputs = False
    coarsest = 0.05  # never are the SVMs inside solved more coarsely

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start from former weights and alpha, or from equal weights."""
        self.problem, self.stop = problem, stop
        self.gap, self.solves, self.spent = np.inf, 0, 0
        self.alpha = np.zeros(problem.targets.shape) if start is None else np.array(start.alpha, dtype=float)
        beta = self.first_weights() if start is None or start.beta is None else np.asarray(start.beta)
        self.pending: list[Evaluation] = []
        self.beta = beta

    def state(self) -> dict[str, Any] | None:
        """Return what is kept, without outputs: they follow from alpha."""
        found = super().state() or {}
        if "now" in found:
            found["now"] = replace(found["now"], outputs=None)
        return found

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on; outputs of the current point are computed again where a solver asks for them."""
        super().resume(state)
        if self.keep_outputs and "now" in state:
            self.now = replace(self.now, outputs=[self._outputs(alpha) for alpha in self.now.alpha])

    def step(self) -> None:
        """Evaluate J somewhere and choose the next weights."""
        raise TypeError(f"{type(self).__name__} does not say how to choose weights.")

    def first_weights(self) -> Array:
        """Return equal weights."""
        return self.problem.ball.uniform(self.problem.operators.m)

    def evaluate(self, beta: Array) -> Evaluation:
        """Solve the SVM of these weights and return what it tells about J."""
        operator = self.problem.operators.combined(beta)
        alphas, feasible, intercepts, value = [], [], [], 0.0
        for output, start in zip(self.problem.outputs(operator), self.alpha):
            solver = choose_svm_solver("auto", output).solver
            result = run_inside(solver, output, self.inner_stop(), start=start)
            self.spent += limits_of(solver).effort * result.n_iter
            alphas.append(result.primal.alpha)
            feasible.append(result.primal.alpha if result.dual is None else result.dual.alpha)
            intercepts.append(result.primal.intercept)
            value += result.primal.value
        self.alpha = np.stack(feasible)
        self.solves += 1
        point = PrimalPoint(np.stack(alphas), np.array(intercepts), value, beta.copy())
        kept = [self._outputs(a) for a in self.alpha] if self.keep_outputs else None
        q = self.problem.energies(self.alpha) if kept is None else sum(G @ a for G, a in zip(kept, self.alpha))
        made = Evaluation(beta.copy(), self.alpha.copy(), self.problem.linear(self.alpha), q, point, kept)
        self.pending.append(made)
        return made

    def inner_stop(self) -> Stop:
        """Return how well the SVM inside is to be solved."""
        tol = float(np.clip(INNER_SHARE * self.gap, INNER_SHARE * self.stop.tol, self.coarsest))
        return Stop(tol, INNER_ITERATIONS, polish=False)

    def _outputs(self, alpha: Array) -> Array:
        """Return K_k alpha for every kernel: on the support rows, on all rows where the loss has a curvature there."""
        n = self.problem.operators.n
        out, rows = np.zeros((self.problem.operators.m, n)), np.flatnonzero(alpha)
        rows = np.arange(n) if self.problem.loss.smooth else rows
        out[:, rows] = self.problem.operators.each_inside(rows, alpha[rows])
        return out

    def offer_pending(self, ledger: Ledger) -> None:
        """Offer everything evaluated since the last certificate, on both sides."""
        for made in self.pending:
            ledger.offer(primal=made.primal)
            self.problem.offer_dual(ledger, made.alpha, made.q)
        self.pending = []

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer what the last step found."""
        self.offer_pending(ledger)
        self.gap = ledger.gap
        return {"solves": self.solves}

    def fallback(self) -> PrimalPoint:
        """Return the best point evaluated so far."""
        points = [made.primal for made in self.pending]
        return min(points, key=lambda point: point.value) if points else self.problem.nothing()


class CutWrapper(Wrapper):
    """A wrapper that keeps a cut of each evaluation: the master programme bounds J from below and proves it."""

    keeps = "lower proof"
    same_bits = False  # a linear programme that was built again rounds otherwise
    proof: Array
    former: Sequence[Cut] = ()

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start without cuts and without a bound."""
        super().init(problem, start, stop)
        self.lower = -np.inf
        self.master: Master | None = None

    def state(self) -> dict[str, Any] | None:
        """Return what is kept, and the cuts."""
        return {**(super().state() or {}), "master": None if self.master is None else self.master.state()}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on with the cuts so far."""
        super().resume({name: value for name, value in state.items() if name != "master"})
        cuts = state["master"]
        self.master = None if cuts is None else Master.resumed(self.problem.operators.m, cuts)

    def add_cut(self, made: Evaluation) -> None:
        """Put the cut of an evaluation into the master programme."""
        if self.master is None:
            self.master = Master(self.problem.operators.m, made.value)
            for cut in carried(self.former, self.problem):
                self.master.add(cut.d, cut.q, cut.alpha)
        self.master.add(made.d, made.q, made.alpha)

    @property
    def cuts(self) -> Sequence[Cut]:
        """The cuts so far: the next solver on the same kernels may begin with them, as its `former` ones."""
        return self.former if self.master is None else self.master.cuts

    def lower_bound(self) -> tuple[Array, float, Array]:
        """Solve the master programme; return its weights, its bound and the proof."""
        assert self.master is not None
        self.master.prune()
        beta, bound, proof = self.master.solve()
        self.lower = max(self.lower, bound)
        return beta, bound, proof

    def prove(self, ledger: Ledger, proof: Array) -> None:
        """Offer the combination of past alphas, if its bound would improve what the ledger has."""
        assert self.master is not None
        prove_by_cuts(self.problem, self.master, self.lower, proof, ledger, self.stop.tol)

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer what was evaluated, and the combination of cuts once it can certify."""
        self.offer_pending(ledger)
        assert ledger.primal is not None
        self.gap = min(ledger.gap, relative_gap(ledger.primal.value, self.lower))
        self.prove(ledger, self.proof)
        return {"bound": self.lower, "solves": self.solves}


def prove_by_cuts(problem: MKLProblem, master: Master, lower: float, proof: Array, ledger: Ledger, tol: float) -> None:
    """Offer the combination of past alphas where the bound of the cuts is nearer than the best dual point by a share.

    By convexity its dual value is at least that bound; what it is takes the energies of all kernels.
    """
    assert ledger.primal is not None
    top = ledger.primal.value
    known = -np.inf if ledger.dual is None else ledger.dual.value
    closes = relative_gap(top, lower) <= tol < relative_gap(top, known)
    if lower > known and (closes or top - known > NEARER * (top - lower)):
        problem.offer_dual(ledger, master.combination(proof))
