"""The complexity table of multi-epoch SVRG, measured: seconds and passes to each gap, logistic loss, C = 1.

    python benchmarks/svrg_rivals.py                    # both parts, an hour or so at the default limit
    python benchmarks/svrg_rivals.py --parts features   # svrg, ufo, obscure, proximal_gradient on the same features
    python benchmarks/svrg_rivals.py --parts features --data covertype --limit 60      # real rows, or mnist
    python benchmarks/svrg_rivals.py --parts grams      # svrg against level, silp and lp on Gram matrices
    python benchmarks/svrg_rivals.py --quick            # few rows, to look at
    python benchmarks/svrg_rivals.py --redraw           # the pictures, from the tables of former runs

features   20 Gaussian kernels as 50 waves each (`svrg_common.py`), p = 2 and, for the sake of UFO-MKL, p = 1.05.
           All sides walk over the same matrix; its making is timed apart and left out of the ratios.
grams      The same kernels, but the rivals work on n x n matrices of kernel values: `level` and `silp` at p = 1, which
           is what they are for, and `lp` at p = 2.  "waves" are inner products of the very features that svrg has, so
           both sides solve one problem.  "exact" are the Gaussians themselves, which is what a user of Gram matrices
           would take: another problem, whose objective differs by what 50 waves miss.  Making features or matrices
           counts for both sides: all start from the table.  How matrices are held is the plan for half of the memory
           that is free: stored, or recomputed around their weighted sum when all do not fit.

A run ends at gap 1e-6 or at the limit; a gap not reached is "-", and the ratio then is a lower bound, from the time
spent.  Compilation is kept out: small runs of all sides come first.  The certificates that tell when a gap was reached
cost a pass each and are counted, in passes and in seconds, for every side.
"""

from __future__ import annotations

import argparse
import gc
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from common import Row, conditions, show, stored, timed, touch, write_csv, write_picture
from kernelweave.plots.style import GREY, figure, quiet
from svrg_common import (
    COLOURS,
    GAPS,
    REAL,
    SIMULATED,
    Array,
    Curve,
    compile_all,
    decades,
    exact,
    features,
    grams,
    labelled,
    norm_name,
    problem,
    rows,
    solve,
    verdict,
    waves,
)

GAP, AIM, AIM_ROWS = 1e-3, 5.0, 20_000
"""Asked for: so many times faster than each rival at this gap, from so many rows on."""
OURS, SANITY = "svrg", "proximal_gradient"
STOCHASTIC = ("ufo", "obscure", SANITY)
ON_GRAMS = (("level", 1.0, "waves"), ("silp", 1.0, "waves"), ("lp", 2.0, "waves"), ("lp", 2.0, "exact"))


class Ratio(NamedTuple):
    """How many times longer than ours, by wall clock and in CPU seconds; a lower bound unless `exactly`."""

    wall: float
    cpu: float
    exactly: bool


class Clock(NamedTuple):
    """Wall and CPU seconds."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Run:
    """One side on one problem: how it was bound and how long that took, the time of the run, and how its gap fell."""

    part: str
    n: int
    p: float
    side: str
    held: str
    making: Clock
    spent: Clock
    curve: Curve

    @property
    def start(self) -> Clock:
        """The time before the solver began, as far as it counts."""
        return self.making if self.part == "grams" else Clock(0.0, 0.0)

    def reached(self, gap: float) -> bool:
        """Tell whether a gap was proved."""
        return self.curve.gap <= gap

    def whole(self, gap: float) -> Clock:
        """Return the time to a gap that counts; all that was spent where it was not reached."""
        _, wall, cpu = self.curve.at(gap) if self.reached(gap) else (0.0, *self.spent)
        return Clock(self.start.wall + wall, self.start.cpu + cpu)


def measure(part: str, n: int, p: float, side: str, bound: tuple[Any, str, Clock], y: Array,
            limit: float) -> Run:  # fmt: skip
    """Run one side."""
    operators, held, making = bound
    told = timed(lambda: solve(side.split()[0], problem(operators, y, p), GAPS[-1], limit))
    done = Run(part, n, p, side, held, making, Clock(told.wall, told.cpu), told.result)
    end = f"{told.wall:.1f} s, {told.cpu:.1f} CPU s, gap {done.curve.gap:.1e}"
    print(f"{part}, {n} rows, p = {norm_name(p)}, {side}, {held}: {end}", flush=True)
    return done


def on_features(n: int, options: argparse.Namespace) -> list[Run]:
    """Run all solvers that walk over features."""
    X, y = labelled(options.data, n)
    made = timed(lambda: features(waves(options.kernels, options.features, X.shape[1]), X))
    bound = made.result, "features", Clock(made.wall, made.cpu)
    return [
        measure("features", len(y), p, side, bound, y, options.limit)
        for p in options.norms
        for side in (OURS, *STOCHASTIC)
    ]  # fmt: skip


def on_grams(n: int, options: argparse.Namespace) -> list[Run]:
    """Run svrg on features, then every rival on its matrices."""
    X, y = rows(n)
    made = timed(lambda: features(waves(options.kernels, options.features), X))
    bound = made.result, "features", Clock(made.wall, made.cpu)
    done = [measure("grams", n, p, OURS, bound, y, options.limit) for p in (1.0, 2.0)]
    for which in ("waves", "exact"):
        kernels = waves(options.kernels, options.features) if which == "waves" else exact(options.kernels)
        made = timed(lambda kernels=kernels: grams(kernels, X))  # type: ignore[misc]
        bound = (*made.result, Clock(made.wall, made.cpu))
        sides = [(f"{name} ({kind})", p) for name, p, kind in ON_GRAMS if kind == which]
        done += [measure("grams", n, p, side, bound, y, options.limit) for side, p in sides]
        del made, bound  # before the next matrices are made
        gc.collect()
    return done


def rival_of(run: Run, runs: list[Run]) -> Run:
    """Return our run on the same problem."""
    return next(r for r in runs if (r.part, r.n, r.p, r.side) == (run.part, run.n, run.p, OURS))


def ratio(run: Run, runs: list[Run], gap: float) -> Ratio | None:
    """Return how many times longer a run took to a gap than ours; None where we did not reach it."""
    mine = rival_of(run, runs)
    if not mine.reached(gap):
        return None
    ours, theirs = mine.whole(gap), run.whole(gap)
    return Ratio(theirs.wall / ours.wall, theirs.cpu / ours.cpu, run.reached(gap))


def times(found: Ratio | None, clock: str = "wall") -> str:
    """Return a ratio as it is printed."""
    return "-" if found is None else f"{'' if found.exactly else '> '}{getattr(found, clock):.2f}"


def lines(run: Run, runs: list[Run]) -> list[Row]:
    """Return one line for each gap."""
    told = {"part": run.part, "n": run.n, "p": norm_name(run.p), "side": run.side, "held": run.held}
    making = {"making": run.making.wall, "making_cpu": run.making.cpu}
    end = {"spent": run.spent.wall, "last_gap": run.curve.gap, "objective": run.curve.result.primal.value}
    found = []
    for gap in GAPS:
        known = ratio(run, runs, gap)
        ratios = {"times_slower": times(known), "times_more_cpu": times(known, "cpu")}
        found.append({**told, "gap": gap, **run.curve.cells(gap), **making, **ratios, **end})
    return found


def summary(runs: list[Run], column: str) -> list[Row]:
    """Return one line for each run: a column at each gap; the ratios are those at the gap of the aim."""
    found = []
    for run in runs:
        row: Row = {"n": run.n, "p": norm_name(run.p), "side": run.side, "held": run.held}
        row |= {f"{column} to {gap:g}": run.curve.cells(gap)[column] for gap in GAPS}
        if column == "seconds":
            known = ratio(run, runs, GAP)
            row |= {"making": run.making.wall, "wall x": times(known), "CPU x": times(known, "cpu")}
        found.append(row | {"last gap": run.curve.gap})
    return found


def judge(runs: list[Run]) -> list[str]:
    """Return one line for each rival at the gap of the aim; the sanity line and silp have none."""
    found = []
    for run in (run for run in runs if run.side.split()[0] in ("ufo", "obscure", "level", "lp")):
        told, known = f"{run.n} rows, p = {norm_name(run.p)}, {run.side}", ratio(run, runs, GAP)
        if known is None:
            found.append(verdict(None, f"{told}: svrg itself did not reach {GAP:g}"))
            continue
        good = known.wall >= AIM if known.wall >= AIM or known.exactly else None
        end = "" if known.exactly else f"; > limit, gap {run.curve.gap:.1e} after {run.spent.wall:.0f} s"
        text = f"{told}: svrg is {times(known)}x faster to {GAP:g} in {times(known, 'cpu')}x less CPU"
        text += f" (aim: {AIM:g}x from {AIM_ROWS} rows on){end}"
        found.append(verdict(good if run.n >= AIM_ROWS else None, text))
    return found


def draw(table: list[Row], part: str) -> Any:
    """Return a figure: gap against the seconds that count, one panel for each number of rows (and norm).

    A run that was stopped before the last gap ends in an open mark, at the gap it had proved (1 where it had none).
    """
    panels: dict[str, dict[str, list[Row]]] = {}
    for row in table:
        title = f"{row['n']} rows" + (f", p = {row['p']}" if part == "features" else "")
        name = str(row["side"]) if part == "features" else f"{row['side']}, p = {row['p']}"
        panels.setdefault(title, {}).setdefault(name, []).append(row)
    columns = min(2, len(panels))
    fig, axes = figure(-(-len(panels) // columns), columns, (5.2 * columns, 3.8 * -(-len(panels) // columns)))
    flat = [axes] if len(panels) == 1 else list(axes.ravel())
    names = list(dict.fromkeys(name for members in panels.values() for name in members))
    for ax, (title, members) in zip(flat, panels.items()):
        ends, unproved = list[float](), 0
        for name, some in members.items():
            colour, start = COLOURS[names.index(name) % len(COLOURS)], some[0]["making"] if part == "grams" else 0.0
            known = [row for row in some if row["seconds"] != "-"]
            style = "o-" if name.split(",")[0] == OURS else ".-"
            seconds = [start + row["seconds"] for row in known]
            ax.loglog(seconds, [row["gap"] for row in known], style, color=colour, label=name, markersize=4)
            end, last = start + some[0]["spent"], min(float(some[0]["last_gap"]), 1.0)
            if len(known) < len(some):
                ax.loglog(end, last, "o", color=colour, markerfacecolor="white", markersize=7, zorder=3)
            if not known:
                unproved += 1
                told: Any = {
                    "textcoords": "offset points",
                    "ha": "right",
                    "va": "center",
                    "fontsize": 7,
                    "color": colour,
                }
                ax.annotate(f"{name}: no gap proved", (end, last), (-7, 10 - 10 * unproved), **told)
            ends += [*seconds, end]
        decades(ax, np.array(ends))
        ax.axhline(GAP, color=GREY, linewidth=0.8, linestyle="--")
        ax.set_ylim(GAPS[-1] / 3, 2.0)
        ax.set_title(title, loc="left", fontsize=10)
        ax.set_xlabel("seconds, making of features or matrices included" if part == "grams" else "seconds")
        quiet(ax)
    for ax in flat[len(panels) :]:
        ax.set_visible(False)
    for ax in flat[::columns]:
        ax.set_ylabel("relative duality gap; open: stopped")
    handles = {label: handle for ax in flat for handle, label in zip(*ax.get_legend_handles_labels())}
    fig.legend(list(handles.values()), list(handles), frameon=False, fontsize=8, ncols=3, loc="outside lower center")
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=("features", "grams"), default=["features", "grams"])
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000], help="of the part `features`")
    parser.add_argument("--data", default=SIMULATED, choices=(SIMULATED, *REAL), help="of the part `features`")
    parser.add_argument("--gram-rows", type=int, nargs="+", default=[2000, 5000, 20_000], help="of the part `grams`")
    parser.add_argument("--kernels", type=int, default=20)
    parser.add_argument("--features", type=int, default=50, help="of each kernel")
    parser.add_argument("--norms", type=float, nargs="+", default=[2.0, 1.05], help="of the part `features`")
    parser.add_argument("--limit", type=float, default=180.0, help="seconds of a run at most")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--redraw", action="store_true", help="draw the tables there are")
    options = parser.parse_args()
    if options.redraw:
        for part in options.parts:
            print(write_picture(f"svrg_rivals_{part}", draw(stored(f"svrg_rivals_{part}"), part)))
        return
    end = ""
    if options.quick:
        options.rows, options.gram_rows, options.features, options.limit, end = [2000], [500, 1000], 10, 2.0, "_quick"
    if options.data != SIMULATED:
        options.parts, options.rows, end = ["features"], options.rows[:1], f"_{options.data}{end}"
    print(conditions())
    asked = {"features": (OURS, *STOCHASTIC), "grams": (OURS, "level", "silp", "lp")}
    compile_all(list(dict.fromkeys(name for part in options.parts for name in asked[part])))
    touch(1e9 if not options.quick else 1e7)
    print("compiled by small runs first, not counted", flush=True)
    for part in options.parts:
        runs: list[Run] = []
        for n in options.rows if part == "features" else options.gram_rows:
            runs += on_features(n, options) if part == "features" else on_grams(n, options)
        print(show(summary(runs, "seconds")))
        print(show(summary([run for run in runs if run.held == "features"], "passes")))
        table = [line for run in runs for line in lines(run, runs)]
        print(write_csv(f"svrg_rivals_{part}{end}", table))
        print(write_picture(f"svrg_rivals_{part}{end}", draw(table, part)))
        print("\n".join(judge(runs)), flush=True)


if __name__ == "__main__":
    main()
