"""Columns of a table as named views, each prepared in its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from kernelweave.data.errors import preceded
from kernelweave.data.kinds import Description, convert, describe, n_rows
from kernelweave.data.views import Views
from kernelweave.estimators.callbacks import CallbackSupportMixin, watched

PASS = (None, "passthrough")
"""Spellings of: as it is."""


class ViewTransformer(CallbackSupportMixin, TransformerMixin, _BaseComposition):
    """Turn the columns of a table into named views, as `ColumnTransformer` turns them into one table.

    A column of texts that nothing prepares becomes sequences or words; new rows are spelled as the training rows were.
    Rows that lack a column, and values that are missing, are refused with the name of the view: fill them in by a step
    of the view, such as `SimpleImputer`.

    Parameters
    ----------
    transformers : list of (name, transformer, columns); the transformer is one of scikit-learn's, or "passthrough";
        columns are the name or number of one column, which the transformer gets as a column of texts or numbers, or a
        list of them

    Attributes
    ----------
    transformers_ : the fitted transformers, by the names of their views
    views_ : what each view is, by name

    Examples
    --------
    >>> import kernelweave as kw
    >>> from sklearn.preprocessing import StandardScaler
    >>> rows = {"age": [31.0, 58.0, 44.0], "site": ["ACGT", "GGCA", "TTAA"]}
    >>> views = kw.ViewTransformer([("who", StandardScaler(), ["age"]), ("dna", "passthrough", "site")])
    >>> views.fit_transform(rows)
    Views({'who': 3 x 1, 'dna': 3 x 4})
    """

    def __init__(self, transformers: Sequence[tuple[str, Any, Any]]):
        self.transformers = transformers

    transformers_: dict[str, Any]
    views_: dict[str, Description]

    @property
    def _steps(self) -> list[tuple[str, Any]]:
        return [(name, transformer) for name, transformer, _ in self.transformers]

    @_steps.setter
    def _steps(self, value: list[tuple[str, Any]]) -> None:
        columns = [columns for _, _, columns in self.transformers]
        self.transformers = [(name, step, some) for (name, step), some in zip(value, columns)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, those of the transformers as ``name__parameter``."""
        return self._get_params("_steps", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the transformers as ``name__parameter``."""
        self._set_params("_steps", **params)
        return self

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit each transformer to its columns.

        Parameters
        ----------
        X : DataFrame, dict of columns, or array
        y : handed to the transformers
        """
        self.fit_transform(X, y)
        return self

    @watched
    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Views:
        """Fit each transformer to its columns and return the views."""
        names = [name for name, _, _ in self.transformers]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"transformers need different names, one at least, but got {names}.")
        self.transformers_, blocks = {}, {}
        for name, transformer, columns in self.transformers:
            part = _columns(X, columns, name)
            if not (isinstance(transformer, str) or transformer is None):
                self.transformers_[name] = clone(transformer)
                part = _named(name, self.transformers_[name].fit_transform, part, y)
            elif transformer not in PASS:
                raise ValueError(f"The transformer of the view {name!r} is {transformer!r}; expected 'passthrough'.")
            blocks[name] = _named(name, convert, part)
        views = Views(blocks)
        self.views_ = {name: describe(block) for name, block in views.items()}
        self.n_features_in_ = len(names)
        return views

    def transform(self, X: Any) -> Views:
        """Return the views of new rows."""
        check_is_fitted(self, "views_")
        blocks = {}
        for name, _, columns in self.transformers:
            part = _columns(X, columns, name)
            if name in self.transformers_:
                part = _named(name, self.transformers_[name].transform, part)
            blocks[name] = _named(name, convert, part, self.views_[name])
        return Views(blocks)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the views."""
        return np.array([name for name, _, _ in self.transformers], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags


def _columns(X: Any, columns: Any, view: str) -> Any:
    """Return one column as a flat array, or several as a table."""
    listed = isinstance(columns, list | tuple)
    try:
        if isinstance(X, Mapping):
            return np.column_stack([np.asarray(X[name]) for name in columns]) if listed else X[columns]
        if hasattr(X, "columns"):
            found = X[list(columns) if listed else columns]
            return found if listed else found.to_numpy()
        return np.asarray(X)[:, list(columns) if listed else columns]
    except (KeyError, IndexError) as error:
        known = list(X) if isinstance(X, Mapping) else list(getattr(X, "columns", range(np.shape(X)[-1])))
        raise ValueError(f"The view {view!r} needs the column {columns!r}; there are {known}.") from error


def _named(view: str, call: Any, *arguments: Any) -> Any:
    """Call, and name the view in an error; texts and tables come back as arrays of rows."""
    try:
        made = call(*arguments)
    except (TypeError, ValueError) as error:
        raise preceded(error, f"In the view {view!r}") from None
    if n_rows(made) and hasattr(made, "columns") and hasattr(made, "to_numpy"):
        return made.to_numpy()
    return made
