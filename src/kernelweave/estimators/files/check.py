"""What was learned, checked as a whole before a model that was read from a file is handed out.

Sums tell whether a file is the one that was written, not who wrote it.  So shapes, ranges and finiteness of every
array that a compiled loop will see are checked against each other; what does not fit raises a ValueError.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from operator import attrgetter
from typing import Any

import numpy as np

from kernelweave.data.kinds import Description, describe, kind_of, n_rows
from kernelweave.engines.choose import LOCAL
from kernelweave.kernels import Precomputed
from kernelweave.kernels.base import Kernel
from kernelweave.kernels.compose import Scaled
from kernelweave.operators.expansion.base import Expansion

Array = np.ndarray
NEEDED = {"classification": ("classes_",)}
"""What a fitted model of a task has beside its intercept."""
MOST_JOBS = 1 << 16
SIZES = ("degree", "shift", "k", "l", "m", "n", "d")
"""Parameters of kernels that say how long something is: time and memory grow with them."""
LARGEST_SIZE = 10_000
SCALER: dict[str, Callable[[Any], bool]] = {"mean_": attrgetter("with_mean"), "scale_": attrgetter("with_std")}
"""What a scaler has learned, and whether it uses that."""


def check_rows(rows: Any) -> Any:
    """Return rows of a file; a table that holds what is no finite number, or has no two dimensions, raises."""
    kind_of(rows).check(rows, "model")
    if len(getattr(rows, "shape", (0, 0))) != 2 and kind_of(rows).tabular:
        raise ValueError("a table does not have two dimensions")
    return rows


def check_numbers(values: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a kernel; arrays that are not finite, and sizes that no model has, raise."""
    for name, value in values.items():
        if name in SIZES and isinstance(value, int) and abs(value) > LARGEST_SIZE:
            raise ValueError(f"the {name} of a kernel is beyond {LARGEST_SIZE:,}")
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError(f"the {name} of a kernel are not finite")
    return values


def check_factor(kernel: Kernel) -> Kernel:
    """Return a kernel; one that is scaled by what is not a positive number raises."""
    if isinstance(kernel, Scaled) and not (isinstance(kernel.factor, Real) and 0 < float(kernel.factor) < np.inf):
        raise ValueError("the factor of a kernel is not a positive number")
    return kernel


def local_parameters(nodes: dict[str, Any]) -> dict[str, Any]:
    """Return what a file says of the parameters of an estimator, without what belongs to the process that fitted.

    A file must not choose the scheduler whose answers are unpickled, nor a file that a fit would write.
    """
    kept = {name: node for name, node in nodes.items() if name not in ("checkpoint", "callbacks")}
    if kept.get("engine") not in (None, *LOCAL):
        raise ValueError("it names an engine outside of this process")
    jobs, limit = kept.get("n_jobs"), kept.get("memory_limit")
    if jobs is not None and (not isinstance(jobs, int) or abs(jobs) > MOST_JOBS):
        raise ValueError("n_jobs is not a number of workers")
    if limit is not None and not isinstance(limit, str | int | float):
        raise ValueError("memory_limit is not a size")
    return kept


def check_other(model: Any) -> None:
    """Raise unless a pipeline ends with an estimator of ours behind scalers, and a scaler fits its columns."""
    if type(model).__name__ == "Pipeline":
        steps = model.steps
        fits = isinstance(steps, list) and steps and all(isinstance(one, tuple) and len(one) == 2 for one in steps)
        if not fits or not hasattr(steps[-1][1], "expansion_") or not all(isinstance(name, str) for name, _ in steps):
            raise ValueError("a pipeline does not end with a fitted model")
        if not all(type(one).__name__ == "StandardScaler" for _, one in steps[:-1]):
            raise ValueError("a pipeline holds other steps than scalers before its model")
        for _, scaler in steps[:-1]:
            if missing := [name for name, used in SCALER.items() if used(scaler) and vars(scaler).get(name) is None]:
                raise ValueError(f"{missing[0]} of a scaler is missing")
        return
    columns = getattr(model, "n_features_in_", None)
    for name in ("mean_", "scale_", "var_"):
        values = getattr(model, name, None)
        if values is not None:
            finite(name, values, (columns,) if isinstance(columns, int) else (-1,))


def check_model(model: Any, expansion: Expansion) -> None:
    """Raise unless the fitted attributes of an estimator fit together."""
    learned = vars(model)
    if missing := [name for name in ("intercept_", "_input", *NEEDED.get(model._task, ())) if name not in learned]:
        raise ValueError(f"{missing[0]} is missing")
    if not isinstance(learned["_input"], Description):
        raise ValueError("what the rows were is not described")
    if not isinstance(learned.get("n_features_in_", 1), int):
        raise ValueError("n_features_in_ is not a number of columns")
    outputs, m = expansion.outputs, len(expansion.kernels)
    finite("intercept_", learned["intercept_"], (outputs,))
    if "kernel_weights_" in learned:
        weights = finite("kernel_weights_", learned["kernel_weights_"], None)
        if weights.shape not in {(m,), (outputs, m)} or (weights < 0).any():
            raise ValueError(f"kernel_weights_ of shape {weights.shape} do not fit {m} kernels")
    if "classes_" in learned:
        _check_classes(np.asarray(learned["classes_"]), outputs)
    given = any(isinstance(leaf.kernel, Precomputed) for kernel in expansion.kernels for leaf in kernel.leaves())
    if not given:  # of a matrix that is given the model keeps the numbers of its columns
        check_rows(expansion.rows)
        if learned.get("_input") is not None and describe(expansion.rows) != learned["_input"]:
            raise ValueError("reference_ holds rows of another kind than the model was trained on")
    if "calibration_" in learned:
        learned["calibration_"].check(outputs)
    if "threshold_" in learned and not np.isfinite(learned["threshold_"].value):
        raise ValueError("threshold_ is not finite")
    if "support_" in learned:
        _check_support(learned["support_"], n_rows(expansion.rows), expansion.keeps_rows)
    expansion.check()


def finite(name: str, values: Any, shape: tuple[int, ...] | None) -> Array:
    """Return an array, or raise unless it has finite numbers of double precision, and this shape."""
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or (shape and values.shape != shape):
        raise ValueError(f"{name} is not an array of numbers" + (f" of shape {shape}" if shape else ""))
    if not np.isfinite(values).all():
        raise ValueError(f"{name} is not finite")
    return values


def _check_classes(classes: Array, outputs: int) -> None:
    if classes.ndim != 1 or len(classes) < 2 or outputs != (1 if len(classes) == 2 else len(classes)):
        raise ValueError(f"classes_ of shape {classes.shape} do not fit {outputs} outputs")
    if len(set(classes.tolist())) != len(classes):
        raise ValueError("classes_ are not different from each other")


def _check_support(support: Any, rows: int, kept: bool) -> None:
    fits = isinstance(support, np.ndarray) and support.ndim == 1 and support.dtype.kind in "iu"
    if not fits or (support.size and (support.min() < 0 or (np.diff(support) <= 0).any())):
        raise ValueError("support_ is not a rising list of rows")
    if kept and len(support) != rows:
        raise ValueError(f"support_ names {len(support)} rows, but the model keeps {rows}")
