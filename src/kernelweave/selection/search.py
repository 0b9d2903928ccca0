"""`search`: parameters chosen by cross-validation, with as much work shared as the parameters allow.

Estimators of this library bind their kernels once for all folds and for all settings that differ in C, norm, loss
parameters or parameters of the solver; along each path C grows and every solution starts from the one before
(`estimators/cv`).  Anything else, such as a pipeline that scales its columns, is cloned and fitted for every fold.

Successive halving (Jamieson and Talwalkar 2016): all settings on few rows, the best of them on `factor` times as many,
and so on; the last round has all rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import _safe_split

from kernelweave.data.kinds import kind_of
from kernelweave.data.stores import is_stored
from kernelweave.estimators.base import Estimator
from kernelweave.estimators.cv.bound import Bound
from kernelweave.estimators.cv.results import best_of, results_table
from kernelweave.estimators.cv.scoring import Score
from kernelweave.estimators.cv.splits import Fold, splits
from kernelweave.estimators.cv.trial import Held, Setting, binding, judging, tried, with_setting
from kernelweave.estimators.mkl.base import MKLEstimator
from kernelweave.estimators.mkl.choosing import Choosing
from kernelweave.estimators.one.base import KernelEstimator
from kernelweave.estimators.targets import Targets
from kernelweave.selection.groups import groups_of

Array = np.ndarray
STRATEGIES = ("grid", "halving")
FEWEST = 200
"""Rows of the first round of a halving, at least."""
LISTED = 10
"""Settings that the text of a result shows."""


@dataclass
class SearchResult:
    """What a search has found.

    Attributes
    ----------
    best_params_ : the setting with the best mean score
    best_score_ : this score
    best_index_ : its place in `cv_results_`
    best_estimator_ : the estimator with these parameters, fitted to all rows; None with ``refit=False``
    cv_results_ : dict of settings and scores in the names of scikit-learn
    out_of_fold_ : (n,) decision values, or numbers, that the best setting gave to rows it had not seen, (n, classes)
        for several classes; nan for rows that no fold held out
    folds_ : (train, test) row numbers
    groups_ : (n,) what rows belong to, or None
    classes_ : the labels of a classifier in sorted order, else None
    scoring_ : what the settings were judged by
    rounds_ : of a halving, (rows, settings) of each round
    """

    best_params_: Setting
    best_score_: float
    best_index_: int
    cv_results_: dict[str, Any]
    out_of_fold_: Array
    folds_: list[Fold]
    groups_: Array | None
    classes_: Array | None
    scoring_: str
    rounds_: list[tuple[int, int]] = field(default_factory=list)
    best_estimator_: Any = None

    def __str__(self) -> str:
        """Say what was chosen, and how the best settings did."""
        table, order = self.cv_results_, np.argsort(self.cv_results_["rank_test_score"], kind="stable")
        what = f"{self.scoring_} over {len(self.folds_)} folds" + (" of groups" if self.groups_ is not None else "")
        lines = [f"{len(table['params'])} settings by {what}"]
        for i in order[:LISTED]:
            mean, spread = table["mean_test_score"][i], table["std_test_score"][i]
            lines.append(f"  {mean:.4f} +- {spread:.4f}  {_spelled(table['params'][i])}")
        return "\n".join(lines + (["  ..."] if len(order) > LISTED else []))


def search(
    model: Any,
    X: Any,
    y: Any,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] | None = None,
    *,
    cv: Any = 5,
    groups: Any = None,
    scoring: Any = None,
    strategy: str = "grid",
    factor: int = 3,
    sample_weight: Any = None,
    refit: bool = True,
    random_state: int = 0,
) -> SearchResult:
    """Choose parameters by cross-validation, and fit the best to all rows.

    Parameters
    ----------
    model : a classifier or regressor of this library, or any estimator of scikit-learn such as a pipeline
    X, y : rows and their targets
    grid : dict of parameters and the values to choose from, or a list of such dicts: C, norm, kernel, kernels, loss and
        so on, or parameters of the solver such as smoothing; None to judge the model as it is
    cv : number of folds, a scikit-learn splitter, or an iterable of (train, test) rows
    groups : (n,) what rows belong to, or how it follows from the rows: "chromosome" or "prefix:_" of their ids,
        "clusters:0.5" of sequences that share half of their k-mers; rows of one group are never on both sides
    scoring : what to choose by: a scorer of scikit-learn by name, a short name ("auroc", "auprc", "mcc", "log_loss",
        "mae", "rmse"), or a callable ``scorer(estimator, X, y)``; None for accuracy, or R2 of numbers
    strategy : "grid" tries every setting on all rows; "halving" all on few rows, and the best of them on ever more
    factor : of a halving, how many times more rows each round has, and how many times fewer settings
    sample_weight : (n,) non-negative weights of the rows
    refit : whether to fit the best setting to all rows
    random_state : seed of the folds, where `cv` is a number, and of the rows of a halving

    Returns
    -------
    SearchResult

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(200, random_state=0)
    >>> found = kw.search(kw.KernelClassifier("wd:8"), X, y, {"C": [0.1, 1.0]}, cv=3, scoring="auroc")
    >>> sorted(found.best_params_), found.best_estimator_.converged_, found.out_of_fold_.shape
    (['C'], True, (200,))
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy={strategy!r} is not one of {', '.join(STRATEGIES)}.")
    if not isinstance(factor, int | np.integer) or factor < 2:
        raise ValueError(f"factor={factor!r} must be an integer of at least 2.")
    if is_stored(X):
        raise ValueError(
            "A search holds its rows in memory, but X is a store on disk; hand in some of its rows: X[:n]."
        )
    task = _task(model)
    settings, groups = _settings(grid), groups_of(X, groups) if isinstance(groups, str) else groups
    _check_names(model, settings)
    rows = _Rows(model, X, y, sample_weight, Score(scoring, task))
    rows.score.check(rows.classes)
    folds = splits(cv, rows.targets.y, groups, task == "classification", random_state)
    rounds: list[tuple[int, int]] = []
    alive = list(range(len(settings)))
    if strategy == "halving":
        rounds, alive = _halved(rows, settings, folds, int(factor), random_state)
    scores = np.full((len(settings), len(folds)), np.nan)
    kept = _tried(rows, [settings[i] for i in alive], folds)
    scores[alive] = kept.scores
    best = alive[best_of(kept.scores, [settings[i] for i in alive], len(folds))]
    outputs = kept.outputs[alive.index(best)]
    found = SearchResult(
        settings[best], float(scores[best].mean()), best, results_table(settings, scores),
        outputs[:, 0] if outputs.shape[1] == 1 else outputs, folds,
        None if groups is None else np.asarray(groups), rows.classes, rows.score.name, [*rounds, (rows.n, len(alive))],
    )  # fmt: skip
    if refit:
        found.best_estimator_ = kept.refitted(alive.index(best))
    return found


class _Rows:
    """Checked rows with their targets, for one estimator."""

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any, score: Score):
        self.score, self.given, self.shared = score, X, isinstance(model, KernelEstimator | MKLEstimator)
        self.model = _copy(model) if self.shared else model
        if self.shared:
            self.model._check_parameters()
            self.X = self.model._rows(X)
            self.targets: Targets = self.model._learns.read(self.model, self.X, y, sample_weight)
            self.classes = getattr(self.model, "classes_", None)
        else:
            self.X, y = X, np.asarray(y)
            weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
            self.targets = Targets(y, y[None], weight, weight)
            self.classes = np.unique(y) if is_classifier(model) else None
        self.weighted, self.n = sample_weight is not None, len(self.targets.y)

    def some(self, rows: Array) -> _Rows:
        """Return some of the rows."""
        made = object.__new__(_Rows)
        vars(made).update(vars(self))
        t, made.n = self.targets, len(rows)
        made.X, _ = _safe_split(self.model, self.X, None, rows, rows)
        made.targets = replace(t, y=t.y[rows], values=t.values[:, rows], cost=t.cost[rows], weight=t.weight[rows])
        return made


@dataclass
class _Kept:
    """What the fits of some settings have left: scores, outputs, and what a fit to all rows can start from."""

    rows: _Rows
    settings: list[Setting]
    scores: Array
    outputs: list[Array]
    made: dict[int, tuple[Any, Bound]]

    def refitted(self, number: int) -> Any:
        """Return the estimator of a setting, fitted to all rows."""
        rows, setting = self.rows, self.settings[number]
        if not rows.shared:
            some = {"sample_weight": rows.targets.weight} if rows.weighted else {}
            return clone(rows.model).set_params(**setting).fit(rows.X, rows.targets.y, **some)
        base, bound = self.made[number]
        model = with_setting(base, setting)
        bound.finish(model, rows.X, rows.targets)
        return model


def _tried(rows: _Rows, settings: list[Setting], folds: list[Fold]) -> _Kept:
    """Fit every setting on every fold."""
    judged = list(judging(rows.targets, folds))
    outputs = 1 if rows.classes is None or len(rows.classes) == 2 else len(rows.classes)
    kept = _Kept(rows, settings, np.empty((len(settings), len(folds))),
                 [np.full((rows.n, outputs), np.nan) for _ in settings], {})  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of single folds; told below as one
        open_ones = (_shared if rows.shared else _cloned)(kept, folds, judged)
    if open_ones:
        warnings.warn(
            f"{open_ones} of {len(settings) * len(folds)} fits of folds did not reach the tolerance; their scores are "
            "of the best models found.", ConvergenceWarning, stacklevel=4,
        )  # fmt: skip
    return kept


def _shared(kept: _Kept, folds: list[Fold], judged: list[tuple[Array, Array]]) -> int:
    """Fit settings on kernels that folds share; return how many fits stayed open."""
    rows, still_open = kept.rows, 0
    for group in binding(rows.model, kept.settings):

        def judge(number: int, fold: int, held: Held, group: list[int] = group) -> None:
            nonlocal still_open
            setting, (counts, test) = group[number], judged[fold]
            loss = with_setting(rows.model, kept.settings[setting])._loss()
            given = kind_of(rows.X).take(rows.X, test) if callable(rows.score.scoring) else test
            y, weight = rows.targets.y[test], rows.targets.weight[test]
            kept.scores[setting, fold] = rows.score.of_outputs(
                held.outputs[counts], loss, rows.classes, given, y, weight
            )
            kept.outputs[setting][np.arange(rows.n)[folds[fold][1]]] = held.outputs
            still_open += not held.converged

        found = tried(rows.model, rows.X, rows.targets, folds, [kept.settings[i] for i in group], judge)
        kept.made.update(dict.fromkeys(group, found))
    return still_open


def _cloned(kept: _Kept, folds: list[Fold], judged: list[tuple[Array, Array]]) -> int:
    """Fit a clone for every setting and fold; return how many fits stayed open."""
    rows, still_open = kept.rows, 0
    y, weight = rows.targets.y, rows.targets.weight
    for number, setting in enumerate(kept.settings):
        for fold, ((train, _), (_, test)) in enumerate(zip(folds, judged)):
            model = clone(rows.model).set_params(**setting)
            seen, labels = _safe_split(model, rows.X, y, train)
            model.fit(seen, labels, **({"sample_weight": weight[train]} if rows.weighted else {}))
            new, labels = _safe_split(model, rows.X, y, test, train)
            values = getattr(model, "decision_function", model.predict)(new)
            if rows.classes is None or hasattr(model, "decision_function"):
                kept.outputs[number][test] = values.reshape(len(test), -1)
            kept.scores[number, fold] = rows.score.of_model(model, new, labels, weight[test])
            still_open += not getattr(model, "converged_", True)
    return still_open


def _halved(
    rows: _Rows, settings: list[Setting], folds: list[Fold], factor: int, random_state: int
) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the rounds before the last, as (rows, settings), and the settings that are left for it."""
    alive, rounds, order = list(range(len(settings))), [], np.random.default_rng(random_state).permutation(rows.n)
    steps = int(np.floor(np.log(len(settings)) / np.log(factor) + 1e-9))
    steps = min(steps, max(0, int(np.floor(np.log(max(rows.n / FEWEST, 1.0)) / np.log(factor)))))
    for step in range(steps, 0, -1):
        size = int(np.ceil(rows.n / factor**step))
        chosen = np.sort(order[:size])
        place = np.full(rows.n, -1)
        place[chosen] = np.arange(size)
        parts = [(place[np.intersect1d(a, chosen)], place[np.intersect1d(b, chosen)]) for a, b in folds]
        parts = [(a, b) for a, b in parts if len(a) and len(b)]
        scores = _tried(rows.some(chosen), [settings[i] for i in alive], parts).scores.mean(axis=1)
        rounds.append((size, len(alive)))
        keep = max(1, int(np.ceil(len(alive) / factor)))
        best = np.argsort(np.where(np.isnan(scores), np.inf, -scores), kind="stable")[:keep]
        alive = sorted(alive[i] for i in best)
    return rounds, alive


def _check_names(model: Any, settings: list[Setting]) -> None:
    """Raise where a grid names a parameter in other letters than the estimator does."""
    known = {name.lower(): name for name in model.get_params()}
    for name in set().union(*settings) - set(known.values()):
        if meant := known.get(name.lower()):
            raise ValueError(f"grid[{name!r}] is no parameter of {type(model).__name__}; did you mean {meant!r}?")


def _settings(grid: Any) -> list[Setting]:
    """Return every combination of the values of a grid, or of several."""
    if grid is None:
        return [{}]
    settings = []
    for one in [grid] if isinstance(grid, Mapping) else grid:
        if not isinstance(one, Mapping):
            raise ValueError(f"grid={grid!r} must be a dict of parameters and values, or a list of such dicts.")
        for name, values in one.items():
            if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or len(values) == 0:
                raise ValueError(f"grid[{name!r}]={values!r} must be a list of at least one value.")
        settings += [dict(zip(one, values)) for values in product(*one.values())]
    if not settings:
        raise ValueError("grid is an empty list; give at least one dict of parameters and values.")
    return settings


def _task(model: Any) -> str:
    """Return what an estimator learns; others than classifiers and regressors are refused."""
    if isinstance(model, Choosing):
        raise ValueError(f"{type(model).__name__} chooses by itself; hand its estimator without CV to a search.")
    if is_classifier(model):
        return "classification"
    if is_regressor(model):
        return "regression"
    raise ValueError(f"A search is for classifiers and regressors, not for {type(model).__name__}.")


def _copy(model: Estimator) -> Any:
    """Return an unfitted copy that reports to the same callbacks."""
    return type(model)(**model.get_params(deep=False))


def _spelled(setting: Setting) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in setting.items()) or "as given"
