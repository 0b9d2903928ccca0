"""Estimators as notebooks show them: scikit-learn's diagram, then the certificate in words and weights as bars.

Names of kernels and classes are whatever a user chose, so everything is escaped.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

SHOWN = 12
"""Kernels that get a bar; the others are counted."""
MANUAL = "KERNELWEAVE_MANUAL"
"""The environment variable that says where the manual is."""
BAR = 160
"""Pixels of the longest bar."""


def manual() -> str:
    """Return the address of the manual: as the environment says, or of the one that `make docs` built; else nothing."""
    named = os.environ.get(MANUAL)
    if named:
        return named.rstrip("/")
    built = Path(__file__).resolve().parents[3] / "docs/_build/html"
    return built.as_uri() if (built / "index.html").is_file() else ""


class Shown(BaseEstimator):
    """What notebooks show of an estimator, and the links to the manual in it."""

    _doc_link_module = "kernelweave"

    @property
    def _doc_link_template(self) -> str:
        address = manual()
        return f"{address}/api/kernelweave.{{estimator_name}}.html" if address else ""

    def _html_repr(self) -> str:
        from sklearn.utils import estimator_html_repr

        return str(estimator_html_repr(self)) + learned_html(self)

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        found: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return {**found, "text/html": self._html_repr()} if "text/html" in found else found


def learned_html(model: Any) -> str:
    """Return what a fitted model has learned: its certificate, and the weights of its kernels; else nothing."""
    if not hasattr(model, "duality_gap_"):
        return ""
    return f"<div><p>{escape(certificate_words(model))}</p>{weights_html(model)}</div>"


def certificate_words(model: Any) -> str:
    """Say how good the objective of a fitted model provably is.

    Examples
    --------
    >>> import kernelweave as kw
    >>> model = kw.KernelClassifier("linear", tol=0.5).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> certificate_words(model).split(":")[0]
    'Certificate (svm)'
    """
    gap = float(model.duality_gap_)
    if not math.isfinite(gap):
        return "No certificate: the rows came in blocks, or the model was converted, so no bound is known."
    least = f"no solver could improve the objective, {model.objective_:.6g}, by more than {max(gap, 0.0):.2g} of it"
    reached = f"tol={float(model.tol):g} {'reached' if model.converged_ else 'not reached'}"
    return f"Certificate ({model.certifies_}): {least} ({reached}; {model.n_iter_} iterations of {model.solver_})."


def weights_html(model: Any) -> str:
    """Return a bar for the weight of each kernel, the largest first; nothing for a model with one kernel."""
    weights = getattr(model, "kernel_weights_", None)
    if weights is None or np.shape(weights)[-1] < 2:
        return ""
    lines = np.atleast_2d(weights)
    names = [str(name) for name in model.kernel_names_]
    heads = [""] if len(lines) == 1 else [f"weights for class {name}" for name in model.classes_]
    return "".join(_bars(head, names, line) for head, line in zip(heads, lines))


def _bars(head: str, names: list[str], weights: np.ndarray) -> str:
    order = np.argsort(-weights, kind="stable")[:SHOWN]
    largest = float(weights.max()) or 1.0
    rows = "".join(_bar(names[k], float(weights[k]), largest) for k in order if weights[k] > 0)
    return f"<table>{_caption(head)}{rows}</table>{_rest(weights, order)}"


def _caption(head: str) -> str:
    return f"<caption style='text-align: left'>{escape(head)}</caption>" if head else ""


def _bar(name: str, weight: float, largest: float) -> str:
    width = max(1, round(BAR * weight / largest))
    bar = f"<div style='background: #4a6fa5; height: 0.8em; width: {width}px'></div>"
    left = "style='text-align: left'"
    return f"<tr><td {left}>{escape(name)}</td><td {left}>{bar}</td><td>{weight:.3f}</td></tr>"


def _rest(weights: np.ndarray, order: Iterable[int]) -> str:
    """Say what has no bar."""
    hidden = np.delete(weights, list(order))
    some, none = int(np.count_nonzero(hidden)), int(np.count_nonzero(weights == 0))
    parts = [f"{some} more have a weight" if some else "", f"{none} have none" if none else ""]
    return f"<div>{'; '.join(part for part in parts if part)}</div>" if some or none else ""
