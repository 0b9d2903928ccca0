"""Mixtures of kernels by column generation against all columns at once, and prediction against the sum of kernels.

    python benchmarks/boost_speed.py                       # both parts on MNIST, 1,000 rows, three kernels
    python benchmarks/boost_speed.py --parts fit           # one of the parts: fit, predict
    python benchmarks/boost_speed.py --data covertype      # the other set
    python benchmarks/boost_speed.py --yardsticks "HiGHS, its choice" "Clarabel, dual"    # not those that take minutes
    python benchmarks/boost_speed.py --quick               # few rows, to look at

fit       1,000 rows and L, Q, R: 3,000 columns (`boost_common.py`), two values of C.  TR2 to a gap of 1e-6 (in the
          default and in the stratified way) and TR3 with 2,000 validation rows (stratified by default, and in the
          regular way), against the whole linear programme in HiGHS and the whole quadratic one in Clarabel
          (`boost_full.py`; Clarabel also on the dual, which has 1,000
          variables only, and HiGHS also by its interior-point method).  All start from the table: kernel matrices
          count.  Objectives are recomputed from the coefficients, at the best intercept, by one function; "difference"
          is relative to the smallest.  Fits of ours are the best of `--repeats`; a yardstick runs once and is stopped
          after `--limit` seconds: the ratio then is a lower bound.
predict   10,000 rows by the mixtures (TR3), by the composite (the sum of the kernels, 2-norm, TR2: what the paper
          compares with, 882 against 13.4 seconds, 66 times) and by the support vector machine on the same sum
          (`kw.KernelClassifier`).  C of each is chosen by the validation rows; times are those of a second prediction,
          "first" includes what a model prepares once.

One thread for all sides; compilation is kept out by small fits.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import kernelweave as kw
from boost_common import (
    COLOURS,
    MIXTURE,
    Array,
    Row,
    Split,
    arguments,
    compile_all,
    dense,
    ending,
    error,
    file_name,
    fitted,
    library,
    one_thread,
    plain,
    quietly,
    shorter,
    split,
    tell,
    verdict,
)
from boost_full import YARDSTICKS
from common import Timing, alternate, best, conditions, show, timed, write_csv, write_picture
from kernelweave.plots.style import figure, quiet
from mkl_common import hinge, time_cap

SIZES, QUICK_SIZES = (1000, 2000, 10_000), (150, 300, 1000)
EXACT = 1e-6
AIMS = {("l1", "TR2"): 10.0, ("l2", "TR2"): 3.0, ("l1", "TR3"): 20.0, ("l2", "TR3"): 30.0}
AIM_PREDICT, PAPER_PREDICT = 20.0, 66.0
COSTS = (1.0, 10.0)
GRID = {"l1": (1.0, 3.0, 10.0, 30.0), "l2": (0.1, 1.0, 10.0, 100.0)}
SVM_GRID = (0.1, 1.0, 10.0, 100.0)
SUM, COMPOSITE = "sum (SVM)", "composite (l2)"
SAME_ACCURACY = 0.5
"""Per cent by which the error of the mixture may exceed that of the sum and count as the same."""


def whole_matrix(part: Split) -> Array:
    """Return the kernel matrices of the training rows side by side."""
    return np.hstack([kernel.gram(part.X) for kernel in library(MIXTURE, part.X)])


def objective(K: Array, y: Array, C: float, penalty: str, coef: Array) -> float:
    """Return the objective of coefficients at the best intercept."""
    size = np.abs(coef).sum() if penalty == "l1" else 0.5 * coef @ coef
    return float(size) + C * hinge(K @ coef, y)


def coefficients(model: Any, n: int) -> Array:
    """Return the coefficients of a mixture for all columns."""
    coef = np.zeros(n * len(model.kernels_))
    coef[model.columns_["kernel"] * n + model.columns_["example"]] = model.columns_["coefficient"]
    return coef


def compare(part: Split, penalty: str, C: float, options: argparse.Namespace) -> list[Row]:
    """Time our ways and the yardsticks of one norm."""
    n, K = len(part.y), whole_matrix(part)
    ways = {
        "TR2": partial(fitted, MIXTURE, part, C, penalty, "TR2", options.limit, tol=EXACT),
        "TR2, stratified": partial(
            fitted, MIXTURE, part, C, penalty, "TR2", options.limit, tol=EXACT, strategy="stratified"
        ),
        "TR3": partial(fitted, MIXTURE, part, C, penalty, "TR3", options.limit),
        "TR3, regular": partial(fitted, MIXTURE, part, C, penalty, "TR3", options.limit, strategy="regular"),
    }
    lines: list[Row] = []
    for way, run in alternate(ways, options.repeats).items():
        model = run.result.result
        value = objective(K, part.y, C, penalty, coefficients(model, n))
        lines.append(
            {"penalty": penalty, "C": C, "side": way, "seconds": run.wall, "cpu": run.cpu, "objective": value}
            | ending(model)
            | {"columns": len(model.columns_), "scored": int(model.trace_["scanned"].sum())}
            | {"test_error": error(model, part.X_test, part.y_test)}
        )
    for name, solve in chosen(penalty, options):
        run = timed(lambda solve=solve: solve(whole_matrix(part), part.y, C, options.limit))
        coef, done = run.result.coef, run.result.optimal
        value = float("nan") if coef is None else objective(K, part.y, C, penalty, coef)
        lines.append(
            {"penalty": penalty, "C": C, "side": name, "seconds": run.wall, "cpu": run.cpu, "objective": value,
             "ended": "optimal" if done else "limit", "gap": "-", "rounds": "-", "columns": K.shape[1],
             "scored": K.shape[1], "test_error": "-"}
        )  # fmt: skip
        print(f"{penalty}, C = {C:g}, {name}: {run.wall:.2f} s", flush=True)
    lowest = np.nanmin([line["objective"] for line in lines])
    return [line | {"difference": float(line["objective"] / lowest - 1.0)} for line in lines]


def chosen(penalty: str, options: argparse.Namespace) -> list[tuple[str, Callable[..., Any]]]:
    """Return the yardsticks of a norm that were asked for."""
    return [(name, solve) for name, solve in YARDSTICKS[penalty] if name in options.yardsticks]


def judge_fits(lines: list[Row]) -> list[str]:
    """Return one line for each aim and C, against each yardstick."""
    found = []
    for (penalty, rule), aim in AIMS.items():
        for C in COSTS:
            by = {line["side"]: line for line in lines if (line["penalty"], line["C"]) == (penalty, C)}
            for place, (name, _) in enumerate(YARDSTICKS[penalty] if by else ()):
                if name not in by:
                    continue
                times = by[name]["cpu"] / by[rule]["cpu"]
                apart = abs(by[rule]["objective"] / by[name]["objective"] - 1.0)
                more = "" if by[name]["ended"] == "optimal" else " at least (it hit its limit)"
                text = f"{penalty}, C = {C:g}, {rule}: {times:.1f}x{more} less CPU than {name}"
                good = times >= aim
                if rule == "TR2":
                    good = good and (apart <= EXACT or more != "")
                    text += f", objectives {apart:.1e} apart"
                said = f"(aim: {aim:g}x{f', {EXACT:g}' if rule == 'TR2' else ''})"
                found.append(verdict(good, f"{text} {said}") if place == 0 else f"no aim: {text}")
    return found


def compare_predictions(part: Split, options: argparse.Namespace) -> list[Row]:
    """Time predictions of the test rows by the mixtures, by the composite and by the machine on the sum."""

    def svm(C: float) -> Timing:
        kernel = library("L+Q+R", part.X)[0]
        model = kw.KernelClassifier(kernel, C=C, n_jobs=1, normalize=None, callbacks=(time_cap(options.limit),))
        return timed(lambda: quietly(model, part.X, part.y))

    def boosted(names: str, penalty: str, rule: str, C: float) -> Timing:
        return fitted(names, part, C, penalty, rule, options.limit)

    sides = {SUM: (svm, SVM_GRID), COMPOSITE: (partial(boosted, "L+Q+R", "l2", "TR2"), GRID["l2"])}
    sides |= {f"mixture, {k}": (partial(boosted, MIXTURE, k, "TR3"), grid) for k, grid in GRID.items()}
    lines = [predict(side, fit, grid, part, options.repeats) for side, (fit, grid) in sides.items()]
    bases = {line["side"]: line["cpu"] for line in lines}
    return [
        line | {f"times {side}": bases[side] / line["cpu"] for side in (COMPOSITE, SUM)} | {"paper": PAPER_PREDICT}
        for line in lines
    ]


def predict(side: str, fit: Callable[[float], Timing], grid: Sequence[float], part: Split, repeats: int) -> Row:
    """Return one line: the model with the C of the fewest validation errors predicts the test rows."""
    fit(grid[0])  # compiles what is left to compile
    C = min(grid, key=lambda C: error(fit(C).result, part.X_val, part.y_val))
    run = fit(C)  # a model that has not predicted yet
    model = run.result
    first = timed(lambda: model.predict(part.X_test))
    later = best([timed(lambda: model.predict(part.X_test)) for _ in range(repeats)])
    return {
        "side": side, "C": C, "train_seconds": run.wall, "rows": len(part.y_test), "kept_rows": len(model.support_),
        "columns": "-" if side == SUM else " ".join(map(str, model.n_columns_per_kernel_)),
        "validation_error": error(model, part.X_val, part.y_val),
        "test_error": 100.0 * float((first.result != part.y_test).mean()),
        "first": first.wall, "seconds": later.wall, "cpu": later.cpu,
    }  # fmt: skip


def judge_predictions(lines: list[Row]) -> list[str]:
    """Return lines for each mixture: against the composite, and against the support vector machine."""
    found = []
    by = {line["side"]: line for line in lines}
    for line in lines[2:]:
        for side in (COMPOSITE, SUM):
            worse, times = line["test_error"] - by[side]["test_error"], line[f"times {side}"]
            text = f"{line['side']}: {times:.1f}x less CPU than the {side}, error {worse:+.2f} %"
            good = times >= AIM_PREDICT and worse <= SAME_ACCURACY
            found.append(verdict(good, f"{text} (aim: {AIM_PREDICT:g}x, no more than {SAME_ACCURACY:+g} %)"))
    return found


def draw(fits: list[Row], predictions: list[Row]) -> Any:
    """Return a figure: CPU seconds of every side."""
    groups = [
        (
            f"fit, {penalty}, C = {COSTS[0]:g}",
            [line for line in fits if (line["penalty"], line["C"]) == (penalty, COSTS[0])],
        )
        for penalty in ("l1", "l2")
    ] + [("predict", predictions)]
    groups = [(title, lines) for title, lines in groups if lines]
    fig, axes = figure(1, len(groups), (5.0 * len(groups), 3.6))
    for ax, (title, lines) in zip(np.atleast_1d(axes), groups):
        mine = [line["side"].startswith(("TR", "mixture")) for line in lines]
        bars = ax.barh(range(len(lines)), [line["cpu"] for line in lines], color=[
            COLOURS[0] if own else "#909090" for own in mine
        ])  # fmt: skip
        ax.bar_label(bars, fmt=" %.3g s", fontsize=8)
        ax.set_yticks(range(len(lines)), [line["side"] for line in lines], fontsize=8)
        ax.set_xscale("log")
        plain(ax.xaxis)
        ax.margins(x=0.3)
        ax.invert_yaxis()
        ax.set_title(title, loc="left", fontsize=10)
        ax.set_xlabel("CPU seconds")
        quiet(ax)
    return fig


def main() -> None:
    parser = arguments(__doc__, limit=1800.0)
    parser.add_argument("--parts", nargs="+", choices=("fit", "predict"), default=["fit", "predict"])
    parser.add_argument("--data", choices=("mnist", "covertype"), default="mnist")
    parser.add_argument("--repeats", type=int, default=3)
    every = [name for some in YARDSTICKS.values() for name, _ in some]
    parser.add_argument("--yardsticks", nargs="+", choices=every, default=every)
    options = parser.parse_args()
    part = split(*dense(options.data), QUICK_SIZES if options.quick else SIZES)
    print(conditions("highspy", "clarabel"))
    fits: list[Row] = []
    predictions: list[Row] = []
    with one_thread():
        compile_all(part, [MIXTURE])
        for penalty in ("l1", "l2") if "fit" in options.parts else ():
            for C in COSTS:
                fits += compare(part, penalty, C, options)
        if "predict" in options.parts:
            predictions = compare_predictions(part, options)
    print(f"{len(part.y)} rows, three kernels; compiled by small fits first, not counted; one thread; kernels counted")
    name = file_name("boost_speed" + ("" if options.data == "mnist" else "_covertype"), options)
    for label, lines, found in (("", fits, judge_fits), ("_predict", predictions, judge_predictions)):
        if lines:
            print(show(shorter(lines, 5)))
            print(write_csv(name + label, lines))
            tell(found(lines), options)
    print(write_picture(name, draw(fits, predictions)))


if __name__ == "__main__":
    main()
