"""Two stars, one inside the other (Sonnenburg et al. 2006, section 4.1.1 and figure 2).

    python benchmarks/repro_stars.py

The radius of the inner star is 4, that of the outer one grows from 4.1 to 9.9; 2,000 training and 2,000 test rows,
noise 0.3; five Gaussians exp(-|x - y|^2 / width), C = 0.5, as in the paper.  It says: as long as the stars are close,
the narrowest kernel has the weight; with the distance wider ones take over; the widest is never chosen.
Prints the weights and the test error for each distance.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import kernelweave as kw
from common import Row, conditions, show, timed, write_csv, write_picture
from kernelweave.plots import WeightPathDisplay
from kernelweave.plots.style import BLUE, figure, quiet

INNER = 4.0
WIDTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
ORANGE = "#E69F00"


def fit(radius: float, options: argparse.Namespace) -> tuple[kw.MKLClassifier, Row]:
    """Train on stars of this outer radius; return the model and its line of the table."""
    distance = radius - INNER
    X, y = kw.datasets.make_stars(options.rows, distance, radius=INNER, random_state=options.seed)
    X_test, y_test = kw.datasets.make_stars(options.rows, distance, radius=INNER, random_state=options.seed + 1)
    run = timed(lambda: kw.MKLClassifier(kw.RBF.grid(WIDTHS), C=options.C, n_jobs=1).fit(X, y))
    weights = dict(zip((f"width {w:g}" for w in WIDTHS), run.result.kernel_weights_.round(4).tolist()))
    measured = {"test_error": round(1 - run.result.score(X_test, y_test), 4), "gap": run.result.duality_gap_}
    return run.result, {"outer_radius": round(radius, 2), **weights, **measured, "seconds": round(run.wall, 2)}


def typical_width(model: kw.MKLClassifier) -> float:
    """Return the weighted geometric mean of the widths."""
    return float(np.exp(model.kernel_weights_ @ np.log(WIDTHS) / model.kernel_weights_.sum()))


def draw(models: list[kw.MKLClassifier], rows: list[Row], options: argparse.Namespace) -> Any:
    """Return a figure: three of the data sets, the test error, and the weights below."""
    fig, axes = figure(3, 3, (8.4, 7.6))
    grid = axes[0, 0].get_gridspec()
    grid.set_height_ratios([2.2, 1.0, 2.2])
    for radius, ax in zip((rows[1]["outer_radius"], rows[len(rows) // 2]["outer_radius"], 9.9), axes[0]):
        X, y = kw.datasets.make_stars(options.rows, radius - INNER, radius=INNER, random_state=options.seed)
        for label, hue in ((1, BLUE), (-1, ORANGE)):
            ax.plot(*X[y == label].T, ".", color=hue, markersize=2)
        ax.set_title(f"outer radius {radius:g}", fontsize=10)
        ax.set(xlim=(-11, 11), ylim=(-11, 11), aspect="equal")
        quiet(ax)
    for ax in axes[1:].ravel():
        ax.remove()
    below = fig.add_subplot(grid[2, :])
    above = fig.add_subplot(grid[1, :], sharex=below)
    WeightPathDisplay.from_estimators(
        models,
        [row["outer_radius"] for row in rows],
        parameter="radius of the outer star (inner star: 4)",
        names=[f"width {w:g}" for w in WIDTHS],
        scores={"test error": [row["test_error"] for row in rows]},
    ).plot([above, below])
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=21, help="outer radii between 4.1 and 9.9")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--C", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(conditions("scikit-learn"), flush=True)
    made = [fit(radius, options) for radius in np.linspace(4.1, 9.9, options.steps)]
    models, rows = [model for model, _ in made], [row for _, row in made]
    for model, row in made:
        row["typical_width"] = round(typical_width(model), 4)
    print(show(rows))
    widths = [row["typical_width"] for row in rows]
    steps = np.sign(np.diff(np.log(widths)))
    print(f"typical width grows from {widths[0]:g} to {widths[-1]:g}; steps down: {int((steps < 0).sum())}")
    print(f"largest weight of width {WIDTHS[-1]:g}: {max(row[f'width {WIDTHS[-1]:g}'] for row in rows):g}")
    print(write_csv("repro_stars", rows))
    print(write_picture("repro_stars", draw(models, rows, options)))


if __name__ == "__main__":
    main()
