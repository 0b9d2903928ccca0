"""Figures 5 and 6 of the paper: kernel weights by length of k-mer and by position, ten bootstrap runs each.

    python benchmarks/seq_figures56.py                            # both figures, real and simulated rows
    python benchmarks/seq_figures56.py --figure 6 --data real --rows 65000
    python benchmarks/seq_figures56.py --figure 5 --data real --degree-rows 50000 --no-identity

figure 5  20 kernels, one for each length of k-mers.  The paper sees large weights of long k-mers, takes them for an
          artefact (such a kernel matrix is nearly diagonal: it can hold any label), and wonders in footnote 12 whether
          the identity as one kernel more would take that weight.  So all runs are repeated with `kw.Identity()` added,
          which needs kernel matrices in memory; `--no-identity` leaves it out and takes as many rows as you like.
figure 6  a kernel for each window of three positions (the paper: 54 kernels, 65,000 rows), where it sees the donor site
          of the previous exon, the branch point, the splice site and the exon.

A data set is a random sample of the rows; a bootstrap sample of it is fitted as its distinct rows, each weighted by how
often it was drawn: the same problem on fewer rows.  Positions are counted from the first letter of the exon, as in the
paper; the AG is at -2 and -1.

real       *C. elegans* acceptor sites, 3.3 % true
simulated  `make_splice`, 20 % true, four in five signals present, half of the decoys with one; their places are shaded
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

import kernelweave as kw
from common import Row, conditions, show, timed, write_csv, write_picture
from kernelweave.interpret import weights_by_degree, weights_by_position
from kernelweave.plots import DegreeWeightsDisplay, PositionWeightsDisplay
from kernelweave.plots.style import figure
from seq_data import SITE, Rows, acceptors, sample

DEGREE, WINDOW, C = 20, 3, 5.0
LONG = 7
"""From this length on, k-mers at one place are shared by hardly any two of these rows (4^7 = 16,384)."""
RUNS, SIMULATED = 10, 100_000
EXON = SITE + 2
REGIONS = {  # first position and one past the last, relative to the exon, as the paper names them
    "donor of the previous exon": (-50, -40),
    "branch point": (-25, -15),
    "splice site": (-8, 0),
    "exon": (0, 50),
}


def simulated(n: int) -> Rows:
    return Rows(*kw.datasets.make_splice(n, signal_rate=0.8, decoy_rate=0.5, random_state=0))


def bootstrap_fits(kernels: Any, rows: Rows, n: int, runs: int) -> list[Any]:
    """Return models fitted on bootstrap samples of n rows."""
    models, rows = [], sample(rows, n)
    for seed in range(runs):
        drawn, counts = np.unique(np.random.default_rng(seed).integers(0, n, n), return_counts=True)
        part = rows.take(drawn)
        model = kw.MKLClassifier(kernels, C=C)
        run = timed(lambda m=model, p=part, c=counts: m.fit(p.X, p.y, sample_weight=c.astype(float)))
        models.append(model)
        print(
            f"  run {seed + 1}: {len(drawn)} distinct rows, {run.wall:.1f} s, gap {model.duality_gap_:.1e}", flush=True
        )
    return models


def by_degree(data: str, rows: Rows, n: int, runs: int, alone: bool) -> tuple[list[Row], list[Row], Any]:
    """Return the weights by degree without and (unless alone) with the identity, those of long k-mers, and a figure."""
    fig, axes = figure(1, 1 if alone else 2, (5.5 if alone else 11.0, 4.2))
    table: list[Row] = []
    answer: list[Row] = []
    for ax, extra in zip(np.atleast_1d(axes), ([], [kw.Identity()])):
        kind = "with identity" if extra else "without identity"
        print(f"figure 5, {data}, {kind}, {n} rows", flush=True)
        models = bootstrap_fits(kw.WeightedDegree(DEGREE).per_degree() + extra, rows, n, runs)
        display = DegreeWeightsDisplay.from_estimators(models).plot(ax)
        ax.set_title(f"{data}, {n:,} rows, {kind}", fontsize=10, loc="right")
        low, high = display.low, display.high
        table += [
            {"data": data, "rows": n, "kernels": kind, "degree": int(k), "mean": round(float(w), 4),
             "low": round(float(a), 4), "high": round(float(b), 4)}
            for k, w, a, b in zip(display.degrees, display.weights, low, high)
        ]  # fmt: skip
        found = [weights_by_degree(model) for model in models]
        long = [one.weights[LONG - 1 :].sum() for one in found]
        largest = int(display.degrees[display.weights.argmax()])
        answer.append({
            "data": data, "rows": n, "kernels": kind, "largest at degree": largest,
            f"weight of degrees {LONG} and up": round(float(np.mean(long)), 4),
            "weight of the identity": round(float(np.mean([one.other for one in found])), 4),
        })  # fmt: skip
    return table, answer, fig


def cure(answer: list[Row]) -> str:
    """Say in words whether the identity took the weight of the long k-mers."""
    long = next(key for key in answer[0] if key.startswith("weight of degrees"))
    before, after, taken = answer[0][long], answer[1][long], answer[1]["weight of the identity"]
    name = answer[0]["data"]
    if before < 0.01:
        return f"{name}: the long k-mers have no weight to begin with ({before:.3f}); the identity gets {taken:.3f}."
    verdict = "cures it" if after < 0.1 * before else "does not cure it" if after > 0.9 * before else "helps in part"
    return f"{name}: adding the identity {verdict}: long k-mers {before:.3f} -> {after:.3f}, identity {taken:.3f}."


def by_position(data: str, rows: Rows, n: int, runs: int, ax: Any) -> tuple[list[Row], list[Row]]:
    """Draw the weights by position; return them, and how much each known region has."""
    print(f"figure 6, {data}, {n} rows", flush=True)
    models = bootstrap_fits(kw.WeightedDegree(DEGREE).per_position(window=WINDOW), rows, n, runs)
    planted = kw.datasets.splice_signals()
    signals = planted if data == "simulated" else {k: (a + EXON, b + EXON) for k, (a, b) in REGIONS.items()}
    display = PositionWeightsDisplay.from_estimators(models).plot(ax, signals=signals, origin=EXON)
    ax.set_title(f"{data}, {n:,} rows, {len(models[0].kernel_weights_)} kernels", fontsize=10, loc="right", y=1.09)
    ax.set_xlabel("where the k-mer starts, relative to the exon")
    table = [
        {"data": data, "rows": n, "first": int(a) - EXON, "last": int(b) - 1 - EXON, "mean": round(float(w), 5),
         "low": round(float(low), 5), "high": round(float(high), 5)}
        for a, b, w, low, high in zip(display.starts, display.stops, display.weights, display.low, display.high)
    ]  # fmt: skip
    each = np.array([weights_by_position(model).per_position for model in models])
    inside = np.zeros(each.shape[1], bool)
    for start, stop in signals.values():
        inside[start:stop] = True
    quiet_level = float(each[:, ~inside].mean())
    found = [
        {"data": data, "region": name.replace("_", " "), "first": start - EXON, "last": stop - 1 - EXON,
         "share": round(float(each[:, start:stop].sum(axis=1).mean()), 4),
         "times the rest": round(float(each[:, start:stop].mean()) / quiet_level, 2)}
        for name, (start, stop) in signals.items()
    ]  # fmt: skip
    return table, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", nargs="+", type=int, choices=[5, 6], default=[5, 6])
    parser.add_argument("--data", nargs="+", choices=["real", "simulated"], default=["real", "simulated"])
    parser.add_argument("--rows", type=int, default=65_000, help="rows of a bootstrap sample of figure 6")
    parser.add_argument("--degree-rows", type=int, default=6_000, help="rows of a bootstrap sample of figure 5")
    parser.add_argument("--no-identity", action="store_true", help="figure 5 without the identity, for many rows")
    parser.add_argument("--runs", type=int, default=RUNS, help="bootstrap samples")
    options = parser.parse_args()
    print(conditions(), flush=True)
    warnings.filterwarnings("ignore", message=".*nearly the same kernel.*")  # long k-mers are, and that is the point
    rows = {name: acceptors() if name == "real" else simulated(SIMULATED) for name in options.data}
    for name in options.data:
        if 5 in options.figure:
            alone = options.no_identity
            made, told, fig = by_degree(name, rows[name], options.degree_rows, options.runs, alone)
            print(show(told))
            if not alone:
                print(f"Footnote 12, {cure(told)}")
                print(write_csv(f"seq_figure5_{name}_identity", told))
            file = f"seq_figure5_{name}_large" if alone else f"seq_figure5_{name}"
            print(write_csv(file, made), write_picture(file, fig), flush=True)
        if 6 in options.figure:
            fig, ax = figure(1, 1, (10.0, 4.4))
            made, told = by_position(name, rows[name], options.rows, options.runs, ax)
            print(show(told))
            print(write_csv(f"seq_figure6_{name}", made), write_csv(f"seq_figure6_{name}_regions", told))
            print(write_picture(f"seq_figure6_{name}", fig), flush=True)


if __name__ == "__main__":
    main()
