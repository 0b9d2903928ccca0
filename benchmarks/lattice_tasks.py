"""Does the lattice help?  Kernels on lattices against the same kernels on the best hypothesis of the recogniser.

    python benchmarks/lattice_tasks.py                            # both tasks, about four minutes on one core
    python benchmarks/lattice_tasks.py --tasks fisher
    python benchmarks/lattice_tasks.py --tasks snips --seeds 1    # a minute

SNIPS   which of 7 intents an utterance has: 700 word lattices, stratified 5-fold, `--seeds` times over; accuracy.
        The words that were really said (`reference`) show how much the recogniser loses.
Fisher  is it a question: 3,979 lattices of Spanish telephone speech, 12 % questions, 20 conversations; area under the
        ROC curve over 5 folds of whole conversations, and on `dev2`, 20 conversations more, of a model of all of `dev`.

Every model has its C chosen inside of its training rows: fitted on three quarters of them (of the conversations), best
score on the quarter that is left; models that learn a weight for each order of n-grams take the C of all orders
together.  `std` is over the folds.  `gain` is the mean over the folds of the score minus that of the same kernel on the
best hypotheses, `gain_std` its spread over the folds, `better` the share of 1,000 bootstrap samples of the test rows
(utterances of SNIPS, rows of dev2) in which it is positive.  Lattices are posterior distributions unless a line says
`raw`: weights as they stand in the file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

import kernelweave as kw
from common import ROOT, Row, conditions, show, write_csv, write_picture
from kernelweave.interpret import auroc
from kernelweave.plots.style import BLUE, GREY, figure, quiet

DATA = ROOT.parent / "shared" / "data" / "lattice"
AIMS = {"snips": 0.933, "fisher": 0.757}
PLAIN = {"snips": "0.917 from 1-best words with a plain linear SVM", "fisher": "0.757 from 1-best bigrams"}
METRICS = {"snips": "accuracy", "fisher": "auROC, folds", "fisher dev2": "auROC, dev2"}
FOLDS, HELD_OUT, RESAMPLES = 5, 0.25, 1000
TOL = 1e-2
LATTICE, RAW, BEST, REFERENCE, BOTH = "lattice", "lattice, raw", "1-best", "reference", "lattice + 1-best"
COLOURS = {LATTICE: BLUE, RAW: "#56B4E9", BEST: GREY, REFERENCE: "#009E73", BOTH: "#CC79A7"}
ORDERS = [kw.NGram(1), kw.NGram(2), kw.NGram(3)]
PAIRS = kw.NGram(2, cumulative=True)
KERNELS = {
    "1-grams": kw.NGram(1),
    "1- and 2-grams": PAIRS,
    "1- to 3-grams": kw.NGram(3, cumulative=True),
    "1- and gappy 2-grams": kw.GappyNGram(2, cumulative=True),
}
LEARNED, UNSCALED = "learned weights, 1- to 3-grams", "1- and 2-grams, not normalised"


class Split(NamedTuple):
    """Rows to fit and rows to score."""

    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Task:
    """Inputs of the same rows, what to tell of them, and how they are divided."""

    name: str
    inputs: dict[str, Any]
    y: np.ndarray
    splits: list[Split]
    validate: Callable[[np.ndarray], Split]
    score: Callable[[np.ndarray, np.ndarray], float]
    loss: str
    Cs: tuple[float, ...]


@dataclass(frozen=True)
class Method:
    """A kernel, or several, on one of the inputs."""

    kernel: str
    input: str
    make: Callable[[float], Any]
    Cs: tuple[float, ...]
    tried: Callable[[float], Any] | None = None
    """What chooses C in its place."""


def methods(task: Task) -> Iterator[Method]:
    """Iterate over what is compared."""
    options = {"loss": task.loss, "tol": TOL, "n_jobs": 1}

    def single(kernel: Any, normalize: str | None = "cosine") -> Callable[[float], Any]:
        solver = {"solver": "dual_coordinate"}
        return lambda C: kw.KernelClassifier(kernel, C=C, normalize=normalize, **solver, **options)

    def learned(C: float) -> Any:
        return kw.MKLClassifier(ORDERS, C=C, normalize="cosine", **options)

    words = [name for name in (LATTICE, BEST, REFERENCE) if name in task.inputs]
    for name, kernel in KERNELS.items():
        for given in words:
            yield Method(name, given, single(kernel), task.Cs)
    for given in words:
        yield Method(LEARNED, given, learned, task.Cs, single(KERNELS["1- to 3-grams"]))
    few = tuple(C / 10 for C in task.Cs)  # rows are longer than 1 here
    for given in (LATTICE, RAW, BEST):
        yield Method(UNSCALED, given, single(PAIRS, None), few)
    both = PAIRS.on(LATTICE).normalized() + PAIRS.on(BEST).normalized()
    yield Method("1- and 2-grams", BOTH, single(both, None), task.Cs)


def outputs(task: Task, method: Method, split: Split) -> np.ndarray:
    """Fit with the C that validation prefers; return predictions (SNIPS) or decision values of the test rows."""
    X, y = task.inputs[method.input], task.y

    def run(model: Any, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        model.fit(X[train], y[train])
        return model.predict(X[test]) if task.score is accuracy_score else model.decision_function(X[test])

    inner = task.validate(split.train)
    scores = [task.score(y[inner.test], run((method.tried or method.make)(C), *inner)) for C in method.Cs]
    return run(method.make(method.Cs[int(np.argmax(scores))]), *split)


def measure(task: Task) -> list[Row]:
    """Return a line for each method and each kind of test."""
    found: dict[tuple[str, str], list[np.ndarray]] = {}
    seconds: dict[tuple[str, str], float] = {}
    for method in methods(task):
        key, began = (method.kernel, method.input), time.process_time()
        found[key] = [outputs(task, method, split) for split in task.splits]
        seconds[key] = time.process_time() - began
        print(f"{task.name:<8}{method.kernel:<32}{method.input:<18}{seconds[key]:5.1f} s", flush=True)
    folds = len(task.splits) - (task.name == "fisher")
    rows = [_row(task, task.name, key, found, slice(folds)) | {"cpu_s": seconds[key]} for key in found]
    if folds < len(task.splits):
        rows += [_row(task, "fisher dev2", key, found, slice(folds, None)) | {"cpu_s": seconds[key]} for key in found]
    return rows


def _row(
    task: Task, name: str, key: tuple[str, str], found: dict[tuple[str, str], list[np.ndarray]], which: slice
) -> Row:
    """Return one line: score, spread, and what it gains on the best hypotheses."""
    splits, values = task.splits[which], found[key][which]
    scores = [task.score(task.y[split.test], value) for split, value in zip(splits, values)]
    row: Row = {
        "task": name,
        "metric": METRICS[name],
        "kernel": key[0],
        "input": key[1],
        "score": float(np.mean(scores)),
    }
    row |= {"std": float(np.std(scores)) if len(scores) > 1 else "", "gain": "", "gain_std": "", "better": ""}
    rival = found.get((key[0], BEST), [])[which]
    if key[1] != BEST and rival:
        others = [task.score(task.y[split.test], value) for split, value in zip(splits, rival)]
        gains = np.subtract(scores, others)
        row |= {"gain": float(gains.mean()), "gain_std": float(gains.std()) if len(gains) > 1 else ""}
        if name != "fisher":
            row["better"] = _better(task, splits, values, rival)
    return row


def _better(task: Task, splits: list[Split], values: list[np.ndarray], rival: list[np.ndarray]) -> float:
    """Return the share of resampled test sets on which the first outputs score higher than the second."""
    rng, wins = np.random.default_rng(0), 0
    rows = np.unique(np.concatenate([split.test for split in splits]))
    if task.score is accuracy_score:  # the mean over the repetitions, row by row
        lead = np.zeros(len(task.y))
        for split, one, other in zip(splits, values, rival):
            truth = task.y[split.test]
            lead[split.test] += (one == truth).astype(float) - (other == truth)
        return float(np.mean([lead[rng.choice(rows, len(rows))].sum() > 0 for _ in range(RESAMPLES)]))
    truth, one, other = task.y[splits[0].test], values[0], rival[0]
    for _ in range(RESAMPLES):
        some = rng.integers(0, len(truth), len(truth))
        wins += auroc(truth[some], one[some]) > auroc(truth[some], other[some])
    return wins / RESAMPLES


def snips(seeds: int) -> Task:
    """Return the intents of SNIPS; the marks of the end that lattices have are taken away, as hypotheses lack them."""
    file = DATA / "snips_valid_lattices.fst.txt.gz"
    raw = kw.read_lattices(file, epsilon=["</s>"])
    told = {str(line["id"]): line for line in map(json.loads, _lines("snips_valid_lattices.jsonl.gz"))}
    lines = [told[name] for name in raw.ids]
    y = np.array([line["label"] for line in lines])
    inputs = {
        LATTICE: raw.normalized(),
        RAW: raw,
        BEST: _words(lines, "onebest"),
        REFERENCE: _words(lines, "reference"),
    }
    inputs[BOTH] = kw.Views({LATTICE: inputs[LATTICE], BEST: inputs[BEST]})
    folds = [StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y) for seed in range(seeds)]
    splits = [Split(*split) for fold in folds for split in fold]

    def validate(rows: np.ndarray) -> Split:
        part = next(StratifiedShuffleSplit(1, test_size=HELD_OUT, random_state=0).split(rows, y[rows]))
        return Split(rows[part[0]], rows[part[1]])

    return Task("snips", inputs, y, splits, validate, accuracy_score, "hinge", (1.0, 3.0, 10.0))


def fisher() -> Task:
    """Return the questions of Fisher: rows of `dev`, then those of `dev2`."""
    names = [f"fisher_{part}.plf.tsv.gz" for part in ("dev", "dev2")]
    raw = kw.read_lattices([DATA / name for name in names])
    cells = [line.rstrip("\n").split("\t") for name in names for line in _lines(name)]
    y = np.array([int(row[0]) for row in cells])
    best = kw.Sequences.from_strings([row[3] for row in cells], alphabet="words")
    inputs: dict[str, Any] = {LATTICE: raw.normalized(), RAW: raw, BEST: best}
    inputs[BOTH] = kw.Views({LATTICE: inputs[LATTICE], BEST: best})
    talk = np.array([row[2].split("|")[1] for row in cells])
    dev = np.flatnonzero([row[2].startswith("fisher_dev:") for row in cells])
    splits = [Split(dev[train], dev[test]) for train, test in GroupKFold(FOLDS).split(dev, groups=talk[dev])]
    splits.append(Split(dev, np.setdiff1d(np.arange(len(y)), dev)))

    def validate(rows: np.ndarray) -> Split:
        part = next(GroupShuffleSplit(1, test_size=HELD_OUT, random_state=0).split(rows, groups=talk[rows]))
        return Split(rows[part[0]], rows[part[1]])

    # The squared hinge ranks rare questions better than the hinge, which sees the rows at the border only.
    return Task("fisher", inputs, y, splits, validate, auroc, "squared_hinge", (0.03, 0.1, 0.3, 1.0))


def _lines(name: str) -> Iterator[str]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        yield from file


def _words(lines: list[dict[str, Any]], field: str) -> kw.Sequences:
    return kw.Sequences.from_strings([line[field] for line in lines], alphabet="words")


def draw(rows: list[Row]) -> Any:
    """Return a figure: the score of each kernel, a colour for each input, a panel for each test."""
    tests = list(dict.fromkeys(row["task"] for row in rows))
    fig, axes = figure(1, len(tests), (5.2 * len(tests), 3.6))
    kernels = [*KERNELS, LEARNED, UNSCALED]
    for ax, test in zip(np.atleast_1d(axes), tests):
        for name, colour in COLOURS.items():
            chosen = [row for row in rows if row["task"] == test and row["input"] == name]
            if chosen:
                places = [kernels.index(row["kernel"]) for row in chosen]
                ax.plot([row["score"] for row in chosen], places, "o", color=colour, label=name)
        ax.axvline(AIMS[test.split()[0]], color=GREY, linewidth=0.8, linestyle=":", label="asked for")
        ax.set_yticks(range(len(kernels)), kernels if ax is np.atleast_1d(axes)[0] else [])
        ax.invert_yaxis()
        ax.set_xlabel(METRICS[test])
        ax.set_title(test, fontsize=10)
        quiet(ax)
    handles, labels = np.atleast_1d(axes)[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=["snips", "fisher"], default=["snips", "fisher"])
    parser.add_argument("--seeds", type=int, default=3, help="repetitions of the folds of SNIPS")
    options = parser.parse_args()
    if not DATA.exists():
        raise SystemExit(f"The data are missing: expected {DATA}.")
    print(conditions("scikit-learn"))
    made = {"snips": lambda: snips(options.seeds), "fisher": fisher}
    rows = [row for name in options.tasks for row in measure(made[name]())]
    print(show(rows))
    print(write_csv("lattice_tasks", rows))
    print(write_picture("lattice_tasks", draw(rows)))
    for name in options.tasks:
        chosen = [row for row in rows if row["task"] == name and row["input"] in (LATTICE, BOTH)]
        top = max(chosen, key=lambda row: row["score"])
        met = "met" if top["score"] >= AIMS[name] else "NOT met"
        print(f"{name}: at best {top['score']:.3f}, {top['kernel']} ({top['input']}); asked for {AIMS[name]}, {met}")
        print(f"{'':<{len(name)}}  known before: {PLAIN[name]}")


if __name__ == "__main__":
    main()
