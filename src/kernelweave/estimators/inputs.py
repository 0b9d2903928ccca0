"""The door: whatever users hand in becomes a checked table, Sequences, Lattices or Views.

Words that the training rows lack match nothing: new rows over words are spelled with the letters of the training rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight, validate_data

from kernelweave.data import Alphabet, Sequences, Views
from kernelweave.data.views import Strings
from kernelweave.kernels import Kernel, Precomputed, parse
from kernelweave.kernels.reference import takes_gram

Array = np.ndarray
ROWS_AT_ONCE = 4096
"""Rows of a table that are looked at together for values that are not finite."""


def as_kernel(kernel: Any, default: Kernel) -> Kernel:
    """Return the kernel a user gave: an object, a short text such as "rbf:0.5", or None for the default."""
    if kernel is None:
        return default
    if isinstance(kernel, str):
        return parse(kernel)
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a Kernel or a text such as 'rbf', not {type(kernel).__name__}.")
    return kernel


def is_pairwise(kernels: Sequence[Any]) -> bool:
    """Tell whether X is a Gram matrix for the kernels that a user gave, so that folds cut its columns, too."""
    known = [Precomputed() if isinstance(kernel, str) and kernel == "precomputed" else kernel for kernel in kernels]
    return all(isinstance(kernel, Kernel) for kernel in known) and takes_gram(known)


def training_rows(estimator: Any, X: Any, kernels: Iterable[Kernel]) -> Any:
    """Return checked training rows, and remember on the estimator what kind they are."""
    X = _container(X, kernels, None)
    if isinstance(X, Strings | Views):
        _need_rows(len(X))
        _forget_columns(estimator)
        if isinstance(X, Views):
            X = Views({name: _finite_view(name, block) for name, block in X.items()})
        estimator._alphabets = _alphabets(X)
        return X
    estimator._alphabets = None
    return _checked_table(estimator, X)


def new_rows(estimator: Any, X: Any, kernels: Iterable[Kernel]) -> Any:
    """Return checked new rows of the kind the estimator was trained on."""
    trained = estimator._alphabets
    X = _container(X, kernels, trained)
    if trained is None:
        if isinstance(X, Strings | Views):
            raise TypeError(f"This model was trained on a table of numbers, but got {type(X).__name__}.")
        return _checked_table(estimator, X, reset=False)
    X = _respelled(X, trained)
    given = _alphabets(X) if isinstance(X, Strings | Views) else None
    for name, alphabet in trained.items():
        where = f"view {name!r}" if name else "input"
        if given is None or name not in given:
            raise TypeError(
                f"This model was trained on {_kind(trained)}, but the {where} is missing or of another kind."
            )
        if alphabet != given[name]:
            raise ValueError(
                f"This model was trained on the alphabet {_label(alphabet)}, but the {where} has {_label(given[name])}."
            )
    if isinstance(X, Views):
        return Views({name: _finite_view(name, block) for name, block in X.items() if name in trained})
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
        raise ValueError(f"y must be numbers for regression, but holds {y.dtype} values such as {first!r}.") from None
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
    return weight


def positive(name: str, value: Any, zero: bool = False) -> float:
    """Return a parameter as a float, or raise one sentence unless it is a positive number."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not np.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise ValueError(f"{name}={value!r} must be a {'non-negative' if zero else 'positive'} number.")
    return float(value)


def _container(X: Any, kernels: Iterable[Kernel], trained: dict | None) -> Any:
    """Turn dicts and frames with named views into Views, lists of texts or tokens into Sequences; leave the rest."""
    if isinstance(X, Mapping) and not sparse.issparse(X):
        return Views(X)
    if hasattr(X, "columns") and hasattr(X, "iloc") and any(_by_name(kernel) for kernel in kernels):
        return Views.from_frame(X)
    texts = _is_texts(X)
    if texts or _is_tokens(X):
        alphabet = (trained or {}).get("") or ("auto" if texts else "words")
        rows = [str(text) for text in X] if texts else X
        return Sequences.from_strings(rows, alphabet, "mask" if _of_words(alphabet) else "error")
    return X


def _respelled(X: Any, trained: dict[str, Any]) -> Any:
    """Spell rows of words with the words of the training rows; others match nothing."""
    if isinstance(X, Views):
        blocks = {name: _respelled(block, {"": trained.get(name)}) for name, block in X.items()}
        return X if all(blocks[name] is block for name, block in X.items()) else Views(blocks)
    if isinstance(X, Strings) and _of_words(X.alphabet) and _of_words(trained.get("")):
        return X.with_alphabet(trained[""], unknown="mask")
    return X


def _of_words(alphabet: Any) -> bool:
    return isinstance(alphabet, Alphabet) and alphabet.kind == "words"


def _is_texts(X: Any) -> bool:
    if sparse.issparse(X) or isinstance(X, Strings | Views) or not hasattr(X, "__len__"):
        return False
    if getattr(X, "ndim", 1) != 1 or len(X) == 0:
        return False
    return all(isinstance(text, str) for text in X)


def _is_tokens(X: Any) -> bool:
    """Tell lists of words from the lists of numbers of a table."""
    if not isinstance(X, list | tuple) or not any(X):
        return False
    return all(isinstance(row, list | tuple) and all(isinstance(word, str) for word in row) for row in X)


def _by_name(kernel: Kernel) -> bool:
    """Tell whether some part of the kernel looks at a view by its name."""
    firsts = [leaf.view[0] for leaf in kernel.leaves() if leaf.view]
    listed = [columns if isinstance(columns, list | tuple) else [columns] for columns in firsts]
    return any(isinstance(column, str) for columns in listed for column in columns)


def _alphabets(X: Strings | Views) -> dict[str, Any]:
    """Return what each view is made of: its alphabet, or the number of columns of a table."""
    if isinstance(X, Strings):
        return {"": X.alphabet}
    return {name: b.alphabet if isinstance(b, Strings) else b.shape[1] for name, b in X.items()}


def _label(kind: Any) -> str:
    return f"a table of {kind} columns" if isinstance(kind, int) else repr(kind.name)


def _kind(trained: dict[str, Any]) -> str:
    return "sequences or lattices" if "" in trained else f"views named {', '.join(trained)}"


def _finite_view(name: str, block: Any) -> Any:
    if isinstance(block, Strings):
        return block
    values = block.data if sparse.issparse(block) else block
    if values.dtype.kind not in "iufb":
        raise ValueError(f"The view {name!r} must hold numbers, but has dtype {values.dtype}.")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = 0 if sparse.issparse(block) else int(np.argwhere(~np.isfinite(block))[0][0])
        raise ValueError(f"The view {name!r} contains NaN or infinity (first in row {row}).")
    return block


def _checked_table(estimator: Any, X: Any, **options: Any) -> Any:
    """Return a checked table; a value that is not finite is named by its place."""
    X = validate_data(
        estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, **options
    )
    place = _place(X)
    if place is not None:
        raise ValueError(f"X contains NaN or infinity (inf): row {place[0]}, column {place[1]} is {X[place]}.")
    return X


def _place(X: Any) -> tuple[int, int] | None:
    """Return row and column of the first stored value that is not finite; a table may be larger than memory."""
    if sparse.issparse(X):
        bad = ~np.isfinite(X.data)
        first = int(bad.argmax()) if bad.any() else -1
        return None if first < 0 else (int(np.searchsorted(X.indptr, first, side="right") - 1), int(X.indices[first]))
    for start in range(0, len(X), ROWS_AT_ONCE):
        bad = ~np.isfinite(X[start : start + ROWS_AT_ONCE])
        if bad.any():
            row, column = np.argwhere(bad)[0]
            return start + int(row), int(column)
    return None


def _need_rows(n: int) -> None:
    if n == 0:
        raise ValueError("Found no rows: at least one example is needed.")


def _forget_columns(estimator: Any) -> None:
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            delattr(estimator, name)
