"""What the expansion of a fitted model says of its kernels, and of the positional ones inside them.

A model may hold such a kernel scaled, normalised, centred, restricted to a view, or among others: each is taken out
with the rows, the coefficients and the factor with which it enters the decision value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from kernelweave.kernels.abilities import Positional, has_codes
from kernelweave.kernels.base import Array
from kernelweave.kernels.tree import all_leaves
from kernelweave.operators.expansion.base import Part
from kernelweave.operators.expansion.terms import Term, usual_norm

EVEN = 1e-12
"""Relative spread of the norms of rows below which they are the same number."""
RANKINGS = ("spread", "weight")


def check_ranking(by: str, n: int, what: str) -> None:
    """Refuse an unknown order, and fewer than one of what is to be listed."""
    if by not in RANKINGS:
        raise ValueError(f"by={by!r} is unknown; choose one of {', '.join(RANKINGS)}.")
    if n < 1:
        raise ValueError(f"n={n!r} is not valid; expected at least one {what}.")


def last_step(model: Any) -> Any:
    """Return the fitted estimator at the end of a pipeline, or the model itself."""
    core = model[-1] if isinstance(model, Pipeline) else model
    check_is_fitted(core, "expansion_")
    return core


def learned_parts(core: Any, target: Any = None) -> list[Part]:
    """Return what each kernel of a fitted model has learned for a class, or for the only output."""
    place, sign = output(core, target)
    return core.expansion_.parts(place, sign)


def readable(model: Any) -> set[str]:
    """Return what can be read off a fitted model.

    "positions" where k-mers with a place have a weight, "strings" where strings are counted wherever they stand,
    "features" where the model keeps weights of features that have codes.
    """
    expansion = last_step(model).expansion_
    if not expansion.keeps_rows:
        return {"features"} if any(part.codes is not None for part in expansion.parts()) else set()
    found = set()
    for leaf in all_leaves(expansion.kernels[number] for number in expansion.used):
        if leaf.additive and isinstance(leaf.kernel, Positional):
            found.add("positions")
        elif leaf.additive and counts_strings(leaf.kernel):
            found.add("strings")
    return found


def counts_strings(kernel: Any) -> bool:
    """Return whether an innermost kernel counts strings wherever they stand."""
    return has_codes(kernel) and not isinstance(kernel, Positional)


def kernel_weights(core: Any, target: Any = None) -> Array:
    """Return the weight of each kernel, (m,); a class must be named only where classes have weights of their own."""
    weights = core.expansion_.weights
    if weights is None:
        raise TypeError(
            f"{type(core).__name__} has one coefficient for each kernel and row, not one weight for each kernel; its "
            "columns_ hold them."
        )
    return weights[0] if (weights == weights[0]).all() else weights[output(core, target)[0]]


def output(core: Any, target: Any) -> tuple[int, float]:
    """Return which decision value speaks for a class, and its sign."""
    classes = getattr(core, "classes_", np.empty(0)).tolist()
    outputs = core.expansion_.outputs
    if target is None:
        if outputs == 1:
            return 0, 1.0
        raise ValueError(
            f"The model has a decision value for each of its {outputs} classes; name one with target=, for example "
            f"target={classes[0]!r}."
        )
    if target not in classes:
        raise ValueError(
            f"target={target!r} is not a class of the model, which has {', '.join(map(repr, classes[:10]))}."
        )
    place = classes.index(target)
    return (0, 1.0 if place else -1.0) if outputs == 1 else (place, 1.0)


def positional(some: Iterable[Term]) -> Iterator[Term]:
    """Iterate over the terms of k-mers with a place, the norms of normalised ones divided out."""
    for term in some:
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


def lacking(core: Any, parts: list[Part]) -> str:
    """Say why there is nothing positional to show."""
    if any(part.weights is not None for part in parts):
        return f"This {type(core).__name__} keeps weights of features, no support rows; read them with top_features."
    if not core.expansion_.keeps_rows:
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
                "The kernels of this model compare rows of different lengths or alphabets, so they share no "
                "positions; explain a model of one view at a time."
            )
