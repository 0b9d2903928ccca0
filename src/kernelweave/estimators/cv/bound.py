"""Kernels that are bound to rows once, for the fits of all folds and of all values of C.

A fold is a vector of costs: rows that it holds out cost nothing, so that their dual coefficients are zero.  The problem
is then that of the training rows alone, but for what kernels learn from rows before training (a width that follows the
scale of the data, the factor of `normalize`): they learn it from all rows.  A kernel that was named sees no label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kernelweave.estimators.checks.distinct import DistinctRows, distinct_rows
from kernelweave.estimators.cv.narrow import Narrow
from kernelweave.estimators.mkl.base import MKLEstimator
from kernelweave.estimators.one.base import KernelEstimator
from kernelweave.estimators.targets import Targets
from kernelweave.operators import Operator, product
from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.result import Result

Array = np.ndarray


class Solved(NamedTuple):
    """What a fit of a fold found.

    outputs : (rows asked for, outputs)
    points : where the next fit of the path begins, one for each problem; with many kernels, and its cuts
    weights : (m,) kernel weights, mean over the outputs; None with one kernel
    converged : whether every problem has reached the tolerance
    interrupted : whether Ctrl-C or a callback has ended one
    """

    outputs: Array
    points: list[Any]
    weights: Array | None
    converged: bool
    interrupted: bool


class Bound:
    """Rows with their kernels; `solve` fits a model of given parameters to some costs.

    Parameters
    ----------
    rows : the distinct rows, and how those that were given belong to them
    """

    rows: DistinctRows

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to another process: the operators, without the rows that they were made of."""
        return {**vars(self), "rows": replace(self.rows, X=None)}

    def place(self, test: Array) -> Array:
        """Return where given rows stand among the distinct ones."""
        return test if self.rows.group is None else self.rows.group[test]

    def targets(self, cost: Array) -> Targets:
        """Return the targets of the distinct rows with the costs (n,) of the given rows."""
        return replace(self.rows.targets, cost=self.rows.summed(cost))

    alone = False
    """Whether fits of different folds may run at the same time, in threads."""

    def prepare(self, models: Sequence[Any], targets: Targets) -> list[Any]:
        """Return for each model of a chain what its fits of all folds begin with, None where they begin anew."""
        return [None] * len(models)

    def solve(self, model: Any, cost: Array, test: Array, starts: list[Any] | None, base: Any = None) -> Solved:
        """Fit a model to the costs (n,) of the given rows, and return its outputs for the rows of a test."""
        raise NotImplementedError

    def finish(self, model: Any, X: Any, targets: Targets) -> None:
        """Fit a model to all rows, with everything that a fit leaves behind."""
        raise NotImplementedError


class BoundKernel(Bound):
    """One kernel, one problem for each output."""

    def __init__(self, model: KernelEstimator, X: Any, targets: Targets):
        self.rows = distinct_rows(X, targets, model._kernel_list.holds_gram)
        self.operator: Operator = model._bind(self.rows.X, self.rows.targets.weight, self.rows.targets.values)
        self.known: list[tuple[Array, list[Any]]] = []
        """Costs for which the problems of all rows were solved on the way, and where their fits go on."""

    def _problems(self, model: KernelEstimator, cost: Array) -> list[Problem]:
        few, loss, intercept = self.targets(cost), model._loss(), model._intercept()
        return [Problem(self.operator, loss, y, few.cost, intercept, few.total) for y in few.values]

    def prepare(self, models: Sequence[KernelEstimator], targets: Targets) -> list[Any]:
        """Return the solutions of all rows along a chain, where folds are then solved on the rows that count."""
        first = self._problems(models[0], models[0]._learns.costs(models[0], targets.y, targets.weight))
        narrow = Narrow.of(first[0], models[0]._chosen(first[0]))
        if narrow is None:
            return super().prepare(models, targets)
        self.alone = True
        former: list[Any] = [None] * len(targets.values)
        bases: list[Any] = []
        for model in models:
            monitor, stop = model._monitor(), Stop(model.tol, model.max_iter)
            problems = self._problems(model, model._learns.costs(model, targets.y, targets.weight))
            former = [narrow.base(p, stop, monitor, one) for p, one in zip(problems, former)]
            if any(one.interrupted for one in former):
                raise KeyboardInterrupt
            self.known.append((problems[0].cost, [one.warm for one in former]))
            bases.append((narrow, former))
        return bases

    def solve(
        self, model: KernelEstimator, cost: Array, test: Array, starts: list[Any] | None, base: Any = None
    ) -> Solved:
        """Fit a model to the costs (n,) of the given rows, and return its outputs for the rows of a test."""
        monitor, stop = model._monitor(), Stop(model.tol, model.max_iter)
        problems = self._problems(model, cost)
        if base is not None:
            narrow, bases = base
            former = starts or [None] * len(problems)
            folds = [narrow.solve(p, one, stop, monitor, point) for p, one, point in zip(problems, bases, former)]
            held = np.stack([one.outputs[self.place(test)] for one in folds], axis=1)
            converged, stopped = all(one.converged for one in folds), any(one.interrupted for one in folds)
            return Solved(held, [one.point for one in folds], None, converged, stopped)
        outputs, points, results = [], [], []
        for number, problem in enumerate(problems):
            start = None if starts is None else starts[number]
            found = run(model._chosen(problem), problem, stop, monitor, start)
            outputs.append(product(self.operator, found.primal.alpha)[self.place(test)] + float(found.primal.intercept))
            points.append(problem.restart(found.primal, found.dual))
            results.append(found)
        return _solved(np.stack(outputs, axis=1), points, None, results)

    def finish(self, model: KernelEstimator, X: Any, targets: Targets) -> None:
        """Fit a model to all rows, with everything that a fit leaves behind."""
        cost = model._learns.costs(model, targets.y, targets.weight)
        rows = replace(self.rows, targets=self.targets(cost))
        starts = next((warm for known, warm in self.known if np.array_equal(known, rows.targets.cost)), None)
        model._learn(X, replace(targets, cost=cost), rows, self.operator, starts)


class BoundKernels(Bound):
    """Many kernels, one problem for each set of weights."""

    def __init__(self, model: MKLEstimator, X: Any, targets: Targets):
        self.rows = distinct_rows(X, targets, model._kernel_list.holds_gram)
        self.operators: Any = model._bind_all(self.rows.X, self.rows.targets.weight)

    def solve(
        self, model: MKLEstimator, cost: Array, test: Array, starts: list[Any] | None, base: Any = None
    ) -> Solved:
        """Fit a model to the costs (n,) of the given rows, and return its outputs for the rows of a test."""
        former = None if starts is None else [point for point, _ in starts]
        cuts = {} if starts is None else {i: cuts for i, (_, cuts) in enumerate(starts)}
        found = model._solve_all(model._problems(self.operators, self.targets(cost)), former, cuts)
        points = [result.primal for result in found]
        outputs = np.concatenate([self._outputs(point, self.place(test)) for point in points])
        weights = np.mean([np.asarray(point.beta) for point in points], axis=0)
        return _solved(outputs.T, [(point, cuts.get(i, ())) for i, point in enumerate(points)], weights, found)

    def finish(self, model: MKLEstimator, X: Any, targets: Targets) -> None:
        """Fit a model to all rows, with everything that a fit leaves behind."""
        cost = model._learns.costs(model, targets.y, targets.weight)
        rows = replace(self.rows, targets=self.targets(cost))
        model._finish(X, replace(targets, cost=cost), rows, self.operators)

    def _outputs(self, point: PrimalPoint, rows: Array) -> Array:
        """Return the outputs of a solution on some training rows, (outputs, rows)."""
        if point.vector is not None:
            return self.operators.design.outputs(point.vector[0])[None, rows] + np.atleast_1d(point.intercept)[:, None]
        operator, intercepts = self.operators.combined(np.asarray(point.beta)), np.atleast_1d(point.intercept)
        return np.stack([product(operator, a)[rows] + b for a, b in zip(np.atleast_2d(point.alpha), intercepts)])


def bound(model: Any, X: Any, targets: Targets) -> Bound:
    """Return the kernels of an estimator, bound to checked rows."""
    return BoundKernels(model, X, targets) if isinstance(model, MKLEstimator) else BoundKernel(model, X, targets)


def _solved(outputs: Array, points: list[Any], weights: Array | None, results: list[Result]) -> Solved:
    converged, interrupted = all(one.converged for one in results), any(one.interrupted for one in results)
    return Solved(outputs, points, weights, converged, interrupted)
