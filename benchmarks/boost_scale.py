"""How does column generation grow with the rows?  A simulated mixture, 1,000 to 100,000 rows, each in a fresh process.

    python benchmarks/boost_scale.py               # 1,000 ... 100,000 rows
    python benchmarks/boost_scale.py --quick       # 500, 1,000, 2,000

Rows: ten columns; the first two uniform in [-2, 2], the others standard normal.  A label is the sign of

    x_3 + x_4 / 2 - x_5 / 2 + x_6 x_7 / 2 + 3 sum_j s_j exp(-|(x_1, x_2) - c_j|^2 / 0.3) + e / 2,    e standard normal,

with centres c_j = (-1, -1), (-1, 1), (1, -1), (1, 1) and signs s_j = 1, -1, -1, 1; 2 % of the labels are flipped.  So
all three kernels are needed: linear, quadratic, and a Gaussian of width 0.3 on the first two columns, of which four
columns in the right places would do.  The rows of a smaller size are the first ones of a larger.

C = 1,000 / rows for each row: the cost of all rows together stays, as it would if C were chosen, and so does the model
that is looked for; `--C` fixes C instead.  Runs: both norms ended by 2,000 validation rows (TR3), and the 1-norm to the
optimum (TR2, gap 1e-2), proven over all columns up to 30,000 rows, from there on over the columns of 4,096 rows drawn
in each round: "proven_over" says which.  `--runs` picks some of them.  Memory is the peak of the process, rows
included; exponents are slopes of logarithms.  One thread; compilation is kept out by small fits.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

import numpy as np

import kernelweave as kw
from boost_common import (
    COLOURS,
    EARLY,
    Array,
    Row,
    arguments,
    exponent,
    file_name,
    mixture,
    one_thread,
    plain,
    quietly,
    shorter,
    tell,
    unit,
    verdict,
)
from common import conditions, peak_memory, show, timed, write_csv, write_picture
from kernelweave.kernels import Kernel, On
from kernelweave.plots.style import GREY, figure, quiet

SIZES, QUICK_SIZES = (1000, 3000, 10_000, 30_000, 100_000), (500, 1000, 2000)
RUNS = (("l1", "TR3"), ("l1", "TR2"), ("l2", "TR3"))
WIDTH, BUMP, NOISE, FLIPPED = 0.3, 3.0, 0.5, 0.02
CENTRES, SIGNS = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]), np.array([1.0, -1.0, -1.0, 1.0])
COLUMNS, JUDGES, TESTS = 10, 2000, 2000
GAP, ALL_COSTS = 1e-2, 1000.0
AIM_SECONDS, AIM_ROUNDS, AIM_MEMORY = 1.3, 1.0, 4.0
"""Exponents asked for, and gigabytes at the largest size."""
WARM_UP_ROWS = 200


def simulate(n: int, seed: int = 0) -> tuple[Array, Array]:
    """Return n rows and labels of -1 and 1."""
    rng = np.random.default_rng(seed)
    draws = rng.standard_normal((n, COLUMNS + 3))  # one row after the other, so that more rows keep the first ones
    X, noise, flip = draws[:, :COLUMNS].copy(), draws[:, COLUMNS], draws[:, COLUMNS + 1]
    X[:, :2] = 4.0 * _uniform(X[:, :2]) - 2.0
    bumps = np.exp(-((X[:, None, :2] - CENTRES) ** 2).sum(axis=2) / WIDTH) @ SIGNS
    f = X[:, 2] + 0.5 * X[:, 3] - 0.5 * X[:, 4] + 0.5 * X[:, 5] * X[:, 6] + BUMP * bumps + NOISE * noise
    return X, np.where((f > 0) ^ (_uniform(flip) < FLIPPED), 1.0, -1.0)


def _uniform(normal: Array) -> Array:
    from scipy.special import ndtr

    return np.asarray(ndtr(normal))


def kernels(X: Array) -> list[Kernel]:
    """Return the three kernels, each with a mean diagonal of 1."""
    return [unit(kw.Linear(), X), unit(kw.Polynomial(2, gamma=1.0 / COLUMNS), X), On(kw.RBF(width=WIDTH), [0, 1])]


def one_run(n: int, penalty: str, rule: str, C: float, limit: float) -> Row:
    """Fit one size in this process, after small fits that compile."""
    X, y = simulate(n)
    judges, tests = simulate(JUDGES, 1), simulate(TESTS, 2)
    more = {"validation": judges} if rule == "TR3" else {}

    def fit(size: int, cost: float, seconds: float) -> Any:
        model = mixture(kernels(X[:size]), cost, penalty, rule, seconds, tol=GAP)
        return quietly(model, X[:size], y[:size], **more)

    with one_thread():
        fit(min(n, WARM_UP_ROWS), 1.0, 60.0).predict(tests[0])
        run = timed(lambda: fit(n, C or ALL_COSTS / n, limit))
        model = run.result
        test = timed(lambda: model.predict(tests[0]))
    L, Q, R = (int(count) for count in model.n_columns_per_kernel_)
    return {
        "n": n, "penalty": penalty, "rule": rule, "C": model.C, "ended": model.stopped_by_[0],
        "gap": float(model.duality_gap_), "proven_over": str(model.scanned_), "rounds": int(model.n_iter_),
        "columns": int(model.trace_["columns"][-1]), "columns_L": L, "columns_Q": Q, "columns_R": R,
        "scored": int(model.trace_["scanned"].sum()), "seconds": run.wall, "cpu": run.cpu,
        "test_seconds": test.wall, "test_error": 100.0 * float((test.result != tests[1]).mean()),
        "memory_gb": peak_memory() / 1e9,
    }  # fmt: skip


def in_new_process(n: int, penalty: str, rule: str, options: argparse.Namespace) -> Row:
    """Run one size in a fresh process."""
    command = [sys.executable, __file__, "--child", str(n), penalty, rule, str(options.C), str(options.limit)]
    command += [json.dumps(EARLY)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{n} rows ended with:\n{done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def growth(lines: list[Row]) -> list[Row]:
    """Return the exponents of each series."""
    found = []
    for penalty, rule in dict.fromkeys((line["penalty"], line["rule"]) for line in lines):
        some = [line for line in lines if (line["penalty"], line["rule"]) == (penalty, rule)]
        slopes = {
            name: exponent([line["n"] for line in some], [line[name] for line in some])
            for name in ("rounds", "columns", "seconds", "cpu", "memory_gb")
        }
        found.append({"series": f"{penalty}, {rule}"} | slopes)
    return found


def judge(lines: list[Row], slopes: list[Row]) -> list[str]:
    """Return one line for each aim and series."""
    found, largest = [], max(line["n"] for line in lines)
    for line in slopes if len({line["n"] for line in lines}) > 1 else ():
        seconds = verdict(line["cpu"] <= AIM_SECONDS, f"{line['series']}: CPU seconds grow like n^{line['cpu']:.2f}")
        rounds = verdict(line["rounds"] < AIM_ROUNDS, f"{line['series']}: rounds grow like n^{line['rounds']:.2f}")
        found += [f"{seconds} (aim: {AIM_SECONDS:g})", f"{rounds} (aim: below {AIM_ROUNDS:g})"]
    peak = max(line["memory_gb"] for line in lines if line["n"] == largest)
    good = peak < AIM_MEMORY if largest == SIZES[-1] else None
    found.append(verdict(good, f"{peak:.2f} GB at {largest:,} rows (aim: under {AIM_MEMORY:g} at {SIZES[-1]:,})"))
    exact = [line for line in lines if line["rule"] == "TR2"]
    sure = all(line["gap"] <= GAP for line in exact)
    over = ", ".join(f"{line['n']:,}: {line['proven_over']}" for line in exact)
    return [*found, verdict(sure if exact else None, f"every TR2 fit proven to a gap of {GAP:g}; over columns {over}")]


def draw(lines: list[Row]) -> Any:
    """Return a figure: rounds, CPU seconds and memory against rows."""
    fig, axes = figure(1, 3, (12.5, 3.6))
    titles = {"rounds": "rounds", "cpu": "CPU seconds", "memory_gb": "peak memory, GB"}
    for ax, (measured, title) in zip(axes, titles.items()):
        for (penalty, rule), colour in zip(RUNS, COLOURS):
            some = [line for line in lines if (line["penalty"], line["rule"]) == (penalty, rule)]
            if some:
                places, label = [line["n"] for line in some], f"{penalty}, {rule}"
                ax.plot(places, [line[measured] for line in some], "o-", color=colour, label=label)
        ax.set_xscale("log")
        ax.set_yscale("log")
        plain(ax.yaxis)
        decades = [10**power for power in range(2, 7) if places[0] <= 10**power <= places[-1]]
        ax.set_xticks(decades, [f"{decade:,}" for decade in decades])
        ax.set_title(title, loc="left", fontsize=10)
        ax.set_xlabel("rows")
        quiet(ax)
    axes[0].legend(frameon=False, fontsize=8)
    axes[2].axhline(AIM_MEMORY, color=GREY, linestyle="--", linewidth=1.0)
    axes[2].annotate(
        "asked for at 100,000 rows", (lines[0]["n"], AIM_MEMORY), (0, -12), textcoords="offset points", fontsize=8
    )
    return fig


def main() -> None:
    if "--child" in sys.argv[1:2]:
        n, penalty, rule, C, limit, given = sys.argv[2:]
        EARLY.update(json.loads(given))
        print(json.dumps(one_run(int(n), penalty, rule, float(C), float(limit))))
        return
    parser = arguments(__doc__, limit=1800.0)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--name", default="boost_scale", help="of the result files")
    parser.add_argument("--C", type=float, default=0.0, help="a fixed cost of each row; 0 for 1,000 / rows")
    names = [",".join(run) for run in RUNS]
    parser.add_argument("--runs", nargs="+", choices=names, default=names)
    options = parser.parse_args()
    options.sizes = list(QUICK_SIZES) if options.quick else options.sizes
    print(conditions())
    print("compiled by small fits first, not counted; one thread; kernels counted; a process for each run")
    lines: list[Row] = []
    for penalty, rule in (name.split(",") for name in options.runs):
        for n in options.sizes:
            lines.append(in_new_process(n, penalty, rule, options))
            print(show(shorter(lines[-1:])).splitlines()[-1], flush=True)
            write_csv(file_name(options.name, options), lines)
    print(show(shorter(lines)))
    slopes = growth(lines)
    print(show(shorter(slopes)))
    name = file_name(options.name, options)
    print(write_csv(name, lines), write_csv(f"{name}_exponents", slopes))
    print(write_picture(name, draw(lines)))
    tell(judge(lines, slopes), options)


if __name__ == "__main__":
    main()
