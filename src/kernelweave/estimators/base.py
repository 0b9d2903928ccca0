"""What every estimator is made of: kernels (`KernelList`), targets (`TargetKind`), an engine, an expansion.

An estimator with one kernel, one with a weight for each of many and a mixture of kernel columns differ in the problem
that they solve; what stands here is the same for all of them.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernelweave.data.errors import Incomparable
from kernelweave.data.stores import is_stored
from kernelweave.engines import Engine, choose_engine, idle_cores, is_client
from kernelweave.estimators.advice import Facts
from kernelweave.estimators.callbacks import CallbackBridge, CallbackSupportMixin, Kept
from kernelweave.estimators.checks.inputs import new_rows, positive, training_rows
from kernelweave.estimators.files.misfit import UNREADABLE, misfit
from kernelweave.estimators.fitting import Begun, make_monitor, show_compilation
from kernelweave.estimators.html import Shown
from kernelweave.estimators.kernel_list import KernelList
from kernelweave.estimators.planning.sharding import by_parts, stored_rows
from kernelweave.estimators.planning.stored import loaded, memory_left, part_by_part
from kernelweave.estimators.targets import TargetKind, Targets
from kernelweave.kernels import Kernel
from kernelweave.losses import Loss, make_loss, parameters_for
from kernelweave.operators.expansion.base import Expansion
from kernelweave.solvers.checkpoint import Checkpoint
from kernelweave.solvers.loop import Monitor

Array = np.ndarray
INTERCEPTS = {True: "free", "regularized": "regularized", False: "none"}


class Estimator(CallbackSupportMixin, Shown, ABC):
    """The parts that all estimators have; a subclass says what it learns (`_learns`) and with which kernels."""

    _learns: TargetKind
    intercept_: Array
    expansion_: Expansion
    _store_bytes = 0
    """Bytes of the rows of a store that were read into memory."""
    _record: Checkpoint | None = None
    """What the runs of a fit write down, while it lasts."""
    _callback_bridge: CallbackBridge | None = None
    """What tells scikit-learn's callbacks of a fit, while it lasts."""

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters, read from the signature once: every fit asks for them several times."""
        return super()._get_param_names()

    @property
    def _task(self) -> str:
        return self._learns.task

    @property
    @abstractmethod
    def _kernel_list(self) -> KernelList:
        """The kernels that the user gave."""

    @property
    @abstractmethod
    def _used_kernels(self) -> list[Kernel]:
        """The kernels of a fitted model."""

    @abstractmethod
    def _expand(self) -> Expansion:
        """Return what the model predicts with, from its fitted attributes; nothing is computed yet."""

    @abstractmethod
    def _plan(self, X: Any, targets: Targets) -> Begun:
        """Bind the kernels to checked rows and choose a solver, as a fit does, and stop there."""

    def _check_parameters(self) -> None:
        given = self.get_params(deep=False)
        self._learns.check(self)
        positive("tol", self.tol)
        for name, parameter in parameters_for(self._task).items():
            if name in given:
                parameter.check(given[name])
        if self.fit_intercept not in INTERCEPTS:
            raise ValueError(f"fit_intercept={self.fit_intercept!r} must be True, False or 'regularized'.")
        if not isinstance(self.max_iter, int | np.integer) or (self.max_iter < 1 and self.max_iter != -1):
            raise ValueError(
                f"max_iter={self.max_iter!r} must be a positive integer, or -1 for the solver's own limit."
            )
        if self.checkpoint is not None:
            from kernelweave.estimators.files.checkpoints import place_of

            place_of(self.checkpoint)
        show_compilation(self.verbose)

    @contextmanager
    def _recording(self, X: Any, targets: Targets, **more: Any) -> Iterator[None]:
        """Let the runs inside write down how far they come, where a checkpoint was asked for.

        `more` is what else decides about them, by the names that messages have for it.
        """
        if self.checkpoint is None:
            yield
            return
        from kernelweave.estimators.files.checkpoints import open_checkpoint

        data = {"the targets": targets.y, "the sample weights": targets.weight, **more}
        self._record = open_checkpoint(self, X, data)
        try:
            yield
        finally:
            self._record.close()
            del self._record

    def _describe_run(self, width: int | None = None, factorised: bool = False) -> Checkpoint | None:
        """Return the checkpoint, if there is one, having noted how the next run goes about it.

        `width` is the number of explicit features; those of factorised kernels follow from the tolerance too.
        """
        if self._record is not None:
            features = f"{width} for tol={float(self.tol)}" if factorised else str(width)
            self._record.describe(solver=self.solver_, held=self.memory_plan_.kind, features=features)
        return self._record

    def _loss(self) -> Loss:
        return make_loss(self.loss, self._task, **self.get_params(deep=False))

    def _intercept(self) -> str:
        """Return how the intercept is treated, as problems spell it."""
        return INTERCEPTS[self.fit_intercept]

    def _facts(self, diagonal: Array, cost: Array, loss: Loss, norm: float | None = None) -> Facts:
        """Return what a warning about a fit asks for."""
        return Facts(float(self.tol), int(self.max_iter), self.solver_, diagonal, cost, loss, norm)

    @property
    def _memory_left(self) -> float | str:
        """The memory limit for what is held of the kernels: without the rows that were read from a store."""
        return memory_left(self.memory_limit, self._store_bytes)

    def _engine(self) -> Engine:
        return choose_engine(self.engine, self.n_jobs)

    def _monitor(self) -> Monitor:
        """Return what watches the runs of a fit."""
        return make_monitor(self.callbacks, self.verbose, idle_cores(self.engine, self.n_jobs), self._callback_bridge)

    def _keeps_by(self, kept: Kept, outputs: int) -> None:
        """Let scikit-learn's callbacks have the model after each iteration: with one output, it is that of one run."""
        if self._callback_bridge is not None and outputs == 1:
            self._callback_bridge.kept = kept

    def __sklearn_clone__(self) -> Self:
        """Return a clone that works with the same client of a cluster, which cannot be copied."""
        if not is_client(self.engine):
            return super().__sklearn_clone__()
        plain = copy.copy(self).set_params(engine=None)
        return plain.__sklearn_clone__().set_params(engine=self.engine)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: a client stays in its process, and the model works where it arrives."""
        state = super().__getstate__()
        return {**state, "engine": None} if is_client(self.engine) else state

    def _rows(self, X: Any) -> Any:
        """Return checked training rows."""
        self._check_parameters()
        for name in ("_store_bytes", "calibration_", "threshold_"):
            self.__dict__.pop(name, None)
        if is_stored(X):
            if self._by_parts_of(X)[0]:
                return stored_rows(self, X)
            self._store_bytes = X.nbytes
        return training_rows(self, loaded(X, self.memory_limit), self._kernel_list.described())

    def _by_parts_of(self, X: Any) -> tuple[bool, str]:
        """Tell whether training rows are worked through part by part, and why."""
        solver = self.get_params(deep=False).get("solver")
        return by_parts(str(solver), X, self.memory_limit, self._engine(), self._loss())

    def _new(self, X: Any) -> Any:
        """Return checked new rows for a fitted model."""
        check_is_fitted(self, "expansion_")
        return new_rows(self, loaded(X, self.memory_limit), self._used_kernels)

    def _outputs(self, X: Any) -> Array:
        """Return the outputs of new rows, (rows, outputs); a store is never read as a whole."""
        if is_stored(X):
            return _finite(np.concatenate(self._by_parts(X, "scores")) + self.intercept_)
        X = self._new(X)
        with self._computing():
            found = self.expansion_.scores(X, self._engine()) + self.intercept_
        return _finite(found)

    def _contributions(self, X: Any) -> Array:
        """Return what every kernel contributes to each output of new rows, (m, rows, outputs)."""
        if is_stored(X):
            return np.concatenate(self._by_parts(X, "contributions"), axis=1)
        X = self._new(X)
        with self._computing():
            return self.expansion_.contributions(X, self._engine())

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Turn what an expansion raises that was read from a file into a sentence about the file."""
        try:
            yield
        except UNREADABLE as error:
            if not self.expansion_.restored or isinstance(error, Incomparable):
                raise
            raise ValueError(
                f"This model cannot be used, because its file is damaged or was changed: {misfit(error)}."
            ) from error

    def _by_parts(self, X: Any, what: str) -> list[Array]:
        """Return what the expansion gives for each part of a store."""
        check_is_fitted(self, "expansion_")
        return part_by_part(X, (self.expansion_, self._input), self._engine(), what)

    def _decisions(self, X: Any) -> Array:
        outputs = self._outputs(X)
        return self._learns.decisions(self, outputs, float(self.intercept_[0]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._kernel_list.pairwise
        return tags


def _finite(outputs: Array) -> Array:
    """Return outputs, or raise because a row has one that is beyond double precision."""
    odd = np.flatnonzero(~np.isfinite(outputs).all(axis=1))
    if odd.size:
        raise ValueError(
            f"The score of row {odd[0]} is not a finite number: the numbers of the row, or the coefficients of the "
            "model, are too large for double precision; scale the rows."
        )
    return outputs
