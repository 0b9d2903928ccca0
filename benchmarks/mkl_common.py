"""What the benchmarks of multiple kernel learning share: data, kernels, and objectives from coefficients alone."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import kernelweave as kw
from common import ROOT

Array = np.ndarray
SIGMAS = 2.0 ** np.arange(-3, 7)
DEGREES = (1, 2, 3)
DATA = ROOT.parent / "shared" / "data"


def uci(name: str) -> tuple[Array, Array]:
    """Return the rows of a UCI set, and labels of -1 and 1."""
    path = DATA / "uci" / f"{name}.csv.gz"
    if not path.exists():
        raise SystemExit(f"This benchmark reads {path}, which is not there.")
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    labels = table[:, -1]
    return table[:, :-1], np.where(labels == labels.max(), 1.0, -1.0)


def split(X: Array, y: Array, n: int, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """Return n random rows, standardised, and the rest in the same units: X, y, X_rest, y_rest."""
    order = np.random.default_rng(seed).permutation(len(y))
    chosen, rest = order[:n], order[n:]
    mean, spread = X[chosen].mean(axis=0), X[chosen].std(axis=0)
    spread[spread == 0] = 1.0
    return (X[chosen] - mean) / spread, y[chosen], (X[rest] - mean) / spread, y[rest]


def many_kernels(d: int) -> list[kw.kernels.Kernel]:
    """Return 10 Gaussians and 3 polynomials on each of d columns, then on all."""
    one = [kw.RBF(width=2 * sigma**2) for sigma in SIGMAS] + [kw.Polynomial(degree) for degree in DEGREES]
    return kw.per_feature(one, d) + one


@dataclass(frozen=True)
class Score:
    """Objectives of a point in the common problem, recomputed in double precision, and the kernels it uses."""

    primal: float
    dual: float
    used: int

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return (self.primal - self.dual) / abs(self.primal)


Energies = Callable[[Array, Array], tuple[Array, Array]]
"""From alpha and beta: all alpha'K_k alpha (m,), and the outputs sum_k beta_k K_k alpha (n,)."""


def score(energies: Energies, y: Array, C: float, alpha: Array, beta: Array, proof: Array | None = None) -> Score:
    """Return the primal objective of (alpha, beta) at its best intercept, and the dual objective of `proof`.

    Without `proof` alpha itself must prove the bound.
    """
    q, outputs = energies(alpha, beta)
    primal = 0.5 * float(beta @ q) + C * hinge(outputs, y)
    if proof is not None:
        alpha, q = proof, energies(proof, beta)[0]
    return Score(primal, float(y @ alpha - 0.5 * q.max()), int((beta > 1e-6).sum()))


def hinge(outputs: Array, y: Array) -> float:
    """Return the sum of hinge losses at the best intercept, which is where some row has a margin of one."""
    intercepts = np.sort(y - outputs)
    low, high = 0, len(y) - 1
    while low < high:
        middle = (low + high) // 2
        right = _hinge_at(outputs, y, intercepts[middle]) <= _hinge_at(outputs, y, intercepts[middle + 1])
        low, high = (low, middle) if right else (middle + 1, high)
    return _hinge_at(outputs, y, intercepts[low])


def _hinge_at(outputs: Array, y: Array, b: float) -> float:
    return float(np.maximum(0.0, 1.0 - y * (outputs + b)).sum())


def from_stack(grams: Array) -> Energies:
    """Return energies from Gram matrices in memory, (m, n, n)."""

    def energies(alpha: Array, beta: Array) -> tuple[Array, Array]:
        each = (grams.reshape(-1, len(alpha)) @ alpha).reshape(len(grams), -1)
        return each @ alpha, beta @ each

    return energies


def score_model(energies: Energies, y: Array, model: Any) -> Score:
    """Score a fitted MKLClassifier from its coefficients and its certificate."""
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0]
    return score(energies, y, model.C, alpha, model.kernel_weights_, model.certificate_.alpha[0])


def fit_quietly(model: Any, X: Array, y: Array) -> Any:
    """Fit without warnings: gaps and like kernels are what the tables are about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def time_cap(seconds: float) -> Callable[[Any], bool]:
    """Return a callback that stops a fit after so many seconds (at the end of an iteration)."""
    end = time.perf_counter() + seconds
    return lambda progress: time.perf_counter() > end
