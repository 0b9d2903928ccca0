"""What the boosted estimators share: sparse mixtures of kernels by column generation (CG-Boost).

    f(x) = sum_j a_j K_p(x, x_i) + b        a column j is a kernel p and a training row i

The problems and what proves their solution are stated in `solvers.boost.problem`, the rounds in
`solvers.boost.generation`.  Several outputs (classes, one against the rest) share one pool of columns.

A row of weight s is to mean s equal rows.  The losses see to that by their costs, and so does the 1-norm; but s equal
columns have a smaller 2-norm than one, since they share a coefficient: ``s (a / s)^2 = a^2 / s``.  So this is what a
column of a weighted row pays, by way of columns multiplied by sqrt(s) with coefficients ``a / sqrt(s)``.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from kernelweave.data.errors import ParameterError, preceded
from kernelweave.engines import one_blas_thread
from kernelweave.estimators.base import Array, Estimator
from kernelweave.estimators.cgboost.holdout import USUAL_FRACTION, ValidationRows, cut, draw, matrices
from kernelweave.estimators.cgboost.stage_history import (
    column_shares,
    columns_per_kernel,
    last_columns,
    round_columns,
    stage_history,
    support_rows,
)
from kernelweave.estimators.checks.inputs import positive
from kernelweave.estimators.fitting import Begun, Certificate, StoppedEarly, honest_gap, join_traces
from kernelweave.estimators.kernel_list import KernelList, fitted_to, refuse_overflow
from kernelweave.estimators.targets import Error, Targets
from kernelweave.kernels import Kernel, reference
from kernelweave.operators.columns.pool import ColumnPool
from kernelweave.operators.expansion.rows import RowExpansion
from kernelweave.solvers.boost.generation import generate
from kernelweave.solvers.boost.pricing import STRATEGIES
from kernelweave.solvers.boost.problem import PENALTIES, BoostProblem
from kernelweave.solvers.boost.rules import TERMINATIONS, Rules, Validation
from kernelweave.solvers.boost.stages import BoostResult
from kernelweave.solvers.choose import master_name

ORDERS, WAYS = ("given", "cost"), ("auto", *STRATEGIES)
ROUNDS_AT_ONCE = 32
"""Rounds whose outputs on new rows are computed together."""
SEEDS = 2**31 - 1
SAMPLED = "mixture of sampled columns"
"""What a certificate is about whose bound holds for the columns that were drawn in the last round, not for all."""


class CGBoostEstimator(Estimator):
    """Many kernels, one coefficient for each kernel and training row."""

    _kinds: tuple[str, ...]
    kernels_: list[Kernel]

    @property
    def _kernel_list(self) -> KernelList:
        return KernelList(self.kernels, many=True)

    @property
    def _used_kernels(self) -> list[Kernel]:
        return self.kernels_

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if positive("nu", self.nu) > 1:
            raise ValueError(f"nu={self.nu!r} must be at most 1: it bounds a fraction of the rows.")
        choices = {"penalty": PENALTIES, "kernel_order": ORDERS, "loss": self._kinds, "strategy": WAYS}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is unknown; choose one of {', '.join(known)}.")
        for name in ("columns_per_round", "candidates", "patience"):
            value, words = getattr(self, name), ("auto", None) if name == "candidates" else ("auto",)
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1
            if not whole and value not in words:
                usual = " or ".join(repr(word) for word in words)
                raise ValueError(f"{name}={value!r} must be a positive integer or {usual}.")
        self._rules()

    def _rules(self, seed: int = 0) -> Rules:
        """Return how the rounds proceed and when they end."""
        several = isinstance(self.termination, tuple | list)
        named = tuple(self.termination) if several else (self.termination,)
        if not named or any(rule not in TERMINATIONS for rule in named):
            raise ValueError(
                f"termination={self.termination!r} is unknown; name one or several of {', '.join(TERMINATIONS)}."
            )
        if "TR4" in named and self.max_iter < 1:
            raise ValueError("TR4 ends a fit after max_iter rounds; set max_iter to a positive number.")
        sizes = [
            value if value is None or isinstance(value, str) else int(value)
            for value in (self.columns_per_round, self.candidates, self.patience)
        ]
        tol, most = float(self.tol), int(self.max_iter)
        return Rules(named, self.strategy, sizes[0] or "auto", sizes[1], tol, most, sizes[2] or "auto", seed)

    def _fraction(self, validation: Any) -> float:
        """Return which share of the rows to hold out, 0 for none."""
        given = self.get_params(deep=False).get("validation_fraction")
        if given is not None and not 0 < positive("validation_fraction", given) < 1:
            raise ValueError(f"validation_fraction={given!r} must lie between 0 and 1.")
        if validation is not None:
            if not isinstance(validation, tuple | list) or len(validation) != 2:
                raise ValueError("validation must be a pair: rows and their targets, (X, y).")
            if given is not None:
                raise ValueError("Both validation rows and validation_fraction were given; give one of them.")
            return 0.0
        return given or (USUAL_FRACTION if "TR3" in self._rules().termination else 0.0)

    def _given_judges(self, validation: Any) -> ValidationRows | None:
        """Return the validation rows that were handed to fit; what is wrong with them is said to be theirs."""
        if validation is None:
            return None
        try:
            return self._judges(*validation)
        except (TypeError, ValueError) as error:
            raise preceded(error, "In validation=(X, y)") from error

    @abstractmethod
    def _judges(self, X: Any, y: Any) -> ValidationRows:
        """Return validation rows, checked."""

    def _split(
        self, X: Any, strata: Array, y: Array, weight: Array, held: ValidationRows | None, fraction: float
    ) -> _Training:
        """Return what to train on and what to judge by, and draw the latter where a share of the rows was asked for."""
        rng = check_random_state(self.random_state)
        rows = np.flatnonzero(weight > 0)
        judges = draw(strata, rows, fraction, rng) if fraction else np.empty(0, np.int64)
        rows = np.setdiff1d(rows, judges)
        given = matrices(self._kernel_list.on(X, weight), X)
        whole = len(rows) == len(weight)
        if given and not whole and self.normalize == "variance":
            problem = "{normalize} needs all rows of a precomputed matrix; use 'trace' or None."
            raise ParameterError(problem, {"normalize": self.normalize})
        if len(judges):
            held = ValidationRows(cut(X, judges, rows, given), y[judges], weight[judges])
        elif held is not None and given and not whole:
            held = ValidationRows(cut(held.X, slice(None), rows, given), held.y, held.weight)
        return _Training(X if whole else cut(X, rows, rows, given), rows, held, int(rng.randint(SEEDS)))

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is refused in the end
    def _pool(self, X: Any, weight: Array) -> ColumnPool:
        """Fix what the kernels learn from the rows, scale them, and plan how their columns are held."""
        engine = self._engine()
        given, self.kernel_why_, _ = self._kernel_list.chosen(X, weight, self.normalize)
        self.kernel_names_ = np.array(self._kernel_list.labels(X) or [repr(kernel) for kernel in given])
        kernels = fitted_to(given, X, weight, self.normalize, engine, centre=self._task != "novelty").kernels
        for name, kernel in zip(self.kernel_names_, kernels):
            refuse_overflow([name], kernel.diag(X))
        self.kernels_ = kernels
        scale = np.sqrt(weight) if self.penalty == "l2" and np.any(weight != 1) else None
        pool = ColumnPool(kernels, X, engine, self._memory_left, scale)
        self.memory_plan_ = pool.plan
        return pool

    def _fit(self, X: Any, targets: Targets, validation: Any, strata: Array) -> None:
        """Learn from checked rows: cut off what judges, solve one problem for each output, keep the rounds.

        Parameters
        ----------
        validation : rows and targets that judge the rounds, or None
        strata : (n,) classes that rows are held out of in equal shares; all alike where there are none
        """
        fraction = self._fraction(validation)
        held = self._given_judges(validation)
        training = self._split(X, strata, targets.y, targets.weight, held, fraction)
        rows, held = training.rows, training.held
        weight, values = targets.weight[rows], targets.values[:, rows]
        judged = [None] * len(values) if held is None else self._judged(held)
        errors: list[tuple[Error, Error | None]] = [
            (
                self._learns.error(line, weight),
                None if held is None or judge is None else self._learns.error(judge, held.weight),
            )
            for line, judge in zip(values, judged)
        ]
        cost = weight if self._task == "novelty" else targets.cost[rows]
        judges = (None, None, None) if held is None else held
        drawn = {"the validation rows": judges, "the rows held out and the seed": (rows, training.seed)}
        with self._recording(X, targets, **drawn):
            self._boost(X, training, values, cost, weight, errors)

    def _plan(self, X: Any, targets: Targets) -> Begun:
        training = self._split(X, targets.y, targets.y, targets.weight, None, self._fraction(None))
        self.solver_, self.solver_why_ = master_name(self.penalty)
        self._pool(training.X, targets.weight[training.rows])
        return Begun(None, None, len(targets.values))

    def _judged(self, held: ValidationRows) -> Array:
        """Return what the outputs of validation rows should be, (outputs, rows)."""
        return held.y[None, :]

    def _boost(
        self, X: Any, training: _Training, targets: Array, cost: Array, weight: Array,
        errors: Sequence[tuple[Error, Error | None]],
    ) -> None:  # fmt: skip
        """Solve one problem for each row of targets on the training rows, and set the fitted attributes."""
        rules, monitor = self._rules(training.seed), self._monitor()
        self.solver_, self.solver_why_ = master_name(self.penalty)
        results: list[BoostResult] = []
        with one_blas_thread():  # threads come from the engine, so that bits do not depend on them
            pool = self._pool(training.X, weight)
            order = pool.by_cost() if self.kernel_order == "cost" else None
            judges = None if training.held is None else pool.against(training.held.X)
            for y, (train_error, held_error) in zip(targets, errors):
                if any(result.reason == "interrupted" for result in results):
                    rules = replace(rules, termination=("TR4",), max_rounds=1)
                validation = None if judges is None or held_error is None else Validation(judges, held_error)
                problem = self._problem(y, cost)
                record = self._describe_run()
                results.append(generate(problem, pool, rules, order, validation, train_error, monitor, record))
        self._keep_rounds(results, X, training.rows, pool.scale)
        _warn_unless_converged(results, self.tol)
        _warn_if_sampled(results, pool.n * pool.m)

    def _problem(self, y: Array, cost: Array) -> BoostProblem:
        return BoostProblem(
            self.loss, y, cost, self.penalty, bool(self.positive), self._intercept(),
            float(self.get_params(deep=False).get("epsilon", 0.0)), float(self.nu),
        )  # fmt: skip

    def _keep_rounds(self, results: list[BoostResult], X: Any, rows: Array, scale: Array | None) -> None:
        """Set the fitted attributes."""
        m, outputs = len(self.kernels_), len(results)
        self.stages_ = [stage_history(result, rows, scale) for result in results]
        self.columns_ = last_columns(self.stages_)
        self.n_columns_per_kernel_ = columns_per_kernel(self.columns_, m, outputs)
        self.training_rows_ = rows
        self.support_ = support_rows(self.stages_)
        self.reference_ = reference(self.kernels_, X, self.support_)
        self.intercept_ = np.array([result.intercept for result in results])
        self.expansion_ = self._expand()
        self.n_iter_ = max(result.n_rounds for result in results)
        self.trace_ = join_traces(results)  # type: ignore[arg-type]
        primal, dual = (np.array([getattr(r, name) for r in results]) for name in ("objective", "bound"))
        prices = np.zeros((outputs, X.shape[0]))
        prices[:, rows] = [result.u for result in results]
        self.certificate_ = Certificate(prices, self.intercept_, primal, dual)
        self.objective_, self.dual_objective_ = float(primal.sum()), float(dual.sum())
        self.duality_gap_ = max(honest_gap(float(result.gap)) for result in results)
        counted = [result.scanned for result in results if not isinstance(result.scanned, str)]
        self.scanned_ = min(counted) if counted else "all"
        self.certifies_ = SAMPLED if counted else "mixture"
        self.stopped_by_ = [result.reason for result in results]
        self.converged_ = all(result.converged for result in results)

    def _staged_outputs(self, X: Any) -> Iterator[Array]:
        """Yield the outputs of new rows after each round, (rows, outputs), up to the round that is kept."""
        X, outputs = self._new(X), len(self.intercept_)
        rounds = max(len(history) for history in self.stages_)
        for first in range(0, rounds, ROUNDS_AT_ONCE):
            numbers = range(first, min(first + ROUNDS_AT_ONCE, rounds))
            columns, intercepts = round_columns(self.stages_, numbers)
            size = len(numbers) * outputs
            model = RowExpansion(self.kernels_, self.reference_, column_shares(columns, self.support_, size), size)
            values = model.scores(X, self._engine()).reshape(X.shape[0], len(numbers), outputs)
            for place in range(len(numbers)):
                yield values[:, place] + intercepts[place]

    def _staged_decisions(self, X: Any) -> Iterator[Array]:
        """Yield the decision values after each round; the last ones are those of the model."""
        for number, outputs in enumerate(self._staged_outputs(X)):
            yield self._learns.decisions(self, outputs, self.stages_[0].intercept_at(number))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield what is predicted of each row after each round; the last ones are those of `predict`."""
        for values in self._staged_decisions(X):
            yield self._learns.predictions(self, values)

    def _expand(self) -> RowExpansion:
        outputs = len(self.intercept_)
        shares = column_shares(self.columns_, self.support_, outputs)
        return RowExpansion(self.kernels_, self.reference_, shares, outputs)


class _Training:
    """Rows to train on (`rows` are their numbers), rows that judge, and the seed of the draws."""

    def __init__(self, X: Any, rows: Array, held: ValidationRows | None, seed: int):
        self.X, self.rows, self.held, self.seed = X, rows, held, seed


def _warn_unless_converged(results: list[BoostResult], tol: float) -> None:
    """Say in one sentence why a fit ended before it was done."""
    worst = max((result for result in results if not result.converged), key=lambda r: r.gap, default=None)
    if worst is None:
        return
    gap, rounds = f"a duality gap of {worst.gap:.2g}", "a round" if worst.n_rounds == 1 else f"{worst.n_rounds} rounds"
    texts = {
        "interrupted": f"Stopped early at {gap}: the best model so far is kept.",
        "memory": f"The columns in use fill the memory_limit after {rounds}, at {gap}; raise it or tol.",
        "stalled": f"Rounding ends the fit at {gap} after {rounds}; raise tol or set normalize.",
    }
    usual = f"The fit ended at {gap}, above tol={tol:g}, after {rounds}; raise max_iter or tol."
    stopped = any(result.reason == "interrupted" for result in results)
    reason, kind = ("interrupted", StoppedEarly) if stopped else (worst.reason, ConvergenceWarning)
    warnings.warn(texts.get(reason, usual), kind, stacklevel=5)


def _warn_if_sampled(results: list[BoostResult], columns: int) -> None:
    """Say that a bound holds for some columns only, where it does."""
    counted = [result.scanned for result in results if not isinstance(result.scanned, str)]
    if counted:
        warnings.warn(
            f"The certificate is about {min(counted)} of {columns} columns, those in use and those drawn in the last "
            "round; others may improve the model. candidates=None scores all columns in each round.",
            UserWarning, stacklevel=5,
        )  # fmt: skip
