"""Rows that come in blocks: `partial_fit` against `fit` on all rows; logistic loss, C = 1, p = 2.

    python benchmarks/svrg_stream.py                  # 100,000 rows, blocks of 10,000 and of 1,000
    python benchmarks/svrg_stream.py --quick          # few rows, to look at

20 Gaussian kernels as 20 waves each (`svrg_common.py`).  Every pass shuffles all rows anew and hands them over in
blocks; `total_rows` is told.  After each pass `certify` computes the objective on all rows, which is not counted.
`excess` is the objective over that of `fit` on all rows with the same features (gap 1e-5), less 1.  The seconds of both
sides include the making of features, but not the drawing of frequencies, which is done once for all.  Compilation is
kept out: small runs come first.  `svrg_mapped.py` is about files larger than the memory that is allowed.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import kernelweave as kw
from common import Row, conditions, show, timed, write_csv, write_picture
from kernelweave.plots.style import GREY, figure, quiet
from mkl_common import fit_quietly, time_cap
from svrg_common import COLOURS, WARM_UP_ROWS, Array, rows, verdict, waves

KERNELS, FEATURES = 20, 20
SIDES = ("svrg", "ufo", "obscure")
BATCH_GAP = 1e-5
AIM = 0.01
"""Asked for: objective of a stream over that of `fit`, less 1."""


def classifier(solver: str, kernels: Any, **params: Any) -> kw.MKLClassifier:
    """Return the model of all runs; the kernels have a unit diagonal already."""
    return kw.MKLClassifier(kernels, C=1.0, loss="logistic", norm=2.0, solver=solver, normalize=None, **params)


def one_pass(model: kw.MKLClassifier, X: Array, y: Array, blocks: list[Array]) -> None:
    """Hand over every block once."""
    for some in blocks:
        model.partial_fit(X[some], y[some], classes=[-1, 1])


def in_blocks(side: str, kernels: Any, data: tuple[Array, Array], best: float, size: int,
              options: argparse.Namespace) -> list[Row]:  # fmt: skip
    """Return one line for each pass of a stream."""
    X, y = data
    model = classifier(side, kernels, solver_params={"total_rows": len(y)})
    rng, found, wall, cpu = np.random.default_rng(1), [], 0.0, 0.0
    for number in range(1, options.passes + 1):
        blocks = np.array_split(rng.permutation(len(y)), max(1, -(-len(y) // size)))
        run = timed(lambda blocks=blocks: one_pass(model, X, y, blocks))  # type: ignore[misc]
        wall, cpu, gap = wall + run.wall, cpu + run.cpu, model.certify(X, y)
        found.append({
            "n": len(y), "side": side, "block": size, "pass": number, "seconds": wall, "cpu": cpu,
            "objective": model.objective_, "excess": model.objective_ / best - 1.0, "gap": gap,
        })  # fmt: skip
        if wall > options.limit:
            break
    print(f"{side}, blocks of {size}: excess {found[-1]['excess']:.1e} after {len(found)} passes", flush=True)
    return found


def warm_up(kernels: Any, X: Array, y: Array) -> None:
    """Compile every path that will be timed."""
    for side in SIDES:
        model = classifier(side, kernels, solver_params={"total_rows": len(y)})
        one_pass(model, X, y, [np.arange(len(y))] * 2)
        model.certify(X, y)
    fit_quietly(classifier("svrg", kernels, tol=BATCH_GAP), X, y)


def measure(options: argparse.Namespace) -> list[Row]:
    """Return the line of fit on all rows, then those of all streams."""
    X, y = rows(options.rows)
    kernels = [kernel.fitted(X) for kernel in waves(KERNELS, FEATURES)]
    warm_up(kernels, X[:WARM_UP_ROWS], y[:WARM_UP_ROWS])
    model = classifier("svrg", kernels, tol=BATCH_GAP, callbacks=(time_cap(options.limit),))
    batch = timed(lambda: fit_quietly(model, X, y))
    print(f"fit on all rows: {batch.wall:.2f} s, gap {model.duality_gap_:.1e}", flush=True)
    found = [{
        "n": len(y), "side": "fit, svrg", "block": len(y), "pass": float(model.trace_["passes"][-1]),
        "seconds": batch.wall, "cpu": batch.cpu, "objective": model.objective_, "excess": 0.0,
        "gap": model.duality_gap_,
    }]  # fmt: skip
    for size in options.blocks:
        for side in SIDES:
            found += in_blocks(side, kernels, (X, y), model.objective_, size, options)
    for row in found:
        row["times_fit"], row["times_fit_cpu"] = row["seconds"] / batch.wall, row["cpu"] / batch.cpu
    return found


def judge(lines: list[Row]) -> list[str]:
    """Return one line for each stream; only that of svrg has an aim."""
    found = []
    for key in dict.fromkeys((row["side"], row["block"]) for row in lines[1:]):
        last = [row for row in lines if (row["side"], row["block"]) == key][-1]
        text = f"{key[0]}, blocks of {key[1]}, {last['pass']} passes: {100 * last['excess']:.3f} % above fit"
        aim = f" on all rows (aim: {100 * AIM:g} %)"
        found.append(verdict(last["excess"] <= AIM, text + aim) if key[0] == "svrg" else f"no aim: {text}")
    return found


def draw(lines: list[Row]) -> Any:
    """Return a figure: excess of the objective over passes and over seconds."""
    sizes = list(dict.fromkeys(row["block"] for row in lines[1:]))
    fig, axes = figure(1, 2, (9.2, 4.2))
    for ax, column in zip(axes, ("pass", "seconds")):
        for colour, side in zip(COLOURS, SIDES):
            for size, style in zip(sizes, ("o-", "s--", "^:")):
                some = [row for row in lines[1:] if (row["side"], row["block"]) == (side, size)]
                ax.semilogy([row[column] for row in some], [max(row["excess"], BATCH_GAP / 10) for row in some], style,
                            color=colour, label=f"{side}, blocks of {size}", markersize=4, linewidth=1.2)  # fmt: skip
        ax.axhline(AIM, color=GREY, linewidth=1.0, label="asked for: 1 %")
        quiet(ax)
    fit = lines[0]["seconds"]
    axes[1].axvline(fit, color=GREY, linewidth=1.0, linestyle=":", label=f"fit on all rows to {BATCH_GAP:g}")
    axes[0].set_ylabel("objective above that of fit, relative")
    axes[0].set_xlabel("passes over the blocks")
    axes[0].xaxis.get_major_locator().set_params(integer=True)
    axes[1].set_xlabel("seconds in partial_fit")
    handles, labels = axes[1].get_legend_handles_labels()
    fig.legend(handles, labels, frameon=False, fontsize=8, ncols=4, loc="outside lower center")
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--blocks", type=int, nargs="+", default=[10_000, 1000], help="rows of a block")
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of a run at most")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    end = ""
    if options.quick:
        options.rows, options.blocks, options.passes, options.limit, end = 4000, [1000, 200], 4, 8.0, "_quick"
    print(conditions())
    print("compiled by small runs first, not counted", flush=True)
    lines = measure(options)
    print(show(lines))
    print(write_csv(f"svrg_stream{end}", lines))
    print(write_picture(f"svrg_stream{end}", draw(lines)))
    print("\n".join(judge(lines)), flush=True)


if __name__ == "__main__":
    main()
