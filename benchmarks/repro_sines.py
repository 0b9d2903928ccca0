"""Sine waves (Sonnenburg et al. 2006, section 4.1.2, figures 3 and 4): support vector regression with many widths.

    python benchmarks/repro_sines.py

Figure 3: one sine of growing frequency, 1,000 rows, five Gaussians, C = 10.  The paper says: the weight goes to the
width that fits the frequency.  Figure 4: sin(a x) + sin(b x) + c x with growing a, ten Gaussians, C = 5.  The paper
says: a large width carries the line, a medium one the slow sine, and a width that shrinks as a grows the fast sine;
most weights are zero.  The paper names neither intervals, noise, epsilon, nor a, b and c: here the noise (0.02) stays
inside the tube (epsilon 0.1), so that nothing is gained by fitting it, and b = c = 1.
Prints the weights and the test error (root mean square) for each frequency.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import kernelweave as kw
from common import Row, conditions, show, timed, write_csv, write_picture
from kernelweave.plots import WeightPathDisplay
from kernelweave.plots.style import BLUE, figure, quiet

NOISE, EPSILON = 0.02, 0.1
ONE_WIDTHS = (0.005, 0.05, 0.5, 1.0, 10.0)
SUM_WIDTHS = (0.001, 0.005, 0.01, 0.05, 0.1, 1.0, 10.0, 50.0, 100.0, 1000.0)
ONE: dict[str, Any] = {"slope": 0.0, "interval": (0.0, 10.0)}
SUM: dict[str, Any] = {"slope": 1.0, "interval": (0.0, 20.0)}
SLOW = 1.0


def fit(frequencies: tuple[float, ...], shape: dict[str, Any], widths: tuple[float, ...], C: float, tol: float,
        rows: int) -> tuple[kw.MKLRegressor, Row]:  # fmt: skip
    """Train on one wave or sum of waves; return the model and its line of the table."""
    X, y = kw.datasets.make_sines(rows, frequencies, noise=NOISE, random_state=0, **shape)
    X_test, y_test = kw.datasets.make_sines(rows, frequencies, noise=NOISE, random_state=1, **shape)
    model = kw.MKLRegressor(kw.RBF.grid(widths), C=C, epsilon=EPSILON, tol=tol, n_jobs=1)
    run = timed(lambda: model.fit(X, y))
    weights = dict(zip((f"width {w:g}" for w in widths), model.kernel_weights_.round(4).tolist()))
    error = float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))
    row = {"frequency": float(f"{frequencies[0]:.3g}"), **weights, "test_rmse": round(error, 4)}
    return model, row | {"gap": model.duality_gap_, "seconds": round(run.wall, 2)}


def draw(models: list[Any], rows: list[Row], widths: tuple[float, ...], wave: Any, parameter: str) -> Any:
    """Return a figure: three of the waves, the test error, and the weights below."""
    fig, axes = figure(3, 3, (8.4, 4.4 + 0.3 * len(widths)))
    grid = axes[0, 0].get_gridspec()
    grid.set_height_ratios([1.1, 1.0, 0.4 + 0.3 * len(widths)])
    for row, ax in zip((rows[0], rows[len(rows) // 2], rows[-1]), axes[0]):
        X, y = wave(row["frequency"])
        order = np.argsort(X[:, 0])
        ax.plot(X[order, 0], y[order], color=BLUE, linewidth=0.7)
        ax.set_title(f"frequency {row['frequency']:g}", fontsize=10)
        quiet(ax)
    for ax in axes[1:].ravel():
        ax.remove()
    below = fig.add_subplot(grid[2, :])
    above = fig.add_subplot(grid[1, :], sharex=below)
    WeightPathDisplay.from_estimators(
        models,
        [row["frequency"] for row in rows],
        parameter=parameter,
        names=[f"width {w:g}" for w in widths],
        scores={"test error (root mean square; the noise is 0.02, the tube 0.1)": [row["test_rmse"] for row in rows]},
    ).plot([above, below])
    return fig


def tell(rows: list[Row], widths: tuple[float, ...]) -> None:
    """Print the table, and the heaviest kernel of each step."""
    print(show(rows))
    heaviest = [max(widths, key=lambda w: row[f"width {w:g}"]) for row in rows]
    print("heaviest width:", ", ".join(f"{w:g}" for w in heaviest), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=13, help="frequencies of each experiment")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--tol", type=float, default=1e-4)
    options = parser.parse_args()
    print(conditions("scikit-learn"), flush=True)

    made = [fit((f,), ONE, ONE_WIDTHS, 10.0, options.tol, options.rows) for f in np.geomspace(0.25, 16, options.steps)]
    models, rows = [model for model, _ in made], [row for _, row in made]
    tell(rows, ONE_WIDTHS)
    print(write_csv("repro_sines_one", rows))
    wave = lambda f: kw.datasets.make_sines(options.rows, (f,), noise=NOISE, random_state=0, **ONE)  # noqa: E731
    print(write_picture("repro_sines_one", draw(models, rows, ONE_WIDTHS, wave, "frequency of the sine")))

    fast = np.geomspace(2, 24, options.steps)
    made = [fit((a, SLOW), SUM, SUM_WIDTHS, 5.0, options.tol, options.rows) for a in fast]
    models, rows = [model for model, _ in made], [row for _, row in made]
    tell(rows, SUM_WIDTHS)
    print(write_csv("repro_sines_sum", rows))
    wave = lambda f: kw.datasets.make_sines(options.rows, (f, SLOW), noise=NOISE, random_state=0, **SUM)  # noqa: E731
    parameter = "frequency a in sin(a x) + sin(x) + x"
    print(write_picture("repro_sines_sum", draw(models, rows, SUM_WIDTHS, wave, parameter)))


if __name__ == "__main__":
    main()
