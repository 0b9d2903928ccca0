"""How does `svrg` grow?  With the rows, with the kernels, with the norm; logistic loss, C = 1, gap 1e-3.

    python benchmarks/svrg_growth.py               # rows 1e3 ... 1e6, then kernels 10 ... 1,000 at four norms
    python benchmarks/svrg_growth.py --parts rows  # one of the parts: rows, kernels
    python benchmarks/svrg_growth.py --quick       # small sizes, to look at

rows      20 kernels of 20 waves each, p = 2.  Every size runs in a fresh process, which also tells its peak memory; the
          exponent in n is fitted from 10,000 rows on.  Seconds are those of the solver, the making of the features is a
          column of its own.
kernels   20,000 rows; about 1,000 features in all, so a pass costs the same whatever the number of kernels (1,000
          kernels have 2,000 features, since waves come in pairs: there the time of a run is halved before the fit).
          The theory, F^(1/q) with q = p / (p - 1), is about the number of passes; both exponents stand beside it.

Compilation is kept out: a small run comes first.  Times of `kernels` are the best of `--repeats` equal runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

import numpy as np

from common import Row, conditions, peak_memory, show, timed, write_csv, write_picture
from kernelweave.plots.style import GREY, figure, quiet
from svrg_common import (
    COLOURS,
    NORMS,
    best_of,
    compile_all,
    exponent,
    features,
    norm_name,
    problem,
    rows,
    solve,
    verdict,
    waves,
)

GAP = 1e-3
SIZES = (1000, 10_000, 100_000, 1_000_000)
FIT_FROM = 10_000
KERNELS, FEATURES = 20, 20
COUNTS = (10, 20, 50, 100, 250, 500, 1000)
ALL_FEATURES = 1000
AIM_ROWS, AIM_KERNELS, AIM_MEMORY, MILLION = 1.1, 0.6, 6.0, 1_000_000
"""Exponents asked for (that of kernels at p = 2), and gigabytes at a million rows."""


def one_size(n: int, d: int, limit: float) -> Row:
    """Run one number of rows in this process, after a small run that compiles."""
    compile_all(["svrg"])
    before = peak_memory()
    X, y = rows(n)
    made = timed(lambda: features(waves(KERNELS, d), X, GAP))
    curve = solve("svrg", problem(made.result, y), GAP, limit)
    sizes = {"n": n, "kernels": KERNELS, "features": d, "p": "2"}
    making = {"making": made.wall, "making_cpu": made.cpu}
    memory = {"memory_gb": peak_memory() / 1e9, "memory_before_gb": before / 1e9}
    return sizes | curve.cells(GAP) | making | memory | {"gap": curve.gap}


def in_new_process(n: int, d: int, limit: float) -> Row:
    """Run one number of rows in a fresh process."""
    command = [sys.executable, __file__, "--child", str(n), str(d), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{n} rows ended with:\n{done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def with_rows(options: argparse.Namespace) -> list[Row]:
    """Return one line for each number of rows."""
    found = []
    for n in options.sizes:
        found.append(in_new_process(n, options.features, options.limit))
        print(show(found[-1:]), flush=True)
    return found


def block_width(F: int) -> int:
    """Return how many waves each of F kernels has: an even number, about 1,000 in all."""
    return max(2, ALL_FEATURES // F // 2 * 2)


def with_kernels(options: argparse.Namespace) -> list[Row]:
    """Return one line for each number of kernels and each norm."""
    compile_all(["svrg"])
    X, y = rows(options.rows)
    found = []
    for F in options.counts:
        d = block_width(F)
        operators = features(waves(F, d), X, GAP)
        for p in options.norms:
            posed = problem(operators, y, p)
            curve = best_of(options.repeats, lambda posed=posed: solve("svrg", posed, GAP, options.limit))  # type: ignore[misc]
            cells = curve.cells(GAP)
            scaled = {
                f"{name}_scaled": cells[name] * ALL_FEATURES / (F * d) if cells[name] != "-" else "-"
                for name in ("seconds", "cpu")
            }
            sizes = {"n": options.rows, "kernels": F, "features": d, "p": norm_name(p)}
            found.append(sizes | cells | scaled | {"gap": curve.gap})
            print(show(found[-1:]).splitlines()[-1], flush=True)
    return found


def of_norm(lines: list[Row], p: float, column: str) -> float:
    """Return the exponent of a column in the number of kernels, at one norm."""
    some = [row for row in lines if row["p"] == norm_name(p)]
    return exponent([row["kernels"] for row in some], [row[column] for row in some])


def exponents(lines: list[Row], norms: list[float]) -> list[Row]:
    """Return one line for each norm: fitted exponents beside the theory."""
    return [
        {
            "p": norm_name(p), "theory 1/q": 1.0 - 1.0 / p, "passes": of_norm(lines, p, "passes"),
            "seconds": of_norm(lines, p, "seconds_scaled"), "cpu": of_norm(lines, p, "cpu_scaled"),
        }
        for p in norms
    ]  # fmt: skip


def row_exponents(lines: list[Row]) -> dict[str, float]:
    """Return the exponents in n of seconds, CPU seconds, passes and of the making of features."""
    some = [row for row in lines if row["n"] >= FIT_FROM]
    return {
        name: exponent([row["n"] for row in some], [row[name] for row in some])
        for name in ("seconds", "cpu", "passes", "making")
    }


def judge_rows(lines: list[Row]) -> list[str]:
    """Return one line for each aim about rows."""
    fitted, largest = row_exponents(lines), max(lines, key=lambda row: row["n"])
    whole = largest["n"] >= MILLION
    shown = ", ".join(f"{name} n^{value:.2f}" for name, value in fitted.items())
    memory = largest["memory_gb"]
    return [
        verdict(fitted["seconds"] <= AIM_ROWS if whole else None, f"{shown} from {FIT_FROM} rows on (aim: {AIM_ROWS})"),
        verdict(
            memory < AIM_MEMORY if whole else None,
            f"{largest['n']} rows, {KERNELS} kernels of {largest['features']} waves: peak memory {memory:.2f} GB "
            f"(aim: under {AIM_MEMORY:g} at {MILLION})",
        ),
    ]


def judge_kernels(lines: list[Row]) -> list[str]:
    """Return one line for the aim about kernels."""
    if not any(row["p"] == "2" for row in lines):
        return []
    passes, seconds = of_norm(lines, 2.0, "passes"), of_norm(lines, 2.0, "seconds_scaled")
    good = max(passes, seconds) <= AIM_KERNELS if max(row["kernels"] for row in lines) >= COUNTS[-1] else None
    return [verdict(good, f"p = 2: passes F^{passes:.2f}, seconds F^{seconds:.2f} (aim: {AIM_KERNELS})")]


def line(ax: Any, x: list[float], y: list[Any], colour: str, label: str) -> None:
    """Draw the numbers of a column, leaving out what was not reached."""
    known = [(a, b) for a, b in zip(x, y) if isinstance(b, float)]
    ax.loglog([a for a, _ in known], [b for _, b in known], "o-", color=colour, label=label, markersize=4)


def theory(ax: Any, x: list[float], at: float, slope: float, label: str) -> None:
    """Draw a power law through a value at the first place."""
    ends = np.array([x[0], x[-1]], dtype=float)
    ax.loglog(ends, at * (ends / ends[0]) ** slope, "--", color=GREY, label=label, linewidth=1.0, zorder=1)


def draw_rows(lines: list[Row]) -> Any:
    """Return a figure: seconds, passes and memory over the rows."""
    fig, axes = figure(1, 3, (11.0, 3.4))
    n = [row["n"] for row in lines]
    line(axes[0], n, [row["seconds"] for row in lines], COLOURS[0], f"solver, to gap {GAP:g}")
    line(axes[0], n, [row["making"] for row in lines], COLOURS[1], "making of the features")
    fitted = [row for row in lines if row["n"] >= FIT_FROM and isinstance(row["seconds"], float)]
    if fitted:
        theory(axes[0], [row["n"] for row in fitted], fitted[0]["seconds"], 1.0, "theory: n")
    line(axes[1], n, [row["passes"] for row in lines], COLOURS[0], "")
    line(axes[2], n, [row["memory_gb"] for row in lines], COLOURS[0], "peak of the process")
    axes[2].axhline(AIM_MEMORY, color=GREY, linestyle="--", linewidth=1.0, label="asked for at a million rows")
    axes[1].set_ylim(1, 100)
    axes[2].set_yscale("linear")
    axes[2].set_ylim(0, 1.3 * max(AIM_MEMORY, *(row["memory_gb"] for row in lines)))
    for ax, label in zip(axes, ("seconds", "effective passes", "memory, GB")):
        ax.set_xlabel("rows")
        ax.set_ylabel(label)
        quiet(ax)
    axes[0].legend(frameon=False, fontsize=8)
    axes[2].legend(frameon=False, fontsize=8, loc="upper left")
    return fig


def draw_kernels(lines: list[Row], norms: list[float]) -> Any:
    """Return a figure: passes and seconds over the number of kernels, one panel for each norm with its theory."""
    fig, axes = figure(2, len(norms), (2.9 * len(norms), 5.2))
    axes = np.asarray(axes).reshape(2, len(norms))
    for column, p in enumerate(norms):
        some = [row for row in lines if row["p"] == norm_name(p)]
        F = [row["kernels"] for row in some]
        for ax, name in zip(axes[:, column], ("passes", "seconds_scaled")):
            values = [row[name] for row in some]
            line(ax, F, values, COLOURS[0], f"measured: {exponent(F, values):.2f}")
            first = next((value for value in values if isinstance(value, float)), 1.0)
            theory(ax, F, first, 1.0 - 1.0 / p, f"theory: {1.0 - 1.0 / p:.2f}")
            ax.legend(frameon=False, fontsize=8, title="exponent", title_fontsize=8, loc="upper left")
            quiet(ax)
        axes[0, column].set_title(f"p = {norm_name(p)}", loc="left", fontsize=10)
        axes[1, column].set_xlabel("kernels")
    for row, label in zip(axes, ("effective passes", f"seconds for {ALL_FEATURES} features")):
        known = [y for ax in row for y in ax.get_ylim()]
        for ax in row:
            ax.set_ylim(min(known), 3.0 * max(known))
        row[0].set_ylabel(label)
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=("rows", "kernels"), default=["rows", "kernels"])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of rows")
    parser.add_argument("--features", type=int, default=FEATURES, help="of each kernel, while rows grow")
    parser.add_argument("--counts", type=int, nargs="+", default=list(COUNTS), help="numbers of kernels")
    parser.add_argument("--rows", type=int, default=20_000, help="while kernels grow")
    parser.add_argument("--norms", type=float, nargs="+", default=list(NORMS))
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a run at most")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        n, d, limit = options.child
        print(json.dumps(one_size(int(n), int(d), float(limit))))
        return
    end = ""
    if options.quick:
        options.sizes, options.counts, options.rows = [1000, 10_000, 30_000], [10, 50, 250], 2000
        options.repeats, options.limit, end = 1, 5.0, "_quick"
    print(conditions())
    print("compiled by a small run first, not counted")
    if "rows" in options.parts:
        lines = with_rows(options)
        print(show(lines))
        print(write_csv(f"svrg_growth_rows{end}", lines))
        print(write_picture(f"svrg_growth_rows{end}", draw_rows(lines)))
        print("\n".join(judge_rows(lines)))
    if "kernels" in options.parts:
        lines = with_kernels(options)
        print(show(lines))
        print(show(exponents(lines, options.norms)))
        print(write_csv(f"svrg_growth_kernels{end}", lines))
        print(write_csv(f"svrg_growth_exponents{end}", exponents(lines, options.norms)))
        print(write_picture(f"svrg_growth_kernels{end}", draw_kernels(lines, options.norms)))
        print("\n".join(judge_kernels(lines)))


if __name__ == "__main__":
    main()
