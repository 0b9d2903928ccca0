"""The rates of Algorithm 2 of Xu et al. (2010), measured beside Theorem 4 and Corollary 5.

    python benchmarks/repro_smooth_rates.py             # ionosphere, 70 rows, one kernel for each column and width
    python benchmarks/repro_smooth_rates.py --quick     # few steps, to look at

No intercept, hinge loss, C = 1, kernels of trace n.  Functions are those that are minimised: f is the negative dual of
MKL, f_lambda its smoothed form.

theorem 4    f_lambda(beta^k) - min f_lambda for k = 0 ... N, lambda by the rule for N = 200, against
             2 L |alpha* - alpha^0|^2 / ((k + 1)(k + 2)): with the L of Corollary 3, and with L measured, where the
             bound takes the largest L so far.  alpha^0 = 0 here, since the SVM of equal weights is near the optimum.
             FISTA, the schedule "adaptive", from the same point: a point for every step it has kept.
corollary 5  f(beta^N) - min f, N = 10 ... 320, each with its own lambda, against 2 a D^2 / (N + 1)^2 +
             2 D^2 sqrt(b ln m) / (N + 1), as corrected.  Exponents are slopes of logarithms over the steps.

min f comes from the level method to a gap of 1e-7, min f_lambda from the best point of 5 times as many steps.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import kernelweave as kw
from common import Row, conditions, show, write_csv, write_picture
from kernelweave.engines import Serial
from kernelweave.estimators.normalize import normalized
from kernelweave.losses import make_loss
from kernelweave.operators import Task
from kernelweave.operators import choose as bound
from kernelweave.penalties import LpBall
from kernelweave.plots.style import BLUE, GREY, figure, quiet
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.mkl import MKL_SOLVERS
from kernelweave.solvers.mkl.gradient.smooth.adaptive import FastGradient
from kernelweave.solvers.mkl.gradient.smooth.objective import SmoothedDual
from kernelweave.solvers.mkl.gradient.smooth.paper import Constants, NesterovSteps
from kernelweave.solvers.mkl.problem import MKLProblem
from mkl_common import DATA

ROWS, STEPS, LONGER = 70, 200, 5
LENGTHS = (10, 20, 40, 80, 160, 320)
WIDTHS = (0.5, 8.0)
RED, GREEN, ORANGE = "#D55E00", "#009E73", "#E69F00"
SMALLEST = 1e-12


def posed() -> MKLProblem:
    """Return the problem."""
    table = np.genfromtxt(DATA / "uci" / "ionosphere.csv.gz", delimiter=",", skip_header=1)
    rows = np.random.default_rng(0).permutation(len(table))[:ROWS]
    X, y = table[rows, :-1], table[rows, -1]
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    kernels = [
        normalized(kernel.fitted(X), X, "trace", Serial())
        for kernel in kw.per_feature([*kw.RBF.grid(WIDTHS), kw.Linear()], X.shape[1])
    ]
    operators, _ = bound(Task(kernels, X, Serial(), tol=1e-9, need="parts"))
    return MKLProblem(operators, make_loss("hinge"), y[None, :], np.ones(ROWS), LpBall(1.0), "none")


def parts(problem: MKLProblem, lam: float | None, steps: int) -> tuple[SmoothedDual, Constants]:
    """Return the smoothed dual and its constants; lambda by the rule for so many steps unless it is given."""
    box = problem.loss.box(problem.targets[0], problem.cost)
    assert box is not None
    constants = Constants.of(problem, box)
    return SmoothedDual(problem, box, lam or constants.smoothing(steps)), constants


def theorem_4(problem: MKLProblem, steps: int) -> list[Row]:
    """Return one line for each step and way."""
    objective, constants = parts(problem, None, steps)
    zero = np.zeros((1, ROWS))
    long = NesterovSteps(objective, zero, constants, LONGER * steps)
    for _ in range(LONGER * steps):
        long.step()
    best, distance = long.value, float((long.v**2).sum())
    lines: list[Row] = []
    for name, measured in (("L of Corollary 3", False), ("L measured", True)):
        way = NesterovSteps(objective, zero, constants, steps, measured)
        for k in range(steps + 1):
            way.step()
            limit = 2.0 * way.lipschitz * distance / ((k + 1) * (k + 2))
            lines.append({"way": name, "k": k, "error": way.value - best, "bound": limit, "L": way.lipschitz})
    fast = FastGradient(objective, zero)
    for k in range(steps + 1):
        fast.step()
        lines.append({"way": "FISTA", "k": k, "error": fast.value - best, "bound": "-", "L": fast.lipschitz})
    return lines


def corollary_5(problem: MKLProblem, lengths: tuple[int, ...]) -> list[Row]:
    """Return one line for each N and way."""
    exact = run(MKL_SOLVERS["level"].make(), problem, Stop(1e-7, 2000))
    assert exact.dual is not None
    best, lines = -float(exact.dual.value), []
    for N in lengths:
        objective, constants = parts(problem, None, N)
        a, b, D2 = constants.a, constants.b, constants.diameter2
        limit = 2.0 * a * D2 / (N + 1) ** 2 + 2.0 * D2 * float(np.sqrt(b * np.log(constants.m))) / (N + 1)
        for name, measured in (("L of Corollary 3", False), ("L measured", True)):
            way = NesterovSteps(objective, np.zeros((1, ROWS)), constants, N, measured)
            for _ in range(N + 1):
                way.step()
            alpha = way.v.sum(axis=0)
            value = -problem.linear(alpha[None, :]) + 0.5 * float(problem.operators.energies(alpha).max())
            theta = objective.theta(alpha)
            lines.append({
                "way": name, "N": N, "lambda": objective.lam, "error": value - best, "bound": limit, "L": way.lipschitz,
                "kernels": constants.m, "effective": float(np.exp(-(theta * np.log(theta)).sum())), "optimum": best,
            })  # fmt: skip
    return lines


def slope(x: list[float], y: list[float]) -> float:
    """Return the exponent of y in x."""
    return float(np.polyfit(np.log(x), np.log(np.maximum(y, SMALLEST)), 1)[0])


def draw(first: list[Row], second: list[Row]) -> Any:
    """Return a figure: the two rates."""
    fig, axes = figure(1, 2, (9.6, 3.8))
    for name, colour in (("L of Corollary 3", RED), ("L measured", BLUE), ("FISTA", GREEN)):
        some = [line for line in first if line["way"] == name]
        k = [line["k"] + 1 for line in some]
        axes[0].loglog(k, [max(line["error"], SMALLEST) for line in some], color=colour, label=name)
        if name != "FISTA":
            axes[0].loglog(k, [line["bound"] for line in some], "--", color=colour, linewidth=1.0)
    for name, colour in (("L of Corollary 3", RED), ("L measured", BLUE)):
        some = [line for line in second if line["way"] == name]
        N = [line["N"] for line in some]
        error = [line["error"] for line in some]
        axes[1].loglog(N, error, "o-", color=colour, markersize=4, label=f"{name}: $N^{{{slope(N, error):.2f}}}$")
    limit = [line["bound"] for line in some]
    axes[1].loglog(N, limit, "--", color=GREY, label=f"Corollary 5: $N^{{{slope(N, limit):.2f}}}$")
    axes[0].set_ylim(1e-10, None)
    for ax, x, y in zip(axes, ("k + 1", "N"), (r"$f_\lambda(\beta^k) - \min f_\lambda$", r"$f(\beta^N) - \min f$")):
        ax.set_xlabel(x)
        ax.set_ylabel(y)
        ax.legend(frameon=False, fontsize=8)
        quiet(ax)
    axes[0].set_title("Theorem 4 (dashed: the bound)", loc="left", fontsize=10)
    axes[1].set_title("Corollary 5", loc="left", fontsize=10)
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    end, steps, lengths = ("_quick", 50, LENGTHS[:3]) if options.quick else ("", options.steps, LENGTHS)
    print(conditions())
    problem = posed()
    with threadpool_limits(1):
        first, second = theorem_4(problem, steps), corollary_5(problem, lengths)
    print(show([line for line in first if line["k"] in (0, 9, 99, steps)]))
    print(show(second))
    print(write_csv(f"repro_smooth_rates_theorem4{end}", first))
    print(write_csv(f"repro_smooth_rates_corollary5{end}", second))
    print(write_picture(f"repro_smooth_rates{end}", draw(first, second)))


if __name__ == "__main__":
    main()
