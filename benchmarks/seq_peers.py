"""The whole job with 8-mers: `CountVectorizer` and `LinearSVC` against `kw.Spectrum(8)`, from strings to a machine.

    python benchmarks/seq_peers.py                                   # 50,000 sequences of 141 letters
    python benchmarks/seq_peers.py --rows 3000

Both sides solve the same problem on the raw counts,

    min over w, b   1/2 (|w|^2 + b^2) + C sum_i max(0, 1 - y_i (<w, x_i> + b)),

with C = 5 divided by the mean squared length of a row, which is C = 5 on unit diagonal.  Both start from a list of
strings and end with a trained machine, on one thread by default.  LinearSVC stops at its own `tol` (its
default) and ours at a certified relative gap.  The objective of either side is evaluated by one function, from w, b and
the rows.  Ours is compiled by a small fit first, not counted; the sides run in turn and the best of `--repeats` counts.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import kernelweave as kw
from common import Row, alternate, conditions, show, write_csv, write_picture
from kernelweave.plots.style import BLUE, GREY, figure, quiet
from mkl_common import fit_quietly
from seq_common import KMER, WARM_UP_ROWS, C, splice

AIM = 3.0
SAME = 1e-3
"""Relative difference up to which our objective counts as no worse."""
OURS, PEER = "kernelweave", "scikit-learn"


class Machine(NamedTuple):
    """A trained linear machine: rows (n, d), normal vector (d,), intercept, passes."""

    rows: Any
    w: np.ndarray
    b: float
    passes: int


def primal(machine: Machine, y: np.ndarray, cost: float) -> float:
    """Return the objective of a machine."""
    margins = y * (machine.rows @ machine.w + machine.b)
    loss = cost * float(np.maximum(0.0, 1.0 - margins).sum())
    return 0.5 * float(machine.w @ machine.w + machine.b**2) + loss


def ours(texts: list[str], y: np.ndarray, cost: float, tol: float, threads: int) -> kw.KernelClassifier:
    """Train from strings."""
    model = kw.KernelClassifier(kw.Spectrum(KMER), C=cost, tol=tol, fit_intercept="regularized", n_jobs=threads)
    X: Any = kw.Sequences.from_strings(texts)
    return fit_quietly(model, X, y)


def peer(texts: list[str], y: np.ndarray, cost: float, tol: float) -> tuple[Any, LinearSVC]:
    """Train from strings; return the counts, too."""
    counts = CountVectorizer(analyzer="char", ngram_range=(KMER, KMER), lowercase=False).fit_transform(texts)
    svm = LinearSVC(loss="hinge", C=cost, tol=tol, random_state=0)
    return counts, fit_quietly(svm, counts, y)


def as_machine(result: Any, texts: list[str]) -> Machine:
    """Return either side's result as rows, normal vector and intercept."""
    if isinstance(result, tuple):
        counts, svm = result
        return Machine(counts, svm.coef_[0], float(svm.intercept_[0]), int(svm.n_iter_))
    rows = kw.Spectrum(KMER).features(kw.Sequences.from_strings(texts))
    alpha = sparse.csr_array((result.dual_coef_[0], ([0] * len(result.support_), result.support_)), (1, len(texts)))
    return Machine(rows, (alpha @ rows).toarray().ravel(), float(result.intercept_[0]), result.n_iter_)


def compare(options: argparse.Namespace) -> list[Row]:
    """Run both sides in turn; put ratios beside ours."""
    X, y = splice(options.rows)
    texts = X.to_strings()
    cost = C / float(kw.Spectrum(KMER).diagonal(kw.Spectrum(KMER).prepare(X)).mean())
    calls: dict[str, Any] = {
        f"{OURS} {tol:g}": partial(ours, texts, y, cost, tol, options.threads) for tol in options.tols
    }
    calls[PEER] = partial(peer, texts, y, cost, options.peer_tol)
    with threadpool_limits(options.threads, user_api="blas"):
        runs = alternate(calls, options.repeats)
    machines = {side: as_machine(run.result, texts) for side, run in runs.items()}
    return [
        {
            "side": side, "n": options.rows, "C": cost, "wall": run.wall, "cpu": run.cpu,
            "passes": machines[side].passes, "primal": primal(machines[side], y, cost),
            "gap": "-" if side == PEER else run.result.duality_gap_,
            "times_faster": runs[PEER].wall / run.wall, "times_less_cpu": runs[PEER].cpu / run.cpu,
        }
        for side, run in runs.items()
    ]  # fmt: skip


def judge(rows: list[Row]) -> list[str]:
    """Return one line for each of our runs: as good an objective, and so many times faster."""
    lines, theirs = [], rows[-1]["primal"]
    for row in rows[:-1]:
        off = (row["primal"] - theirs) / theirs
        good = off <= SAME and min(row["times_faster"], row["times_less_cpu"]) >= AIM
        lines.append(
            f"{'reached' if good else 'MISSED'}: {row['side']}: {row['times_faster']:.1f}x faster, "
            f"{row['times_less_cpu']:.1f}x less CPU (aim: {AIM:g}x), objective {off:+.2g} relative to theirs "
            f"(aim: at most {SAME:g})"
        )
    return lines


def draw(rows: list[Row]) -> Any:
    """Return a figure: wall and CPU seconds of both sides."""
    fig, axes = figure(1, 2, (5.6, 3.4))
    for ax, clock in zip(axes, ("wall", "cpu")):
        for place, row in enumerate(rows):
            ax.bar(place, row[clock], 0.7, color=GREY if row["side"] == PEER else BLUE)
            text = f"{row[clock]:.3g} s"
            ax.annotate(text, (place, row[clock]), (0, 2), textcoords="offset points", ha="center", fontsize=8)
        ax.set_xticks(range(len(rows)), [row["side"].replace(" ", "\n") for row in rows], fontsize=7)
        ax.set_title(clock, loc="left", fontsize=10)
        quiet(ax)
    axes[0].set_ylabel("seconds, from strings to a machine")
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tols", type=float, nargs="+", default=[1e-3, 1e-4], help="our relative gaps")
    parser.add_argument("--peer-tol", type=float, default=1e-4, help="tol of LinearSVC; 1e-4 is its default")
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    print(conditions("scikit-learn"))
    X, y = splice(WARM_UP_ROWS, seed=1)
    ours(X.to_strings(), y, 1.0, options.tols[0], options.threads)
    print(f"compiled by a small fit first, not counted; best of {options.repeats}", flush=True)
    rows = compare(options)
    print(show(rows))
    print(write_csv("seq_peers", rows))
    print(write_picture("seq_peers", draw(rows)))
    print("\n".join(judge(rows)))


if __name__ == "__main__":
    main()
