"""How many effective passes does `svrg` need?  Logistic loss, 20 Gaussian kernels as 50 waves each (`svrg_common.py`).

    python benchmarks/svrg_passes.py               # 100,000 rows: four norms at C = 1, then four costs at p = 2
    python benchmarks/svrg_passes.py --data covertype --limit 60        # real rows: covertype or mnist
    python benchmarks/svrg_passes.py --quick       # 4,000 rows and few waves, to look at

An effective pass is n rows walked over, or one look over all rows (objective, gradient and certificate at once).  All
runs share one matrix of features, whose making is timed apart.  Compilation is kept out: a small run comes first.
"""

from __future__ import annotations

import argparse
from typing import Any

from common import Row, conditions, peak_memory, show, timed, write_csv, write_picture
from kernelweave.plots.style import GREY, figure, quiet
from svrg_common import (
    COLOURS,
    GAPS,
    NORMS,
    REAL,
    SIMULATED,
    Curve,
    compile_all,
    features,
    labelled,
    norm_name,
    problem,
    solve,
    verdict,
    waves,
)

COSTS = (0.1, 1.0, 10.0, 100.0)
AIMS = {1e-3: 30.0, 1e-5: 60.0}
"""Passes asked for at p = 2 and C = 1, by gap."""
AIM_ROWS = 100_000
Key = tuple[float, float]


def lines(key: Key, n: int, curve: Curve) -> list[Row]:
    """Return one line for each gap."""
    p, C = key
    told = {"n": n, "p": norm_name(p), "C": C}
    return [{**told, "gap": gap, **curve.cells(gap), "last_gap": curve.gap} for gap in GAPS]


def summary(curves: dict[Key, Curve]) -> list[Row]:
    """Return one line for each run: passes at each gap, and its whole time."""
    found = []
    for (p, C), curve in curves.items():
        row: Row = {"p": norm_name(p), "C": C}
        row |= {f"passes to {gap:g}": curve.cells(gap)["passes"] for gap in GAPS}
        row |= {f"s to {gap:g}": curve.cells(gap)["seconds"] for gap in (1e-3, 1e-5)}
        wall, cpu = (float(clock[-1]) if len(clock) else float("nan") for clock in (curve.seconds, curve.cpu))
        found.append(row | {"seconds": wall, "cpu": cpu, "last gap": curve.gap})
    return found


def judge(curves: dict[Key, Curve], n: int) -> list[str]:
    """Return one line for each aim."""
    curve, found = curves.get((2.0, 1.0)), []
    if curve is None:
        return found
    for gap, aim in AIMS.items():
        passes, seconds, cpu = curve.at(gap)
        good = passes <= aim if n >= AIM_ROWS else None
        text = f"gap {gap:g} after {passes:g} passes, {seconds:.2f} s, {cpu:.2f} CPU s (aim: {aim:g} passes"
        found.append(verdict(good, f"{text} at {AIM_ROWS} rows; here {n})"))
    return found


def draw(curves: dict[Key, Curve]) -> Any:
    """Return a figure: gap against passes, norms on the left, costs on the right; the aims are stars."""
    panels = {
        "C = 1": {f"p = {norm_name(p)}": curve for (p, C), curve in curves.items() if C == 1.0},
        "p = 2": {f"C = {C:g}": curve for (p, C), curve in sorted(curves.items()) if p == 2.0},
    }
    fig, axes = figure(1, 2, (9.2, 3.8))
    for ax, (title, some) in zip(axes, panels.items()):
        for colour, (name, curve) in zip(COLOURS, some.items()):
            ax.semilogy(curve.passes, curve.gaps, ".-", color=colour, label=name, linewidth=1.2)
        told = "asked for: p = 2, C = 1" if ax is axes[0] else None
        ax.plot(list(AIMS.values()), list(AIMS), "*", color=GREY, markersize=10, label=told)
        ax.set_ylim(GAPS[-1] / 10, 1.5)
        ax.set_xlabel("effective passes")
        ax.set_title(title, loc="left", fontsize=10)
        ax.legend(frameon=False, fontsize=8)
        quiet(ax)
    axes[0].set_xlim(left=0)
    axes[1].set_xscale("log")
    axes[0].set_ylabel("relative duality gap")
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=AIM_ROWS, help="at most")
    parser.add_argument("--data", default=SIMULATED, choices=(SIMULATED, *REAL))
    parser.add_argument("--kernels", type=int, default=20)
    parser.add_argument("--features", type=int, default=50, help="of each kernel")
    parser.add_argument("--norms", type=float, nargs="+", default=NORMS)
    parser.add_argument("--costs", type=float, nargs="+", default=COSTS)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of a run at most")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.features, options.limit = 4000, 10, 4.0
    print(conditions())
    compile_all(["svrg"])
    X, y = labelled(options.data, options.rows)
    made = timed(lambda: features(waves(options.kernels, options.features, X.shape[1]), X))
    print(f"compiled by a small run first, not counted; features made in {made.wall:.2f} s ({made.cpu:.2f} CPU s)")
    keys = list(dict.fromkeys([(p, 1.0) for p in options.norms] + [(2.0, C) for C in options.costs]))
    curves: dict[Key, Curve] = {}
    for p, C in keys:
        curves[p, C] = solve("svrg", problem(made.result, y, p, C), GAPS[-1], options.limit)
        print(f"p = {norm_name(p)}, C = {C:g}: gap {curves[p, C].gap:.1e}", flush=True)
    print(show(summary(curves)))
    print(f"peak memory {peak_memory() / 1e9:.2f} GB")
    name = "svrg_passes" + ("" if options.data == SIMULATED else f"_{options.data}") + "_quick" * options.quick
    print(write_csv(name, [line for key, curve in curves.items() for line in lines(key, len(y), curve)]))
    print(write_picture(name, draw(curves)))
    print("\n".join(judge(curves, len(y))))


if __name__ == "__main__":
    main()
