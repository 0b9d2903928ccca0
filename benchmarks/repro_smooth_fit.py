"""What the comparison of smoothed, L1 and L2 kernel weights shares: splits, fits and the choice of C and smoothing.

The kernels of a split are bound once to its training rows; all folds, costs, norms and amounts of smoothing use that
one set (a held-out row is a row without cost), as `MKLClassifierCV` does.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product as pairs
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

import kernelweave as kw
from kernelweave.engines import Serial
from kernelweave.estimators.normalize import normalized
from kernelweave.losses import make_loss
from kernelweave.operators import Task, product
from kernelweave.operators import choose as bound
from kernelweave.operators.expansion.rows import RowExpansion
from kernelweave.operators.gram.rank_one import RankOneSet
from kernelweave.penalties import LpBall
from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.choose import choose_mkl_solver
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.result import Result

GAP, MOST_ITERATIONS = 0.01, 500
"""When the paper stops its algorithms."""
COSTS = (0.1, 1.0, 10.0, 100.0)
SMOOTHINGS = (1000.0, 100.0, 10.0)
FOLDS = 3
Chosen = tuple[float, float | None]
"""C and smoothing."""
METHODS = ("L1", "L2", "smooth", "sum")
"""norm 1, norm 2, entropy smoothing, and the plain sum of the kernels."""


@dataclass
class Split:
    """Kernels bound to the training rows of one split, and how they see the test rows."""

    operators: Any
    y: np.ndarray
    test: Any
    y_test: np.ndarray

    def predict(self, point: PrimalPoint) -> np.ndarray:
        """Return the decision values of the test rows."""
        alpha, beta = np.asarray(point.alpha)[0], np.asarray(point.beta)
        intercept = float(np.atleast_1d(point.intercept)[0])
        if isinstance(self.operators, RankOneSet):
            return self.test @ (beta * (self.operators.vectors @ alpha)) + intercept
        kernels, rows, new = self.test
        support = np.flatnonzero(alpha)
        expansion = RowExpansion.weighted(kernels, rows[support], beta[None], alpha[None, support])
        return expansion.scores(new, Serial())[:, 0] + intercept


def standardised(X: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return the columns that vary in training, with mean 0 and variance 1 there."""
    deviation = X[train].std(axis=0)
    keep = deviation > 0
    return (X[:, keep] - X[train][:, keep].mean(axis=0)) / deviation[keep]


def linear_split(X: np.ndarray, y: np.ndarray, train: np.ndarray) -> Split:
    """Bind one linear kernel per column: rank one, and of unit trace because columns are standardised."""
    Z, test = standardised(X, train), np.setdiff1d(np.arange(len(y)), train)
    operators = RankOneSet(np.ascontiguousarray(Z[train].T), Serial())
    return Split(operators, y[train], Z[test], y[test])


def kernel_split(X: np.ndarray, y: np.ndarray, train: np.ndarray, each: list[Any]) -> Split:
    """Bind each kernel on each single column, scaled to unit trace."""
    Z, test = standardised(X, train), np.setdiff1d(np.arange(len(y)), train)
    rows = np.ascontiguousarray(Z[train])
    kernels = [normalized(k.fitted(rows), rows, "trace", Serial()) for k in kw.per_feature(each, Z.shape[1])]
    operators, _ = bound(Task(kernels, rows, Serial(), tol=GAP, need="parts"))
    return Split(operators, y[train], (kernels, rows, Z[test]), y[test])


def train(split: Split, method: str, C: float, smoothing: float | None, share: Any = 1.0, start: Any = None) -> Result:
    """Solve one problem on the training rows; `share` is the cost of each row in units of C."""
    cost = C * share * np.ones(len(split.y))
    ball = LpBall(2.0 if method == "L2" else 1.0)
    problem = MKLProblem(split.operators, make_loss("hinge"), split.y[None, :].astype(float), cost, ball)
    exact = "lp" if method == "L2" or isinstance(split.operators, RankOneSet) else "level"
    name = {"smooth": "smooth", "sum": "uniform"}.get(method, exact)
    solver = choose_mkl_solver(name, problem, {"smoothing": smoothing} if method == "smooth" else {}).solver
    return run(solver, problem, Stop(GAP, MOST_ITERATIONS, polish=False), start=start)


def select(splits: list[Split], method: str) -> Chosen:
    """Return the C and the smoothing with the best accuracy in cross-validation within the training rows of splits.

    Of equal ones the smallest C and the largest smoothing win.
    """
    grid = list(pairs(SMOOTHINGS if method == "smooth" else (None,), COSTS))
    scores = np.zeros(len(grid))
    for split in splits:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(split.y, split.y)
        for kept, held in folds:
            share, start, before = np.zeros(len(split.y)), None, object()
            share[kept] = 1.0
            for i, (smoothing, C) in enumerate(grid):
                start = start if smoothing == before else None
                point = train(split, method, C, smoothing, share, start).primal
                start, before = point, smoothing
                operator = split.operators.combined(np.asarray(point.beta))
                outputs = product(operator, np.asarray(point.alpha)[0])[held] + np.atleast_1d(point.intercept)[0]
                scores[i] += np.mean((outputs > 0) == (split.y[held] > 0))
    smoothing, C = grid[int(scores.argmax())]
    return C, smoothing


@dataclass(frozen=True)
class Outcome:
    """Accuracies, seconds, gaps, numbers of kernels in use and effective ones, one for each split, and what was chosen.

    The effective number is the exponential of the entropy of the weights, divided by their sum: m where all are equal.
    """

    accuracy: np.ndarray
    seconds: np.ndarray
    gap: np.ndarray
    used: np.ndarray
    effective: np.ndarray
    C: float
    smoothing: float | None

    @property
    def text(self) -> str:
        """Mean and standard deviation of the accuracy in percent."""
        return f"{100 * self.accuracy.mean():.1f}±{100 * self.accuracy.std():.1f}"


def choose(splits: list[Split]) -> dict[str, Chosen]:
    """Choose C and smoothing for each method."""
    return {method: select(splits, method) for method in METHODS}


def compare(splits: list[Split], chosen: dict[str, Chosen]) -> dict[str, Outcome]:
    """Train and test every method on every split."""
    made = {}
    for method, (C, smoothing) in chosen.items():
        lines = []
        for split in splits:
            began = time.perf_counter()
            result = train(split, method, C, smoothing)
            seconds = time.perf_counter() - began
            beta = np.asarray(result.primal.beta)
            accuracy = np.mean((split.predict(result.primal) > 0) == (split.y_test > 0))
            used = np.count_nonzero(beta > 1e-3 * beta.max())
            lines.append((accuracy, seconds, result.gap, used, effective(beta)))
        made[method] = Outcome(*np.array(lines, dtype=float).T, C, smoothing)
    return made


def effective(beta: np.ndarray) -> float:
    """Return the effective number of kernels.

    >>> effective(np.array([2.0, 2.0, 0.0])), effective(np.array([1.0, 0.0]))
    (2.0, 1.0)
    """
    share = beta[beta > 0.0] / beta.sum()
    return float(np.exp(-(share @ np.log(share))))
