"""What was learned, checked as a whole before a model that was read from a file is handed out.

Sums tell whether a file is the one that was written, not who wrote it.  So shapes, ranges and finiteness of every
array that a compiled loop will see are checked against each other; what does not fit raises a ValueError.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.data.kinds import describe, kind_of, n_rows
from kernelweave.kernels import Precomputed
from kernelweave.operators.expansion.base import Expansion

Array = np.ndarray


def check_rows(rows: Any) -> Any:
    """Return rows of a file; a table that holds what is no finite number, or has no two dimensions, raises."""
    kind_of(rows).check(rows, "model")
    if len(getattr(rows, "shape", (0, 0))) != 2 and kind_of(rows).tabular:
        raise ValueError("a table does not have two dimensions")
    return rows


def check_numbers(values: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a kernel; arrays that are not finite raise."""
    for name, value in values.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError(f"the {name} of a kernel are not finite")
    return values


def check_model(model: Any, expansion: Expansion) -> None:
    """Raise unless the fitted attributes of an estimator fit together."""
    learned = vars(model)
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
