"""The four stores of coordinate descent: time and size of the weight vector, on character n-grams of Reuters stories.

    python benchmarks/lattice_stores.py                                # 466 stories, 4- and 6-grams, 6 passes
    python benchmarks/lattice_stores.py --rows 100 --orders 4 --passes 20

    indexed   a flat array over numbered n-grams
    trie      a tree of prefixes
    minimal   the minimal deterministic automaton, changed in place
    naive     the sum of all stories' automata

Each takes the same passes over the same rows in the same order, in double precision, so the classifiers can be compared
to the last digits: `apart` is the largest difference of a decision value from that of the flat array.  Acquisitions
against the rest, unit rows, C = 1, regularised intercept.  CPU seconds on one thread, without what all stores share
(features); compiled by a small run first.  `arcs` and `bytes` are those of the final weight vector.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import kernelweave as kw
from common import Row, conditions, show, timed, write_csv, write_picture
from kernelweave.engines import Serial
from kernelweave.losses import make_loss
from kernelweave.operators.base import DESCENT_STORES
from kernelweave.operators.features.operator import FeatureOperator
from kernelweave.plots.style import BLUE, figure, quiet
from kernelweave.solvers.loop import Stop
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.svm.dual_coordinate import DualCoordinate
from text_common import subset

NEVER = 1e-13
"""A gap that is not reached, so that all stores take as many passes, and double precision everywhere."""
SAME = 1e-9
WARM_UP = 12


def problem(order: int, rows: int) -> Problem:
    """Return the learning problem of some stories."""
    stories = subset().taken(np.arange(rows))
    X = kw.Sequences.from_strings(stories.texts, alphabet="bytes")
    operator = FeatureOperator(kw.NGram(order).normalized(), X, Serial())
    return Problem(operator, make_loss("hinge"), stories.y, np.ones(rows), "regularized")


def descend(given: Problem, store: str, passes: int) -> DualCoordinate:
    """Take so many passes."""
    solver = DualCoordinate(store=store, shrinking=False)
    solver.init(given, None, Stop(NEVER, passes))
    for _ in range(passes):
        solver.step()
    return solver


def size(solver: DualCoordinate) -> tuple[int, int]:
    """Return the arcs and bytes of the weight vector; the flat array counts its entries."""
    full: Any = solver.full
    if solver.store == "indexed":
        return len(full.w), full.w.nbytes
    return full.weights.n_arcs, full.weights.nbytes


def measure(order: int, options: argparse.Namespace) -> list[Row]:
    """Return a line for each store."""
    given, lines, reference = problem(order, options.rows), [], np.empty(0)
    for store in options.stores:
        first = timed(lambda: DualCoordinate(store=store).init(given, None, Stop(NEVER, 1)))  # noqa: B023 - called now
        run = timed(lambda: descend(given, store, options.passes))  # noqa: B023
        outputs = run.result.full.outputs(run.result.alpha)
        reference = reference if len(reference) else outputs
        arcs, taken = size(run.result)
        seconds = max(run.cpu - first.cpu, 0.0)
        lines.append({
            "order": order, "store": store, "rows": options.rows, "passes": options.passes, "cpu": seconds,
            "ms_a_row": 1e3 * seconds / (options.passes * options.rows), "arcs": arcs, "bytes": taken,
            "apart": float(np.abs(outputs - reference).max()),
        })  # fmt: skip
        print(f"{order}-grams, {store}: {seconds:.3g} CPU s", flush=True)
    return lines


def draw(lines: list[Row]) -> Any:
    """Return a picture: time of a step and size, for each store."""
    fig, axes = figure(1, 2, (9.0, 3.6))
    names = [f"{line['store']}, {line['order']}" for line in lines]
    for ax, column, text in zip(
        axes, ("ms_a_row", "arcs"), ("CPU milliseconds for a row", "arcs of the weight vector")
    ):
        ax.barh(names, [line[column] for line in lines], color=BLUE)
        ax.set_xscale("log")
        ax.set_xlabel(text)
        ax.invert_yaxis()
        quiet(ax)
    return fig


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=466)
    parser.add_argument("--orders", type=int, nargs="+", default=[4, 6])
    parser.add_argument("--passes", type=int, default=6)
    parser.add_argument("--stores", nargs="+", choices=DESCENT_STORES, default=list(DESCENT_STORES))
    options = parser.parse_args()
    print(conditions(), flush=True)
    with threadpool_limits(1):
        for store in options.stores:
            descend(problem(3, WARM_UP), store, 2)
        lines = [line for order in options.orders for line in measure(order, options)]
    print(show(lines))
    print(write_csv("lattice_stores", lines), write_picture("lattice_stores", draw(lines)))
    worst = max(line["apart"] for line in lines)
    print(f"{'reached' if worst <= SAME else 'MISSED'}: decision values differ by {worst:.1e} (aim: {SAME:g})")


if __name__ == "__main__":
    main()
