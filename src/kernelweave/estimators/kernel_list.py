"""The kernels of an estimator: from what the user gave to kernels that are fitted to rows and scaled."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernelweave.data.kinds import kind_of
from kernelweave.data.stores import is_stored
from kernelweave.engines import Engine
from kernelweave.estimators.checks.definite import refuse_indefinite
from kernelweave.estimators.checks.overlap import warn_if_nothing_shared
from kernelweave.estimators.defaults.usual import Usual, several_widths, usual_kernels
from kernelweave.estimators.normalize import LARGEST, SMALLEST, Scaling, all_normalized, too_large
from kernelweave.estimators.planning.sharding import fitted_to_store
from kernelweave.kernels import Kernel, Precomputed, parse
from kernelweave.kernels.abilities import representatives
from kernelweave.kernels.given.function import Function
from kernelweave.kernels.positional.windows import Windows
from kernelweave.kernels.reference import takes_gram
from kernelweave.kernels.tree import all_leaves
from kernelweave.operators.features.design.columns import TableColumns

Array = np.ndarray
AS_GIVEN = "as given"
"""Why kernels are used that the user named."""


class KernelList:
    """One kernel or several, as a user gave them.

    Parameters
    ----------
    given : a kernel, a text such as "rbf:0.5", a function, a `Windows` of kernels, a list of these, a dict of named
        ones, or None for what suits the rows
    many : whether it is the parameter `kernels` of an estimator, a list, or the parameter `kernel`

    Examples
    --------
    >>> KernelList(["linear", "rbf:width=2"], many=True).described()
    [Linear(), RBF(width=2)]
    """

    def __init__(self, given: Any, many: bool):
        self.names = list(map(str, given)) if many and isinstance(given, Mapping) else None
        self.given, self.many = list(given.values()) if self.names is not None else given, many

    def described(self) -> list[Kernel]:
        """Return the kernels as far as they are known without rows: none where the rows decide."""
        if self.given is None:
            return []
        listed = self._listed()
        if _are_kernels(listed):
            return list(listed)
        return [as_kernel(one.kernel if isinstance(one, Windows) else one) for one in listed]

    def chosen(self, X: Any, weight: Array | None, normalize: str | None, values: Array | None = None) -> Usual:
        """Return the kernels for these rows, why these, and how to scale them.

        Parameters
        ----------
        normalize : how the user wants them scaled; None leaves the scaling of kernels that were not given to us, too
        values : (outputs, n) targets, by which usual kernels are compared on a sample
        """
        if self.given is not None:
            return Usual(self.on(X, weight), AS_GIVEN, normalize)
        if self.many and kind_of(X).tabular:
            usual = several_widths(X, weight)
        else:
            usual = usual_kernels(X, self.many, values=values)
        return usual._replace(scaling=normalize or (None if self.many else usual.scaling))

    def on(self, X: Any, weight: Array | None) -> list[Kernel]:
        """Return the kernels for these rows: the usual ones where none were given, windows divided by position."""
        if self.given is None:
            return self.chosen(X, weight, None).kernels
        listed, found = self._listed(), list[Kernel]()
        if _are_kernels(listed):
            return list(listed)
        for one in listed:
            found += one.unrolled(X) if isinstance(one, Windows) else [as_kernel(one)]
        return found

    def labels(self, X: Any) -> list[str] | None:
        """Return the names that the user gave, one for each kernel on these rows; None where there are none."""
        if self.names is None:
            return None
        counts = [len(one.unrolled(X)) if isinstance(one, Windows) else 1 for one in self.given]
        pairs = zip(self.names, counts)
        return [name if n == 1 else f"{name} {i + 1}" for name, n in pairs for i in range(n)]

    def _listed(self) -> Sequence[Any]:
        if not self.many:
            if isinstance(self.given, list | tuple):
                raise TypeError(
                    f"kernel must be one kernel, but got {len(self.given)}; add them up, or learn a weight for each "
                    "with MKLClassifier, MKLRegressor or MKLNovelty."
                )
            return [self.given]
        given = [self.given] if isinstance(self.given, Windows) else self.given
        if isinstance(given, str | Kernel) or not isinstance(given, Sequence):
            raise TypeError("kernels must be a list of kernels, for example kw.RBF.grid([0.1, 1, 10]) + [kw.Linear()].")
        if len(given) == 0:
            raise ValueError("kernels is an empty list; give at least one kernel.")
        return given

    @property
    def pairwise(self) -> bool:
        """Whether X is a Gram matrix for these kernels, so that folds cut its columns, too."""
        given = self.given if isinstance(self.given, list | tuple) else [self.given]
        if len(given) and _are_kernels(given):
            return takes_gram(given)
        known = [Precomputed() if isinstance(one, str) and one == "precomputed" else one for one in given]
        return len(known) > 0 and all(isinstance(one, Kernel) for one in known) and takes_gram(known)

    @property
    def holds_gram(self) -> bool:
        """Whether some part of X is a Gram matrix, whose columns belong to its rows."""
        return any(isinstance(leaf.kernel, Precomputed) for leaf in all_leaves(representatives(self.described())))


def _are_kernels(listed: Sequence[Any]) -> bool:
    """Tell whether all are kernels already; their types are few, where kernels may be very many."""
    return all(issubclass(one, Kernel) for one in set(map(type, listed)))


def as_kernel(kernel: Any) -> Kernel:
    """Return the kernel a user gave: an object, a short text such as "rbf:0.5", or a function of two blocks of rows."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        return parse(kernel)
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(f"kernel must be a Kernel, not the class {kernel.__name__}; write {kernel.__name__}(...).")
    if callable(kernel):
        return Function(kernel)
    raise TypeError(f"kernel must be a Kernel, a text such as 'rbf' or a function, not {type(kernel).__name__}.")


def fitted_to(
    kernels: Sequence[Kernel], X: Any, weight: Array, normalize: str | None, engine: Engine, centre: bool,
    definite: str | None = None,
) -> Scaling:  # fmt: skip
    """Return kernels with everything filled in that is learned from the rows, and scaled on them.

    Parameters
    ----------
    normalize : how to scale; see `normalized`
    centre : whether "variance" must shift the kernel as well
    definite : who needs positive semi-definite kernels, for the message; None where they may be anything
    """
    if is_stored(X):
        return fitted_to_store(kernels, X, weight, normalize, engine, definite or "it cannot be learned with")
    table = TableColumns.of(kernels, X)
    if table is not None:  # nothing is learned from the rows, and inner products are definite
        return all_normalized(kernels, X, normalize, engine, weight, centre, table)
    fitted = [kernel.fitted(X, weight) for kernel in kernels]
    for kernel in fitted:
        if definite is not None and not kernel.definite:
            raise ValueError(f"{kernel!r} is not positive semi-definite; {definite}.")
    if definite is not None:
        refuse_indefinite(fitted, X, definite)
    warn_if_nothing_shared(fitted, X, engine)
    return all_normalized(fitted, X, normalize, engine, weight, centre)


def refuse_overflow(names: Sequence[Any] | Array, diagonals: Array) -> None:
    """Raise where a kernel of a row with itself is not finite or too large to compute with; diagonals (m, n).

    Kernels that are zero on all rows, as values are that underflow, get a warning.
    """
    diagonals = np.atleast_2d(diagonals)
    bad = np.argwhere(~(diagonals <= LARGEST))
    if len(bad):
        k, row = bad[0]
        raise ValueError(too_large(names[k], int(row), float(diagonals[k, row])))
    largest = diagonals.max(initial=0.0)
    if largest < SMALLEST:
        which = f"Kernel {names[0]}" if len(diagonals) == 1 else "Every kernel"
        size = "zero" if largest == 0.0 else f"below {SMALLEST:g}"
        warnings.warn(
            f"{which} is {size} on all rows, so nothing is learned from it; rescale the rows, or the weights of "
            "lattices, if values underflow.", UserWarning, stacklevel=6,
        )  # fmt: skip
