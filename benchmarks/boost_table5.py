"""Table 5 of Bi, Zhang and Bennett (2004): rounds and seconds against the number of training rows, MNIST odd / even.

    python benchmarks/boost_table5.py              # 1,000, 2,000, 5,000, 10,000 rows
    python benchmarks/boost_table5.py --quick      # 200, 400, 800 rows

Mixture L,Q,R (`boost_common.py`), fits ended by 1,000 validation rows (TR3), as in the paper, and for the 1-norm also
at the optimum (TR2, gap 1e-2); 2,000 rows to test, the same for all sizes; rows of a smaller size are the first ones of
a larger.  C is 3,000 (l1) or 10,000 (l2) over the number of rows: the cost of all rows together stays.  The paper has
covertype (its 10,000 rows are more than we have) and lets one column enter in a round, so its iterations stand beside
our columns; of the testing time it says that it hardly grows.  Fits that do not end by their rule are stopped after
`--limit` seconds: "ended" says so.  Exponents are slopes of logarithms.  Compilation is kept out by small fits; one
thread; each time is the best of `--repeats` equal fits.
"""

from __future__ import annotations

import argparse
from typing import Any

from boost_common import (
    COLOURS,
    MIXTURE,
    Row,
    Split,
    arguments,
    compile_all,
    dense,
    ending,
    error,
    exponent,
    file_name,
    fitted,
    one_thread,
    per_letter,
    plain,
    shorter,
    split,
    tell,
    verdict,
)
from common import best, conditions, show, timed, write_csv, write_picture
from kernelweave.plots.style import figure, quiet

SIZES, QUICK_SIZES = (1000, 2000, 5000, 10_000), (200, 400, 800)
JUDGES, TESTS = 1000, 2000
LOOSE = 1e-2
RUNS = (("l1", "TR3"), ("l1", "TR2"), ("l2", "TR3"))
COSTS = {"l1": 3000.0, "l2": 10_000.0}
"""Costs of all rows together."""
PAPER = {1000: (253, 141), 2000: (302, 315), 5000: (520, 740), 10_000: (613, 2530)}
"""Iterations and seconds."""


def first(part: Split, n: int) -> Split:
    """Return the first n training rows with the same judges and tests."""
    return Split(part.X[:n], part.y[:n], part.X_val, part.y_val, part.X_test, part.y_test)


def measure(part: Split, penalty: str, rule: str, options: argparse.Namespace) -> Row:
    """Return one line."""
    n = len(part.y)
    C = COSTS[penalty] / n
    runs = [fitted(MIXTURE, part, C, penalty, rule, options.limit, tol=LOOSE) for _ in range(options.repeats)]
    run = best(runs)
    test = timed(lambda: run.result.predict(part.X_test))
    iterations, seconds = PAPER.get(n, ("-", "-"))
    return {
        "n": n, "penalty": penalty, "rule": rule, "C": C, **ending(run.result),
        "columns": int(run.result.trace_["columns"][-1]), "paper_iterations": iterations, "seconds": run.wall,
        "cpu": run.cpu, "paper_seconds": seconds, "test_seconds": test.wall, "test_cpu": test.cpu,
        "test_error": 100.0 * float((test.result != part.y_test).mean()),
        "train_error": error(run.result, part.X, part.y), **per_letter(MIXTURE, run.result),
    }  # fmt: skip


def growth(lines: list[Row]) -> list[Row]:
    """Return the exponents of each series, and those of the paper."""
    names = ("rounds", "columns", "seconds", "cpu", "test_seconds")
    found: list[Row] = []
    for penalty, rule in RUNS:
        some = [line for line in lines if (line["penalty"], line["rule"]) == (penalty, rule)]
        sizes = [line["n"] for line in some]
        found.append(
            {"series": f"{penalty}, {rule}"} | {name: exponent(sizes, [line[name] for line in some]) for name in names}
        )
    sizes = list(PAPER)
    slopes = [exponent(sizes, [PAPER[n][i] for n in sizes]) for i in (0, 1)]
    paper = dict(zip(names, (slopes[0], slopes[0], slopes[1], "-", "-")))
    return [*found, {"series": "paper (covertype)"} | paper]


def draw(lines: list[Row]) -> Any:
    """Return a figure: columns, training and testing seconds against the number of rows."""
    fig, axes = figure(1, 3, (12.5, 3.6))
    titles = {"columns": "columns generated", "seconds": "training seconds", "test_seconds": "testing seconds"}
    for ax, (measured, title) in zip(axes, titles.items()):
        for (penalty, rule), colour in zip(RUNS, COLOURS):
            some = [line for line in lines if (line["penalty"], line["rule"]) == (penalty, rule)]
            places = [line["n"] for line in some]
            ax.plot(places, [line[measured] for line in some], "o-", color=colour, label=f"{penalty}, {rule}")
        if measured != "test_seconds":
            place = 0 if measured == "columns" else 1
            ax.plot(list(PAPER), [pair[place] for pair in PAPER.values()], "s--", color="#909090", label="paper")
        ax.set_xscale("log")
        ax.set_yscale("log")
        plain(ax.yaxis)
        ax.set_title(title, loc="left", fontsize=10)
        ax.set_xlabel("training rows")
        sizes = sorted({line["n"] for line in lines})
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes], fontsize=8)
        ax.set_xticks([], minor=True)
        ax.set_xlim(0.8 * sizes[0], 1.25 * sizes[-1])
        quiet(ax)
    axes[0].legend(frameon=False, fontsize=8)
    return fig


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    options.sizes = list(QUICK_SIZES) if options.quick else options.sizes
    options.repeats = 1 if options.quick else options.repeats
    X, y = dense("mnist")
    part = split(X, y, (len(y) - JUDGES - TESTS, JUDGES, TESTS))
    print(conditions())
    lines: list[Row] = []
    with one_thread():
        compile_all(part, [MIXTURE])
        for penalty, rule in RUNS:
            for n in options.sizes:
                lines.append(measure(first(part, n), penalty, rule, options))
                print(show(shorter(lines[-1:])).splitlines()[-1], flush=True)
    print(show(shorter(lines)))
    slopes = growth(lines)
    print("exponents in the number of rows")
    print(show(shorter(slopes)))
    name = file_name("boost_table5", options)
    print(write_csv(name, lines), write_csv(f"{name}_exponents", slopes))
    print(write_picture(name, draw(lines)))
    texts = {line["series"]: f"columns grow like n^{line['columns']:.2f}" for line in slopes[:-1]}
    under = {line["series"]: line["columns"] < 1.0 for line in slopes[:-1]}
    tell([verdict(under[k], f"{k}: {text} (the paper: less than linearly)") for k, text in texts.items()], options)


if __name__ == "__main__":
    main()
