"""What the estimators with many kernels share."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property, partial
from numbers import Real
from typing import Any

import numpy as np

from kernelweave.engines import one_blas_thread
from kernelweave.estimators.advice import Facts
from kernelweave.estimators.base import Array, Estimator
from kernelweave.estimators.checks.definite import refuse_if_noise_counts
from kernelweave.estimators.checks.distinct import DistinctRows, distinct_rows
from kernelweave.estimators.feature_models import (
    FINER_AGAIN,
    MOST_VALUES,
    approximation_errors,
    forget_stream,
    forget_vectors,
    keep_vectors,
    split_params,
    with_features,
)
from kernelweave.estimators.fitting import (
    Begun,
    join_traces,
    keep_certificate,
    show_plan,
    warn_beforehand,
    warn_unless_converged,
)
from kernelweave.estimators.kernel_list import KernelList, fitted_to, refuse_overflow
from kernelweave.estimators.mkl.alike import alike_features, alike_pair, compares_features
from kernelweave.estimators.normalize import LARGEST, SMALLEST
from kernelweave.estimators.planning.sharding import faster_by_parts
from kernelweave.estimators.proof import Proof, is_rounded
from kernelweave.estimators.targets import Targets
from kernelweave.kernels import Kernel, reference
from kernelweave.kernels.abilities import Features, has_columns, representatives
from kernelweave.operators import Task, choose
from kernelweave.operators.base import Restrictable
from kernelweave.operators.expansion.base import Expansion
from kernelweave.operators.expansion.features import FeatureExpansion
from kernelweave.operators.expansion.rows import RowExpansion
from kernelweave.operators.features.design.columns import TableColumns
from kernelweave.operators.features.design.set import DesignSet
from kernelweave.operators.gram.family import SharedSet, StoredSet
from kernelweave.operators.planner.choose import weigh
from kernelweave.penalties import LpBall
from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.choose import choose_mkl_solver, mkl_need
from kernelweave.solvers.cost import Columns
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.lp.master import Cut
from kernelweave.solvers.mkl import MKL_SOLVERS, check_mkl_solver
from kernelweave.solvers.mkl.cutting.carried import KeepsCuts
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.result import Result

NEEDED = "multiple kernel learning needs kernels that are"
FACTORISED = "mkl of factorised kernels"
"""What a certificate is about whose proof for the kernels themselves would take too long."""
ATTEMPTS = 4
"""So often kernels without features are factorised, more finely while the gap is open for that."""
EXACTLY = 0.0
"""The tolerance at which kernels are held in double precision."""
MOST_DIAGONALS = 10_000_000
"""Diagonal entries of all kernels that are looked at once more after their scales were found."""
ONE_THREAD_UP_TO = 1000
"""Rows up to which the small matrices of a solver take longer to divide among BLAS threads than to compute.  So they do
for kernels that are held without a matrix, whatever the number of rows, and their bits would depend on the threads."""


class MKLEstimator(Estimator):
    """Many kernels, one weight each (for each output, or shared)."""

    kernels_: list[Kernel]
    kernel_why_: str
    _given: list[Kernel]
    certifies_: str
    _factorised: list[Kernel] | None = None
    """The kernels that were asked for, where features that a solver made stand for them."""

    @cached_property
    def kernel_names_(self) -> Array:
        """The names of a dict of kernels; else kernels as given, spelled when they are asked for: there may be many."""
        return np.array([repr(kernel) for kernel in self._given])

    @property
    def _kernel_list(self) -> KernelList:
        return KernelList(self.kernels, many=True)

    @property
    def _used_kernels(self) -> list[Kernel]:
        return self.kernels_

    def _check_parameters(self) -> None:
        super()._check_parameters()
        norm = getattr(self, "norm", 1.0)
        if not isinstance(norm, Real) or not float(norm) >= 1:
            raise ValueError(f"norm={norm!r} must be at least 1 (1 gives few kernels, infinity the plain sum).")

    def _rows(self, X: Any) -> Any:
        forget_stream(self)
        return super()._rows(X)

    def _fit(self, X: Any, targets: Targets) -> None:
        """Bind the kernels to checked rows, learn their weights, and set the fitted attributes."""
        rows = distinct_rows(X, targets, self._kernel_list.holds_gram)
        with self._recording(X, targets):
            self._finish(X, targets, rows, self._bind_all(rows.X, rows.targets.weight))

    def _plan(self, X: Any, targets: Targets) -> Begun:
        rows = distinct_rows(X, targets, self._kernel_list.holds_gram)
        problems = self._problems(self._bind_all(rows.X, rows.targets.weight), rows.targets)
        return Begun(problems[0], self._chosen(problems[0])[0], len(problems))

    def _finish(self, X: Any, targets: Targets, rows: DistinctRows, operators: Any) -> None:
        """Solve, prove for the kernels that were asked for, and go on with finer values where the gap opens again."""
        starts: list[PrimalPoint | None] | None = None
        cramped = False
        for attempt in range(1, ATTEMPTS + 1):
            problems = self._problems(operators, rows.targets)
            self._keeps_by(partial(_keep_one, rows, targets.cost, X, operators), len(problems))
            results = self._proved(self._solve_all(problems, starts), problems, rows.X)
            if starts is not None or not self._rounding_opens(results, operators):
                break
            if self._factorised is None:
                starts = [result.primal for result in results]
                try:
                    operators = self._hold(rows.X, EXACTLY)
                except MemoryError:  # the gap stays open, and the warning says why
                    cramped = True
                    break
            elif attempt < ATTEMPTS:
                operators = self._bind_all(rows.X, rows.targets.weight, FINER_AGAIN**attempt)
        if not (isinstance(operators, DesignSet) and operators.design.table):  # columns are no matrices
            refuse_if_noise_counts(self._factorised or self.kernels_, rows.X, results, self.tol, NEEDED)
        results = rows.spread(results, targets.cost)
        self._keep_all(results, X, operators)
        warn_unless_converged(results, lambda: replace(self._facts_of(problems[0]), cramped=cramped))
        self._warn_alike(X, operators)

    def _rounding_opens(self, results: list[Result], operators: Any) -> bool:
        """Return whether a gap is open that finer values could close."""
        coarse = self._factorised is not None and self.certifies_ != FACTORISED
        if not (coarse or is_rounded(operators)):
            return False
        return any(not r.converged and r.ended in ("tol", "stalled") for r in results)

    def _proved(self, results: list[Result], problems: Sequence[MKLProblem], X: Any) -> list[Result]:
        """Return results whose bounds hold for the kernels that were asked for, where that can be afforded."""
        asked = self._factorised
        if asked is not None and not self._affordable(results, X.shape[0]):
            return results
        proofs = [self._proof(asked, X, result) for result in results]
        return [
            proof.of(result, problem, self.tol, asked is not None)
            for proof, result, problem in zip(proofs, results, problems)
        ]

    def _proof(self, asked: list[Kernel] | None, X: Any, result: Result) -> Proof:
        smoothing = float(result.trace["smoothing"][-1]) if self.certifies_ == "smoothed" and len(result.trace) else 1.0
        return Proof(self.kernels_ if asked is None else asked, X, self._engine(), self.certifies_, smoothing)

    def _affordable(self, results: list[Result], n: int) -> bool:
        """Return whether the kernel values of a proof can be afforded; if not, say what the certificate is about."""
        points = [result.dual or result.primal for result in results]
        rows = max(np.count_nonzero(np.any(np.atleast_2d(point.alpha), axis=0)) for point in points)
        values = float(n) * rows * len(self.kernels_)
        if values * len(results) <= MOST_VALUES:
            return True
        self.certifies_ = FACTORISED
        errors = approximation_errors(self.kernels_).max()
        warnings.warn(
            f"The certificate is about factorised kernels, which miss {errors:.2g} of the mean diagonal: proving it "
            f"for the kernels themselves takes {values:.2g} kernel values.", UserWarning, stacklevel=6,
        )  # fmt: skip
        return False

    def _problems(self, operators: Any, targets: Targets) -> list[MKLProblem]:
        """Return one problem for each set of weights to learn."""
        shared = getattr(self, "shared_weights", False)
        groups = [targets.values] if shared else [line[None, :] for line in targets.values]
        loss, ball, intercept = self._loss(), LpBall(self._norm()), self._intercept()
        return [MKLProblem(operators, loss, group, targets.cost, ball, intercept, targets.total) for group in groups]

    def _facts_of(self, problem: MKLProblem) -> Facts:
        """Return what a warning about a fit asks for."""
        return self._facts(problem.operators.diagonals().mean(axis=0), problem.cost, problem.loss, problem.ball.p)

    def _norm(self) -> float:
        return float(self.norm)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is refused in the end
    def _bind_all(self, X: Any, weight: Array, finer: float = 1.0) -> StoredSet | SharedSet | DesignSet:
        """Fix what the kernels learn from the rows, scale them, and bind them within the memory limit.

        `finer` shrinks the tolerance at which kernels are factorised that have no features of their own.
        """
        if self.solver != "auto":
            check_mkl_solver(self.solver, self._loss(), self._norm())
        engine = self._engine()
        given, self.kernel_why_, _ = self._kernel_list.chosen(X, weight, self.normalize)
        self._given = given
        self.__dict__.pop("kernel_names_", None)
        if (labels := self._kernel_list.labels(X)) is not None:
            self.__dict__["kernel_names_"] = np.array(labels)
        scaled, table = fitted_to(given, X, weight, self.normalize, engine, self.fit_intercept is not True, NEEDED)
        need, double = self._need(scaled, X, weight, table)
        shared = getattr(self, "shared_weights", False) and len(self.classes_) > 2
        if self._by_parts_of(X)[0] or (not shared and faster_by_parts(self.solver, X, scaled, self._loss())):
            need, double = "shard_parts", False
        self._factorised = None
        if need == "design" and table is None:
            params, asked = split_params(self.solver_params)[0], scaled
            scaled, made = with_features(scaled, X, weight, params, self._memory_left, finer * self.tol)
            self._factorised = asked if made else None
        self.kernels_ = scaled
        self._held_for = need
        operators = self._hold(X, EXACTLY if double else self.tol, table if need == "design" else None)
        large = operators.m * operators.n > MOST_DIAGONALS
        if need == "shard_parts" or (self.normalize in ("trace", "variance") and large):
            return operators  # the scale of each kernel was finite
        lengths = operators.design.squares() if need == "design" else operators.diagonals()
        if not (np.isfinite(lengths).all() and SMALLEST < lengths.max() < LARGEST):
            refuse_overflow(self.kernel_names_, operators.diagonals())
        return operators

    def _hold(self, X: Any, tol: float, table: TableColumns | None = None) -> Any:
        """Hold the fitted kernels within the memory limit, in a precision that suits the tolerance."""
        need = self._held_for
        task = Task(self.kernels_, X, self._engine(), self._memory_left, tol, need, table=table)
        found = weigh(task).choice if need == "vectors" and self.solver == "auto" else None
        if need == "vectors" and self.solver == "auto" and found is None:  # vectors do not fit, or overflow
            task = replace(task, need="parts")
        with one_blas_thread() if need == "design" else nullcontext():  # the engine's own threads make the features
            operators, self.memory_plan_ = found or choose(task)
            show_plan(self.memory_plan_, self.verbose)
        return operators

    def _need(self, kernels: Sequence[Kernel], X: Any, weight: Array, table: TableColumns | None) -> tuple[str, bool]:
        """Return what the solver needs of the kernels, and whether in double precision."""
        shared = getattr(self, "shared_weights", False) and len(self.classes_) > 2
        facts, wanted = None, self.solver == "auto" and not shared
        if wanted and (table is not None or all(has_columns(kernel) for kernel in representatives(kernels))):
            width = 0 if table is None else len(table.columns)
            width = width or sum(kernel.n_features(X) for kernel in kernels if isinstance(kernel, Features))
            cost = float(getattr(self, "C", 1.0)) * float(weight.mean())
            facts = Columns(X.shape[0], len(kernels), width, self._norm(), cost)
        return mkl_need(self.solver, self._loss(), facts)

    def _solve_all(
        self,
        problems: Sequence[MKLProblem],
        starts: Sequence[PrimalPoint | None] | None = None,
        cuts: dict[int, Sequence[Cut]] | None = None,
    ) -> list[Result]:
        """Solve each problem with the chosen solver.

        Cutting-plane methods begin with the `cuts` of a former problem on the same operators, or else of the output
        before, as far as they are feasible; theirs take the place of those.
        """
        monitor = self._monitor()
        results: list[Result] = []
        cuts = {} if cuts is None else cuts
        for i, problem in enumerate(problems):
            stopped = any(result.interrupted for result in results)
            solver, width = self._chosen(problem)
            stop, start = Stop(self.tol, 1 if stopped else self.max_iter), None if starts is None else starts[i]
            alone = problem.operators.n <= ONE_THREAD_UP_TO or isinstance(problem.operators, Restrictable)
            with one_blas_thread() if alone else nullcontext():
                record = self._describe_run(width, self._factorised is not None)
                if isinstance(solver, KeepsCuts):
                    solver.former = cuts.get(i, cuts.get(i - 1, ()))
                results.append(run(solver, problem, stop, monitor, start, record, warn_beforehand))
                if isinstance(solver, KeepsCuts):
                    cuts[i] = solver.cuts
        return results

    def _chosen(self, problem: MKLProblem) -> tuple[Any, int | None]:
        """Return the solver of a problem and its number of explicit features; remember which it is, and why."""
        params, width = self.solver_params, None
        if isinstance(problem.operators, DesignSet):
            params, width = split_params(params)[1], problem.operators.design.width
        self.solver_, self.solver_why_, solver = choose_mkl_solver(self.solver, problem, params)
        self.certifies_ = getattr(solver, "certifies", MKL_SOLVERS[self.solver_].certifies)
        return solver, width

    def _keep_all(self, results: list[Result], X: Any, operators: Any) -> None:
        """Set the fitted attributes: one row of alpha and of weights for each output."""
        beta = np.stack([np.asarray(r.primal.beta) for r in results])
        self.kernel_weights_ = beta if len(results) > 1 else beta[0]
        self.intercept_ = np.concatenate([np.atleast_1d(r.primal.intercept) for r in results])
        if isinstance(operators, DesignSet):
            keep_vectors(self, results, operators.design, X)
        else:
            forget_vectors(self)
            alpha = np.concatenate([np.atleast_2d(r.primal.alpha) for r in results])
            self.support_ = np.flatnonzero(np.any(alpha != 0, axis=0))
            self.dual_coef_ = np.ascontiguousarray(alpha[:, self.support_])
            self.reference_ = reference(self.kernels_, X, self.support_)
            self.expansion_ = self._expand()
        self.n_iter_ = max(result.n_iter for result in results)
        self.trace_ = join_traces(results)
        keep_certificate(self, results)

    def _warn_alike(self, X: Any, operators: Any) -> None:
        """Warn where two kernels are so alike on the training rows that their weights are arbitrary."""
        if len(self.kernels_) < 2:
            return
        weights = np.atleast_2d(self.kernel_weights_).max(axis=0)
        made = isinstance(operators, DesignSet) and compares_features(operators.design)
        pair = alike_features(operators.design, weights) if made else alike_pair(self.kernels_, X, weights)
        if pair is not None:
            first, second = (self._given[k] for k in pair)
            warnings.warn(
                f"{first!r} and {second!r} are nearly the same kernel on these rows: how the weight is divided between "
                "them is arbitrary.", UserWarning, stacklevel=4,
            )  # fmt: skip

    def _expand(self) -> Expansion:
        coef = vars(self).get("coef_")
        if coef is not None:
            return FeatureExpansion(self.kernels_, self.reference_, coef, self.coef_offsets_, self.coef_codes_)
        weights = np.broadcast_to(np.atleast_2d(self.kernel_weights_), (len(self.intercept_), len(self.kernels_)))
        return RowExpansion.weighted(self.kernels_, self.reference_, weights, self.dual_coef_)


def _keep_one(rows: DistinctRows, cost: Array, X: Any, operators: Any, model: MKLEstimator, result: Result) -> None:
    """Set what a model would have learned if its only run had ended with this result."""
    model._keep_all(rows.spread([result], cost), X, operators)
