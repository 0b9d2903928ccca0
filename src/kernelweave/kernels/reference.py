"""What a model must keep of its training data to evaluate kernels against some training rows later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kernelweave.data.gram import GramRows
from kernelweave.data.kinds import blocks_of, convert, n_rows, take
from kernelweave.data.rows import row_numbers
from kernelweave.data.views import Views
from kernelweave.kernels.abilities import representatives
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.given.identity import Identity
from kernelweave.kernels.given.precomputed import Precomputed
from kernelweave.kernels.tree import Leaf, all_leaves


def reference(kernels: Kernel | Iterable[Kernel], X: Any, rows: Any) -> Any:
    """Return data R such that ``kernel.gram(X_new, R)`` equals the columns `rows` of ``kernel.gram(X_new, X)``.

    That is ``X[rows]``, except for precomputed Gram matrices: of those the numbers of the rows are enough.

    Parameters
    ----------
    kernels : the kernel or kernels of the model
    X : n training rows
    rows : list, integer array or mask of the rows to keep

    Examples
    --------
    >>> import numpy as np
    >>> reference(Precomputed(), np.eye(3), [0, 2])
    array([0, 2])
    """
    X = convert(X) if isinstance(X, Mapping) else X
    index = row_numbers(rows, n_rows(X))
    if not _some_given(kernels := _listed(kernels)):
        return take(X, index)
    leaves = all_leaves(kernels)
    given = [_places(leaf) for leaf in leaves if isinstance(leaf.kernel, Precomputed)]
    computed = {_places(leaf) for leaf in leaves if not isinstance(leaf.kernel, Precomputed | Identity)}
    blocks = blocks_of(X)
    if blocks is not None:
        return _views(blocks, index, {_view_name(path) for path in given}, computed)
    if any(given):
        raise ValueError(
            "A precomputed Gram matrix must be all of X or one named view, but Precomputed() is used on "
            f"{given[0][0]!r}."
        )
    if computed:
        raise ValueError("X is a precomputed Gram matrix for one kernel and a table for another; use named views.")
    return index


def takes_gram(kernels: Kernel | Iterable[Kernel]) -> bool:
    """Tell whether X is a precomputed Gram matrix, whose columns are cut like its rows.

    Examples
    --------
    >>> takes_gram(2.0 * Precomputed()), takes_gram(Precomputed().on("given"))
    (True, False)
    """
    leaves = all_leaves(representatives(_listed(kernels)))
    given = [leaf for leaf in leaves if isinstance(leaf.kernel, Precomputed) and not leaf.view]
    return bool(given) and all(isinstance(leaf.kernel, Precomputed | Identity) for leaf in leaves)


def matrix_views(kernels: Kernel | Iterable[Kernel]) -> set[str]:
    """Return the names of the views that are precomputed Gram matrices for some kernel.

    Examples
    --------
    >>> matrix_views([Precomputed().on("given"), Identity().on("other")])
    {'given'}
    """
    kernels = _listed(kernels)
    paths = [
        _places(leaf)
        for leaf in (all_leaves(kernels) if _some_given(kernels) else [])
        if isinstance(leaf.kernel, Precomputed)
    ]
    return {path[0] for path in paths if len(path) == 1}


def _listed(kernels: Kernel | Iterable[Kernel]) -> list[Kernel]:
    return [kernels] if isinstance(kernels, Kernel) else list(kernels)


def _some_given(kernels: list[Kernel]) -> bool:
    """Tell whether some innermost kernel is a precomputed matrix."""
    return any(isinstance(leaf.kernel, Precomputed) for leaf in all_leaves(representatives(kernels)))


def _places(leaf: Leaf) -> tuple[Any, ...]:
    """Return the selections around an innermost kernel, outermost first, in a form that can be compared."""
    return tuple(_hashable(tuple(columns) if isinstance(columns, list) else columns) for columns in leaf.view)


def _hashable(columns: Any) -> Any:
    """Return a view name as it is (a list of one name as that name), anything else as text."""
    if isinstance(columns, tuple) and len(columns) == 1:
        columns = columns[0]
    return columns if isinstance(columns, str) else repr(columns)


def _view_name(path: tuple[Any, ...]) -> str:
    if len(path) != 1:
        raise ValueError("A precomputed Gram matrix among views is one named view: use Precomputed().on(name).")
    return path[0]


def _views(X: dict[str, Any], index: Array, given: set[str], computed: set[tuple[Any, ...]]) -> Views:
    for path in computed:
        if path and path[0] in given:
            raise ValueError(
                f"The view {path[0]!r} is a precomputed Gram matrix for one kernel and a table for another."
            )
    return Views(
        {name: GramRows.of(block).numbers(index) if name in given else block[index] for name, block in X.items()}
    )
