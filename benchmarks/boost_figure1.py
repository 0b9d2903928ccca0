"""Figure 1 of Bi, Zhang and Bennett (2004): a plane with bumps from 50 points, by four models.

    python benchmarks/boost_figure1.py             # 20 draws; the picture shows the first
    python benchmarks/boost_figure1.py --quick     # 3 draws

Rows: `kw.datasets.make_linear_plus_rbf`, a tilted plane with two bumps and two dents of width 0.3, noise 0.05 (the
paper's plane has four bumps).  Models: linear kernel, Gaussian of the bumps' width, their sum (composite), and both as
a mixture; 1-norm (`--penalty l2` for the other), epsilon = 0.05, fits to TR2.  C is chosen on 200 further points
without noise, for each model and draw.  Errors are root mean squares on a grid of 41 x 41 points without noise.

The paper prints no figures here, only that the mixture comes closest with the fewest columns: "paper" holds its words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import kernelweave as kw
from boost_common import (
    Row,
    arguments,
    file_name,
    mean_rows,
    one_thread,
    quietly,
    shorter,
    tell,
    time_cap,
    unit,
    verdict,
)
from common import Timing, conditions, show, timed, write_csv, write_picture
from kernelweave.kernels import Kernel
from kernelweave.plots.style import GREY, figure, quiet

POINTS, JUDGES, SIDE = 50, 200, 41
WIDTH, NOISE, EPSILON = 0.3, 0.05, 0.05
COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)
PAPER = {
    "linear": "cannot adapt to the bumps",
    "rbf": "cannot learn the plane well",
    "composite": "better; expensive to train and test",
    "mixture": "better; sparser than the composite",
}
Array = np.ndarray


def models(X: Array) -> dict[str, list[Kernel]]:
    """Return the kernels of the four models."""
    linear, rbf = unit(kw.Linear(), X), kw.RBF(width=WIDTH)
    return {"linear": [linear], "rbf": [rbf], "composite": [kw.Sum([linear, rbf])], "mixture": [linear, rbf]}


def grid() -> tuple[Array, Array]:
    """Return the points of the grid and their targets without noise."""
    axis = np.linspace(-2, 2, SIDE)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    return points, target(points)


def target(points: Array) -> Array:
    """Return the targets without noise of given points: those of the generator, from which the points are not drawn."""
    from kernelweave.data.generators.toys import BUMP_CENTRES, BUMP_HEIGHTS, LINE

    squared = ((points[:, None, :] - BUMP_CENTRES) ** 2).sum(axis=2)
    return points @ LINE + np.exp(-squared / WIDTH) @ BUMP_HEIGHTS


def rms(model: Any, X: Array, y: Array) -> float:
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


def learn(kernels: list[Kernel], X: Array, y: Array, penalty: str, judges: tuple[Array, Array], limit: float) -> Timing:
    """Return the fit with the best C."""

    def fit(C: float) -> Timing:
        model = kw.CGBoostRegressor(
            kernels, C=C, epsilon=EPSILON, penalty=penalty, tol=1e-6, n_jobs=1, normalize=None,
            callbacks=(time_cap(limit),),
        )  # fmt: skip
        return timed(lambda: quietly(model, X, y))

    return min((fit(C) for C in COSTS), key=lambda run: rms(run.result, *judges))


def draws(options: Any) -> tuple[list[Row], dict[str, Any], tuple[Array, Array]]:
    """Return a line for each draw and model, and models and points of the first draw."""
    points, values = grid()
    lines, first, shown = [], {}, (points, values)
    for seed in range(options.draws):
        X, y = kw.datasets.make_linear_plus_rbf(POINTS, width=WIDTH, noise=NOISE, random_state=seed)
        judges = kw.datasets.make_linear_plus_rbf(JUDGES, width=WIDTH, noise=0.0, random_state=10_000 + seed)
        for name, kernels in models(X).items():
            run = learn(kernels, X, y, options.penalty, judges, options.limit)
            test = timed(lambda model=run.result: rms(model, points, values))
            counts = run.result.n_columns_per_kernel_
            both = {"columns_linear": 0 if name == "rbf" else int(counts[0]), "columns_rbf": int(counts[-1])}
            both |= {"columns_rbf": 0} if name == "linear" else {}
            lines.append(
                {"seed": seed, "model": name, "C": run.result.C, "train_rms": rms(run.result, X, y),
                 "test_rms": test.result, "seconds": run.wall, "cpu": run.cpu, "test_seconds": test.wall, **both,
                 "gap": float(run.result.duality_gap_)}
            )  # fmt: skip
            if seed == 0:
                first[name], shown = run.result, (X, y)
    return lines, first, shown


def draw(first: dict[str, Any], shown: tuple[Array, Array], lines: list[Row]) -> Any:
    """Return a figure: the target and four surfaces, with training points and the centres of Gaussian columns."""
    points, values = grid()
    fig, axes = figure(1, 5, (15.0, 3.2))
    surfaces = {"target": values} | {name: model.predict(points) for name, model in first.items()}
    low, high = float(values.min()), float(values.max())
    for ax, (name, surface) in zip(axes, surfaces.items()):
        levels = np.linspace(low, high, 25)
        image = ax.contourf(*np.linspace([-2, -2], [2, 2], SIDE).T, surface.reshape(SIDE, SIDE), levels, extend="both")
        ax.plot(*shown[0].T, ".", color="white", markersize=4)
        title = f"target, {POINTS} points"
        if name != "target":
            model, line = first[name], next(line for line in lines if line["model"] == name and line["seed"] == 0)
            if name != "linear":
                mine = model.columns_[model.columns_["kernel"] == len(model.kernels_) - 1]
                ax.plot(*shown[0][mine["example"]].T, "o", markerfacecolor="none", color="white", markersize=7)
            title = f"{name}: rms {line['test_rms']:.3f}\n{line['columns_linear']} L, {line['columns_rbf']} R columns"
        ax.set_title(title, loc="left", fontsize=10)
        ax.set_aspect("equal")
        quiet(ax)
    fig.colorbar(image, ax=axes[-1], shrink=0.8, ticks=range(-3, 4))
    fig.supxlabel("circles: rows with a column of the Gaussian (or of the sum)", fontsize=9, color=GREY)
    return fig


def main() -> None:
    parser = arguments(__doc__, limit=60.0)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--penalty", choices=("l1", "l2"), default="l1")
    options = parser.parse_args()
    options.draws = 3 if options.quick else options.draws
    print(conditions())
    with one_thread():
        X, y = kw.datasets.make_linear_plus_rbf(POINTS, random_state=99)
        for kernels in models(X).values():
            learn(kernels, X, y, options.penalty, (X, y), 60.0)
        lines, first, shown = draws(options)
    means = mean_rows(lines, ["model"], skip=["seed", "C", "gap"])
    print(show([line | {"paper": PAPER[line["model"]]} for line in shorter(means)]))
    name = file_name("boost_figure1" + ("" if options.penalty == "l1" else "_l2"), options)
    print(write_csv(name, lines))
    print(write_picture(name, draw(first, shown, lines)))
    by = {line["model"]: line for line in means}
    mixed, composite = by["mixture"], by["composite"]
    closest = mixed["test_rms"] <= min(line["test_rms"] for line in means)
    fewer = mixed["columns_rbf"] < composite["columns_rbf"]
    texts = (
        f"the mixture is closest: rms {mixed['test_rms']:.3f}, composite {composite['test_rms']:.3f}",
        f"{mixed['columns_rbf']:.1f} Gaussians against {composite['columns_rbf']:.1f} of the composite",
    )
    tell([verdict(good, text) for good, text in zip((closest, fewer), texts)], options)


if __name__ == "__main__":
    main()
