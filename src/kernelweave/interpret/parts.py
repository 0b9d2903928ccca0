"""The positional kernels inside a fitted model, whatever is wrapped around them.

A model may hold such a kernel scaled, normalised, centred, restricted to a view, or among others: each is taken out
with the rows, the coefficients and the factor with which it enters the decision value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernelweave.kernels.abilities import Positional
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.expansion.terms import Term, terms, usual_norm

EVEN = 1e-12
"""Relative spread of the norms of rows below which they are the same number."""


def last_step(model: Any) -> Any:
    """Return the fitted estimator at the end of a pipeline, or the model itself."""
    core = model[-1] if hasattr(model, "steps") else model
    if hasattr(core, "columns_"):
        raise TypeError(
            f"{type(core).__name__} gives each kernel its own coefficients of the rows; what it has learned is in its "
            "columns_."
        )
    check_is_fitted(core, "dual_coef_")
    return core


def weighted_kernels(core: Any, target: Any = None) -> list[tuple[Kernel, float]]:
    """Return the kernels of a model with their weights (1 where there is one kernel only)."""
    if not hasattr(core, "kernels_"):
        return [(core.kernel_, 1.0)]
    weights = np.asarray(core.kernel_weights_)
    chosen = weights if weights.ndim == 1 else weights[output(core, target)[0]]
    return list(zip(core.kernels_, chosen.tolist()))


def output(core: Any, target: Any) -> tuple[int, float]:
    """Return which decision value speaks for a class, and its sign."""
    classes = getattr(core, "classes_", np.empty(0)).tolist()
    outputs = len(core.dual_coef_)
    if target is None:
        if outputs == 1:
            return 0, 1.0
        raise ValueError(
            f"The model has a decision value for each of its {outputs} classes; name one with target=, for example "
            f"target={classes[0]!r}."
        )
    if target not in classes:
        raise ValueError(f"target={target!r} is no class of the model; it knows {', '.join(map(repr, classes[:10]))}.")
    place = classes.index(target)
    return (0, 1.0 if place else -1.0) if outputs == 1 else (place, 1.0)


def positional_parts(kernel: Kernel, rows: Any, coef: Array | None = None) -> Iterator[Term]:
    """Iterate over the positional kernels inside a kernel; what else it holds is left out.

    Without coefficients each of them comes once, for its cells.
    """
    for term in terms(kernel, rows, coef):
        if isinstance(term.kernel, Positional):
            plain = _without_norms(term)
            if plain is not None:
                yield plain


def _without_norms(term: Term) -> Term | None:
    """Divide by the norms: those of the support rows, and of a new row as if it had their (root mean square) norm.

    Rows without masked letters have one norm where nothing shifts; then this is exact.
    """
    norms = term.norms
    if norms is None:
        return term
    usual = usual_norm(norms)
    if usual == 0:
        return None
    even = bool(np.all(np.abs(norms - usual) <= EVEN * usual))
    scale = np.divide(usual, norms, out=np.zeros_like(norms), where=norms > 0)
    coef = term.coef if even or term.coef is None else term.coef * scale
    return replace(term, coef=coef, factor=term.factor / usual**2, norms=None)


def lacking(core: Any) -> str:
    """Say why there is nothing positional to show."""
    if hasattr(core, "coef_"):
        return f"This {type(core).__name__} keeps weights of features, no support rows; read them with top_features."
    if not len(core.support_):
        return f"This {type(core).__name__} has no support rows: its decision value is the same for every row."
    return (
        f"This {type(core).__name__} gives no weight to k-mers at positions; expected a model with a kernel such as "
        "WeightedDegree."
    )


def letters_of(parts: list[Term]) -> list[Any]:
    """Return the prepared rows of each part (codes, alphabet), made once for rows that several look at."""
    made: dict[int, Any] = {}
    for part in parts:
        if id(part.rows) not in made:
            made[id(part.rows)] = part.kernel.prepare(part.rows)
    return [made[id(part.rows)] for part in parts]


def check_one_place(prepared: list[Any]) -> None:
    """Raise where a position means different places for different kernels."""
    for some in prepared:
        if some.alphabet != prepared[0].alphabet or some.codes.shape[1] != prepared[0].codes.shape[1]:
            raise ValueError(
                "The kernels of this model look at rows of different lengths or alphabets, so that they share no "
                "positions; explain a model of one view at a time."
            )
