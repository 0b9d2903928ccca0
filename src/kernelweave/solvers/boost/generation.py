"""CG-Boost: column generation over the columns of several kernels (Bi, Zhang and Bennett, 2004, algorithm 5.1).

    min over a, b   R(a) + sum_i c_i loss(f_i, y_i),     f = sum_j a_j K_ij + b     (all kinds: `problem.py`)

    given     a problem (`problem.py`), a pool of columns, an order of the kernels, rules (`rules.py`)
    repeat    solve the problem restricted to the columns in use      (`choose_master`)
              price the columns outside                               (`pricing.py`)
              let the best enter
    until     a rule holds
    returns   the model, a bound with the columns it holds for, the course of the errors and of the coefficients

A run that ends before TR2 has scanned some columns only.  Its bound is proven by one more scan of all columns where
that takes no more than `CHEAP` kernel values, else by the columns of the last round; `scanned` says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelweave.solvers.boost.masters.restricted import Restricted
from kernelweave.solvers.boost.pricing import SLACK_SHARE, Columns, Priced, Pricing
from kernelweave.solvers.boost.problem import Array, BoostProblem
from kernelweave.solvers.boost.rules import Rules, Validation
from kernelweave.solvers.boost.stages import BoostResult, Stages
from kernelweave.solvers.certificate import DualPoint, Ledger, PrimalPoint, relative_gap
from kernelweave.solvers.checkpoint import Checkpoint
from kernelweave.solvers.choose import choose_master
from kernelweave.solvers.loop import Limits, Monitor, Progress, Stop, run
from kernelweave.solvers.result import Result
from kernelweave.solvers.state import Resumable

CHEAP = 2e8
"""Kernel values of a last scan that is done for the certificate alone: about a second's work."""
COPIES, FEWEST = {"l1": 8, "l2": 3}, 32
"""Columns of n numbers that a master takes for each column (HiGHS keeps places beside numbers, by column and by row),
and columns that must fit for a run to begin."""
MASTER_SHARE, MASTER_TOL = 0.1, 1e-12
"""The restricted problem is solved to this share of the tolerance, but no closer than this."""
COARSEST = 0.03
"""Gap to which restricted problems are solved at first; later it is a share of what the last columns have gained."""
TIGHTER, TIGHTENINGS = 0.1, 4
"""By how much slack and master tolerance shrink where nothing enters and the gap is open still, and how often."""


def generate(
    problem: BoostProblem,
    pool: Columns,
    rules: Rules,
    order: Sequence[int] | None = None,
    validation: Validation | None = None,
    train_error: Callable[[Array], float] | None = None,
    monitor: Monitor | None = None,
    checkpoint: Checkpoint | None = None,
) -> BoostResult:
    """Solve a problem over the columns of a pool.

    Parameters
    ----------
    order : kernels by falling priority; None for the order of the pool
    validation : needed for TR3; where given, its error is in the trace whatever the rules
    train_error : error of training outputs, for the trace
    monitor : called after each round; a true answer ends the run
    checkpoint : keeps how far the rounds have come, for a run that goes on from there

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.engines import Serial
    >>> from kernelweave.kernels import Linear, RBF
    >>> from kernelweave.operators.columns.pool import ColumnPool
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, 1.0, 1.0, -1.0])
    >>> pool = ColumnPool([Linear(), RBF(width=1.0)], X, Serial())
    >>> result = generate(BoostProblem("hinge", y, np.full(4, 10.0)), pool, Rules(tol=1e-6))
    >>> result.reason, result.scanned, result.converged
    ('TR2', 'all', True)
    """
    if "TR3" in rules.termination and validation is None:
        raise ValueError("TR3 ends a fit by the validation error; give validation rows.")
    solver = Generation(problem, pool, rules, order, validation, train_error)
    stop = Stop(rules.tol, rules.max_rounds)

    def asked(progress: Progress) -> bool:
        return bool(monitor is not None and monitor(progress)) or solver.ended

    done = run(solver, problem, stop, asked, checkpoint=checkpoint)
    return solver.result(done)


class Generation(Resumable):
    """The rounds, as `loop.run` drives them; arguments as for `generate`."""

    keeps = (
        "kernels rows blocks stages best best_error tightened found errors reason pricing.rng pricing.inside "
        "pricing.seen pricing.when pricing.round pricing.level pricing.entered accuracy coarse"
    )
    same_bits = False  # with the 1-norm: a linear programme that was built again rounds otherwise
    lasting = True  # the model is that of a round, not the best point

    limits = Limits(5000, patience=500)

    def __init__(
        self,
        problem: BoostProblem,
        pool: Columns,
        rules: Rules,
        order: Sequence[int] | None = None,
        validation: Validation | None = None,
        train_error: Callable[[Array], float] | None = None,
    ):
        self.problem, self.pool, self.rules = problem, pool, rules
        self.validation, self.train_error = validation, train_error
        if pool.capacity < COPIES[problem.penalty] * min(FEWEST, pool.n):
            raise MemoryError(
                f"{FEWEST} columns of {pool.n} rows do not fit into the memory_limit; raise it or train on fewer rows."
            )
        self.master = choose_master(problem, rules.many_rounds(problem)).solver
        self.pricing = Pricing(
            problem, pool, list(range(pool.m)) if order is None else order, rules.way(pool.quick),
            rules.drawn(pool.n, pool.m, pool.quick), float(pool.n) ** 2 * pool.m <= CHEAP, rules.tol,
            np.random.default_rng(rules.seed),
        )  # fmt: skip
        self.kernels, self.rows = np.empty(0, np.int64), np.empty(0, np.int64)
        self.new_columns: list[Array] = []
        self.blocks: list[int] = []
        self.stages, self.best, self.best_error, self.tightened = Stages(), 0, np.inf, 0
        self.found: Restricted | None = None
        self.priced: Priced | None = None
        self.scan: tuple[Restricted, Priced] | None = None
        self.ledger = Ledger(problem.smallest_scale)
        self.reason: str | None = None
        self.coarsest = COARSEST if rules.many_rounds(problem) and self.pricing.strategy != "paper" else 0.0
        self.accuracy, self.coarse = self.coarsest, False

    @property
    def ended(self) -> bool:
        """Whether something other than the gap has ended the run."""
        return self.reason is not None

    def init(self, problem: BoostProblem, start: Any, stop: Stop) -> None:
        """Begin without columns, as set up."""

    def state(self) -> dict[str, Any]:
        """Return what is kept: of columns, which they are."""
        priced, scan = self.priced, self.scan
        return {
            **(super().state() or {}), "master": self.master.state(),
            "priced": None if priced is None else replace(priced, columns=np.empty((0, 0))),
            "scan": None if scan is None else (scan[0], replace(scan[1], columns=np.empty((0, 0)))),
        }  # fmt: skip

    def resume(self, state: Mapping[str, Any]) -> None:
        """Make the columns in use again, in the order in which they entered."""
        parts = ("master", "priced", "scan")
        super().resume({name: value for name, value in state.items() if name not in parts})
        cuts = np.cumsum(self.blocks)[:-1]
        entered = list(zip(np.split(self.kernels, cuts), np.split(self.rows, cuts))) if self.blocks else []
        self.master.resume((self._columns(*block) for block in entered), state["master"])
        for kernels, rows in entered:
            self._judge_by(kernels, rows)
        priced, scan = state["priced"], state["scan"]
        if priced is not None:
            self.priced = replace(priced, columns=self._columns(priced.kernels, priced.rows))
        if scan is not None:
            assert self.found is not None
            self.scan = (self.found, self.priced) if self.priced is not None else scan

    def _columns(self, kernels: Array, rows: Array) -> Array:
        """Return columns, (n, k)."""
        out = np.empty((self.pool.n, len(rows)), order="F")
        for kernel in np.unique(kernels):
            out[:, kernels == kernel] = self.pool.columns(int(kernel), rows[kernels == kernel])
        return out

    def step(self) -> None:
        """Let columns enter, solve the restricted problem, and look for the next columns."""
        if self.priced is not None and len(self.priced.rows):
            self._enter(self.priced)
        self.priced = None
        tight = TIGHTER**self.tightened
        self.pricing.share = SLACK_SHARE * tight
        self._solve(max(MASTER_TOL, MASTER_SHARE * tight * self.rules.tol))
        assert self.found is not None
        self.stages.add(self.found)
        self.before = self.pool.scored.sum(), self.pool.made.sum()
        self.errors = self._judge(self.found)
        if not self.ended:
            most = max(1, min(self.rules.most(self.problem, len(self.rows)), self._columns_left()))
            self.priced = self.pricing.price(self.found, most, "TR1" in self.rules.termination)
            self.scan = self.found, self.priced
            if len(self.priced.rows) == 0 and self.coarse:
                self.accuracy = 0.0
            elif len(self.priced.rows) == 0 and self.priced.stage == "errors":
                self.reason = "TR1"
            elif len(self.priced.rows) and self._columns_left() <= 0:
                self.reason = "memory"

    def _solve(self, closest: float) -> None:
        """Solve the restricted problem, no closer than asked and no closer than the next columns need."""
        before, wanted = self.found, max(closest, self.accuracy)
        self.found = self.master.solve(wanted)
        self.coarse, self.accuracy = wanted > closest, self.coarsest
        if before is not None:
            gain = relative_gap(before.objective, self.found.objective, self.problem.smallest_scale)
            self.accuracy = min(self.coarsest, MASTER_SHARE * gain)

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer the model; and a bound, where all kernels were scanned: of all columns, or of those in this draw."""
        found, priced, self.ledger = self.found, self.priced, ledger
        assert found is not None
        ledger.expire()
        ledger.offer(primal=PrimalPoint(found.coef, found.intercept, found.objective))
        if priced is not None and priced.settled and not self.ended:
            point = DualPoint(found.u, self.pricing.bound(found, priced))
            ledger.offer(dual=point) if priced.complete else ledger.offer(provisional=point)
            if len(priced.rows) == 0 and ledger.gap > self.rules.tol and not self.coarse:
                self.tightened += 1
                self.reason = "stalled" if self.tightened > TIGHTENINGS else None
        return self._line(found)

    def fallback(self) -> PrimalPoint:
        """Return the model without columns."""
        return PrimalPoint(np.empty(0), 0.0, np.inf)

    def result(self, done: Result) -> BoostResult:
        """Return the model of the round to keep, with its bound."""
        if self.found is None:  # stopped before the first round was over
            self.found = self.master.solve(MASTER_SHARE)
            self.stages.add(self.found)
        kept = self.best if "TR3" in self.rules.termination else len(self.stages) - 1
        stage, coef = self.stages[kept], np.zeros(len(self.rows))
        coef[stage.places] = stage.coef
        bound, u, scanned = self._bound(stage.objective)
        ended = "TR4" if done.ended == "limit" else done.ended
        reason = self.reason or ("TR2" if done.converged else ended)
        gap = relative_gap(stage.objective, bound, self.problem.smallest_scale)
        # A draw of columns can find nothing where a scan of all shows that the gap is open.
        reached = gap <= self.rules.tol if reason == "TR2" else reason in self.rules.termination
        return BoostResult(
            self.kernels, self.rows, coef, stage.intercept, stage.level, u, stage.objective, bound, gap, scanned,
            done.trace, self.stages, kept, reason, reached,
        )  # fmt: skip

    def _bound(self, objective: float) -> tuple[float, Array, str | int]:
        """Return a bound, the prices that prove it, and the columns it holds for: all, or those of the last scan."""
        found, proven = self.found, self.ledger.proven
        assert found is not None
        fresh = self.scan is not None and self.scan[0] is found and self.scan[1].complete
        known = -np.inf if proven is None else proven.value
        enough = relative_gap(objective, known, self.problem.smallest_scale) <= self.rules.tol
        if fresh and self.scan is not None:
            self.ledger.offer(dual=DualPoint(found.u, self.pricing.bound(*self.scan)))
        elif not enough and float(np.count_nonzero(found.u)) * self.pool.n * self.pool.m <= CHEAP:
            self.ledger.offer(dual=DualPoint(found.u, self.pricing.bound(found, self.pricing.prove(found))))
        if self.ledger.proven is not None:
            return self.ledger.proven.value, self.ledger.proven.alpha, "all"
        if self.scan is None:
            return -np.inf, found.u, 0
        seen, priced = self.scan
        return self.pricing.bound(seen, priced), seen.u, priced.scanned + len(self.rows)

    def _columns_left(self) -> int:
        return self.pool.capacity // COPIES[self.problem.penalty] - len(self.rows)

    def _enter(self, priced: Priced) -> None:
        """Hand columns to the master, as many as there is room for."""
        capacity = self._columns_left()
        kernels, rows = priced.kernels[:capacity], priced.rows[:capacity]
        self.master.add(priced.columns[:, :capacity])
        self._judge_by(kernels, rows)
        self.blocks.append(len(rows))
        self.pricing.enter(kernels, rows)
        self.kernels, self.rows = np.append(self.kernels, kernels), np.append(self.rows, rows)

    def _judge_by(self, kernels: Array, rows: Array) -> None:
        """Compute columns on the validation rows."""
        if self.validation is not None:
            for kernel in np.unique(kernels):
                self.new_columns.append(self.validation.rows.columns(int(kernel), rows[kernels == kernel]))

    def _judge(self, found: Restricted) -> tuple[float, float]:
        """Return the errors of a model; TR3 ends the run where the validation error has long not improved."""
        train = np.nan if self.train_error is None else self.train_error(found.outputs)
        if self.validation is None:
            return train, np.nan
        outputs, filled = np.full(self.validation.rows.n, found.intercept), 0
        for block in self.new_columns:
            outputs += block @ found.coef[filled : filled + block.shape[1]]
            filled += block.shape[1]
        held_out = self.validation.error(outputs)
        if held_out < self.best_error:
            self.best, self.best_error = len(self.stages) - 1, held_out
        waited = len(self.stages) - 1 - self.best
        if "TR3" in self.rules.termination and waited >= self.rules.waits(self.problem.penalty):
            self.reason = "TR3"
        return train, held_out

    def _line(self, found: Restricted) -> dict[str, float]:
        """Return what the trace keeps of a round."""
        used = np.bincount(self.kernels[np.flatnonzero(found.coef)], minlength=self.pool.m)
        line = {
            "train_error": self.errors[0],
            "validation_error": self.errors[1],
            "columns": float(len(self.rows)),
            "scanned": float(self.pool.scored.sum() - self.before[0]),
            "made": float(self.pool.made.sum() - self.before[1]),
        }
        return line | {f"columns_{k}": float(count) for k, count in enumerate(used)}
