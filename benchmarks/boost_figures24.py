"""Figures 2 to 4 of Bi, Zhang and Bennett (2004) on MNIST odd against even: when to stop, in which order, which C.

    python benchmarks/boost_figures24.py           # 1,000 training, 2,000 validation, 10,000 test rows
    python benchmarks/boost_figures24.py --quick   # 200, 300 and 1,000

Mixture L,Q,R (`boost_common.py`), 2-norm as in the paper (`--penalties` adds the 1-norm to the tables).

figure 2   errors along a run to the optimum, against the columns in use; where TR1, TR2 and TR3 end it
figure 3   stratified against regular generation: errors against the columns in use, and kernel columns scored.  The
           paper: 255 scored in a round by the stratified way, 3,000 by the regular one.  Also for fits by TR3, and for
           the 1-norm in the table; "made" are columns whose kernel values were computed (others were kept, or a linear
           kernel's, which needs none)
figure 4   errors on validation rows for several C along the rounds: one that is too large is seen long before the end

In each round 25 columns enter (`--per-round 1` for the paper's one, which takes long; left alone, fits to the optimum
of the 2-norm take nearly all in the third round): "columns" are the paper's iterations.  Test errors are for the
picture only, and computed after the fits.  Seconds are those of one thread; compilation is kept out by small fits.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from boost_common import (
    COLOURS,
    MIXTURE,
    Array,
    Row,
    Split,
    arguments,
    compile_all,
    dense,
    error,
    file_name,
    fitted,
    one_thread,
    plain,
    shorter,
    split,
    tell,
    verdict,
)
from common import Timing, conditions, show, write_csv, write_picture
from kernelweave.plots.style import GREY, figure, quiet

SIZES, QUICK_SIZES = (1000, 2000, 10_000), (200, 300, 1000)
RULES = ("TR1", "TR2", "TR3")
WAYS = ("stratified", "regular")
PAPER_SCORED = {"stratified": 255, "regular": 3000}
STEP = 25
AIM_SHARE = 5.0
"""Regular generation scores at least so many times as many columns."""
SAME_ERROR = 0.5
"""Per cent by which final test errors of two ways may differ and count as the same."""
RISE = 0.5
"""Per cent above its lowest value at which a validation error counts as risen."""


def run(
    part: Split, C: float, penalty: str, rule: str, options: argparse.Namespace, strategy: str = "stratified"
) -> Timing:
    """Fit the mixture, with the validation rows in the trace."""
    per_round = options.per_round or "auto"
    return fitted(
        MIXTURE, part, C, penalty, rule, options.limit, judged=True, strategy=strategy, columns_per_round=per_round
    )


def line_of(done: Timing, part: Split, rule: str, way: str) -> Row:
    """Return what a run has come to."""
    model, trace = done.result, done.result.trace_
    rounds = len(trace)
    return {
        "penalty": model.penalty, "C": model.C, "rule": rule, "way": way, "ended": model.stopped_by_[0],
        "rounds": rounds, "columns": int(trace["columns"][-1]), "kept": len(model.columns_),
        "train_error": error(model, part.X, part.y), "validation_error": error(model, part.X_val, part.y_val),
        "test_error": error(model, part.X_test, part.y_test), "gap": float(model.duality_gap_),
        "seconds": done.wall, "cpu": done.cpu, "scored": int(trace["scanned"].sum()),
        "scored_per_round": float(trace["scanned"].mean()), "made": int(trace["made"].sum()),
        "paper_scored_per_round": PAPER_SCORED[way],
    }  # fmt: skip


def staged_errors(model: Any, part: Split) -> Array:
    """Return the test error of each round that is kept, in per cent."""
    return np.array([100.0 * float((labels != part.y_test).mean()) for labels in model.staged_predict(part.X_test)])


def judge(lines: list[Row], too_large: list[Row]) -> list[str]:
    """Return one line for each claim."""
    found = []
    by = {(line["penalty"], line["rule"], line["way"]): line for line in lines}
    for (penalty, rule, way), line in by.items():
        if way == "stratified" and (other := by.get((penalty, rule, "regular"))):
            times, apart = other["scored"] / line["scored"], abs(other["test_error"] - line["test_error"])
            text = f"{penalty}, {rule}: regular scores {times:.1f}x as many columns, test errors {apart:.2f} % apart"
            good = times >= AIM_SHARE and apart <= SAME_ERROR
            found.append(verdict(good, f"{text} (aim: {AIM_SHARE:g}x, {SAME_ERROR:g} %)"))
    full, early = by[("l2", "TR2", "stratified")], by[("l2", "TR3", "stratified")]
    worse = early["test_error"] - full["test_error"]
    text = f"TR3 takes {early['seconds'] / full['seconds']:.2f} of the time of TR2, test error {worse:+.2f} %"
    found.append(verdict(early["seconds"] < full["seconds"] / 2, f"{text} (the paper: less than half, similar error)"))
    for line in too_large:
        seen = line["seen_at_columns"]
        told = "no rise" if seen == "-" else f"risen by {RISE:g} % at {seen} of {line['columns']} columns"
        best = f"lowest validation error {line['lowest']:.2f} % at {line['lowest_at_columns']} columns"
        found.append(f"no aim: C = {line['C']:g}: {best}, {told}, at the end {line['last']:.2f} %")
    return found


def rise(done: Timing) -> Row:
    """Return where the validation error of a run is lowest, and where a rise is seen first after that."""
    trace = done.result.trace_
    held, columns = 100.0 * trace["validation_error"], trace["columns"].astype(int)
    low = int(np.argmin(held))
    risen = np.flatnonzero(held[low:] >= held[low] + RISE)
    return {
        "C": done.result.C, "lowest": float(held[low]), "lowest_at_columns": int(columns[low]),
        "seen_at_columns": int(columns[low + risen[0]]) if len(risen) else "-", "columns": int(columns[-1]),
        "last": float(held[-1]), "seconds": done.wall, "cpu": done.cpu,
    }  # fmt: skip


def draw(part: Split, runs: dict[tuple[str, str, str], Timing], costs: dict[float, Timing]) -> Any:
    """Return a figure: termination rules, two ways, columns scored, several C."""
    fig, axes = figure(1, 4, (17.0, 3.8))
    full = runs["l2", "TR2", "stratified"].result
    columns = full.trace_["columns"]
    test = staged_errors(full, part)
    for name, colour in (("train_error", COLOURS[0]), ("validation_error", COLOURS[1])):
        axes[0].plot(columns, 100.0 * full.trace_[name], color=colour, label=name.replace("_error", ""))
    axes[0].plot(columns[: len(test)], test, color=COLOURS[2], label="test")
    for rule, mark in zip(RULES, ("*", "x", "+")):
        model = runs["l2", rule, "stratified"].result
        held = 100.0 * model.trace_["validation_error"]
        at = int(np.argmin(held)) if rule == "TR3" else len(held) - 1
        axes[0].plot(model.trace_["columns"][at], held[at], mark, color="black", markersize=11, label=rule)
    for way, colour in zip(WAYS, COLOURS):
        trace = runs["l2", "TR2", way].result.trace_
        axes[1].plot(trace["columns"], 100.0 * trace["validation_error"], color=colour, label=f"{way}, validation")
        axes[1].plot(
            trace["columns"], 100.0 * trace["train_error"], color=colour, linestyle=":", label=f"{way}, training"
        )
        axes[2].plot(trace["columns"], np.cumsum(trace["scanned"]), color=colour, label=f"{way}, {len(trace)} rounds")
    for (C, done), colour in zip(costs.items(), COLOURS):
        trace = done.result.trace_
        axes[3].plot(trace["columns"], 100.0 * trace["validation_error"], color=colour, label=f"C = {C:g}")
    for ax, title in zip(axes, ("when to stop", "in which order", "kernel columns scored, in all", "which C")):
        ax.set_title(title, loc="left", fontsize=10)
        ax.set_xlabel("columns in use")
        ax.set_xscale("log")
        plain(ax.xaxis)
        ax.legend(frameon=False, fontsize=8, labelcolor=GREY)
        quiet(ax)
    _look_close([axes[0], axes[1], axes[3]], full)
    axes[0].set_ylabel("error, %")
    axes[2].set_yscale("log")
    axes[3].set_ylabel("validation error, %")
    return fig


def _look_close(axes: list[Any], model: Any) -> None:
    """Leave out the first round, which has no column and guesses."""
    highest = 100.0 * float(model.trace_["validation_error"][1:3].max())
    for ax in axes:
        ax.set_ylim(-0.5, 1.3 * highest)
        ax.set_xlim(left=max(1.0, 0.8 * float(model.trace_["columns"][1])))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--penalties", nargs="+", choices=("l1", "l2"), default=["l2", "l1"])
    parser.add_argument("--C", type=float, nargs=2, default=[10.0, 3.0], help="of the 2-norm and of the 1-norm")
    parser.add_argument("--costs", type=float, nargs="+", default=[1.0, 10.0, 100.0, 1000.0, 10_000.0])
    parser.add_argument(
        "--per-round", type=int, default=STEP, help="columns that enter in a round; 0 for the estimator's own number"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    penalties = dict.fromkeys(["l2", *options.penalties])
    part = split(*dense("mnist"), QUICK_SIZES if options.quick else SIZES, options.seed)
    print(conditions())
    runs: dict[tuple[str, str, str], Timing] = {}
    with one_thread():
        compile_all(part, [MIXTURE], RULES)
        for penalty in penalties:
            C = options.C[0] if penalty == "l2" else options.C[1]
            for rule in RULES:
                for way in WAYS:
                    if rule != "TR1" or way == "stratified":
                        runs[penalty, rule, way] = run(part, C, penalty, rule, options, way)
            print(f"{penalty}: done", flush=True)
        costs = {C: run(part, C, "l2", "TR2", options) for C in options.costs}
    print("compiled by small fits first, not counted; one thread; kernels counted")
    lines = [line_of(done, part, rule, way) for (_, rule, way), done in runs.items()]
    too_large = [rise(done) for done in costs.values()]
    print(show(shorter(lines)))
    print(show(shorter(too_large)))
    name = file_name("boost_figures24", options)
    print(write_csv(name, lines), write_csv(f"{name}_costs", too_large))
    print(write_picture(name, draw(part, runs, costs)))
    tell(judge(lines, too_large), options)


if __name__ == "__main__":
    main()
