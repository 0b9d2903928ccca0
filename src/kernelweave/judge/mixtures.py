"""Certificates of mixtures: coefficients of kernel columns, with the columns of all training rows in the dual.

    min   R(a) + sum_i c_i loss_i(f_i),   f = sum_j a_j K_j + b,      R(a) = sum |a_j|  or  1/2 sum a_j^2 / s_j

Prices u prove a bound through the scores ``K_j' u`` of *all* columns, whether or not the fit has ever made them: for
the 1-norm ``L(u) / max(1, max_j |score_j|)``, for the 2-norm ``max over t in [0, 1] of t L(u) - t^2 / 2 sum score^2``.
With a nu-form ``L = 0``, the prices add up to ``E = nu sum c``, and the bound is ``-max_j |score_j|`` or half the sum
of squares; see `kernelweave.solvers.boost.problem` for the derivation, of which this is an independent computation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.judge.products import Products
from kernelweave.judge.report import SMALLEST, Verification, largest_gap, rounding

Array = np.ndarray
NU_FORMS = ("one_class", "nu_classification")


class Mixture:
    """One problem of a boosted model: y (n,), costs c (n,), and what its parameters say."""

    def __init__(self, kind: str, y: Array, cost: Array, scale: Array, model: Any, intercept: str):
        self.kind, self.intercept, self.penalty, self.positive = kind, intercept, model.penalty, bool(model.positive)
        self.y = np.ones(len(y)) if kind == "one_class" else y
        self.c = cost / (model.nu * cost.sum()) if kind == "one_class" else cost
        self.scale, self.epsilon, self.nu = scale, float(getattr(model, "epsilon", 0.0)), float(model.nu)
        self.intercept = "none" if kind == "one_class" else intercept
        self.E = self.nu * float(self.c.sum())

    def primal(self, coef: Array, f: Array, b: float) -> float:
        """Return the objective of coefficients (m, n), their outputs f without intercept, and the intercept."""
        own = b if self.intercept == "regularized" else 0.0
        R = float(np.abs(coef).sum()) + abs(own)
        if self.penalty == "l2":
            R = 0.5 * (float((coef**2 / self.scale**2).sum()) + own * own)
        if self.kind == "one_class":
            value = float(self.c @ np.maximum(0.0, -(f + b))) + self.E * b
        elif self.kind == "nu_classification":
            value = _best_level(self.y * (f + b), self.c, self.E)
        elif self.kind == "nu_regression":
            value = _best_tube(np.abs(f + b - self.y), self.c, self.E)
        elif self.kind == "epsilon_insensitive":
            value = float(self.c @ np.maximum(0.0, np.abs(f + b - self.y) - self.epsilon))
        else:
            value = float(self.c @ np.maximum(0.0, 1.0 - self.y * (f + b)))
        if self.kind in NU_FORMS and self.penalty == "l1":
            return value / max(1.0, R)
        return value + R

    def dual(self, u: Array, scores: Array) -> float:
        """Return the bound that prices u (n,) prove, given the scores (m, n) of all columns."""
        scores = scores * self.scale if self.penalty == "l2" else scores
        scores = np.maximum(scores, 0.0).ravel() if self.positive else scores.ravel()
        if self.intercept == "regularized":
            scores = np.append(scores, u.sum())
        most, squares = float(np.abs(scores).max(initial=0.0)), float(scores @ scores)
        if self.kind in NU_FORMS:
            return -most if self.penalty == "l1" else -0.5 * squares
        L = float(self.y @ u) - (self.epsilon * float(np.abs(u).sum()) if self.kind == "epsilon_insensitive" else 0.0)
        if L <= 0.0:
            return 0.0
        if self.penalty == "l1":
            return L / max(1.0, most)
        t = min(1.0, L / squares) if squares > 0.0 else 1.0
        return t * L - 0.5 * t * t * squares

    def infeasibility(self, u: Array) -> float:
        """Return how far prices lie outside their constraints, relative to the largest cost."""
        size = max(float(self.c.max(initial=0.0)), SMALLEST)
        signed = np.abs(u) if "regression" in self.kind or self.kind == "epsilon_insensitive" else self.y * u
        outside = max(0.0, float((signed - self.c).max(initial=0.0)), float(-signed.min(initial=0.0))) / size
        total, budget = float(np.abs(u).sum()), max(self.E, SMALLEST)
        if self.intercept == "free":
            outside = max(outside, abs(float(u.sum())) / max(total, SMALLEST))
        if self.kind in NU_FORMS:
            outside = max(outside, abs(total - self.E) / budget)
        return max(outside, (total - self.E) / budget) if self.kind == "nu_regression" else outside


def judge(
    problems: list[Mixture], u: Array, coef: Array, b: Array, products: Products, reported: float
) -> Verification:
    """Recompute both objectives of each output; u (outputs, n), coef (outputs, m, n), b (outputs,)."""
    outputs, m, n = coef.shape
    f, scores = np.zeros((outputs, n)), np.zeros((outputs, m, n))
    for k in range(m):
        found = products.of(k, np.ascontiguousarray(np.concatenate([u, coef[:, k]]).T)).T
        scores[:, k], f = found[:outputs], f + found[outputs:]
    primal = np.array([one.primal(a, g, c) for one, a, g, c in zip(problems, coef, f, b)])
    dual = np.array([one.dual(v, s) for one, v, s in zip(problems, u, scores)])
    outside = max(one.infeasibility(v) for one, v in zip(problems, u))
    first = problems[0]
    floor = 1e-9 * first.E if first.kind in NU_FORMS and first.penalty == "l1" else SMALLEST * float(first.c.sum())
    text = f"{first.kind}, mixture of {m} kernels with the {first.penalty[1:]}-norm, all {m * n} columns"
    terms = np.array([float(np.abs(v) @ (1.0 + np.abs(g)) + np.abs(a).sum()) for v, g, a in zip(u, f, coef)])
    allowed = rounding(primal, terms, floor)
    gap = largest_gap(primal, dual, floor)
    return Verification(text, primal, dual, gap, reported, outside, allowed, floor=floor)


def _best_level(margins: Array, c: Array, E: float) -> float:
    """Return ``min over rho >= 0 of sum c max(0, rho - margin) - E rho``: the minimum lies at a margin or at 0."""
    levels = np.append(np.maximum(margins, 0.0), 0.0)
    return min(float(c @ np.maximum(0.0, rho - margins)) - E * rho for rho in np.unique(levels))


def _best_tube(errors: Array, c: Array, E: float) -> float:
    """Return ``min over e >= 0 of sum c max(0, error - e) + E e``."""
    return min(float(c @ np.maximum(0.0, errors - e)) + E * e for e in np.unique(np.append(errors, 0.0)))
