"""Which kernel carries the mixtures of tables 3 and 4 of Bi, Zhang and Bennett (2004)?  Kernels scaled and as printed.

    python benchmarks/boost_printed.py             # both sets, both norms, two splits
    python benchmarks/boost_printed.py --quick     # 200 rows, one split, few values of C

The mixture L,Q,R of 1,000 rows, ended by 2,000 validation rows (TR3), with two sets of kernels,

    scaled     L  <x, z> / columns     Q  (<x, z> / columns + 1)^2     R  exp(-|x - z|^2 / width)
    printed    L  <x, z>               Q  (<x, z> + 1)^2               R  the same

and two strategies: that of the library ("auto") and Algorithm 5.1 as printed ("paper", one column a round).  None is
normalised, so that a large kernel has cheap columns: it takes small coefficients, and the penalty is about those.  C is
chosen from a grid by the validation error.  "share" is the standard deviation of what the columns of a kernel add to
the outputs of the test rows, over the sum of the three: the kernel with the largest share carries the mixture.
A fit that hits the limit has "interrupted" as its end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import kernelweave as kw
from boost_common import (
    COLOURS,
    L_Q_R,
    Array,
    Row,
    Split,
    arguments,
    dense,
    ending,
    error,
    file_name,
    library,
    mean_rows,
    mean_squared_distance,
    mixture,
    one_thread,
    per_letter,
    quietly,
    shorter,
    split,
)
from boost_tables34 import PAPER
from common import conditions, show, timed, write_csv, write_picture
from kernelweave.engines import Serial
from kernelweave.kernels import Kernel
from kernelweave.plots.style import figure, quiet

COSTS = {
    ("scaled", "l1"): (1.0, 10.0), ("scaled", "l2"): (1.0, 100.0),
    ("printed", "l1"): (1e-3, 1e-1, 10.0), ("printed", "l2"): (1e-6, 1e-3, 1.0),
}  # fmt: skip
STRATEGIES, FORMS = ("auto", "paper"), ("scaled", "printed")
MIXED = "L,Q,R"
PATIENCE = 50
"""Rounds of one column without a better validation error that end fits by the strategy "paper"."""


def kernels(form: str, X: Array) -> list[Kernel]:
    """Return the three kernels."""
    if form == "scaled":
        return library(MIXED, X)
    return [kw.Linear(), kw.Polynomial(2, gamma=1.0), kw.RBF(width=mean_squared_distance(X))]


def shares(model: Any, X: Array) -> dict[str, float]:
    """Return what each kernel adds to the outputs, as a share of the three."""
    parts = np.stack([np.ravel(part) for part in model.expansion_.contributions(X, Serial())])
    spread = parts.std(axis=1)
    return {f"share_{letter}": float(value) for letter, value in zip(L_Q_R, spread / max(spread.sum(), 1e-300))}


def measure(data: str, part: Split, seed: int, form: str, penalty: str, strategy: str, options: Any) -> Row:
    """Return one line: the fit with the C of the fewest validation errors."""

    def fit(C: float) -> Any:
        more = {"patience": PATIENCE} if strategy == "paper" else {}
        model = mixture(kernels(form, part.X), C, penalty, "TR3", options.limit, strategy=strategy, **more)
        return timed(lambda: quietly(model, part.X, part.y, validation=(part.X_val, part.y_val)))

    runs = [fit(C) for C in COSTS[form, penalty]]
    run = min(runs, key=lambda one: error(one.result, part.X_val, part.y_val))
    model, paper = run.result, PAPER[data][penalty][MIXED]
    return {
        "data": data, "kernels": form, "penalty": penalty, "strategy": strategy, "seed": seed, "C": model.C,
        "R_train": error(model, part.X, part.y), "R_test": error(model, part.X_test, part.y_test),
        **per_letter(MIXED, model), **shares(model, part.X_test), **ending(model), "cpu": run.cpu,
        "paper R_test": paper[1], "paper columns": " ".join(str(count) for count in paper[4:]),
    }  # fmt: skip


def means(lines: list[Row]) -> list[Row]:
    """Return one line for each way: means over the splits, beside the paper's columns and error."""
    keys = ("data", "penalty", "kernels", "strategy")
    found = []
    for row in mean_rows(lines, keys):
        cells: Row = {key: row[key] for key in keys}
        cells |= {letter: f"{row[f'columns_{letter}']:.0f}" for letter in L_Q_R}
        cells |= {f"share {letter}": f"{row[f'share_{letter}']:.2f}" for letter in L_Q_R}
        theirs = {"paper": row["paper columns"], "paper error": row["paper R_test"]}
        found.append({**cells, "error": f"{row['R_test']:.1f}", **theirs})
    return found


def draw(lines: list[Row]) -> Any:
    """Return a figure: shares of the three kernels, a bar for each way of fitting."""
    sets = list(dict.fromkeys(line["data"] for line in lines))
    fig, axes = figure(1, len(sets), (5.6 * len(sets), 3.6))
    for ax, data in zip(np.atleast_1d(axes), sets):
        ways = list(dict.fromkeys((r["kernels"], r["penalty"], r["strategy"]) for r in lines if r["data"] == data))
        left = np.zeros(len(ways))
        for letter, colour in zip(L_Q_R, COLOURS):
            values = np.array([
                np.mean([r[f"share_{letter}"] for r in lines if r["data"] == data
                         and (r["kernels"], r["penalty"], r["strategy"]) == way])
                for way in ways
            ])  # fmt: skip
            ax.barh(range(len(ways)), values, left=left, color=colour, label=letter)
            left += values
        ax.set_yticks(range(len(ways)), [", ".join(way) for way in ways], fontsize=8)
        ax.invert_yaxis()
        ax.set_xlim(0, 1)
        ax.set_xlabel("share of the outputs")
        ax.set_title(data, loc="left", fontsize=10)
        quiet(ax)
    np.atleast_1d(axes)[0].legend(frameon=False, fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return fig


def main() -> None:
    parser = arguments(__doc__, limit=120.0)
    parser.add_argument("--data", nargs="+", choices=("covertype", "mnist"), default=["covertype", "mnist"])
    parser.add_argument("--splits", type=int, default=2)
    options = parser.parse_args()
    print(conditions())
    sizes = (200, 400, 1000) if options.quick else (1000, 2000, 10_000)
    lines: list[Row] = []
    with one_thread():
        for data in options.data:
            X, y = dense(data)
            for seed in range(1 if options.quick else options.splits):
                part = split(X, y, sizes, seed)
                for form in FORMS:
                    for penalty in ("l1", "l2"):
                        for strategy in STRATEGIES:
                            lines.append(measure(data, part, seed, form, penalty, strategy, options))
                            print(show(shorter(lines[-1:])).splitlines()[-1], flush=True)
                            write_csv(file_name("boost_printed", options), lines)
    print(show(shorter(lines)))
    print(write_csv(f"{file_name('boost_printed', options)}_means", means(lines)))
    print(write_picture(file_name("boost_printed", options), draw(lines)))


if __name__ == "__main__":
    main()
