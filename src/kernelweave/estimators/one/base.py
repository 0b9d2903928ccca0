"""Machines with one kernel: binding, solving, fitted attributes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kernelweave.estimators.base import Array, Estimator
from kernelweave.estimators.checks.definite import refuse_if_noise_counts
from kernelweave.estimators.checks.distinct import DistinctRows, distinct_rows
from kernelweave.estimators.fitting import (
    Begun,
    join_traces,
    keep_certificate,
    show_plan,
    warn_beforehand,
    warn_unless_converged,
)
from kernelweave.estimators.kernel_list import KernelList, fitted_to, refuse_overflow
from kernelweave.estimators.planning.sharding import faster_by_parts
from kernelweave.estimators.proof import proved_for_one
from kernelweave.estimators.targets import Targets
from kernelweave.kernels import Kernel, reference
from kernelweave.operators import Operator, Task, choose
from kernelweave.operators.expansion.base import Expansion
from kernelweave.operators.expansion.rows import RowExpansion
from kernelweave.solvers.choose import choose_svm_solver, svm_need
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.result import Result
from kernelweave.solvers.svm import DualCoordinate

NEEDED = "a support vector machine needs a kernel that is"


class KernelEstimator(Estimator):
    """One kernel, one or several outputs that share its operator."""

    kernel_: Kernel
    kernel_why_: str

    @property
    def _kernel_list(self) -> KernelList:
        return KernelList(self.kernel, many=False)

    @property
    def _used_kernels(self) -> list[Kernel]:
        return [self.kernel_]

    def _fit(self, X: Any, targets: Targets) -> None:
        """Bind the kernel to checked rows, solve the problem of each output, and set the fitted attributes."""
        rows = distinct_rows(X, targets, self._kernel_list.holds_gram)
        operator = self._bind(rows.X, rows.targets.weight, rows.targets.values)
        with self._recording(X, targets):
            self._learn(X, targets, rows, operator)

    def _learn(
        self, X: Any, targets: Targets, rows: DistinctRows, operator: Operator, starts: Sequence[Any] | None = None
    ) -> None:
        """Solve the problem of each output on the bound kernel, and set the fitted attributes."""
        problems = self._problems(rows, operator)
        self._keeps_by(lambda model, result: model._keep_one(result, problems[0], rows, targets.cost, X), len(problems))
        results = self._solve(problems, starts or [None] * len(problems))
        refuse_if_noise_counts([self.kernel_], rows.X, results, self.tol, NEEDED)
        results = rows.spread(results, targets.cost)
        self._keep(results, X)
        first = problems[0]
        warn_unless_converged(results, lambda: self._facts(first.operator.diag(), first.cost, first.loss))

    def _plan(self, X: Any, targets: Targets) -> Begun:
        rows = distinct_rows(X, targets, self._kernel_list.holds_gram)
        problems = self._problems(rows, self._bind(rows.X, rows.targets.weight, rows.targets.values))
        return Begun(problems[0], self._chosen(problems[0]), len(problems))

    def _problems(self, rows: DistinctRows, operator: Operator) -> list[Problem]:
        """Return the problem of each output."""
        few, loss = rows.targets, self._loss()
        return [Problem(operator, loss, y, few.cost, self._intercept(), few.total) for y in few.values]

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is refused in the end
    def _bind(self, X: Any, weight: Array, values: Array | None = None) -> Operator:
        """Fix what the kernel learns from the rows, and bind it to them within the memory limit."""
        engine, (need, store) = self._engine(), svm_need(self.solver, self.solver_params)
        given, self.kernel_why_, scaling = self._kernel_list.chosen(X, weight, self.normalize, values)
        (self.kernel_,) = fitted_to(given, X, weight, scaling, engine, self.fit_intercept is not True, NEEDED).kernels
        sharded = self._by_parts_of(X)[0] or faster_by_parts(self.solver, X, [self.kernel_], self._loss())
        need = "shards" if sharded else need
        task = Task([self.kernel_], X, engine, self._memory_left, self.tol, need, store)
        operator, self.memory_plan_ = choose(task)
        show_plan(self.memory_plan_, self.verbose)
        if not sharded:
            refuse_overflow(given, operator.diag())
        return operator

    def _solve(self, problems: Iterable[Problem], starts: Iterable[Any]) -> list[Result]:
        """Solve each problem; after an interruption the others get one step."""
        monitor = self._monitor()
        results: list[Result] = []
        for problem, start in zip(problems, starts):
            stopped = any(result.interrupted for result in results)
            stop = Stop(self.tol, 1 if stopped else self.max_iter)
            solver = self._chosen(problem)
            start = start if isinstance(solver, DualCoordinate) else None
            result = run(solver, problem, stop, monitor, start, self._describe_run(), warn_beforehand)
            results.append(proved_for_one(result, problem, self.tol))
        return results

    def _chosen(self, problem: Problem) -> Any:
        """Return the solver of a problem, and remember which it is, and why."""
        self.solver_, self.solver_why_, solver = choose_svm_solver(self.solver, problem, self.solver_params)
        return solver

    def _keep_one(self, result: Result, problem: Problem, rows: DistinctRows, cost: Array, X: Any) -> None:
        """Set what would have been learned if the only run had ended with this result."""
        self._keep(rows.spread([proved_for_one(result, problem, self.tol)], cost), X)

    def _keep(self, results: list[Result], X: Any) -> None:
        alpha = np.stack([result.primal.alpha for result in results])
        self.support_ = np.flatnonzero(np.any(alpha != 0, axis=0))
        self.dual_coef_ = np.ascontiguousarray(alpha[:, self.support_])
        self.intercept_ = np.array([result.primal.intercept for result in results])
        self.reference_ = reference(self.kernel_, X, self.support_)
        self.expansion_ = self._expand()
        self.n_iter_ = max(result.n_iter for result in results)
        self.trace_ = join_traces(results)
        self.certifies_ = "svm"
        keep_certificate(self, results)

    def _expand(self) -> Expansion:
        one = np.ones((len(self.intercept_), 1))
        return RowExpansion.weighted([self.kernel_], self.reference_, one, self.dual_coef_)
