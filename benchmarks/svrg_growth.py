"""How does `svrg` grow?  With the rows, with the kernels, with the norm; logistic loss, C = 1, gap 1e-3.

    python benchmarks/svrg_growth.py               # rows 1e3 ... 1e6, then kernels 10 ... 1,000 at four norms
    python benchmarks/svrg_growth.py --parts rows  # one of the parts: rows, kernels, paper
    python benchmarks/svrg_growth.py --quick       # small sizes, to look at

rows      20 kernels of 20 waves each, p = 2.  Every size runs in a fresh process, which also tells its peak memory; the
          exponent in n is fitted from 10,000 rows on.  Seconds are those of the solver, the making of the features is a
          column of its own.
kernels   20,000 rows; about 1,000 features in all, so a pass costs the same whatever the number of kernels (1,000
          kernels have 2,000 features, since waves come in pairs: there the time of a run is halved before the fit).
          Passes, seconds, and updates of blocks, which are what Theorem 1 counts: F^(1/q), q = p / (p - 1).  A step of
          this schedule moves all blocks, so it makes F updates; the theorem is not about it.
paper     The schedule that the theorem is about: 1,000 rows, one round of epochs to epsilon = 0.01, mean over seeds;
          updates of blocks against what the theorem allows, as corrected (F^(1/q) m(Delta, kappa) + F m(Delta, 2)).
          kappa is proportional to L, the joint constant of the losses, and here L grows with F, since every kernel adds
          a diagonal of 1: so the theorem's power law is F^(1 + 1/q).

Compilation is kept out: a small run comes first.  Times of `kernels` are the best of `--repeats` equal runs.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from typing import Any

import numpy as np

from common import Row, conditions, peak_memory, show, timed, write_csv, write_picture
from kernelweave.plots.style import GREY, figure, quiet
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.mkl.gradient.svrg.solver import SVRG
from svrg_common import (
    COLOURS,
    NORMS,
    Curve,
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
PARTS = ("rows", "kernels", "paper")
PAPER_COUNTS, PAPER_ROWS, PAPER_FEATURES, PAPER_EPSILON = (3, 6, 12, 24, 48), 1000, 20, 1e-2
EPOCHS, NEVER = math.ceil(math.log(1.0 / PAPER_EPSILON)), 1e-15
"""Epochs of a round, and a gap that no run reaches: the epochs alone end it."""
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
            cells = curve.cells(GAP) | {"updates": updates_at(curve)}
            scaled = {
                f"{name}_scaled": cells[name] * ALL_FEATURES / (F * d) if cells[name] != "-" else "-"
                for name in ("seconds", "cpu")
            }
            sizes = {"n": options.rows, "kernels": F, "features": d, "p": norm_name(p)}
            found.append(sizes | cells | scaled | {"gap": curve.gap})
            print(show(found[-1:]).splitlines()[-1], flush=True)
    return found


def updates_at(curve: Curve) -> Any:
    """Return the updates of blocks at the first certificate of the gap, "-" where it was not reached."""
    there = np.flatnonzero(curve.gaps <= GAP)
    return float(curve.result.trace["updates"][there[0]]) if len(there) else "-"


def with_the_paper(options: argparse.Namespace) -> list[Row]:
    """Return one line for each number of kernels and each norm: updates of one round of the paper's epochs."""
    X, y = rows(PAPER_ROWS)
    found: list[Row] = []
    for F in options.paper_counts:
        operators = features(waves(F, PAPER_FEATURES), X, GAP)
        for p in options.norms:
            posed, done = problem(operators, y, p, intercept="none"), []
            for seed in range(options.seeds):
                solver = SVRG("paper", epsilon=PAPER_EPSILON, random_state=seed)
                done.append(timed(lambda s=solver, q=posed: run(s, q, Stop(NEVER, EPOCHS))))  # type: ignore[misc]
            last = {name: [one.result.trace[name][-1] for one in done] for name in ("updates", "allowed", "passes")}
            means = {name: float(np.mean(values)) for name, values in last.items()}
            found.append({
                "n": PAPER_ROWS, "kernels": F, "features": PAPER_FEATURES, "p": norm_name(p), "seeds": options.seeds,
                **means, "share": means["updates"] / means["allowed"], "cpu": float(np.mean([one.cpu for one in done])),
            })  # fmt: skip
            print(show(found[-1:]).splitlines()[-1], flush=True)
    return found


def paper_exponents(lines: list[Row], norms: list[float]) -> list[Row]:
    """Return one line for each norm: exponents of the updates made and allowed beside 1 + 1/q."""
    return [
        {
            "p": norm_name(p), "1 + 1/q": 2.0 - 1.0 / p, "updates": of_norm(lines, p, "updates"),
            "allowed": of_norm(lines, p, "allowed"),
        }
        for p in norms
    ]  # fmt: skip


def draw_paper(lines: list[Row], norms: list[float]) -> Any:
    """Return a figure: updates of blocks over the number of kernels: made, allowed, and the theorem."""
    fig, axes = figure(1, len(norms), (2.9 * len(norms), 3.2))
    for ax, p in zip(np.atleast_1d(axes), norms):
        some = [row for row in lines if row["p"] == norm_name(p)]
        F = [row["kernels"] for row in some]
        for name, label, colour in (("allowed", "allowed, corrected", COLOURS[1]), ("updates", "made", COLOURS[0])):
            values = [row[name] for row in some]
            line(ax, F, values, colour, f"{label}: $F^{{{exponent(F, values):.2f}}}$")
        slope = 2.0 - 1.0 / p
        theory(ax, F, some[0]["updates"], slope, f"$F^{{1/q}}$ times L ~ F: $F^{{{slope:.2f}}}$")
        ax.set_xticks(F, [str(count) for count in F])
        ax.minorticks_off()
        ax.legend(frameon=False, fontsize=8, loc="upper left")
        ax.set_title(f"p = {norm_name(p)}", loc="left", fontsize=10)
        ax.set_xlabel("kernels")
        quiet(ax)
    known = [y for ax in np.atleast_1d(axes) for y in ax.get_ylim()]
    for ax in np.atleast_1d(axes):
        ax.set_ylim(min(known), 6.0 * max(known))
    np.atleast_1d(axes)[0].set_ylabel("updates of blocks in a round")
    return fig


def of_norm(lines: list[Row], p: float, column: str) -> float:
    """Return the exponent of a column in the number of kernels, at one norm."""
    some = [row for row in lines if row["p"] == norm_name(p)]
    return exponent([row["kernels"] for row in some], [row[column] for row in some])


def exponents(lines: list[Row], norms: list[float]) -> list[Row]:
    """Return one line for each norm: fitted exponents."""
    return [
        {
            "p": norm_name(p), "passes": of_norm(lines, p, "passes"), "updates": of_norm(lines, p, "updates"),
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
    """Return a figure: passes, updates of blocks and seconds over the number of kernels, one column for each norm."""
    fig, axes = figure(3, len(norms), (2.9 * len(norms), 7.2))
    axes = np.asarray(axes).reshape(3, len(norms))
    for column, p in enumerate(norms):
        some = [row for row in lines if row["p"] == norm_name(p)]
        F = [row["kernels"] for row in some]
        for ax, name in zip(axes[:, column], ("passes", "updates", "cpu_scaled")):
            values = [row[name] for row in some]
            line(ax, F, values, COLOURS[0], f"measured: {exponent(F, values):.2f}")
            ax.legend(frameon=False, fontsize=8, title="exponent", title_fontsize=8, loc="upper left")
            quiet(ax)
        axes[0, column].set_title(f"p = {norm_name(p)}", loc="left", fontsize=10)
        axes[2, column].set_xlabel("kernels")
    for row, label in zip(axes, ("effective passes", "updates of blocks", f"CPU s for {ALL_FEATURES} features")):
        known = [y for ax in row for y in ax.get_ylim()]
        for ax in row:
            ax.set_ylim(min(known), 3.0 * max(known))
        row[0].set_ylabel(label)
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of rows")
    parser.add_argument("--features", type=int, default=FEATURES, help="of each kernel, while rows grow")
    parser.add_argument("--counts", type=int, nargs="+", default=list(COUNTS), help="numbers of kernels")
    parser.add_argument("--rows", type=int, default=20_000, help="while kernels grow")
    parser.add_argument("--norms", type=float, nargs="+", default=list(NORMS))
    parser.add_argument("--paper-counts", type=int, nargs="+", default=list(PAPER_COUNTS), help="kernels of `paper`")
    parser.add_argument("--seeds", type=int, default=5, help="of the part `paper`")
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
        options.repeats, options.limit, options.seeds, end = 1, 5.0, 1, "_quick"
        options.paper_counts = [3, 6]
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
    if "paper" in options.parts:
        lines = with_the_paper(options)
        fitted = paper_exponents(lines, options.norms)
        print(show(lines), show(fitted), sep="\n")
        print(write_csv(f"svrg_growth_paper{end}", lines))
        print(write_csv(f"svrg_growth_paper_exponents{end}", fitted))
        print(write_picture(f"svrg_growth_paper{end}", draw_paper(lines, options.norms)))


if __name__ == "__main__":
    main()
