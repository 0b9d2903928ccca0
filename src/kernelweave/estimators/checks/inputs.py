"""Checks of what users hand in: rows, targets, weights and parameters.

Rows are recognised, described and checked by their row kind (`kernelweave.data.kinds`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, validate_data

from kernelweave.data import Views
from kernelweave.data.kinds import blocks_of, convert, describe, kind_of, matched, named
from kernelweave.data.tables import canonical, check_frame, check_list, first_not_finite, is_sparse
from kernelweave.kernels import Kernel
from kernelweave.kernels.reference import matrix_views
from kernelweave.kernels.tree import On, leaves

Array = np.ndarray
WIDEST = 1e12
"""Largest ratio of two sample weights: beyond, the rounding of one row outweighs all that another one can say."""


def training_rows(estimator: Any, X: Any, kernels: Iterable[Kernel]) -> Any:
    """Return checked training rows, and remember on the estimator what they are."""
    kernels = list(kernels)
    names, every = _view_names(kernels)
    X = convert(X, by_name=bool(names))
    X = _with_matrices(X, matrix_views(kernels))
    X = _used(X, names) if every else X
    kind = kind_of(X)
    if kind.tabular:
        X = _checked_table(estimator, X)
    else:
        _need_rows(len(X))
        _forget_columns(estimator)
        kind.check(X, "input")
    estimator._input = describe(X)
    return X


def new_rows(estimator: Any, X: Any, kernels: Iterable[Kernel]) -> Any:
    """Return checked new rows of the kind the estimator was trained on."""
    trained = estimator._input
    X = convert(X, trained, by_name=bool(_view_names(kernels)[0]))
    if named(trained.kind).tabular:
        if not kind_of(X).tabular:
            raise TypeError(f"This model was trained on a table of numbers, but got {type(X).__name__}.")
        return _checked_table(estimator, X, reset=False)
    content = trained.content if isinstance(trained.content, dict) else {}
    X = _with_matrices(X, {name for name, one in content.items() if one.kind == "matrix"})
    X = matched(X, trained)
    kind_of(X).check(X, "input")
    return X


def targets(X: Any, y: Any) -> Array:
    """Return y as a checked one-dimensional array with an entry for each row."""
    from sklearn.utils.validation import column_or_1d

    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    rows = X.shape[0]
    if len(y) != rows:
        raise ValueError(f"X has {rows} rows, but y has {len(y)} entries: inconsistent numbers of samples.")
    return y


def real_targets(X: Any, y: Any) -> Array:
    """Return y as finite numbers."""
    y = targets(X, y)
    try:
        y = y.astype(np.float64)
    except (TypeError, ValueError):
        first = y.tolist()[0]
        raise ValueError(f"y must be numbers for regression, but holds texts such as {first!r}.") from None
    bad = np.flatnonzero(~np.isfinite(y))
    if len(bad):
        raise ValueError(f"y must be finite, but row {bad[0]} holds {y[bad[0]]} (NaN or infinity).")
    return y


def row_weights(sample_weight: Any, X: Any) -> Array:
    """Return sample weights, (n,), ones where none are given; negative ones are an error."""
    n = X.shape[0]
    if sample_weight is None:
        return np.ones(n)
    weight = _check_sample_weight(sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True)
    if not weight.sum() > 0:
        raise ValueError("Every sample weight is zero: there is nothing to learn from.")
    least, most = int(np.argmin(np.where(weight > 0, weight, np.inf))), int(np.argmax(weight))
    if weight[most] > WIDEST * weight[least]:
        raise ValueError(
            f"The sample weights {weight[least]:.1g} of row {least} and {weight[most]:.1g} of row {most} are too far "
            f"apart for double precision; keep them within a factor of {WIDEST:g}, or set the small ones to zero."
        )
    return weight


def positive(name: str, value: Any, zero: bool = False) -> float:
    """Return a parameter as a float, or raise one sentence unless it is a positive number."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not np.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise ValueError(f"{name}={value!r} must be a {'non-negative' if zero else 'positive'} number.")
    return float(value)


def _view_names(kernels: Iterable[Kernel]) -> tuple[set[str], bool]:
    """Return the names of the views that kernels select, and whether each kernel selects some."""
    each, firsts = list[Any](kernels), list[Any]()
    if set(map(type, each)) == {On} and _numbers([kernel.columns for kernel in each]):
        return set(), False
    for kernel in each:
        if type(kernel) is On:  # the outermost selection is that of every kernel inside
            firsts.append(kernel.columns)
        else:
            firsts += [leaf.view[0] if leaf.view else None for leaf in leaves(kernel)]
    listed = [columns if isinstance(columns, list | tuple) else [columns] for columns in firsts]
    names = [[column for column in columns if isinstance(column, str)] for columns in listed]
    return {name for some in names for name in some}, bool(names) and all(names)


def _numbers(selections: list[Any]) -> bool:
    """Tell whether all selections are numbers of columns, or lists of them: the usual case, without a walk."""
    flat = chain.from_iterable(selections) if set(map(type, selections)) == {list} else selections
    return set(map(type, flat)) == {int}


def _used(X: Any, names: set[str]) -> Any:
    """Return the views of these names: a model does not ask for views that no kernel looks at."""
    blocks = blocks_of(X)
    if blocks is None or not names < set(blocks):
        return X
    return Views({name: block for name, block in blocks.items() if name in names})


def _with_matrices(X: Any, names: set[str]) -> Any:
    """Return views of which those of these names are Gram matrices, whose rows know their columns."""
    blocks = blocks_of(X)
    if blocks is None or not names & set(blocks):
        return X
    return Views({name: X.matrix(name) if name in names else block for name, block in blocks.items()})


def _checked_table(estimator: Any, X: Any, **options: Any) -> Any:
    """Return a checked table; a value that is not finite is named by its place."""
    try:
        X = validate_data(
            estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, **options
        )
    except ValueError:
        check_list(X)  # says which row of a list is wrong
        check_frame(X)  # or which column of a DataFrame
        raise
    X = canonical(X) if is_sparse(X) else X
    place = first_not_finite(X)
    if place is not None:
        raise ValueError(f"X contains NaN or infinity (inf): row {place[0]}, column {place[1]} is {X[place]}.")
    return X


def _need_rows(n: int) -> None:
    if n == 0:
        raise ValueError("Found no rows: at least one example is needed.")


def _forget_columns(estimator: Any) -> None:
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            delattr(estimator, name)
