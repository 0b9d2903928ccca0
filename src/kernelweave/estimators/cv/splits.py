"""Which rows a fold trains on and which it holds out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, StratifiedKFold, check_cv

Array = np.ndarray
Fold = tuple[Array, Array]


def splits(cv: Any, y: Array, groups: Any = None, classify: bool = True, random_state: int | None = None) -> list[Fold]:
    """Return the folds, as row numbers to train on and to hold out.

    Parameters
    ----------
    cv : number of folds, a scikit-learn splitter, or an iterable of (train, test) rows
    y : (n,) labels or numbers
    groups : (n,) what rows belong to: those of one group are never on both sides; None for rows that stand alone
    classify : whether y are classes, of which every fold should have its share
    random_state : seed of the order in which rows are dealt out; None for the order as given

    Examples
    --------
    >>> [test.tolist() for _, test in splits(2, np.array([0, 1, 0, 1]), groups=["a", "a", "b", "b"])]
    [[0, 1], [2, 3]]
    """
    number = isinstance(cv, int | np.integer) and not isinstance(cv, bool)
    groups = None if groups is None else _checked(groups, len(y))
    if number and cv < 2:
        raise ValueError(f"cv={cv!r} must be at least 2 folds: each is held out once, and learned from otherwise.")
    if number and groups is not None:
        many = len(np.unique(groups))
        if many < cv:
            raise ValueError(f"{cv} folds need at least {cv} groups, but there are {many}; take fewer folds.")
        splitter = StratifiedGroupKFold(cv) if classify else GroupKFold(cv)
    elif number and classify and random_state is not None:
        splitter = StratifiedKFold(cv, shuffle=True, random_state=random_state)
    else:
        splitter = check_cv(cv, y, classifier=classify)
        if number and random_state is not None:
            splitter.shuffle, splitter.random_state = True, random_state
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        found = list(splitter.split(np.zeros(len(y)), y, groups))
    every = np.arange(len(y))
    folds = [(every[train], every[test]) for train, test in found]
    if classify and number:
        _warn_if_one_class(y, folds, groups is not None)
    return folds


def _checked(groups: Any, n: int) -> Array:
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(f"groups has shape {groups.shape}; expected one group for each of {n} rows.")
    return groups


def _warn_if_one_class(y: Array, folds: list[Fold], grouped: bool) -> None:
    """Warn of folds whose held-out rows lack a class: areas under curves need both."""
    classes = len(np.unique(y))
    lacking = [number for number, (_, test) in enumerate(folds) if len(np.unique(y[test])) < classes]
    if lacking:
        what = "take fewer folds, or smaller groups" if grouped else "take fewer folds"
        warnings.warn(
            f"Fold {lacking[0]} holds out rows of {len(np.unique(y[folds[lacking[0]][1]]))} of {classes} classes, so "
            f"that some scores of it are undefined; {what}.", UserWarning, stacklevel=4,
        )  # fmt: skip
