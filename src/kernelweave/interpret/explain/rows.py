"""`kw.explain`: what every letter, word, arc or column adds to the decision values of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from kernelweave.data import select
from kernelweave.data.kinds import alphabet_of, blocks_of, kind_of
from kernelweave.data.stores import is_stored
from kernelweave.interpret.explain.explanation import Explanation, Track, joined
from kernelweave.interpret.parts import last_step
from kernelweave.kernels.base import Array
from kernelweave.operators.expansion.letters.credit import EVERY, Credit, constants, credits


def explain(model: Any, X: Any, *, by_kernel: bool = False) -> Explanation:
    """Tell what every letter, word, arc or column adds to the decision values of rows.

    For k-mers wherever they stand or at a place, with gaps, shifts or mismatches, and for n-grams, what a k-mer adds is
    divided evenly among its letters; on lattices among its arcs. A linear kernel adds something for each column of a
    table, a kernel that sees one column adds it there. What other kernels add comes by kernel. All of it, and the
    intercept, adds up to the decision value.

    Parameters
    ----------
    model : fitted estimator, or a pipeline that ends in one; columns are then those of its last step
    X : rows of the kind that it was trained on; a store is explained part by part
    by_kernel : keep what places get of each kernel of the model apart

    Returns
    -------
    `Explanation`

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(200, random_state=0)
    >>> model = kw.KernelClassifier("wd:5").fit(X, y)
    >>> told = kw.explain(model, X[:3])
    >>> told.matrix().shape
    (3, 141)
    >>> bool(np.allclose(told.matrix().sum(axis=1) + told.base, model.decision_function(X[:3])))
    True
    """
    core = last_step(model)
    if isinstance(model, Pipeline):
        X = model[:-1].transform(X)
    if is_stored(X):
        return joined([_explained(core, X[part], by_kernel, part.start) for part in X.parts])
    return _explained(core, X, by_kernel, 0)


def _explained(core: Any, X: Any, by_kernel: bool, first: int) -> Explanation:
    ids = getattr(X, "ids", None)
    X, expansion = core._new(X), core.expansion_
    found = credits(expansion, X, core._engine(), by_kernel)
    names = _kernel_names(core)
    tracks = tuple(_track(credit, X, core, names) for credit in found if credit.unit != "row")
    rest = [credit for credit in found if credit.unit == "row"]
    values = [credit.values for credit in rest]
    n = X.shape[0]
    labels = range(first, first + n) if ids is None else np.asarray(ids).tolist()
    return Explanation(
        output_names(core),
        np.asarray(core.intercept_, np.float64) + constants(expansion).sum(axis=0),
        tracks,
        np.stack(values, axis=1) if values else np.zeros((n, 0, expansion.outputs)),
        tuple(names[credit.number] for credit in rest),
        tuple(str(label) for label in labels),
    )


def output_names(core: Any) -> tuple[str, ...]:
    """Return what each decision value speaks for."""
    classes = np.asarray(getattr(core, "classes_", ())).tolist()
    if core.expansion_.outputs == 1:
        return (str(classes[-1]) if classes else "decision",)
    return tuple(map(str, classes))


def _kernel_names(core: Any) -> list[str]:
    names = getattr(core, "kernel_names_", None)
    return [str(name) for name in names] if names is not None else [repr(kernel) for kernel in core.expansion_.kernels]


def _track(credit: Credit, X: Any, core: Any, names: list[str]) -> Track:
    """Return credits of places with the rows that they are places of."""
    rows = X if credit.view is None else select(X, credit.view)
    kernel = None if credit.number == EVERY else names[credit.number]
    unit, view = credit.unit, credit.view or ""
    if unit == "column":
        columns = _column_names(core, rows, view, blocks_of(X) is None)
        offsets = np.arange(rows.shape[0] + 1) * rows.shape[1]
        return Track(unit, view, kernel, rows, offsets, credit.values, columns)
    alphabet = alphabet_of(rows)
    if unit == "letter" and alphabet is not None and alphabet.kind == "words":
        unit = "word"
    offsets = rows.arc_offsets if kind_of(rows).uncertain else rows.offsets
    return Track(unit, view, kernel, rows, np.asarray(offsets), credit.values)


def _column_names(core: Any, table: Any, view: str, whole: bool) -> tuple[str, ...]:
    """Return the names of the columns of a table: those it was trained with, else numbers."""
    known: Array | None = getattr(core, "feature_names_in_", None) if whole else None
    if known is not None:
        return tuple(map(str, known))
    return (view,) if table.shape[1] == 1 and view else tuple(map(str, range(table.shape[1])))
