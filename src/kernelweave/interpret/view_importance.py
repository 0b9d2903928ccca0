"""How much a view matters: what is lost when its rows are shuffled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state

from kernelweave.data.kinds import convert, kind_of
from kernelweave.data.views import Views

Array = np.ndarray


class ViewImportance(NamedTuple):
    """What each view is worth.

    views : names
    score : with every view as it is
    lost : (views, n_repeats) how far the score falls when one is shuffled
    """

    views: tuple[str, ...]
    score: float
    lost: Array

    @property
    def mean(self) -> Array:
        """The mean loss of each view, (views,)."""
        return self.lost.mean(axis=1)

    @property
    def std(self) -> Array:
        """Its spread over the repetitions, (views,)."""
        return self.lost.std(axis=1)


def view_importance(
    model: Any, X: Any, y: Any, n_repeats: int = 5, scoring: Any = None, random_state: Any = None
) -> ViewImportance:
    """Return how far a score falls when the rows of one view are shuffled among each other.

    A view whose content others repeat seems worthless alone: both then lose little.  Weights of kernels do not tell
    this, for they depend on the scale of the kernels.

    Parameters
    ----------
    model : fitted estimator on views, or a pipeline whose steps before it make views
    X, y : rows that the model was not trained on, and their labels or numbers
    n_repeats : how often each view is shuffled
    scoring : a scorer of scikit-learn or its name; None for the model's own score
    random_state : seed or generator

    Examples
    --------
    >>> import numpy as np
    >>> import kernelweave as kw
    >>> rng = np.random.default_rng(0)
    >>> X = {"signal": rng.normal(size=(80, 2)), "noise": rng.normal(size=(80, 2))}
    >>> y = X["signal"][:, 0] > 0
    >>> model = kw.MKLClassifier([kw.RBF().on("signal"), kw.RBF().on("noise")]).fit(X, y)
    >>> found = view_importance(model, X, y, random_state=0)
    >>> found.views[found.mean.argmax()], bool(found.mean[0] > 0.2)
    ('signal', True)
    """
    if not isinstance(n_repeats, int | np.integer) or n_repeats < 1:
        raise ValueError(f"n_repeats={n_repeats!r} must be a positive integer.")
    if hasattr(model, "steps"):
        X, model = model[:-1].transform(X), model[-1]
    views = convert(X, getattr(model, "_input", None), by_name=True)
    if kind_of(views).name != "views":
        raise TypeError(f"view_importance needs rows of several views, but got {type(X).__name__}.")
    rng, score = check_random_state(random_state), check_scoring(model, scoring=scoring)
    whole = float(score(model, views, y))
    names = tuple(name for name in views.names if name in _used(model, views))
    lost = np.empty((len(names), n_repeats))
    for i, name in enumerate(names):
        for j in range(n_repeats):
            blocks = dict(views.items())
            blocks[name] = blocks[name][rng.permutation(len(views))]
            lost[i, j] = whole - float(score(model, Views(blocks), y))
    return ViewImportance(names, whole, lost)


def _used(model: Any, views: Views) -> tuple[str, ...]:
    """Return the views that the model was trained on."""
    content = getattr(getattr(model, "_input", None), "content", None)
    return tuple(content) if isinstance(content, dict) else views.names
