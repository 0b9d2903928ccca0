"""Gapped k-mers: training and scoring beside LS-GKM, and beside tf-idf of 3- to 6-mers with LinearSVC.

    python benchmarks/gkm_speed.py --lsgkm DIR                       # DIR holds gkmtrain and gkmpredict
    python benchmarks/gkm_speed.py --peer-runs DIR                   # finished runs of LS-GKM, see gkm_peer.py
    python benchmarks/gkm_speed.py --sizes 500 --sides lsgkm-kernel tf-idf

Human enhancers of 200 letters, 968 of them held out; beyond 2,000 training rows they are simulated (`gkm_data.py`).
LS-GKM runs at its defaults (l = 11, k = 7, d = 3, truncated filter, C = 1, eps = 1e-3) with a larger cache.  Ours train
to a relative duality gap of 1e-3 on one thread: the same kernel (`lsgkm-kernel`), its filter without the cut at d
(`whole-filter`), and plain counts of gapped k-mers (`counts`).  Scoring is timed on the held-out rows, with the model
ready and from its file; LS-GKM's includes reading its model.  Ours are compiled by a small fit first, not counted.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import kernelweave as kw
from common import Row, Timing, conditions, show, timed, write_csv, write_picture
from gkm_data import enhancers, training_rows
from gkm_peer import PeerRun, lsgkm
from kernelweave.interpret import auprc, auroc
from kernelweave.plots.style import figure, quiet
from seq_common import COLOURS, exponent, reset_peak, resident
from seq_data import Rows

PEER, OTHER = "LS-GKM", "tf-idf"
KERNELS = {
    "lsgkm-kernel": kw.LSGKM(),
    "whole-filter": kw.LSGKM(d=None),
    "counts": kw.GappedKmer(11, 7, reverse_complement=True),
}
SAME = "lsgkm-kernel"
AIMS = {2_000: 20.0, 10_000: 100.0}
"""Times less CPU than LS-GKM in training, by rows."""
SCORING_AIM, GROWTH_AIM, GROWTH_FROM = 1_000.0, 1.2, 5_000
LONGEST, LARGEST = 900.0, 6.0
"""Seconds of wall time and GB of memory that the largest size may take."""
REPEATS = 20


def model(side: str, threads: int) -> Any:
    """Return an unfitted model of one side."""
    if side == OTHER:
        return make_pipeline(TfidfVectorizer(analyzer="char", ngram_range=(3, 6), lowercase=False), LinearSVC())
    return kw.KernelClassifier(KERNELS[side], C=1.0, tol=1e-3, normalize="cosine", n_jobs=threads)


def fitted(side: str, rows: Rows, threads: int) -> tuple[Timing, float]:
    """Fit one side; return the timing and the peak memory of the process in GB."""
    X: Any = rows.X.to_strings() if side == OTHER else rows.X
    reset_peak()
    with warnings.catch_warnings(), threadpool_limits(threads, user_api="blas"):
        warnings.simplefilter("ignore")
        timing = timed(lambda: model(side, threads).fit(X, rows.y))
    return timing, resident("VmHWM")


def ours(side: str, rows: Rows, held: Rows, threads: int) -> Row:
    """Return a line of the table: one side of ours, or tf-idf."""
    timing, peak = fitted(side, rows, threads)
    found: Any = timing.result
    X: Any = held.X.to_strings() if side == OTHER else held.X
    scores = found.decision_function(X)
    each = min(timed(lambda: found.decision_function(X)).cpu for _ in range(REPEATS)) / len(held.y)
    line = _line(side, len(rows.y), timing.cpu, timing.wall, peak, held.y, scores)
    line |= {"scoring_us": 1e6 * each, "from_file_s": "-", "gap": "-", "plan": "-", "solver": "-"}
    if side != OTHER:
        line |= {"from_file_s": from_file(found, held), "gap": found.duality_gap_}
        line |= {"plan": found.memory_plan_.kind, "solver": found.solver_}
    return line


def from_file(found: Any, held: Rows) -> float:
    """Return the CPU seconds to load a saved model, build what it looks up and score one row."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.kw"
        kw.save(found, path)
        return timed(lambda: kw.load(path).decision_function(held.X[:1])).cpu


def peer(run: PeerRun, n: int, held: Rows) -> Row:
    """Return the line of LS-GKM."""
    line = _line(PEER, n, run.train.cpu, run.train.wall, run.train.peak, held.y, run.scores)
    each = 1e6 * run.predict.cpu / len(held.y)
    return line | {
        "scoring_us": each, "from_file_s": "-", "gap": "-", "plan": "reused run" if run.reused else "run now",
        "solver": "-",
    }  # fmt: skip


def _line(side: str, n: int, cpu: float, wall: float, peak: float, y: np.ndarray, scores: np.ndarray) -> Row:
    areas = {"auroc": float(auroc(y, scores)), "auprc": float(auprc(y, scores))}
    return {"side": side, "n": n, "cpu": cpu, "wall": wall, "peak_gb": peak, **areas}


def compare(rows: list[Row]) -> list[Row]:
    """Return the lines with how much less CPU than LS-GKM each took, in training and in scoring."""
    known = {row["n"]: row for row in rows if row["side"] == PEER}
    out = []
    for row in rows:
        theirs = known.get(row["n"])
        ratios = {"times_less_cpu": "-", "times_less_scoring": "-"}
        if theirs is not None:
            ratios = {
                "times_less_cpu": theirs["cpu"] / row["cpu"],
                "times_less_scoring": theirs["scoring_us"] / row["scoring_us"],
            }
        out.append({**row, **ratios})
    return out


def judge(rows: list[Row]) -> list[str]:
    """Return one line for each aim."""
    said = []
    for row in (row for row in rows if row["side"] == SAME):
        theirs = next((other for other in rows if other["side"] == PEER and other["n"] == row["n"]), None)
        if theirs is None:
            continue
        said += [
            _said(row["times_less_cpu"] >= AIMS[row["n"]], f"{row['n']} rows: {row['times_less_cpu']:.3g}x less CPU "
                  f"(aim {AIMS[row['n']]:g}x)") for _ in range(row["n"] in AIMS)
        ]  # fmt: skip
        scoring = row["times_less_scoring"]
        said.append(_said(scoring >= SCORING_AIM, f"{row['n']} rows: scoring {scoring:.3g}x (aim {SCORING_AIM:g}x)"))
        off = row["auroc"] - theirs["auroc"]
        said.append(_said(off >= -1e-3, f"{row['n']} rows: auROC {row['auroc']:.4f}, {off:+.4f} against LS-GKM"))
    large = [row for row in rows if row["side"] == SAME and row["n"] >= GROWTH_FROM]
    if len(large) > 1:
        growth = exponent([row["n"] for row in large], [row["cpu"] for row in large])
        said.append(_said(growth <= GROWTH_AIM, f"CPU grows as n^{growth:.2f} (aim {GROWTH_AIM})"))
        last = large[-1]
        good = last["wall"] <= LONGEST and last["peak_gb"] <= LARGEST
        said.append(_said(good, f"{last['n']} rows: {last['wall']:.3g} s, {last['peak_gb']:.2g} GB"))
    return said


def _said(good: bool, text: str) -> str:
    return f"{'reached' if good else 'MISSED'}: {text}"


def draw(rows: list[Row]) -> Any:
    """Return a figure: CPU seconds of training, and microseconds to score a row, over the number of rows."""
    fig, axes = figure(1, 2, (9.0, 3.8))
    for colour, side in zip(COLOURS, dict.fromkeys(row["side"] for row in rows)):
        mine = [row for row in rows if row["side"] == side]
        for ax, key in zip(axes, ("cpu", "scoring_us")):
            ax.plot(
                [row["n"] for row in mine], [row[key] for row in mine], "o-", color=colour, label=side, markersize=4
            )
    for ax, text in zip(axes, ("training, CPU seconds", "scoring a row of 200 letters, microseconds")):
        ax.set(xscale="log", yscale="log", xlabel="training rows")
        ax.set_title(text, loc="left", fontsize=10)
        quiet(ax)
    axes[0].legend(frameon=False, fontsize=8)
    return fig


def each_line(options: argparse.Namespace, held: Rows, keep: Callable[[Row], None]) -> None:
    """Run all sides, size by size, and keep each line as it comes."""
    for n in options.sizes:
        rows = training_rows(n)
        run = lsgkm(options.lsgkm, options.peer_runs, rows, held) if n <= options.largest_peer else None
        if run is not None:
            keep(peer(run, n, held))
        for side in options.sides:
            keep(ours(side, rows, held, options.threads))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 5_000, 10_000, 100_000])
    parser.add_argument("--sides", nargs="+", default=[*KERNELS, OTHER], choices=[*KERNELS, OTHER])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--lsgkm", type=Path, help="folder of gkmtrain and gkmpredict")
    parser.add_argument("--peer-runs", type=Path, default=Path(tempfile.gettempdir()) / "lsgkm_runs")
    parser.add_argument("--largest-peer", type=int, default=10_000, help="most rows that LS-GKM trains on")
    parser.add_argument("--name", default="gkm_speed", help="name of the results")
    options = parser.parse_args()
    print(conditions("scikit-learn"))
    _, held = enhancers()
    for side in options.sides:
        ours(side, training_rows(400), held, options.threads)
    print("compiled by a small fit first, not counted", flush=True)
    rows: list[Row] = []

    def keep(row: Row) -> None:
        rows.append(row)
        print(show(compare(rows)[-1:]), flush=True)
        write_csv(options.name, compare(rows))

    each_line(options, held, keep)
    print(show(compare(rows)))
    print(write_csv(options.name, compare(rows)))
    print(write_picture(options.name, draw(rows)))
    print("\n".join(judge(compare(rows))))


if __name__ == "__main__":
    main()
