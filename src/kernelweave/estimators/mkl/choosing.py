"""Choosing C, the norm and more by cross-validation: what `MKLClassifierCV` and `MKLRegressorCV` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from typing import Any, Self

import numpy as np

from kernelweave.engines import Remote
from kernelweave.estimators.base import Array, Estimator
from kernelweave.estimators.callbacks import HOSTS, watched
from kernelweave.estimators.checks.inputs import positive
from kernelweave.estimators.cv.bound import Bound
from kernelweave.estimators.cv.results import best_of, results_table
from kernelweave.estimators.cv.scoring import Score
from kernelweave.estimators.cv.splits import Fold, splits
from kernelweave.estimators.cv.trial import Held, Setting, binding, judging, tried, with_setting
from kernelweave.estimators.mkl.base import MKLEstimator
from kernelweave.estimators.targets import Targets
from kernelweave.solvers.mkl import MKL_SOLVERS

NORMS = (1.0, 2.0)
"""Norms to choose from, where the solver is for both."""
OWN = ("Cs", "norms", "grid", "cv", "scoring")
"""Parameters about the choice, which a model of given C and norm does not have."""


class Choosing(MKLEstimator):
    """Fits a plain estimator (`_plain`) for every setting and fold, and takes over what the best one learns."""

    _plain: type[MKLEstimator]

    def _check_parameters(self) -> None:
        for value in self.Cs:
            positive("C", value)
        if len(self.Cs) == 0 or any(b <= a for a, b in pairwise(self.Cs)):
            raise ValueError(f"Cs={self.Cs!r} must be positive numbers in increasing order.")
        if len(self.norms) == 0 or any(not p >= 1 for p in self.norms):
            raise ValueError(f"norms={self.norms!r} must be numbers of at least 1.")
        Score(self.scoring, self._task).check(None)
        self._check_grid()
        super()._check_parameters()

    def _check_grid(self) -> None:
        if self.grid is not None and not isinstance(self.grid, Mapping):
            raise ValueError(f"grid={self.grid!r} must be a dict of parameters and the values to choose from.")
        for name, values in (self.grid or {}).items():
            if name in (*OWN, "C", "norm"):
                instead = {"C": "Cs", "norm": "norms"}.get(name)
                what = f"choose it by {instead}=" if instead else "it is not a parameter of a model"
                raise ValueError(f"{name!r} cannot be in the grid: {what}.")
            if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or len(values) == 0:
                raise ValueError(f"grid[{name!r}]={values!r} must be a list of at least one value.")

    @property
    def _tried_norms(self) -> tuple[float, ...]:
        """The norms to choose from: of the default those that the solver is for; what a user lists must suit it."""
        largest = MKL_SOLVERS[self.solver].largest_p if self.solver in MKL_SOLVERS else np.inf
        norms = tuple(float(p) for p in self.norms)
        return tuple(p for p in norms if p <= largest) if norms == NORMS else norms

    def _settings(self) -> list[Setting]:
        """Return all settings: those of the grid outermost, then norms, then values of C."""
        grid = self.grid or {}
        further = [dict(zip(grid, values)) for values in product(*grid.values())]
        return [{**one, "norm": p, "C": float(C)} for one in further for p in self._tried_norms for C in self.Cs]

    @watched
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the setting by cross-validation, then learn from all rows with it.

        Parameters
        ----------
        X, y : rows and their targets, as for the estimator without CV
        sample_weight : (n,) non-negative weights of the rows
        groups : (n,) what rows belong to (a chromosome, a person): those of one group are never on both sides
        """
        self._check_parameters()
        plain = self._plain(**{k: v for k, v in self.get_params(deep=False).items() if k not in OWN})
        X = plain._rows(X)
        plain._loss()
        targets = plain._learns.read(plain, X, y, sample_weight)
        classes = getattr(plain, "classes_", None)
        Score(self.scoring, self._task).check(classes)
        folds = splits(self.cv, targets.y, groups, classify=classes is not None)
        place = "elsewhere" if isinstance(plain._engine(), Remote) else "here"
        with self._recording(X, targets, **{"the folds": folds, "where the folds are solved": place}):
            plain._record = self._record
            self._choose_and_learn(plain, X, targets, folds)
        return self

    def _choose_and_learn(self, plain: MKLEstimator, X: Any, targets: Targets, folds: list[Fold]) -> None:
        """Try every setting on every fold, then learn from all rows with the best."""
        settings, judged = self._settings(), list(judging(targets, folds))
        scores, weights = np.empty((len(settings), len(folds))), np.empty((len(settings), len(folds)), dtype=object)
        score, classes = Score(self.scoring, self._task), getattr(plain, "classes_", None)
        made: dict[int, tuple[Any, Bound]] = {}
        for group in binding(plain, settings):

            def judge(number: int, fold: int, held: Held, group: list[int] = group) -> None:
                counts, rows = judged[fold]
                loss = with_setting(plain, settings[group[number]])._loss()
                some = X[rows] if callable(self.scoring) else rows
                scores[group[number], fold] = score.of_outputs(
                    held.outputs[counts], loss, classes, some, targets.y[rows], targets.weight[rows]
                )
                weights[group[number], fold] = held.weights

            found = tried(plain, X, targets, folds, [settings[i] for i in group], judge)
            made.update(dict.fromkeys(group, found))
        best = best_of(scores, settings, len(folds))
        base, operators = made[best]
        chosen = with_setting(base, settings[best])
        operators.finish(chosen, X, targets)
        self._take_over(chosen)
        self._tell(settings, scores, weights, best)

    def _take_over(self, chosen: Estimator) -> None:
        """Take what a plain estimator has learned."""
        own = self.get_params(deep=False)
        learned = {name for name in vars(self) if not name.startswith(HOSTS)}
        for name in learned - set(own) - {"_record"}:
            delattr(self, name)
        for name, value in vars(chosen).items():
            if name not in own and name not in ("C", "norm", "_record"):
                setattr(self, name, value)

    def _tell(self, settings: list[Setting], scores: Array, weights: Array, best: int) -> None:
        """Set the attributes about the choice."""
        self.best_params_, self.best_index_ = settings[best], best
        self.best_score_ = float(scores[best].mean())
        self.C_, self.norm_ = settings[best]["C"], settings[best]["norm"]
        self.cv_results_ = results_table(settings, scores)
        each = len(self._tried_norms) * len(self.Cs)
        path = slice(best // each * each, best // each * each + each)
        shape = (len(self._tried_norms), len(self.Cs), scores.shape[1])
        self.cv_scores_ = scores[path].reshape(shape)
        self.path_weights_ = np.stack([np.mean(list(row), axis=0) for row in weights[path]]).reshape(*shape[:2], -1)

    def _norm(self) -> float:
        """Return the norm that was chosen."""
        return float(self.norm_)
