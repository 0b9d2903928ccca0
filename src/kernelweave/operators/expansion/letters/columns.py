"""What every column of a table adds to the scores of its row."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from kernelweave.data import select
from kernelweave.data.kinds import blocks_of
from kernelweave.data.tables import is_sparse
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array
from kernelweave.kernels.tree import Leaf
from kernelweave.operators.expansion.cross import add_products
from kernelweave.operators.expansion.terms import Term


def column_numbers_seen(leaf: Leaf, X: Any) -> Array | None:
    """Return the numbers of the columns, of the table or of the view, that a kernel sees; None for several views."""
    view: tuple[Any, ...] = leaf.view
    if blocks_of(X) is not None:
        names = [view[0]] if view and isinstance(view[0], str) else list(view[0]) if view else []
        if len(names) != 1:
            return None
        X, view = select(X, names[0]), view[1:]
    columns = np.arange(X.shape[1])[None]
    for key in view:
        columns = select(columns, key)
    return cast(Array, np.asarray(columns).reshape(-1))


def linear_credit(leaf: Leaf, w: Array, X: Any) -> Array:
    """Return ``w_j x_j`` for every column of every row, rows behind one another."""
    seen = cast(Features, leaf.kernel).features(leaf.select(X))
    seen = seen.toarray() if is_sparse(seen) else np.asarray(seen)
    return _placed(leaf, X, seen * w)


def single_credit(term: Term, coef: Array, X: Any, engine: Engine) -> Array:
    """Return the value of a kernel that sees one column at that column, zero elsewhere."""
    seen = term.leaf.select(X)
    values = np.zeros(seen.shape[0])
    kernel = term.kernel
    rows = np.arange(len(coef))
    add_products(values, kernel, kernel.prepare(seen), kernel.prepare(term.rows), rows, coef, engine)
    return _placed(term.leaf, X, values[:, None])


def _placed(leaf: Leaf, X: Any, values: Array) -> Array:
    """Return values of the columns that a kernel sees at their places among all columns."""
    table = X if blocks_of(X) is None else select(X, leaf.view[0])
    out = np.zeros(table.shape)
    np.add.at(out.T, cast(Array, column_numbers_seen(leaf, X)), values.T)
    return out.reshape(-1)
