"""scikit-learn's callbacks (`sklearn.callback`, from 1.9 on): what our fits tell them.

A fit is a task; each iteration of each run inside it is a task below that one.  Where scikit-learn has no callbacks,
estimators have no `set_callbacks` and `watched` changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from inspect import signature
from typing import Any, TypeVar

from kernelweave.solvers.loop import Progress
from kernelweave.solvers.result import Result

AVAILABLE = find_spec("sklearn.callback") is not None
"""Whether this scikit-learn has callbacks."""
HOSTS = ("_parent_", "_skl_", "_callback_")
"""How attributes begin that belong to callbacks while an estimator is fitted."""
Fit = TypeVar("Fit", bound=Callable[..., Any])
Kept = Callable[[Any, Result], None]
"""Sets the fitted attributes of an estimator from the result of its only run."""

if AVAILABLE:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
else:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""


class CallbackBridge:
    """Ends one task and begins the next whenever a run reports an iteration.

    Parameters
    ----------
    model : the estimator that is being fitted
    context : its root task
    told : what every hook gets: X, y and metadata
    """

    def __init__(self, model: Any, context: Any, told: dict[str, Any]):
        self.model, self.context, self.told = model, context, {"estimator": model, **told}
        self.kept: Kept | None = None
        self._begin()

    def _begin(self) -> None:
        self._task = self.context.subcontext(task_name="iteration")
        self._task.call_on_fit_task_begin(**self.told)

    def __call__(self, progress: Progress) -> bool:
        """Report an iteration; return whether a callback wants the run to end."""
        if progress.resumed:
            return False
        found = None if self.kept is None or progress.result is None else self._learned(self.kept, progress.result)
        stop = bool(self._task.call_on_fit_task_end(**self.told, reconstruction_attributes=found))
        self._begin()
        return stop

    def _learned(self, kept: Kept, result: Callable[[], Result]) -> Callable[[], dict[str, Any]]:
        """Return a function of the attributes that the model would have if the run had ended here."""

        def attributes() -> dict[str, Any]:
            model = copy.copy(self.model)
            kept(model, result())
            old = vars(self.model)
            return {name: value for name, value in vars(model).items() if old.get(name) is not value}

        return attributes

    def close(self) -> None:
        """End the task that waits for an iteration which does not come."""
        self._task.call_on_fit_task_end(estimator=self.model)


def watched(fit: Fit) -> Fit:
    """Let scikit-learn's callbacks follow a `fit` or `fit_transform`, where it has them and some are set."""
    if not AVAILABLE:
        return fit

    names = list(signature(fit).parameters)[2:]

    @with_callbacks
    @wraps(fit)
    def followed(model: Any, X: Any, *rest: Any, **named: Any) -> Any:
        if not getattr(model, "_skl_callbacks", None):
            return fit(model, X, *rest, **named)
        given = {name: value for name, value in {**dict(zip(names, rest)), **named}.items() if value is not None}
        told = {"X": X, "y": given.pop("y", None), "metadata": given or None}
        context = model._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=model, **told)
        bridge = model._callback_bridge = CallbackBridge(model, context, told)
        try:
            found = fit(model, X, *rest, **named)
        finally:
            del model._callback_bridge
        bridge.close()
        context.call_on_fit_task_end(estimator=model, **told, reconstruction_attributes={})
        return found

    return followed
