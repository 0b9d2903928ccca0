"""The weight vector as a minimal automaton: cost of an update in place against building the automaton anew.

    python benchmarks/lattice_minimal.py                               # 4- and 6-grams of up to 2,000 Reuters stories
    python benchmarks/lattice_minimal.py --orders 7 --stories 100 400

W' = sum_i alpha_i y_i Phi_i, with Phi_i the counts of character n-grams of story i, y_i = +-1 (topic acq) and alpha_i
drawn uniformly from (0, 1).  The store takes up story after story.  At each size the table has, for one more story:

    update   the store adds it in place (median over `--updates` stories); `states`, `arcs`: what this touches
    rebuild  the sorted list of all n-grams with their new weights -> trie -> push -> minimise
    union    the general way: union of W' and Phi_i, weighted determinisation, minimisation

and the size of the trie and of the minimal automaton.  Update and rebuild must give the same number of states and arcs,
and weights that agree; the script says so.  Times are CPU milliseconds on one thread, compiled by a small run before.
"""

from __future__ import annotations

import argparse
import gzip
import json
from itertools import islice
from typing import Any

import numpy as np

from common import ROOT, Row, alternate, conditions, show, timed, write_csv, write_picture
from kernelweave.automata.algorithms.determinize import determinize
from kernelweave.automata.algorithms.minimize import minimize
from kernelweave.automata.algorithms.rational import union
from kernelweave.automata.minimal.automaton import MinimalStore
from kernelweave.automata.trie import trie
from kernelweave.plots.style import BLUE, GREY, figure, quiet

STORIES = ROOT.parent / "shared" / "data" / "text" / "reuters21578_modapte.jsonl.gz"
ORANGE = "#D55E00"
WARM_UP = 5
REPEATS = 3
MILLI = 1e3


def read(count: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the first stories as letter codes, and whether each is about acquisitions, as +-1."""
    if not STORIES.is_file():
        raise SystemExit(f"The Reuters stories are missing: {STORIES}")
    with gzip.open(STORIES, "rt", encoding="utf-8") as file:
        stories = [json.loads(line) for line in islice(file, count)]
    texts = [" ".join(f"{story['title']} {story['body']}".lower().split()) for story in stories]
    codes = {letter: code for code, letter in enumerate(sorted(set("".join(texts))))}
    y = np.array([1.0 if "acq" in story["topics"] else -1.0 for story in stories])
    return [np.array([codes[letter] for letter in text], np.int32) for text in texts], y


def ngrams(texts: list[np.ndarray], order: int) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
    """Return all n-grams, sorted, and for each story the places of its own among them and their counts."""
    windows = [np.lib.stride_tricks.sliding_window_view(text, order) for text in texts if len(text) >= order]
    sizes = [max(0, len(text) - order + 1) for text in texts]
    every, places = np.unique(np.concatenate(windows), axis=0, return_inverse=True)
    parts = np.split(places.ravel(), np.cumsum(sizes)[:-1])
    rows = [np.unique(part, return_counts=True) for part in parts]
    return every, [where for where, _ in rows], [counts.astype(float) for _, counts in rows]


class Run:
    """One order of n-grams: the store and, beside it, the plain vector of weights."""

    def __init__(self, texts: list[np.ndarray], y: np.ndarray, order: int, seed: int) -> None:
        self.order = order
        self.every, self.where, self.counts = ngrams(texts, order)
        self.steps = y * np.random.default_rng(seed).uniform(0.0, 1.0, len(y))
        self.store, self.plain, self.seen = MinimalStore(), np.zeros(len(self.every)), 0

    def add(self) -> float:
        """Add the next story; return the CPU seconds of the store."""
        where, counts, step = self.where[self.seen], self.counts[self.seen], self.steps[self.seen]
        strings = self.every[where]
        run = timed(lambda: self.store.add(strings, counts, step))
        self.plain[where] += step * counts
        self.seen += 1
        return run.cpu

    def rebuild(self) -> Any:
        """Return the minimal automaton of all weights, from nothing."""
        kept = self.plain != 0
        return minimize(trie(self.every[kept], self.plain[kept]))

    def union(self) -> Any:
        """Return the minimal automaton with the next story, by the general operations."""
        where, counts = self.where[self.seen], self.steps[self.seen] * self.counts[self.seen]
        return minimize(determinize(union(self.store.to_transducer(), trie(self.every[where], counts))))

    def row(self, updates: int) -> Row:
        """Return one line of the table."""
        runs = alternate({"rebuild": self.rebuild, "union": self.union}, REPEATS)
        made, tree = runs["rebuild"].result, trie(self.every[self.plain != 0], self.plain[self.plain != 0])
        store, row = self.store, {"order": self.order, "stories": self.seen, "ngrams": int((self.plain != 0).sum())}
        same = (store.n_states, store.n_arcs) == (made.n_states, made.n_arcs)
        error = float(np.max(abs(store.weights(self.every) - self.plain)) / np.max(abs(self.plain)))
        sizes = {"trie_arcs": tree.n_arcs, "minimal_states": store.n_states, "minimal_arcs": store.n_arcs}
        memory = {"store_mb": store.nbytes / 1e6, "same_size": same, "error": error}
        touched, times = [], []
        for _ in range(updates):
            times.append(self.add())
            touched.append((store.touched, store.touched_arcs))
        states, arcs = np.mean(touched, axis=0)
        update = float(np.median(times))
        costs = {"states": states, "arcs": arcs, "update_ms": update * MILLI}
        for name, run in runs.items():
            costs |= {f"{name}_ms": run.cpu * MILLI, f"{name}_ratio": run.cpu / update}
        return row | sizes | memory | costs


def measure(order: int, texts: list[np.ndarray], y: np.ndarray, options: argparse.Namespace) -> list[Row]:
    """Return the lines of one order."""
    run, rows = Run(texts, y, order, options.seed), []
    for size in sorted(options.stories):
        while run.seen < size:
            run.add()
        rows.append(run.row(options.updates))
    return rows


def draw(rows: list[Row], orders: list[int]) -> Any:
    """Return a figure: cost of one more story against the stories that are in, a panel for each order."""
    fig, axes = figure(1, len(orders), (3.6 * len(orders), 3.2))
    for ax, order in zip(np.atleast_1d(axes), orders):
        chosen = [row for row in rows if row["order"] == order]
        size = [row["stories"] for row in chosen]
        for name, colour in (("update_ms", BLUE), ("rebuild_ms", GREY), ("union_ms", ORANGE)):
            ax.plot(
                size, [row[name] for row in chosen], "o-", color=colour, label=name.removesuffix("_ms"), markersize=4
            )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks(size, [str(count) for count in size])
        ax.minorticks_off()
        ax.set_xlabel("stories in the automaton")
        ax.set_ylabel("ms for one more story")
        ax.set_title(f"{order}-grams", fontsize=10)
        quiet(ax)
        ax.legend(frameon=False, fontsize=8)
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stories", type=int, nargs="+", default=[50, 100, 200, 500, 1000, 2000])
    parser.add_argument("--orders", type=int, nargs="+", default=[4, 6])
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(conditions())
    texts, y = read(max(options.stories) + options.updates + 1)
    warm = argparse.Namespace(stories=[WARM_UP], updates=2, seed=0)
    measure(options.orders[0], texts[: 2 * WARM_UP], y[: 2 * WARM_UP], warm)
    rows = [row for order in options.orders for row in measure(order, texts, y, options)]
    print(show(rows))
    print(write_csv("lattice_minimal", rows))
    print(write_picture("lattice_minimal", draw(rows, options.orders)))
    word = "equal" if all(row["same_size"] for row in rows) else "DIFFERENT"
    print(f"sizes of the updated and of the rebuilt automaton: {word}; largest error of a weight, relative to the")
    print(f"largest weight: {max(row['error'] for row in rows):.1e}")


if __name__ == "__main__":
    main()
