"""Ten Gaussian widths on 1,000 to 20,000 rows: seconds and peak memory, against the loop of `yardsticks.py`.

    python benchmarks/mkl_widths.py                # the loop up to 10,000 rows, where it needs 10 GB
    python benchmarks/mkl_widths.py --small        # everything up to 5,000 rows

Every run has a process of its own: its largest resident memory is what is reported, the interpreter and its libraries
(about 0.2 GB) included.  Both sides stop at 1 %: ours when the duality gap is certified, the loop by its own rule.  The
largest size runs once more, ours only, to a gap of 1e-3 within `memory_limit="4GB"`.  Kernels are built within the
time; compilation is kept out by small fits.  Objectives are as the library reports them; `--check` recomputes them in
double precision, block by block.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from common import Row, conditions, peak_memory, show, timed, write_csv, write_picture
from kernelweave.plots.style import BLUE, GREY, figure, quiet
from mkl_common import Array, Energies, fit_quietly, from_stack, score, score_model
from yardsticks import gram_stack, silp_loop

FEATURES, WIDTHS, COST = 10, 10, 1.0
SAMPLE = 500
"""Rows of which the median squared distance is taken."""
COARSE, FINE = 1e-2, 1e-3
LARGEST_LOOP = 10_000
LIMIT = "4GB"
BLOCK = 500
WARM_UP_ROWS = 400
AIM_SPEED, AIM_MEMORY = 3.0, 0.5


def problem(n: int, features: int = FEATURES) -> tuple[Array, Array, Array]:
    """Return standardised rows of two classes, 5 % of the labels flipped, and widths around the median distance."""
    X, y = make_classification(n, features, n_informative=6, n_clusters_per_class=3, flip_y=0.05, random_state=0)
    X = StandardScaler().fit_transform(X)
    some = X[:SAMPLE]
    distances = np.square(some[:, None] - some).sum(axis=2)
    return X, np.where(y > 0, 1.0, -1.0), np.median(distances) * np.geomspace(1 / 16, 16, WIDTHS)


def ours(X: Array, y: Array, widths: Array, tol: float, limit: Any) -> kw.MKLClassifier:
    model = kw.MKLClassifier(kw.RBF.grid(widths), C=COST, tol=tol, memory_limit=limit)
    return fit_quietly(model, X, y)


def by_blocks(X: Array, widths: Array) -> Energies:
    """Return energies computed from the rows, in double precision, without Gram matrices."""
    norms = np.square(X).sum(axis=1)

    def energies(alpha: Array, beta: Array) -> tuple[Array, Array]:
        each, rows = np.empty((len(widths), len(X))), np.flatnonzero(alpha)
        for s in range(0, len(X), BLOCK):
            cut = slice(s, s + BLOCK)
            distances = norms[cut, None] + norms[rows] - 2 * X[cut] @ X[rows].T
            for k, width in enumerate(widths):
                each[k, cut] = np.exp(distances / -width) @ alpha[rows]
        return each @ alpha, beta @ each

    return energies


def measure(side: str, n: int, tol: float, limit: str, check: bool) -> Row:
    """Run one side in this process, after a small run that compiles."""
    warm_up(side)
    X, y, widths = problem(n)
    if side == "loop":
        grams: list[Array] = []

        def loop() -> Any:
            grams.append(gram_stack(X, np.sqrt(widths / 2), single=False))
            return silp_loop(grams[0], y, COST, tol)

        run = timed(loop)
        memory, found = peak_memory(), run.result
        points = score(from_stack(grams[0]), y, COST, found.alpha, found.beta)
        rounds, plan = found.rounds, "stored"
    else:
        run = timed(lambda: ours(X, y, widths, tol, limit))
        memory, model = peak_memory(), run.result
        rounds, plan = model.n_iter_, model.memory_plan_.kind
        points = score_model(by_blocks(X, widths), y, model) if check else model_says(model)
    return {
        "n": n, "side": side, "tol": tol, "memory_limit": limit, "seconds": run.wall, "cpu": run.cpu,
        "memory_gb": memory / 1e9, "rounds": rounds, "plan": plan, "primal": points.primal, "dual": points.dual,
        "gap": points.gap, "kernels_used": points.used,
    }  # fmt: skip


def model_says(model: kw.MKLClassifier) -> Any:
    """Return the objectives that the fitted model reports."""
    return argparse.Namespace(
        primal=model.objective_, dual=model.dual_objective_, gap=model.duality_gap_,
        used=int((model.kernel_weights_ > 1e-6).sum()),
    )  # fmt: skip


def warm_up(side: str) -> None:
    """Compile what will be timed, however the kernels are held."""
    X, y, widths = problem(WARM_UP_ROWS)
    if side == "loop":
        silp_loop(gram_stack(X, np.sqrt(widths / 2), single=False), y, COST)
        return
    one = 4 * WARM_UP_ROWS**2
    for limit in (2 * one * (WIDTHS + 1), one * (WIDTHS + 1), 2 * one, one):
        ours(X, y, widths, COARSE, limit)


def in_new_process(side: str, n: int, tol: float, limit: str, check: bool) -> Row:
    """Measure one side in a fresh process."""
    command = [sys.executable, __file__, "--child", side, str(n), str(tol), limit, str(int(check))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{side} on {n} rows ended with:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def exponent(rows: list[Row], side: str, column: str) -> float:
    """Return the slope of log(column) over log(n) for the runs at the coarse tolerance."""
    some = [(r["n"], r[column]) for r in rows if r["side"] == side and r["tol"] == COARSE]
    return float(np.polyfit(*np.log(np.array(some)).T, 1)[0]) if len(some) > 1 else float("nan")


def add_ratios(rows: list[Row]) -> None:
    """Put beside ours how many times faster it is than the loop, and what share of its memory it takes."""
    loops = {r["n"]: r for r in rows if r["side"] == "loop"}
    for r in rows:
        other = loops.get(r["n"]) if r["tol"] == COARSE else None
        r["times_faster"] = other["seconds"] / r["seconds"] if other else ""
        r["share_of_memory"] = r["memory_gb"] / other["memory_gb"] if other else ""


def judge(rows: list[Row]) -> list[str]:
    """Return one line for each aim."""
    lines = []
    for r in rows:
        if r["side"] == "kernelweave" and r["n"] == LARGEST_LOOP and r["times_faster"] != "":
            good = r["times_faster"] >= AIM_SPEED and r["share_of_memory"] <= AIM_MEMORY and r["gap"] <= COARSE
            lines.append(
                f"{'reached' if good else 'MISSED'}: {r['n']} rows {r['times_faster']:.1f}x faster in "
                f"{100 * r['share_of_memory']:.0f} % of the memory (aim: {AIM_SPEED:g}x, {100 * AIM_MEMORY:g} %)"
            )
        if r["memory_limit"] == LIMIT:
            good = r["gap"] <= FINE
            lines.append(
                f"{'reached' if good else 'MISSED'}: {r['n']} rows within {LIMIT}: gap {r['gap']:.2g} (aim: {FINE:g})"
            )
    for side in sorted({r["side"] for r in rows}):
        lines.append(
            f"{side}: seconds grow as n^{exponent(rows, side, 'seconds'):.2f}, "
            f"CPU seconds as n^{exponent(rows, side, 'cpu'):.2f}"
        )
    return lines


def draw(rows: list[Row]) -> Any:
    """Return a figure: seconds and memory over n, both sides."""
    fig, axes = figure(1, 2, (8.4, 3.4))
    for ax, column, label in zip(axes, ("seconds", "memory_gb"), ("seconds", "peak memory, GB")):
        for side, colour in (("loop", GREY), ("kernelweave", BLUE)):
            some = [r for r in rows if r["side"] == side and r["tol"] == COARSE]
            ax.loglog([r["n"] for r in some], [r[column] for r in some], "o-", color=colour, label=f"{side}, 1 %")
        fine = [r for r in rows if r["tol"] == FINE]
        if fine:
            ax.loglog([r["n"] for r in fine], [r[column] for r in fine], "s", color=BLUE, fillstyle="none",
                      label=f"kernelweave, 0.1 %, {LIMIT}")  # fmt: skip
        ax.set_xlabel("training rows")
        ax.set_ylabel(label)
        quiet(ax)
    axes[0].legend(frameon=False)
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 2000, 5000, 10_000, 20_000])
    parser.add_argument("--small", action="store_true", help="nothing above 5,000 rows")
    parser.add_argument("--check", action="store_true", help="recompute our objectives in double precision")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        side, n, tol, limit, check = options.child
        print(json.dumps(measure(side, int(n), float(tol), limit, check == "1")))
        return
    print(conditions("scikit-learn", "highspy"))
    print("each run in a fresh process; compiled by small fits first, not counted; building of kernels counted")
    sizes = [n for n in options.sizes if n <= 5000] if options.small else options.sizes
    runs = [(side, n, COARSE, "auto") for n in sizes for side in ("loop", "kernelweave")]
    runs = [run for run in runs if run[0] != "loop" or run[1] <= LARGEST_LOOP]
    runs.append(("kernelweave", max(sizes), FINE, LIMIT))
    rows = []
    for run in runs:
        rows.append(in_new_process(*run, options.check))
        print(f"{run[0]}, {run[1]} rows, {run[2]:g}: {rows[-1]['seconds']:.2f} s", flush=True)
    add_ratios(rows)
    print(show(rows))
    print(write_csv("mkl_widths", rows))
    print(write_picture("mkl_widths", draw(rows)))
    print("\n".join(judge(rows)))


if __name__ == "__main__":
    main()
