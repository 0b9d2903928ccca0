"""Kernels that are functions of the user's, as scikit-learn's ``SVC(kernel=...)`` takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelweave.data.blocks import spans
from kernelweave.kernels.base import Array, Kernel, count

TOGETHER = 64
"""Rows whose similarities with one another are computed for the sake of the diagonal."""


class Function(Kernel):
    """Similarities that a function computes: ``function(X, Y)`` of two blocks of rows is an array (rows, rows).

    Estimators make one of every function that they get as a kernel.  The function is called for blocks of rows, perhaps
    from several threads; its matrix must be positive semi-definite, which is checked on the training rows.

    Parameters
    ----------
    function : called with rows as the estimator has them: arrays of numbers, `Sequences`, views

    Examples
    --------
    >>> Function(lambda X, Y: X @ Y.T).gram(np.array([[1.0], [2.0]]))
    array([[1., 2.],
           [2., 4.]])
    """

    def __init__(self, function: Callable[[Any, Any], Any]):
        self.function = function

    @property
    def name(self) -> str:
        """What the function is called."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def unsaved(self) -> str:
        """Why no model file can hold this kernel, and what to do."""
        return (
            f"the kernel is the function {self.name}, and a model file holds no code; use a kernel of this library, or "
            "train on the matrix that the function computes, with kernel='precomputed'"
        )

    def __repr__(self) -> str:
        return f"Function({self.name})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and self.function is other.function

    def __hash__(self) -> int:
        return hash(self.function)

    def prepare(self, X: Any) -> Any:
        """Return the rows as they are."""
        return X

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return what the function says of two blocks."""
        values = np.asarray(self.function(A, B))
        expected = (count(A), count(B))
        if values.shape != expected or values.dtype.kind not in "fiub":
            raise ValueError(
                f"The kernel function {self.name} must return an array of numbers of shape {expected}, a line for "
                f"each row of X and a column for each of Y, but returned one of {values.dtype} of shape {values.shape}."
            )
        if not np.isfinite(values).all():
            raise ValueError(f"The kernel function {self.name} returned values that are not finite numbers.")
        values = np.array(values, dtype)
        return (values + values.T) / 2 if A is B else values

    def diagonal(self, A: Any) -> Array:
        """Return the similarity of each row with itself."""
        parts = [A[cut] for cut in spans(count(A), TOGETHER)]
        return np.concatenate([np.diagonal(self.block(part, part)) for part in parts] or [np.zeros(0)])
