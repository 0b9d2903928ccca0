"""Choosing C and the norm by cross-validation, with kernels bound once and solutions carried along each path."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import check_cv

from kernelweave.engines import Engine, Remote, map_fits
from kernelweave.estimators.base import Array
from kernelweave.estimators.distinct import DistinctRows, distinct_rows
from kernelweave.estimators.inputs import positive
from kernelweave.estimators.mkl.classifier import MKLClassifier
from kernelweave.estimators.targets import Targets, some_classes
from kernelweave.operators import product
from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.mkl import MKL_SOLVERS

NORMS = (1.0, 2.0)
"""Norms to choose from, where the solver is for both."""
SCORINGS = ("accuracy", "balanced_accuracy", "roc_auc")


class MKLClassifierCV(MKLClassifier):
    """`MKLClassifier` whose C and norm are chosen by cross-validation.

    The kernels are bound to the rows once.  A fold is trained by giving its held-out rows no cost, so that all folds,
    all values of C and all norms share the operators, and the held-out outputs come with the solution.  Along each
    path C grows and every solution starts from the one before.  Kernel scaling (`normalize`) uses all rows.

    Parameters
    ----------
    kernels : list of kernels (or texts such as "rbf:0.5"), or what ``kw.WeightedDegree(20).per_position()`` returns;
        None for a linear kernel and Gaussians of three widths
    Cs : values of C to choose from, growing
    norms : values of the norm to choose from; of the default, those that the solver is for
    cv : number of folds, a scikit-learn splitter, or an iterable of (train, test) rows
    scoring : "accuracy", "balanced_accuracy" or (two classes) "roc_auc"
    loss : such as "hinge", "logistic" or "smooth_hinge:2", which sets sigma; the manual lists all
    sigma : sharpness of "smooth_hinge"
    solver : "auto", "silp", "silp_chunking", "level", "reduced_gradient", "hessian", "lp" or "smooth"; for
        kernels of rank one "linear_program"; on explicit features, in time linear in the rows, "block_coordinate",
        "svrg", "ufo", "obscure" or "proximal_gradient"; for rows of any number, on disk or not, "active_set"; or a
        baseline, "uniform", "best_single" or "alignment"
    solver_params : dict of parameters of the solver, such as ``{"smoothing": 0.5}`` for "smooth"; the manual lists them
        by solver.  On explicit features, ``{"feature_tolerance": 1e-4}`` says how well kernels without features of
        their own are factorised and ``{"feature_rank": 200}`` by how many features at most
    tol : relative duality gap at which to stop
    max_iter : most iterations; -1 for the limit of the solver, which the manual lists
    fit_intercept : True (free and exact), "regularized" (adds ``b^2 / 2`` to the objective) or False
    normalize : scaling of each kernel on the training rows: "trace" (mean diagonal 1), "cosine" (every diagonal entry
        1), "variance" (centred, mean diagonal 1) or None
    shared_weights : with several classes, whether all of them use the same kernel weights
    class_weight : dict of weights by class, "balanced" to give every class the same total weight, or None
    engine : where work runs: "serial", "threads", an engine object, or None for threads where there is more than one
        worker; on a cluster "dask", a Dask client, or the address of a scheduler
    n_jobs : number of workers; -1 for every core, -2 for all but one, and so on; None for 1, as in scikit-learn,
        unless a ``joblib.parallel_config`` says otherwise
    memory_limit : memory for what is held of the kernels, in bytes or as a text such as "4GB"; "auto" for half of the
        free memory
    checkpoint : file that keeps how far a fit has come, written every minute, or a pair (file, seconds); a fit to the
        same rows with the same parameters goes on from there, also after a crash and on another machine
    callbacks : list of functions that are called with the progress after each iteration; a true answer stops the fit
    verbose : 1 logs each iteration

    Attributes
    ----------
    classes_ : (classes,), the labels in sorted order
    C_ : the value of C chosen
    norm_ : the norm chosen
    cv_scores_ : (norms, Cs, folds)
    path_weights_ : (norms, Cs, m), kernel weights along the paths, mean over folds (and classes)
    kernel_weights_ : (m,), or (classes, m) with several classes that do not share weights
    kernel_names_ : (m,), the kernels as given
    kernels_ : the kernels as they are used: fitted to the rows and scaled
    support_ : (support,), numbers of the training rows that have a coefficient
    dual_coef_ : (outputs, support), the signed dual coefficients of these rows
    intercept_ : (outputs,)
    reference_ : the support rows, which new rows are compared with
    expansion_ : what the model predicts with: scores and contributions of new rows, what was learned, bytes
    coef_ : (outputs, features), of a model on explicit features, which has no support rows: its weights
    coef_offsets_ : (m + 1,), the first feature of each kernel in `coef_`
    coef_codes_ : for each kernel the codes of its features, None where features are numbered
    approximation_errors_ : (m,), how far the features of each kernel are off, relative to its mean diagonal
    objective_ : primal objective, summed over the outputs
    dual_objective_ : lower bound of the optimum, summed over the outputs
    duality_gap_ : relative gap between the two, the worst over the outputs
    certificate_ : dual points, intercepts and objectives from which anyone can recompute the gap
    certifies_ : the problem of the certificate: that of the class ("svm", "mkl", "mixture"), or the one solved instead
        ("smoothed", "fixed weights", "mkl of factorised kernels", "mixture of sampled columns")
    solver_ : the solver that ran
    solver_why_ : why it was this one; "as asked" where it was named
    memory_plan_ : how the kernels were held: `kind`, `bytes`, `why`, and what was `passed_over`, (kind, reason) each
    trace_ : seconds, primal, dual and gap of each iteration
    n_iter_ : iterations, the most over the outputs
    converged_ : whether `tol` was reached
    n_features_in_ : columns of the training table, where rows were a table
    feature_names_in_ : names of these columns, where it had names

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_stars(150, random_state=0)
    >>> model = kw.MKLClassifierCV(kw.RBF.grid([0.1, 1.0, 10.0]), Cs=[1.0, 10.0], cv=3).fit(X, y)
    >>> model.cv_scores_.shape
    (2, 2, 3)
    """

    C_: float
    norm_: float

    def __init__(
        self,
        kernels: Any = None,
        Cs: Sequence[float] = (0.01, 0.1, 1.0, 10.0, 100.0),
        norms: Sequence[float] = NORMS,
        cv: Any = 5,
        scoring: str = "accuracy",
        loss: str = "hinge",
        sigma: float = 1.0,
        solver: str = "auto",
        solver_params: dict[str, Any] | None = None,
        tol: float = 1e-3,
        max_iter: int = -1,
        fit_intercept: bool | str = True,
        normalize: str | None = "trace",
        shared_weights: bool = False,
        class_weight: Any = None,
        engine: Any = None,
        n_jobs: int | None = None,
        memory_limit: float | str = "auto",
        checkpoint: Any = None,
        callbacks: tuple = (),
        verbose: int = 0,
    ):
        self.kernels = kernels
        self.Cs = Cs
        self.norms = norms
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.sigma = sigma
        self.solver = solver
        self.solver_params = solver_params
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.normalize = normalize
        self.shared_weights = shared_weights
        self.class_weight = class_weight
        self.engine = engine
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.callbacks = callbacks
        self.verbose = verbose

    def _check_parameters(self) -> None:
        self._trial_norm = 1.0
        for value in self.Cs:
            positive("C", value)
        if len(self.Cs) == 0 or any(b <= a for a, b in pairwise(self.Cs)):
            raise ValueError(f"Cs={self.Cs!r} must be positive numbers in increasing order.")
        if len(self.norms) == 0 or any(not p >= 1 for p in self.norms):
            raise ValueError(f"norms={self.norms!r} must be numbers of at least 1.")
        if self.scoring not in SCORINGS:
            raise ValueError(f"scoring={self.scoring!r} is unknown; choose one of {', '.join(SCORINGS)}.")
        super()._check_parameters()
        largest = MKL_SOLVERS[self.solver].largest_p if self.solver in MKL_SOLVERS else np.inf
        usual = tuple(self.norms) == NORMS  # those of them that a solver is for; what a user lists must suit it
        self._tried_norms = tuple(p for p in self.norms if p <= largest) if usual else tuple(self.norms)

    def _norm(self) -> float:
        """Return the norm under trial, and after fitting the norm chosen."""
        return self._trial_norm

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose C and norm, then learn from all rows; parameters as for `MKLClassifier.fit`."""
        X = self._rows(X)
        self._loss()
        targets = self._learns.read(self, X, y, sample_weight)
        if self.scoring == "roc_auc" and len(self.classes_) > 2:
            raise ValueError("scoring='roc_auc' is for two classes; use 'accuracy' or 'balanced_accuracy'.")
        folds = list(check_cv(self.cv, targets.y, classifier=True).split(np.zeros(len(targets.y)), targets.y))
        place = "elsewhere" if isinstance(self._engine(), Remote) else "here"
        with self._recording(X, targets, **{"the folds": folds, "where the folds are solved": place}):
            self._choose_and_learn(X, targets, folds)
        return self

    def _choose_and_learn(self, X: Any, targets: Targets, folds: list[tuple[Array, Array]]) -> None:
        """Try every norm and C on every fold, then learn from all rows with the best."""
        rows = distinct_rows(X, targets, self._kernel_list.holds_gram)
        operators = self._bind_all(rows.X, rows.targets.weight)
        self.cv_scores_ = np.empty((len(self._tried_norms), len(self.Cs), len(folds)))
        paths = np.zeros((len(self._tried_norms), len(self.Cs), len(folds), operators.m))
        jobs = [(i, j) for i in range(len(self._tried_norms)) for j in range(len(folds))]
        trial = Trial(self._for(self._engine()), operators, replace(rows, X=None), targets, folds)
        for (i, j), found in zip(jobs, map_fits(self._engine(), _path_of, trial, jobs)):
            self.cv_scores_[i, :, j], paths[i, :, j] = found
        self.path_weights_ = paths.mean(axis=2)
        best = np.unravel_index(self.cv_scores_.mean(axis=2).argmax(), self.cv_scores_.shape[:2])
        self.norm_, self.C_ = float(self._tried_norms[best[0]]), float(self.Cs[best[1]])
        self._trial_norm = self.norm_
        chosen = replace(rows, targets=replace(rows.targets, cost=self.C_ * rows.targets.cost))
        self._finish(X, replace(targets, cost=self.C_ * targets.cost), chosen, operators)

    def _for(self, engine: Engine) -> Self:
        """Return the estimator that solves the folds: a plain one for other processes, where nobody listens."""
        if not isinstance(engine, Remote):
            return self
        there = copy.copy(self).set_params(engine="serial", callbacks=(), verbose=0, checkpoint=None)
        there._record = None  # other processes do not write to the file of this one
        return there

    def _path(self, operators: Any, targets: Targets, held: Held) -> tuple[Array, Array]:
        """Return the held-out score and the weights for each C, every solution started from the one before."""
        scores, weights = np.empty(len(self.Cs)), np.empty((len(self.Cs), operators.m))
        starts: list[PrimalPoint | None] | None = None
        for i, C in enumerate(self.Cs):
            results = self._solve_all(self._problems(operators, replace(targets, cost=C * targets.cost)), starts)
            points = [result.primal for result in results]
            starts = list(points)
            outputs = np.concatenate([self._at(operators, point, held.places) for point in points])
            scores[i] = self._score(held, outputs)
            weights[i] = np.mean([np.asarray(point.beta) for point in points], axis=0)
        return scores, weights

    def _at(self, operators: Any, point: PrimalPoint, rows: Array) -> Array:
        """Return the outputs of a solution on some training rows, (outputs, rows)."""
        if point.vector is not None:
            return operators.design.outputs(point.vector[0])[None, rows] + np.atleast_1d(point.intercept)[:, None]
        operator = operators.combined(np.asarray(point.beta))
        return np.stack([product(operator, a)[rows] + b for a, b in zip(point.alpha, np.atleast_1d(point.intercept))])

    def _score(self, held: Held, outputs: Array) -> float:
        if self.scoring == "roc_auc":
            return float(roc_auc_score(held.y == self.classes_[1], outputs[0], sample_weight=held.weight))
        best = (outputs[0] > 0).astype(int) if len(self.classes_) == 2 else outputs.argmax(axis=0)
        measure = accuracy_score if self.scoring == "accuracy" else balanced_accuracy_score
        return float(measure(held.y, self.classes_[best], sample_weight=held.weight))


class Trial(NamedTuple):
    """What all folds and norms have in common."""

    model: MKLClassifierCV
    operators: Any
    rows: DistinctRows
    targets: Targets
    folds: list[tuple[Array, Array]]


def _path_of(trial: Trial, job: tuple[int, int]) -> tuple[Array, Array]:
    """Return the scores and weights of one norm on one fold, for each C."""
    model, operators, rows, targets, folds = trial
    (i, j), (train, test) = job, folds[job[1]]
    model._trial_norm = float(model._tried_norms[i])
    cost = np.zeros(len(targets.y))
    cost[train] = targets.cost[train]
    some_classes(targets.y[train], cost[train])
    part = replace(rows.targets, cost=rows.summed(cost))
    return model._path(operators, part, _held(rows, targets, test, j))


class Held(NamedTuple):
    """Rows that judge a fold: their places among the distinct rows, labels and weights."""

    places: Array
    y: Array
    weight: Array


def _held(rows: DistinctRows, targets: Targets, test: Array, fold: int) -> Held:
    """Return the rows that a fold holds out; those of weight zero do not count."""
    test = np.arange(len(targets.y))[test]
    test = test[targets.weight[test] > 0]
    if len(test) == 0:
        raise ValueError(f"Every row that fold {fold} holds out has a weight of zero: nothing is left to judge by.")
    return Held(test if rows.group is None else rows.group[test], targets.y[test], targets.weight[test])
