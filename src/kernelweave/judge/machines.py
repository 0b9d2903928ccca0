"""Certificates of machines with one kernel, and with many kernels of one weight each.

    primal   1/2 sum_k |w_k|^2 / beta_k + sum_i c_i loss(f_i, y_i) + e b (+ b^2 / 2 where the intercept is regularised)
    dual     - sum_i c_i loss*(-alpha_i / c_i, y_i) - 1/2 |q|_{p*} (- (sum alpha)^2 / 2),     q_k = alpha' K_k alpha

over ``sum alpha = e`` where the intercept is free; e = 1 for novelty detection and 0 elsewhere.  Fixed weights replace
``|q|_{p*}`` by ``sum_k beta_k q_k``; smoothing by ``lambda ln (1/m) sum_k exp(q_k / lambda)``, and it adds
``lambda / 2 sum_k beta_k ln (m beta_k)`` to the primal.  Several outputs of one problem share beta; their terms add up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, xlogy

from kernelweave.judge.products import Products
from kernelweave.judge.report import UNITS, Verification, largest_gap, rounding
from kernelweave.losses import Loss

Array = np.ndarray


@dataclass(frozen=True)
class Task:
    """What was to be minimised: targets (outputs, n), costs (n,), loss, norm, and how the intercept is treated."""

    targets: Array
    cost: Array
    loss: Loss
    norm: float
    intercept: str
    total: float


@dataclass(frozen=True)
class Point:
    """What a model claims: dual points (outputs, n), intercepts (outputs,), weights (problems, m), and its classifier.

    The classifier is either `coef` (outputs, n), ``w_k = beta_k sum_i coef_i Phi_k(x_i)``, or the outputs of the rows
    `values` (outputs, n) without intercept and the `squares` (outputs, m) of the norms of w_k.
    """

    alpha: Array
    intercept: Array
    beta: Array
    coef: Array | None = None
    values: Array | None = None
    squares: Array | None = None


def judge(
    task: Task, point: Point, products: Products, certifies: str, smoothing: Array, reported: float
) -> Verification:
    """Recompute both objectives of every problem from the kernels."""
    outputs, problems = len(task.targets), len(point.beta)
    group = np.arange(outputs) // max(1, outputs // problems)
    q, f, energy = energies(point, products, group)
    reach = reaches(point, products, group, energy)
    dual_linear, primal_loss, terms = np.zeros(problems), np.zeros(problems), 0.5 * np.abs(energy)
    outside = 0.0
    for o, problem in enumerate(group):
        a, y, b = point.alpha[o], task.targets[o], point.intercept[o]
        dual_linear[problem] += conjugates(task, a, y)
        primal_loss[problem] += losses(task, f[o] + b, y, b)
        terms[problem] += size(task, f[o] + b, y, a, reach[o])
        outside = max(outside, infeasibility(task, a, y))
    beta, primal, dual = point.beta, 0.5 * energy + primal_loss, np.zeros(problems)
    for i in range(problems):
        support = weighted(q[i], beta[i], task.norm, certifies, float(smoothing[i]))
        dual[i], terms[i] = dual_linear[i] - 0.5 * support, terms[i] + 0.5 * abs(support)
        if certifies == "smoothed":
            primal[i] += 0.5 * float(smoothing[i]) * float(xlogy(beta[i], len(beta[i]) * beta[i]).sum())
        elif certifies == "mkl":
            outside = max(outside, outside_ball(beta[i], task.norm))
    if task.total != 0.0:
        terms += inner_size(task, beta, products)
    gap, allowed = largest_gap(primal, dual), rounding(primal, terms)
    return Verification(statement(certifies, task), primal, dual, gap, reported, outside, allowed)


def energies(point: Point, products: Products, group: Array) -> tuple[Array, Array, Array]:
    """Return q (problems, m), the outputs of the rows without intercept (outputs, n), and sum_k |w_k|^2 / beta_k."""
    problems, m = point.beta.shape
    q, energy = np.zeros((problems, m)), np.zeros(problems)
    f = np.zeros(point.alpha.shape) if point.values is None else point.values
    for k in range(m):
        V = point.alpha if point.coef is None else np.concatenate([point.alpha, point.coef])
        KV = products.of(k, np.ascontiguousarray(V.T)).T
        for o, problem in enumerate(group):
            q[problem, k] += float(np.einsum("i,i->", point.alpha[o], KV[o]))
            if point.coef is not None and point.beta[problem, k] > 0:
                mine = KV[len(point.alpha) + o]
                f[o] += point.beta[problem, k] * mine
                energy[problem] += point.beta[problem, k] * float(np.einsum("i,i->", point.coef[o], mine))
    if point.squares is not None:
        for o, problem in enumerate(group):
            used = point.squares[o] > 0
            energy[problem] += float((point.squares[o, used] / point.beta[problem, used]).sum())
    return q, f, energy


def losses(task: Task, f: Array, y: Array, b: float) -> float:
    """Return the primal objective but for the norms of w."""
    value = float(np.einsum("i,i->", task.cost, task.loss.value(f, y)))
    if task.intercept == "regularized":
        value += 0.5 * b * b
    return value + (task.total * b if task.intercept == "free" else 0.0)


def conjugates(task: Task, alpha: Array, y: Array) -> float:
    """Return the part of the dual objective that no kernel enters."""
    paid = task.cost > 0
    c = task.cost[paid]
    value = -float(np.einsum("i,i->", c, task.loss.conjugate(-alpha[paid] / c, y[paid])))
    return value - (0.5 * float(np.square(alpha.sum())) if task.intercept == "regularized" else 0.0)


def reaches(point: Point, products: Products, group: Array, energy: Array) -> Array:
    """Return how large the terms of each output are before they cancel, (outputs, n): ``sum_j |coef_j| |K_ij|``.

    By Cauchy and Schwarz ``|K_ij| <= sqrt(K_ii K_jj)``, so that the diagonals tell.
    """
    diagonals = np.stack([products.diagonal(k) for k in range(point.beta.shape[1])])
    lengths = np.sqrt(np.maximum(point.beta @ diagonals, 0.0))[group]
    if point.coef is None:
        return lengths * np.sqrt(np.maximum(energy, 0.0))[group][:, None]
    return lengths * np.einsum("oi,oi->o", np.abs(point.coef), lengths)[:, None]


def size(task: Task, f: Array, y: Array, alpha: Array, reach: Array) -> float:
    """Return the size of the terms that one output adds to both objectives, before they cancel.

    An output that is a sum of terms of size `reach` is off by their rounding, and its loss by that times its slope.
    """
    paid = task.cost > 0
    c, f, y, reach = task.cost[paid], f[paid], y[paid], reach[paid]
    own = np.abs(task.loss.conjugate(-alpha[paid] / c, y))
    near = UNITS * float(np.finfo(float).eps) * reach
    steps = np.maximum(*(np.abs(task.loss.derivative(g, y)) for g in (f - near, f + near)))
    return float(c @ (task.loss.value(f, y) + own + steps * reach)) + float(np.abs(alpha[paid]) @ np.abs(f))


def inner_size(task: Task, beta: Array, products: Products) -> Array:
    """Return the size of what cancels inside of the outputs of a novelty detector, (problems,).

    Where the rows surround the origin, its optimum is zero, and what is left of outputs and objective is rounding.
    """
    largest = np.array([float(np.max(kernel.diag(products.X), initial=0.0)) for kernel in products.kernels])
    return (beta @ largest) * abs(task.total) * (1.0 + float(task.cost.sum()))


def infeasibility(task: Task, alpha: Array, y: Array) -> float:
    """Return how far alpha lies outside box and plane, relative to the size of either."""
    paid = task.cost > 0
    low, high = task.loss.domain(y[paid])
    u = -alpha[paid] / task.cost[paid]
    outside = float(np.max(np.maximum(np.maximum(low - u, u - high), 0.0), initial=0.0))
    outside = max(outside, float(np.abs(alpha[~paid]).max(initial=0.0)))
    if task.intercept == "free":
        size = float(np.abs(alpha).sum()) + abs(task.total)
        outside = max(outside, abs(float(alpha.sum()) - task.total) / size if size > 0 else 0.0)
    return outside


def weighted(q: Array, beta: Array, norm: float, certifies: str, smoothing: float) -> float:
    """Return what the energies q cost in the dual of the problem that was certified."""
    if certifies not in ("svm", "mkl", "smoothed", "fixed weights"):
        raise ValueError(f"The judge does not know the problem {certifies!r}; it knows those of 'mkl' solvers.")
    if certifies == "smoothed":
        return smoothing * (float(logsumexp(q / smoothing)) - np.log(len(q)))
    if certifies != "mkl":
        return float(beta @ q)
    q = np.maximum(q, 0.0)
    if norm == 1.0 or not q.any():
        return float(q.max(initial=0.0))
    if np.isinf(norm):
        return float(q.sum())
    power, top = norm / (norm - 1.0), q.max()
    return float(top * ((q / top) ** power).sum() ** (1.0 / power))


def outside_ball(beta: Array, norm: float) -> float:
    """Return how far kernel weights lie outside ``beta >= 0, |beta|_p <= 1``."""
    size = (
        float(beta.max(initial=0.0)) if np.isinf(norm) else float((np.maximum(beta, 0.0) ** norm).sum() ** (1 / norm))
    )
    return max(0.0, float(-beta.min(initial=0.0)), size - 1.0)


def statement(certifies: str, task: Task) -> str:
    """Say in words what was minimised."""
    intercept = {"free": "a free intercept", "regularized": "a regularised intercept", "none": "no intercept"}
    what = {
        "svm": "one kernel",
        "mkl": f"kernel weights of {task.norm:g}-norm at most 1",
        "smoothed": "entropy-smoothed kernel weights",
        "fixed weights": "fixed kernel weights",
    }.get(certifies, certifies)
    return f"{task.loss!r}, {what}, {intercept[task.intercept]}"
