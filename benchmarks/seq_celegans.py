"""Real acceptor sites of *C. elegans*: plain weighted degree against 3-mers, shifts and learned weights.

    python benchmarks/seq_celegans.py                             # 50,000 rows for training, 50,000 for the test
    python benchmarks/seq_celegans.py --rows 10000 --only "WD 20" "WD 20, shift 10"
    python benchmarks/seq_celegans.py --add --only "WD 20, shift 20"       # one method more, beside an earlier run

Training on the first half of the rows (genome order), test on the second, 141 letters around the AG.  Every method has
its C chosen by the area under the precision-recall curve (auPRC): fitted on four fifths of the training half, measured
on the fifth that is left, stretches of 500 rows since neighbours overlap.  Then it is fitted on all of them and tested
once.  Intervals (95 %) come from 1,000 bootstrap samples of the test rows; `better than WD` is the share of them, the
same samples for all methods, in which a method has a larger auPRC than the plain weighted-degree kernel.

3.2 % of the rows are true sites: auROC and accuracy hardly differ, auPRC does.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import kernelweave as kw
from common import RESULTS, Row, conditions, show, timed, write_csv, write_picture
from kernelweave.interpret import auprc, bootstrap_scores
from kernelweave.interpret.ranking import Ranking
from kernelweave.plots.style import BLUE, GREY, figure, quiet
from markov import choose_chain
from seq_data import Rows, acceptors, halves, sample, validation_split

PLAIN = "WD 20"
DEGREE, WINDOW = 20, 5
WIDE, SHORT = 15, 8
"""Windows of positions, and the longest k-mers, for kernels split by both."""
RESAMPLES = 1000
WARM_UP = 600


@dataclass(frozen=True)
class Method:
    """How to make a model with a given C, and the values of C to try."""

    make: Callable[[float], Any]
    Cs: tuple[float, ...]


def single(kernel: Any, Cs: tuple[float, ...], **options: Any) -> Method:
    return Method(lambda C: kw.KernelClassifier(kernel, C=C, normalize="trace", **options), Cs)


def shifted(shift: int) -> Method:
    return single(kw.WeightedDegree(DEGREE, shift=shift), (0.5, 1.0, 2.0), solver="chunking")


def learned(kernels: Any, **options: Any) -> Method:
    return Method(lambda C: kw.MKLClassifier(kernels, C=C, **options), (0.5, 1.0, 2.0))


WD = kw.WeightedDegree(DEGREE)
METHODS = {
    "3-mers": single(kw.WeightedDegree(3, only=3), (0.01, 0.1, 1.0, 10.0)),
    PLAIN: single(WD, (0.5, 1.0, 2.0, 5.0)),
    "WD 20, balanced": single(WD, (0.1, 0.3, 1.0, 3.0), class_weight="balanced"),
    "WD 20, shift 1": shifted(1),
    "WD 20, shift 3": shifted(3),
    "WD 20, shift 10": shifted(10),
    "WD 20, shift 20": shifted(20),
    "MKL, 20 degrees": learned(WD.per_degree()),
    f"MKL, windows of {WINDOW}": learned(WD.per_position(window=WINDOW)),
    f"MKL, windows of {WIDE} x {SHORT} degrees": learned(
        kw.WeightedDegree(SHORT).per_position(window=WIDE, by_degree=True)
    ),
}
CHAIN = "Markov chain"


def tried(method: Method, C: float, fit: Rows, new: Rows) -> tuple[Any, np.ndarray, float]:
    """Return a fitted model, its decision values on new rows, and the seconds of the fit."""
    run = timed(lambda: method.make(C).fit(fit.X, fit.y))
    return run.result, run.result.decision_function(new.X), run.wall


def study(name: str, method: Method, train: Rows, test: Rows) -> tuple[Row, np.ndarray]:
    """Choose C on the validation part, fit on all training rows, and return what the test says."""
    fit, held = validation_split(train)
    areas = {}
    for C in method.Cs:
        areas[C] = auprc(held.y, tried(method, C, fit, held)[1])
        print(f"  {name}, C = {C:g}: {areas[C]:.4f} on the validation part", flush=True)
    C = max(areas, key=areas.__getitem__)
    model, scores, seconds = tried(method, C, train, test)
    row = {"method": name, "rows": len(train.y), "C": C, "validation auPRC": round(areas[C], 4)}
    return row | {"fit seconds": round(seconds, 1), "gap": f"{model.duality_gap_:.1e}"}, scores


def study_chain(train: Rows, test: Rows) -> tuple[Row, np.ndarray]:
    """Do the same for the Markov chain: order and pseudo-count in the place of C."""
    fit, held = validation_split(train)
    chain, area = choose_chain(fit.X.matrix, fit.y, held.X.matrix, held.y)
    run = timed(lambda: chain.fit(train.X.matrix, train.y))
    name = f"{CHAIN}, order {chain.order}"
    row = {"method": name, "rows": len(train.y), "C": "-", "validation auPRC": round(area, 4)}
    return row | {"fit seconds": round(run.wall, 1), "gap": "-"}, chain.decision_function(test.X.matrix)


def resampled_areas(test: Rows, scores: np.ndarray) -> np.ndarray:
    """Return the auPRC of bootstrap samples of the test rows, the same samples for any scores, (resamples,)."""
    rank = np.argsort(-scores, kind="stable")
    base = Ranking(test.y, np.arange(len(test.y), 0, -1))  # scores in the order of the rows: weights come in it, too
    true = (test.y == 1)[rank]
    areas = []
    for weights in base.resamples(RESAMPLES, 0):
        drawn = weights[:, rank]
        hits, calls = np.cumsum(drawn * true, axis=1), np.cumsum(drawn, axis=1)
        areas.append((drawn * true * hits / np.maximum(calls, 1.0)).sum(axis=1) / hits[:, -1])
    return np.concatenate(areas)


def measured(test: Rows, scores: np.ndarray, plain: np.ndarray | None) -> Row:
    """Return areas with intervals, and how often the samples of `plain` have the smaller area."""
    found = bootstrap_scores(test.y, scores, n_resamples=RESAMPLES)
    area, roc = found["auprc"], found["auroc"]
    better = "-" if plain is None else round(float(np.mean(resampled_areas(test, scores) > plain)), 3)
    return {
        "accuracy": round(found["accuracy"].value, 4),
        "auROC": round(roc.value, 4), "auROC low": round(roc.low, 4), "auROC high": round(roc.high, 4),
        "auPRC": round(area.value, 4), "auPRC low": round(area.low, 4), "auPRC high": round(area.high, 4),
        "better than WD": better,
    }  # fmt: skip


def draw(rows: list[Row]) -> Any:
    """Return a figure: the area under the precision-recall curve of each method, with its interval."""
    fig, ax = figure(1, 1, (8.0, 1.2 + 0.36 * len(rows)))
    places = np.arange(len(rows))[::-1]
    areas, low, high = (np.array([row[key] for row in rows]) for key in ("auPRC", "auPRC low", "auPRC high"))
    plain = {row["method"]: row["auPRC"] for row in rows}.get(PLAIN)
    if plain is not None:
        ax.axvline(plain, color=GREY, linewidth=1.0, linestyle=(0, (1, 2)))
    ax.hlines(places, low, high, color=BLUE, linewidth=2.0, alpha=0.45)
    ax.plot(areas, places, "o", color=BLUE)
    ax.set_yticks(places, [row["method"] for row in rows])
    ax.set_xlabel("area under the precision-recall curve, 95 % bootstrap interval of the test rows")
    ax.set_title(f"C. elegans acceptor sites, trained on {rows[0]['rows']:,} rows", loc="left", fontsize=10)
    quiet(ax)
    return fig


def kept(run: list[str], n: int) -> list[Row]:
    """Return what an earlier run, on n rows as well, measured of other methods than those of this one."""
    with (RESULTS / "seq_celegans.csv").open(newline="", encoding="utf-8") as file:
        old = [{key: number(value) for key, value in row.items()} for row in csv.DictReader(file)]
    return [row for row in old if row["rows"] == n and row["method"].split(", order")[0] not in run]


def number(text: str) -> Any:
    try:
        return float(text) if "." in text and "e" not in text else int(text)
    except ValueError:
        return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="rows of the training half, drawn at random; by default all 50,000")
    parser.add_argument("--only", nargs="+", metavar="METHOD", choices=[CHAIN, *METHODS], default=[CHAIN, *METHODS])
    parser.add_argument("--add", action="store_true", help="keep the other methods of an earlier run, on as many rows")
    options = parser.parse_args()
    print(conditions(), flush=True)
    train, test = halves(acceptors())
    if options.rows:
        train = sample(train, options.rows)
    print(f"{len(train.y)} rows for training, {len(test.y)} for the test; {np.mean(test.y == 1):.1%} true sites")
    warm = sample(train, WARM_UP)
    rows = kept([PLAIN, *options.only], len(train.y)) if options.add else []
    options.only = list({PLAIN: 0, **dict.fromkeys(options.only)}) if options.add else options.only
    plain = None
    for name in sorted(options.only, key=lambda name: name != PLAIN):  # the plain kernel first: others refer to it
        if name != CHAIN:
            METHODS[name].make(METHODS[name].Cs[0]).fit(warm.X, warm.y)  # compiles
        row, scores = study_chain(train, test) if name == CHAIN else study(name, METHODS[name], train, test)
        rows.append(row | measured(test, scores, plain))
        if name == PLAIN:
            plain = resampled_areas(test, scores)
        print(show(rows[-1:]), flush=True)
        rows.sort(key=lambda row: row["auPRC"])
        write_csv("seq_celegans", rows)
    print(show(rows))
    print(write_csv("seq_celegans", rows))
    print(write_picture("seq_celegans", draw(rows)))


if __name__ == "__main__":
    main()
