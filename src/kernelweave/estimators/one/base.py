"""What the estimators share: binding, solving with a monitor, fitted attributes, predictions."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kernelweave._numba import listen
from kernelweave.engines import Engine, choose_engine
from kernelweave.estimators.inputs import as_kernel, is_pairwise, new_rows, positive, training_rows
from kernelweave.estimators.normalize import normalized
from kernelweave.estimators.overlap import warn_if_nothing_shared
from kernelweave.kernels import RBF, Kernel, reference
from kernelweave.losses import Loss, make_loss, parameters_for
from kernelweave.operators import Operator, Task, choose
from kernelweave.operators.expansion.base import Expansion
from kernelweave.operators.expansion.rows import RowExpansion
from kernelweave.solvers.choose import choose_svm_solver, svm_need
from kernelweave.solvers.loop import Monitor, Progress, Stop, run
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.result import Result, Trace

Array = np.ndarray
logger = logging.getLogger("kernelweave")
INTERCEPTS = {True: "free", "regularized": "regularized", False: "none"}


@dataclass(frozen=True)
class Certificate:
    """A feasible dual point for each output, with the intercepts: enough to recompute the gap.

    alpha (outputs, n); intercept (outputs,); primal and dual objectives, one for each problem that was solved;
    beta, the kernel weights of each problem, (problems, m), or None with one kernel.
    """

    alpha: Array
    intercept: Array
    primal: Array
    dual: Array
    beta: Array | None = None


class KernelEstimator(BaseEstimator):
    """One kernel, one or several outputs that share its operator."""

    _task: str

    def _check_parameters(self) -> None:
        if hasattr(self, "C"):
            positive("C", self.C)
        positive("tol", self.tol)
        for name, parameter in parameters_for(self._task).items():
            if hasattr(self, name):
                parameter.check(getattr(self, name))
        if self.fit_intercept not in INTERCEPTS:
            raise ValueError(f"fit_intercept={self.fit_intercept!r} must be True, False or 'regularized'.")
        if not isinstance(self.max_iter, int | np.integer) or (self.max_iter < 1 and self.max_iter != -1):
            raise ValueError(f"max_iter={self.max_iter!r} must be a positive integer, or -1 for no limit.")
        show_compilation(self.verbose)

    def _loss(self) -> Loss:
        return make_loss(self.loss, self._task, **self.get_params(deep=False))

    def _engine(self) -> Engine:
        return choose_engine(self.engine, self.n_jobs)

    def _given_kernel(self) -> Kernel:
        return as_kernel(self.kernel, RBF(gamma="scale"))

    def _rows(self, X: Any) -> Any:
        self._check_parameters()
        return training_rows(self, X, [self._given_kernel()])

    def _bind(self, X: Any, weight: Array) -> Operator:
        """Fix what the kernel learns from the rows, and bind it to them within the memory limit."""
        engine, (need, store) = self._engine(), svm_need(self.solver, self.solver_params)
        kernel = self._given_kernel().fitted(X, weight)
        if not kernel.definite:
            raise ValueError(
                f"{kernel!r} is not positive semi-definite; a support vector machine needs a kernel that is."
            )
        warn_if_nothing_shared([kernel], X, engine)
        self.kernel_ = normalized(kernel, X, self.normalize, engine, weight, centre=self.fit_intercept is not True)
        task = Task([self.kernel_], X, engine, self.memory_limit, self.tol, need, store)
        operator, self.memory_plan_ = choose(task)
        _refuse_overflow(operator)
        return operator

    def _solve(self, problems: Iterable[Problem], X: Any) -> None:
        """Solve each problem and set the fitted attributes."""
        monitor = make_monitor(self.callbacks, self.verbose)
        results: list[Result] = []
        for problem in problems:
            stopped = any(result.interrupted for result in results)
            stop = Stop(self.tol, 1 if stopped else self.max_iter)
            self.solver_, self.solver_why_, solver = choose_svm_solver(self.solver, problem, self.solver_params)
            results.append(run(solver, problem, stop, monitor))
        self._keep(results, X)
        warn_unless_converged(results, self.tol)

    def _keep(self, results: list[Result], X: Any) -> None:
        alpha = np.stack([result.primal.alpha for result in results])
        self.support_ = np.flatnonzero(np.any(alpha != 0, axis=0))
        self.dual_coef_ = np.ascontiguousarray(alpha[:, self.support_])
        self.intercept_ = np.array([result.primal.intercept for result in results])
        self.reference_ = reference(self.kernel_, X, self.support_)
        self.expansion_ = self._expand()
        self.n_iter_ = max(result.n_iter for result in results)
        self.trace_ = join_traces(results)
        keep_certificate(self, results)

    def _outputs(self, X: Any) -> Array:
        """Return the decision values of new rows, (m, outputs)."""
        check_is_fitted(self, "dual_coef_")
        X = new_rows(self, X, [self.kernel_])
        return self.expansion_.scores(X, self._engine()) + self.intercept_

    def _expand(self) -> Expansion:
        """Return what the model predicts with, from its fitted attributes; nothing is computed yet."""
        one = np.ones((len(self.intercept_), 1))
        return RowExpansion.weighted([self.kernel_], self.reference_, one, self.dual_coef_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_pairwise([self.kernel])
        return tags


def keep_certificate(estimator: Any, results: list[Result]) -> None:
    """Set objective, bound and gap, and the points that prove them."""
    primal = np.array([result.primal.value for result in results])
    duals = [result.dual for result in results]
    dual = np.array([-np.inf if point is None else point.value for point in duals])
    alpha = np.concatenate([np.atleast_2d((point or r.primal).alpha) for r, point in zip(results, duals)])
    intercept = np.concatenate([np.atleast_1d(r.primal.intercept) for r in results])
    weights = [r.primal.beta for r in results]
    beta = None if weights[0] is None else np.stack([np.asarray(weight) for weight in weights])
    estimator.objective_, estimator.dual_objective_ = float(primal.sum()), float(dual.sum())
    estimator.duality_gap_ = max(0.0, *(float(result.gap) for result in results))
    estimator.certificate_ = Certificate(alpha, intercept, primal, dual, beta)
    estimator.converged_ = all(result.converged for result in results)


def join_traces(results: list[Result]) -> Trace:
    """Return one trace; with several outputs a column says which one a line belongs to."""
    if len(results) == 1:
        return results[0].trace
    joined = Trace()
    for output, result in enumerate(results):
        for line in range(len(result.trace)):
            joined.add(output=output, **{name: column[line] for name, column in result.trace.columns.items()})
    return joined


def warn_unless_converged(results: list[Result], tol: float) -> None:
    """Warn with the gap that was reached."""
    gap = max(result.gap for result in results)
    if any(result.interrupted for result in results):
        warnings.warn(
            f"Stopped early at a duality gap of {gap:.2g}: the best model so far is kept.", ConvergenceWarning, 4
        )
    elif not all(result.converged for result in results):
        steps = max(result.n_iter for result in results)
        text = f"The duality gap is {gap:.2g}, above tol={tol:g}, after {steps} iterations; raise max_iter or tol."
        warnings.warn(text, ConvergenceWarning, stacklevel=4)


def show_compilation(verbose: int) -> None:
    """Let the log say once, if it is asked for, that this fit compiles its loops."""
    if not verbose:
        listen("verbose", None)
        return
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
        logger.setLevel(logging.INFO)

    def say() -> None:
        listen("verbose", None)
        logger.info("compiling (once)")

    listen("verbose", say)


def make_monitor(callbacks: Iterable[Monitor], verbose: int) -> Monitor:
    """Return one monitor that logs and asks every callback; a true answer of any stops the run."""
    if callable(callbacks):
        raise TypeError(f"callbacks={callbacks!r} is one function; give a list, callbacks=[...].")
    callbacks = tuple(callbacks)

    def monitor(progress: Progress) -> bool:
        if verbose:
            bound = f"dual {progress.dual:.6g}  gap {progress.gap:.2g}"
            known = bound if math.isfinite(progress.gap) else "no bound yet"
            logger.info(
                "iteration %d  %.1f s  primal %.6g  %s%s",
                progress.iteration, progress.seconds, progress.primal, known, progress.further(),
            )  # fmt: skip
        answers = [bool(callback(progress)) for callback in callbacks]
        return any(answers)

    return monitor


def _refuse_overflow(operator: Operator) -> None:
    bad = np.flatnonzero(~np.isfinite(operator.diag()))
    if len(bad):
        raise ValueError(f"The kernel of row {bad[0]} with itself is not finite; rescale the features of the table.")
