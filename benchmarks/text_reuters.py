"""Tables 4 and 5 of Allauzen, Cortes and Mohri: acquisitions against the rest of the Reuters stories.

    python benchmarks/text_reuters.py                                # both sets, 120 seconds for a training
    python benchmarks/text_reuters.py --sets subset --rows 100 --limit 5
    python benchmarks/text_reuters.py --sets full --kernels 7-gram --limit 800 --unit --name text_reuters_unit

Table 4, CPU seconds on one thread, pre-processing apart as in the paper:

    smo         working sets on kernel columns computed on demand, 100 MB of them kept
    libsvm      LIBSVM's pair steps on the same features (`-t 0 -m 100`): columns on demand, 100 MB kept; free intercept
    sequential  coordinate descent, rows in the order in which they stand
    trie        the same as the next, with the paper's own store: a trie, followed along the automaton of each row
    permuted    coordinate descent, rows in a new random order in each pass; W' a flat array over numbered n-grams

All but LIBSVM (its own tolerance, 1e-3) stop at a certified relative gap of `--tol`.  A cell with ">" was stopped.
Table 5, transitions of the final W' = sum_i alpha_i y_i Phi_i as a trie and as a minimal automaton.  Our `trie` and
`minimal` have the n-grams of the support vectors, both the same strings; `every_trie` has those of all stories, as the
paper's trie has, by its size.

The paper does not say: which 466 stories (here: the first ones with a body); the text (here title, line break, body as
they are: 99 % of its trie on the full set, 4- to 7-grams); C and normalisation (here C = 1 and counts as they are: then
the minimal automata have its sizes, 33,967 for its 34,785 on 4-grams and 156,069 for 157,390 on 7-grams, while unit
rows, `--unit`, give 43,326 and 216,119); the largest gap.  Gaps of any size are out: nearly every triple of characters
would occur.  With at most 2 characters skipped between neighbours the trie of 3-grams (4-grams) has 100,517 (1,078,742)
transitions, with at most 3 it has 135,503 (1,892,021); the paper has 103,353 (1,213,281), so 2 it is.  Its machine: an
Opteron of 2.2 GHz.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import kernelweave as kw
from common import Row, conditions, show, write_csv, write_picture
from kernelweave.plots.style import BLUE, GREY, figure, quiet
from seq_common import COLOURS, SKIPPED, STOPPED, exponent, shown
from text_cells import Bench, Cell, Setting, warm_up
from text_common import Stories, stories, subset

ORDERS, GAPPY, MAX_GAP, DECAY = (4, 5, 6, 7, 10), (3, 4, 5), 2, 0.5
KERNELS: dict[str, Any] = {f"{n}-gram": kw.NGram(n) for n in ORDERS} | {
    f"gappy {n}-gram": kw.GappyNGram(n, DECAY, MAX_GAP) for n in GAPPY
}
ON_THE_FULL_SET = tuple(f"{n}-gram" for n in ORDERS)
SECONDS = {
    "subset": {"4-gram": (138, 25), "5-gram": (236, 30), "6-gram": (376, 41), "7-gram": (564, 61),
               "10-gram": (1522, 113), "gappy 3-gram": (640, 83), "gappy 4-gram": (3488, 462)},
    "full": {"4-gram": (37123, 990), "5-gram": (">120000", 1397), "6-gram": (">120000", 1882),
             "7-gram": (">120000", 2243)},
}  # fmt: skip
"""Table 4: SMO and coordinate descent."""
TRANSITIONS = {
    "subset": {"4-gram": (66331, 34785), "5-gram": (154460, 63643), "6-gram": (283856, 103459),
               "7-gram": (452881, 157390), "10-gram": (1151217, 413878), "gappy 3-gram": (103353, 66650),
               "gappy 4-gram": (1213281, 411939), "gappy 5-gram": (6423447, 1403744)},
    "full": {"4-gram": (242570, 106640), "5-gram": (787514, 237783), "6-gram": (1852634, 441242),
             "7-gram": (3570741, 727743)},
}  # fmt: skip
"""Table 5: trie and minimal automaton."""
METHODS = ("smo", "libsvm", "sequential", "trie", "permuted")
AIM, AIM_AT = 50.0, ("full", "7-gram")
NOT_THERE = (SKIPPED, SKIPPED)
WARM_UP_ROWS = 60
WIDE = 10.0
"""Numbers of features must differ by this factor for a law to be fitted."""


def measure(which: str, name: str, chosen: Stories, setting: Setting) -> tuple[Row, Row]:
    """Return a line of table 4 and one of table 5."""
    warm_up(KERNELS[name], chosen.taken(np.arange(min(WARM_UP_ROWS, len(chosen.y)))), setting)
    bench = Bench(KERNELS[name], chosen, setting)
    permuted, result = bench.descend("permuted")
    trie, built = bench.descend_trie()
    cells: dict[str, Cell | None] = {
        "smo": bench.smo_ours(), "libsvm": bench.smo_libsvm(), "sequential": bench.descend("sequential")[0],
        "trie": trie, "permuted": permuted,
    }  # fmt: skip
    row: Row = {"set": which, "kernel": name, "n": len(chosen.y)} | bench.features() | built
    row["pass_ms"] = bench.pass_cpu() * 1e3
    row["ns_per_feature"] = row["pass_ms"] * 1e6 / bench.operator.shared.block.entries
    for method in METHODS:
        row |= named(method, cells[method])
    row |= {f"{method}_ratio": ratio(cells[method], permuted) for method in METHODS[:-1]}
    row |= dict(zip(("paper_smo", "paper_descent"), SECONDS[which].get(name, NOT_THERE)))
    papers = dict(zip(("paper_trie", "paper_minimal"), TRANSITIONS[which].get(name, NOT_THERE)))
    return row, {"set": which, "kernel": name} | bench.sizes(result.primal.alpha) | papers


def named(method: str, cell: Cell | None) -> Row:
    """Return the columns of one training."""
    values = (SKIPPED,) * 3 if cell is None else (shown(cell.cpu, cell.stopped), cell.objective, cell.steps)
    return {method: values[0], f"{method}_objective": values[1], f"{method}_steps": values[2]}


def ratio(cell: Cell | None, descent: Cell) -> str:
    """Return how many times longer a training took than coordinate descent in permuted order."""
    if cell is None or descent.stopped:
        return SKIPPED
    return shown(cell.cpu / descent.cpu, cell.stopped)


def table4(rows: list[Row]) -> list[Row]:
    """Return the seconds beside the paper's."""
    names = ("set", "kernel", *METHODS, "smo_ratio", "libsvm_ratio", "paper_smo", "paper_descent")
    return [{name: row[name] for name in names} for row in rows]


def judge(rows: list[Row]) -> list[str]:
    """Return a line for the aim, and the law of the time of a pass."""
    lines = []
    for row in rows:
        if (row["set"], row["kernel"]) != AIM_AT:
            continue
        for method in ("smo", "libsvm"):
            found = row[f"{method}_ratio"]
            if found == SKIPPED:
                continue
            good = number(found) >= AIM
            word = "reached" if good else "OPEN (stopped too early)" if found.startswith(STOPPED) else "MISSED"
            lines.append(f"{word}: coordinate descent {found}x faster than {method} on demand (aim: {AIM:g}x), "
                         f"{AIM_AT[1]}s of all stories")  # fmt: skip
    features = [row["n"] * row["shared_per_row"] for row in rows]
    if max(features) >= WIDE * min(features):
        power = exponent(features, [row["pass_ms"] for row in rows])
        lines.append(f"a pass takes about features^{power:.2f} (aim: linear)")
    return lines


def number(cell: str) -> float:
    """Return a cell as a number; what it is larger than, where it was stopped."""
    return float(cell.removeprefix(STOPPED))


def draw(rows: list[Row], sizes: list[Row]) -> Any:
    """Return a figure: seconds of every method on each set, time of a pass, and sizes of automata."""
    sets = list(dict.fromkeys(row["set"] for row in rows))
    fig, axes = figure(2, max(2, len(sets)), (10, 7))
    for ax, which in zip(axes[0], sets):
        bars(ax, [row for row in rows if row["set"] == which])
        ax.set_title(f"table 4, {which}; hatched: stopped", loc="left", fontsize=9)
    for ax in axes[0][len(sets) :]:
        ax.set_axis_off()
    ax = axes[1][0]
    for which, colour in zip(sets, (BLUE, COLOURS[1])):
        mine = [row for row in rows if row["set"] == which]
        ax.loglog([row["n"] * row["shared_per_row"] for row in mine], [row["pass_ms"] for row in mine], "o",
                  color=colour, label=which)  # fmt: skip
    ax.set(xlabel="features of all rows", ylabel="ms for a pass")
    ax.legend(frameon=False, fontsize=8)
    quiet(ax)
    draw_sizes(axes[1][1], sizes)
    return fig


def bars(ax: Any, rows: list[Row]) -> None:
    """Draw seconds on a logarithmic scale, the paper's beside."""
    columns = dict(zip(("paper_smo", "paper_descent", *METHODS), ("#BDBDBD", GREY, *COLOURS)))
    for shift, (name, colour) in enumerate(columns.items()):
        for place, row in enumerate(rows):
            value = str(row[name])
            if value == SKIPPED:
                continue
            hatch = "////" if value.startswith(STOPPED) else None
            at = place + (shift - (len(columns) - 1) / 2) / (len(columns) + 1)
            ax.bar(at, number(value), 1 / (len(columns) + 1), color=colour, hatch=hatch, edgecolor="w",
                   label=name if place == 0 else None)  # fmt: skip
    ax.set_yscale("log")
    ax.set_ylabel("CPU seconds")
    ax.set_xticks(range(len(rows)), [row["kernel"].replace(" ", "\n") for row in rows], fontsize=7)
    ax.legend(frameon=False, fontsize=6, ncols=3, loc="lower center", bbox_to_anchor=(0.5, -0.32))
    quiet(ax)


def draw_sizes(ax: Any, sizes: list[Row]) -> None:
    """Draw transitions of tries and minimal automata, ours against the paper's."""
    drawn = (
        ("every_trie", "paper_trie", "o", "trie, all stories"),
        ("trie", "paper_trie", "s", "trie, support vectors"),
        ("minimal", "paper_minimal", "^", "minimal, support vectors"),
    )
    for name, beside, mark, label in drawn:
        known = [row for row in sizes if row[beside] != SKIPPED]
        ax.loglog([row[beside] for row in known], [row[name] for row in known], mark, label=label, markersize=4)
    low, high = ax.get_xlim()
    ax.plot([low, high], [low, high], color=GREY, linewidth=0.8)
    ax.set(xlabel="transitions in the paper", ylabel="transitions here")
    ax.set_title("table 5", loc="left", fontsize=9)
    ax.legend(frameon=False, fontsize=8)
    quiet(ax)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=list(SECONDS), default=list(SECONDS))
    parser.add_argument("--kernels", nargs="+", choices=list(KERNELS), default=list(KERNELS))
    parser.add_argument("--rows", type=int, default=None, help="only the first rows of each set, for a look")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds after which a training is stopped")
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--cost", type=float, default=1.0)
    parser.add_argument("--unit", action="store_true", help="rows scaled to length 1")
    parser.add_argument("--name", default="text_reuters", help="of the files with results")
    return parser.parse_args()


def main() -> None:
    options = parse()
    setting = Setting(options.cost, options.tol, options.limit, "cosine" if options.unit else None)
    print(conditions("scikit-learn"))
    threadpool_limits(1)  # from here to the end
    print("compiled by small runs first, not counted; cells: CPU seconds, one thread", flush=True)
    rows, sizes = [], []
    for which in options.sets:
        chosen = subset() if which == "subset" else stories()
        chosen = chosen.taken(np.arange(len(chosen.y))[: options.rows])
        for name in options.kernels:
            if which == "full" and name not in ON_THE_FULL_SET:
                continue
            row, size = measure(which, name, chosen, setting)
            rows.append(row)
            sizes.append(size)
            print(f"{which}, {name}: done", flush=True)
    print(show(table4(rows)))
    hidden = {name for method in METHODS for name in (method, f"{method}_objective", f"{method}_ratio")}
    print(show([{name: value for name, value in row.items() if name not in hidden} for row in rows]))
    print(show(sizes))
    print(write_csv(options.name, rows))
    print(write_csv(f"{options.name}_sizes", sizes))
    print(write_picture(options.name, draw(rows, sizes)))
    print("\n".join(judge(rows)))


if __name__ == "__main__":
    main()
