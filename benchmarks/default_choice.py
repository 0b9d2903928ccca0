"""How good is the kernel that is chosen where none is named, against the best of a grid of kernels and costs?

Every DNA, splice, protein and text set of the shared data folder, up to `--rows` rows drawn at random, two thirds of
them for training.  The default is `KernelClassifier()` with its default cost of 1.  The grid has the kernels that a
person would try, at the costs `--costs`, each scaled as is usual for it, and its best entry is chosen with the test
rows themselves: the difference flatters the grid.  auROC and auPRC are means over the classes against the rest; what
the default loses has a standard error, by a bootstrap of the test rows that both are judged by.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit

import kernelweave as kw
from common import RESULTS, ROOT, Row, conditions, show, write_csv

DATA = ROOT.parent / "shared" / "data"
FEW = 500
"""Sets with fewer rows are divided five times."""
SHOWN = ("set", "chosen", "auroc", "lost_auroc", "error_auroc", "auprc", "lost_auprc", "error_auprc")
DRAWS = 200
"""Bootstrap samples of the test rows."""
SUPERFAMILIES = 8
SEQUENCES = {
    "dna": ["arabidopsis_promoters_251", "ecoli_promoters_81", "human_enhancers_200", "rbp_pum2",
            "uci_ecoli_promoter_57"],
    "splice": ["athaliana_acceptor_602", "athaliana_acceptor_decoy_100", "celegans_acceptor_chr1_2",
               "human_acceptor_602", "uci_splice_junction"],
    "protein": ["multiloc_localisation", "scop20_superfamilies_a"],
}  # fmt: skip
TEXTS = {
    "reuters21578_modapte": lambda row: "acq" if "acq" in row["topics"] else "other",
    "20ng_autos_motorcycles": lambda row: row["label"],
    "ohsumed_single_a": lambda row: row["label"],
}
Grid = list[tuple[Any, str]]


def sequences(group: str, name: str) -> tuple[list[str], np.ndarray]:
    """Return strings and labels of a set; of the superfamilies the largest only."""
    with gzip.open(DATA / group / f"{name}.tsv.gz", "rt") as file:
        rows = [line.rstrip("\n").split("\t")[:2] for line in file]
    if name.startswith("scop"):
        large = {label for label, _ in Counter(label for label, _ in rows).most_common(SUPERFAMILIES)}
        rows = [row for row in rows if row[0] in large]
    return [text for _, text in rows], np.array([label for label, _ in rows])


def texts(name: str) -> tuple[list[str], np.ndarray]:
    """Return documents and their classes."""
    with gzip.open(DATA / "text" / f"{name}.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    kept = [" ".join(row.get(field, "") for field in ("title", "body", "text")) for row in rows]
    return kept, np.array([TEXTS[name](row) for row in rows])


def grid(group: str, X: kw.Sequences) -> Grid:
    """Return what a person would try on such rows, with the scaling that is usual for it."""
    if group == "text":
        kernels = [
            kw.NGram(1),
            kw.TfIdf(kw.NGram(1)),
            kw.NGram(2, cumulative=True),
            kw.TfIdf(kw.NGram(2, cumulative=True)),
        ]
        return [(kernel, "cosine") for kernel in kernels]
    if group == "protein":
        kernels = [
            kw.Spectrum(2),
            kw.Spectrum(3),
            kw.Spectrum(3, cumulative=True),
            kw.Mismatch(5, 1),
            kw.GappedKmer(5, 3),
        ]
        return [(kernel, "cosine") for kernel in kernels]
    placed = [(kw.WeightedDegree(20), "trace"), (kw.WeightedDegree(8, shift=4), "trace")]
    loose = [kernel for both in (True, False) for kernel in (
        kw.Spectrum(6, reverse_complement=both), kw.GappedKmer(8, 5, reverse_complement=both),
        kw.GappedKmer(10, 6, reverse_complement=both),
    )]  # fmt: skip
    return (placed if X.is_fixed_length else []) + [(kernel, "cosine") for kernel in loose]


Judged = tuple[np.ndarray, np.ndarray]
"""Of a split: which test rows are of each class, and its scores, (classes, rows) both; one class stands for two."""


def measured(model: Any, X: Any, y: Any, train: Any, test: Any) -> tuple[Judged, float]:
    """Fit on some rows and score others; return what to judge by, and the CPU seconds of the fit."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[train], y[train])
    spent, scores = time.process_time() - began, model.decision_function(X[test])
    columns = scores[None] if scores.ndim == 1 else scores.T
    known = model.classes_[1:] if scores.ndim == 1 else model.classes_
    return (known[:, None] == y[test], columns), spent


def areas(judged: list[Judged], rows: list[np.ndarray] | None = None) -> np.ndarray:
    """Return auROC and auPRC, means over splits and classes; of some rows of each split."""
    found = []
    for split, (own, columns) in enumerate(judged):
        some = slice(None) if rows is None else rows[split]
        each = [(a[some], b[some]) for a, b in zip(own, columns) if 0 < a[some].sum() < len(a[some])]
        found.append(np.mean([(roc_auc_score(a, b), average_precision_score(a, b)) for a, b in each], axis=0))
    return np.mean(found, axis=0)


def lost(best: list[Judged], own: list[Judged]) -> np.ndarray:
    """Return the standard errors of what the default loses to another model, in auROC and in auPRC."""
    rng, sizes = np.random.default_rng(0), [columns.shape[1] for _, columns in own]
    draws = [[rng.integers(0, size, size) for size in sizes] for _ in range(DRAWS)]
    return np.std([areas(best, rows) - areas(own, rows) for rows in draws], axis=0)


def averaged(make: Callable[[], Any], X: Any, y: Any, splits: list[Any]) -> tuple[Any, list[Judged], dict[str, float]]:
    """Return the last model, what its splits are judged by, and the means over the splits."""
    judged, seconds = [], []
    for train, test in splits:
        model = make()
        kept, spent = measured(model, X, y, train, test)
        judged, seconds = [*judged, kept], [*seconds, spent]
    auroc, auprc = areas(judged)
    return model, judged, {"auroc": float(auroc), "auprc": float(auprc), "fit_cpu_s": float(np.mean(seconds))}


def one_set(group: str, name: str, most: int, costs: list[float]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the rows of all measurements on a set, and the comparison."""
    strings, y = texts(name) if group == "text" else sequences(group, name)
    some = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
    X, y = kw.Sequences.from_strings([strings[i] for i in some], "auto", "mask"), y[some]
    rare = [label for label, count in Counter(y.tolist()).items() if count < 3]
    X, y = X[~np.isin(y, rare)], y[~np.isin(y, rare)]
    cut = StratifiedShuffleSplit(5 if len(y) < FEW else 1, test_size=1 / 3, random_state=0)
    splits = list(cut.split(np.zeros(len(y)), y))
    model, default, own = averaged(kw.KernelClassifier, X, y, splits)
    head = {"set": name, "rows": len(y), "classes": len(set(y.tolist()))}
    rows, others = [{**head, "kernel": "default", "C": 1.0, **own}], []
    for kernel, scaling in grid(group, X):
        for C in costs:
            made = averaged(lambda k=kernel, s=scaling, c=C: kw.KernelClassifier(k, C=c, normalize=s), X, y, splits)
            rows, others = [*rows, {**head, "kernel": repr(kernel), "C": C, **made[2]}], [*others, made[1]]
    first = {measure: int(np.argmax([row[measure] for row in rows[1:]])) for measure in ("auroc", "auprc")}
    best = {measure: rows[1 + number] for measure, number in first.items()}
    errors = {measure: lost(others[number], default) for measure, number in first.items()}
    leaf = next(iter(model.kernel_.leaves()))
    learned = "TfIdf(NGram(1))" if group == "text" else repr(leaf.kernel)
    return rows, {
        **head, "chosen": learned, "auroc": own["auroc"], "auprc": own["auprc"],
        "best_by_auroc": f"{best['auroc']['kernel']}, C={best['auroc']['C']:g}", "best_auroc": best["auroc"]["auroc"],
        "best_by_auprc": f"{best['auprc']['kernel']}, C={best['auprc']['C']:g}", "best_auprc": best["auprc"]["auprc"],
        "lost_auroc": best["auroc"]["auroc"] - own["auroc"], "lost_auprc": best["auprc"]["auprc"] - own["auprc"],
        "error_auroc": float(errors["auroc"][0]), "error_auprc": float(errors["auprc"][1]),
        "fit_cpu_s": own["fit_cpu_s"], "why": model.kernel_why_,
    }  # fmt: skip


def former(name: str) -> list[Row]:
    """Return the rows of a table that an earlier run has written."""
    path = RESULTS / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2400, help="most rows of a set")
    parser.add_argument("--name", default="default_choice", help="name of the tables under results/")
    parser.add_argument("--costs", nargs="*", type=float, default=[1.0, 3.0], help="costs C of the grid")
    parser.add_argument("--sets", nargs="*", help="names of sets, whose rows are renewed in the table; all if left out")
    asked = parser.parse_args()
    known = [(group, name) for group, names in {**SEQUENCES, "text": list(TEXTS)}.items() for name in names]
    chosen = [(group, name) for group, name in known if not asked.sets or name in asked.sets]
    places = {name: place for place, (_, name) in enumerate(known)}
    again = {name for _, name in chosen}
    table, every = (
        [row for row in former(name) if row["set"] not in again] for name in (asked.name, f"{asked.name}_grid")
    )
    print(conditions("numpy", "scikit-learn"))
    for group, name in chosen:
        rows, line = one_set(group, name, asked.rows, asked.costs)
        every, table = (sorted(some, key=lambda row: places[row["set"]]) for some in (every + rows, [*table, line]))
        print(line, flush=True)
        write_csv(asked.name, table)
        write_csv(f"{asked.name}_grid", every)
    print(show([{key: line[key] for key in SHOWN} for line in table]))


if __name__ == "__main__":
    main()
