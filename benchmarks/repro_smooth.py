"""Smoothed against L1 and L2 kernel weights (Xu et al. 2010: figure 1, tables 2 and 3), with the paper's numbers.

    python benchmarks/repro_smooth.py                     # everything, 20 repeats
    python benchmarks/repro_smooth.py --only toy uci --repeats 5

toy    500 rows, the label is the sign of the mean of 34 columns, 6 to 0 further columns are noise; one linear kernel
       per column; 10 % of the rows for training, data drawn anew for each repeat.
uci    single columns, standardised on the training rows (20 %); per column Gaussians of sigma 2^-3 ... 2^6 (width
       2 sigma^2) and polynomials of degree 1 to 3.
text   one linear kernel per term; 10 % of the rows for training.  A term is a word of two or more letters, no English
       stop word, found in at least --terms documents of the task (Ohsumed: 3 gives 1,688 terms, newsgroups: 6 gives
       4,984; the paper has 1,686 and 5,341), and in some training document.  Its value is 1 + log count over the
       norm of the document, standardised on the training rows.  Ohsumed is the single-label part: 291 documents,
       the paper has 581.

C (0.1, 1, 10, 100) and the smoothing (10, 100, 1000, in units of alpha'K alpha) are chosen for each data set by 3-fold
cross-validation within the training rows of the first --select splits, alike for all methods (toy: of all splits,
with 3 noise columns).  All stop at a gap of 0.01 or after 500 iterations, as the paper's do.  One thread.  L1 is
solved by the level method, on linear kernels by alternating steps; `sum` is the plain sum of the kernels.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

import kernelweave as kw
from common import ROOT, Row, conditions, show, stored, write_csv, write_picture
from kernelweave.plots.style import BLUE, GREY, figure, quiet
from repro_smooth_fit import METHODS, Chosen, Outcome, Split, choose, compare, kernel_split, linear_split

DATA = ROOT.parent / "shared" / "data"
HUES = {"L1": "#E69F00", "L2": "#009E73", "smooth": BLUE, "sum": GREY}
MARKERS = {"L1": "s", "L2": "^", "smooth": "o", "sum": "D"}
RELEVANT, NOISE_COLUMNS = 34, 6

PAPER_UCI = {
    "ionosphere": ("87.1±2.0", "89.0±2.1", "89.3±2.6"),
    "sonar": ("73.6±4.2", "75.6±4.6", "77.2±4.3"),
    "wdbc": ("93.4±1.2", "94.1±1.2", "94.5±1.1"),
    "heart_statlog": ("77.3±3.5", "78.7±2.6", "78.9±2.5"),
}
"""Table 2: L1-MKL, L2-MKL, SMKL."""
PAPER_TEXT = {"ohsumed C01/C02": ("72.7±2.0", "", "77.3±1.6"), "autos/motorcycles": ("85.1±2.7", "", "87.6±2.3")}
"""Table 3, text1 and text4: L1-MKL and SMKL."""
SIGMAS = [2.0**e for e in range(-3, 7)]
SINGLE = kw.RBF.grid([2 * sigma**2 for sigma in SIGMAS]) + [kw.Polynomial(degree) for degree in (1, 2, 3)]


def draws(n: int, share: float, repeats: int) -> list[np.ndarray]:
    """Return the training rows of each repeat."""
    return [np.random.default_rng(seed).permutation(n)[: int(share * n)] for seed in range(repeats)]


def toy_splits(noise_columns: int, repeats: int) -> list[Split]:
    """Draw the complementary data anew for each repeat; the first tenth of the rows is for training."""
    made = []
    for seed in range(repeats):
        X, y = kw.datasets.make_complementary(500, RELEVANT + NOISE_COLUMNS, RELEVANT, random_state=seed)
        made.append(linear_split(X[:, : RELEVANT + noise_columns], y, np.arange(50)))
    return made


def uci_splits(name: str, repeats: int) -> list[Split]:
    table = np.loadtxt(DATA / "uci" / f"{name}.csv.gz", delimiter=",", skiprows=1)
    X, y = table[:, :-1], table[:, -1].astype(int)
    return [kernel_split(X, y, rows, SINGLE) for rows in draws(len(y), 0.2, repeats)]


def text_splits(path: Path, labels: tuple[str, str], fewest: int, repeats: int) -> list[Split]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found = [doc for doc in map(json.loads, file) if doc["label"] in labels]
    terms = TfidfVectorizer(
        min_df=fewest, use_idf=False, sublinear_tf=True, stop_words="english", token_pattern=r"(?u)\b[a-zA-Z]{2,}\b"
    )
    X = terms.fit_transform([doc["text"] for doc in found]).toarray()
    y = np.where(np.array([doc["label"] for doc in found]) == labels[0], 1, -1)
    return [linear_split(X, y, rows) for rows in draws(len(y), 0.1, repeats)]


def line(name: str, splits: list[Split], outcomes: dict[str, Outcome], paper: tuple[str, str, str]) -> Row:
    """Put our numbers and the paper's side by side."""
    row: Row = {"data": name, "kernels": splits[0].operators.m, "train": splits[0].operators.n}
    for method, theirs in zip(METHODS, (*paper, "")):
        row[method] = outcomes[method].text
        row[f"{method} paper"] = theirs or "-"
    row.pop("sum paper")
    won = outcomes["smooth"].accuracy - outcomes["L1"].accuracy
    row["smooth - L1"] = round(100 * float(won.mean()), 2)
    row["wins"] = f"{int((won > 0).sum())}:{int((won < 0).sum())}"
    row["smoothing"] = outcomes["smooth"].smoothing
    row["C"] = "/".join(f"{outcomes[method].C:g}" for method in METHODS)
    row["L1 used"] = round(float(outcomes["L1"].used.mean()), 1)
    row["effective"] = "/".join(f"{outcomes[method].effective.mean():.1f}" for method in METHODS[:3])
    row["seconds"] = "/".join(f"{outcomes[method].seconds.mean():.2g}" for method in METHODS)
    row["worst gap"] = "/".join(f"{outcomes[method].gap.max():.2g}" for method in METHODS[:3])
    return row


def study(
    name: str, splits: list[Split], paper: tuple[str, str, str], chosen: dict[str, Chosen]
) -> tuple[Row, dict[str, Outcome]]:
    outcomes = compare(splits, chosen)
    row = line(name, splits, outcomes, paper)
    print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return row, outcomes


def draw_toy(made: list[tuple[int, dict[str, Outcome]]]) -> Any:
    """Return figure 1: accuracy over the share of relevant columns, and seconds where all are relevant."""
    fig, (left, right) = figure(1, 2, (9.6, 4.0))
    shares = [RELEVANT / (RELEVANT + noise) for noise, _ in made]
    for method in METHODS:
        means = [100 * found[method].accuracy.mean() for _, found in made]
        error = [100 * found[method].accuracy.std() / np.sqrt(len(found[method].accuracy)) for _, found in made]
        left.errorbar(shares, means, error, color=HUES[method], marker=MARKERS[method], capsize=2, label=method)
    left.set(xlabel="share of relevant features", ylabel="test accuracy (%) and its standard error")
    left.legend(frameon=False, ncols=2)
    last = made[-1][1]
    right.bar(METHODS, [last[m].seconds.mean() for m in METHODS], color=[HUES[m] for m in METHODS])
    for place, method in enumerate(METHODS):
        seconds = last[method].seconds.mean()
        right.annotate(f"{seconds:.2g} s", (place, seconds), (0, 3), textcoords="offset points", ha="center")
    right.set(yscale="log", ylabel="seconds per fit, all features relevant")
    for ax in (left, right):
        quiet(ax)
    return fig


def chosen_before(row: Row) -> dict[str, Chosen]:
    """Return what a table says was chosen for each method."""
    costs = str(row["C"]).split("/")
    return {m: (float(C), float(row["smoothing"]) if m == "smooth" else None) for m, C in zip(METHODS, costs)}


def draw_tables(table: list[Row]) -> Any:
    """Return a figure of the accuracies on real data; the bars beside our marks are the paper's means."""
    fig, ax = figure(1, 1, (1.8 + 1.5 * len(table), 4.0))
    for place, row in enumerate(table):
        for i, method in enumerate(METHODS):
            mean, deviation = (float(text) for text in str(row[method]).split("±"))
            x, printed = place + 0.17 * (i - 1.5), str(row.get(f"{method} paper", ""))
            ax.errorbar(
                x, mean, deviation, color=HUES[method], marker=MARKERS[method], capsize=3,
                label=method if place == 0 else None,
            )  # fmt: skip
            if "±" in printed:
                ax.plot(
                    x + 0.06, float(printed.split("±")[0]), "_", color=HUES[method], markersize=11, markeredgewidth=2
                )
    ax.plot([], [], "_", color="#333333", markersize=11, markeredgewidth=2, label="paper")
    ax.set_xticks(range(len(table)), [str(row["data"]) for row in table], fontsize=9)
    ax.set_ylabel("test accuracy (%), mean and standard deviation")
    quiet(ax)
    ax.grid(False, axis="x")
    ax.legend(frameon=False, ncols=5, loc="lower left", bbox_to_anchor=(0, 1.0))
    return fig


def toy(options: Any) -> None:
    rows, made = [], []
    chosen = choose(toy_splits(NOISE_COLUMNS // 2, options.repeats))
    for noise in range(NOISE_COLUMNS, -1, -1):
        name = f"{RELEVANT} of {RELEVANT + noise}"
        row, outcomes = study(name, toy_splits(noise, options.repeats), ("", "", ""), chosen)
        rows.append(row)
        made.append((noise, outcomes))
    print(show(rows))
    print(write_csv("repro_smooth_toy", rows))
    print(write_picture("repro_smooth_toy", draw_toy(made)), flush=True)


def real(options: Any) -> None:
    rows, former = [], {row["data"]: row for row in stored("repro_smooth_tables")} if options.chosen else {}
    tasks: list[tuple[str, Any, tuple[str, str, str]]] = []
    if "uci" in options.only:
        tasks += [(name, lambda n=name: uci_splits(n, options.repeats), PAPER_UCI[name]) for name in PAPER_UCI]
    if "text" in options.only:
        files = (("ohsumed_single_a", ("C01", "C02")), ("20ng_autos_motorcycles", ("rec.autos", "rec.motorcycles")))
        for (name, paper), (file, labels), fewest in zip(PAPER_TEXT.items(), files, options.terms):
            path = DATA / "text" / f"{file}.jsonl.gz"
            tasks.append((name, lambda a=path, b=labels, c=fewest: text_splits(a, b, c, options.repeats), paper))
    for name, load, paper in tasks:
        splits = load()
        chosen = chosen_before(former[name]) if name in former else choose(splits[: options.select])
        rows.append(study(name, splits, paper, chosen)[0])
    print(show(rows))
    print(write_csv("repro_smooth_tables", rows))
    print(write_picture("repro_smooth_tables", draw_tables(rows)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=("toy", "uci", "text"), default=["toy", "uci", "text"])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--select", type=int, default=6, help="splits on which C and smoothing are chosen")
    parser.add_argument("--terms", type=int, nargs=2, default=[3, 6], help="fewest documents of a term, per task")
    parser.add_argument(
        "--chosen", action="store_true", help="C and smoothing of the tables there are, not chosen anew"
    )
    parser.add_argument("--redraw", action="store_true", help="draw the tables there are")
    options = parser.parse_args()
    if options.redraw:
        print(write_picture("repro_smooth_tables", draw_tables(stored("repro_smooth_tables"))))
        return
    print(conditions("scikit-learn"), flush=True)
    with threadpool_limits(1):
        if "toy" in options.only:
            toy(options)
        if "uci" in options.only or "text" in options.only:
            real(options)


if __name__ == "__main__":
    main()
