"""Kernel values and their speed beside OpenFst (pynini): exact on real lattices, and how many a second on long strings.

    .bench/bin/python benchmarks/lattice_openfst.py          # two minutes on one core
    .bench/bin/python benchmarks/lattice_openfst.py --pairs 200 --lattice-pairs 200

Values   n-gram kernels of orders 1 to 3 on the 700 word lattices of SNIPS, each with itself and random pairs of them:
         `NGram(n)`, `Rational(ngram_counter(.., n))` and OpenFst in the log64 semiring, D(X o T o T^-1 o Y).  OpenFst
         is given the costs as they stand in the file, convergence thresholds of 1e-18 and no shortcut.
Speed    1,000 pairs of stories of 800 characters, order 5, the counting transducer given as arcs:
         prepared   Phi_x = det(rmeps(Pi_2(X o T))) is made before the clock starts; D(Phi_x o Phi_y) is timed
         chain      everything from the acceptors of x and y on is timed, for both strings of a pair

OpenFst has no function for D.  `distance` is its shortest distance from all states, the usual way; `epsilon` erases all
labels and removes epsilons, which leaves one state with the sum: faster, for nothing but this sum comes back to Python.
`minimal` machines are minimised in addition.  `error` is the largest relative difference to the exact value (counts are
whole numbers).  OpenFst hands weights to Python with 9 digits; where values are compared, they are read from the bytes
of the machine instead.  Times are CPU seconds on one thread; compilation is kept out by a small run before.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pywrapfst as openfst

import kernelweave as kw
from common import ROOT, Row, Timing, alternate, conditions, show, write_csv, write_picture
from kernelweave import automata
from kernelweave.automata import Transducer
from kernelweave.plots.style import BLUE, GREY, figure, quiet

DATA = ROOT.parent / "shared" / "data"
LATTICES = DATA / "lattice" / "snips_valid_lattices.fst.txt.gz"
STORIES = DATA / "text" / "reuters21578_modapte.jsonl.gz"
ORDERS = (1, 2, 3)
ORDER, LENGTH, STRINGS, CHAINS = 5, 800, 100, 100
TINY = 1e-18
"""Convergence threshold of OpenFst: its default, 1e-6, leaves out what adds less than that."""
EXACT, AIM = 1e-10, 10.0
REPEATS = 3
Pairs = list[tuple[int, int]]


def weight(arc: str, cost: float) -> Any:
    return openfst.Weight(arc, cost)


def as_fst(machine: Transducer, arc: str) -> Any:
    """Return one of our machines in OpenFst: label 0 is the empty one, weights are -ln."""
    made = openfst.VectorFst(arc)
    made.add_states(machine.n_states)
    made.set_start(0)
    columns = (machine.source, machine.target, machine.inputs + 1, machine.outputs + 1, -np.log(machine.weights))
    for source, target, read, write, cost in zip(*(column.tolist() for column in columns)):
        made.add_arc(source, openfst.Arc(read, write, weight(arc, cost), target))
    for state in np.flatnonzero(machine.finals).tolist():
        made.set_final(state, weight(arc, -math.log(machine.finals[state])))
    return made.arcsort("ilabel")


def features(acceptor: Any, counter: Any, minimal: bool = False, deterministic: bool = True) -> Any:
    """Return Phi in OpenFst."""
    made = openfst.compose(acceptor, counter).project("output").rmepsilon(delta=TINY)
    if deterministic:
        made = openfst.determinize(made, delta=TINY)
    return (made.minimize(delta=TINY) if minimal else made).arcsort("ilabel")


def summed(first: Any, second: Any) -> Any:
    """Return the machine of one state whose final weight is D of the composition, or of none for zero."""
    made = openfst.compose(first, second)
    for side in ("input_epsilon", "output_epsilon"):
        made = openfst.arcmap(made, map_type=side)
    return made.rmepsilon(delta=TINY)


def by_epsilon(first: Any, second: Any) -> float:
    made = summed(first, second)
    return math.exp(-float(made.final(made.start()))) if made.num_states() else 0.0


def by_distance(first: Any, second: Any) -> float:
    made = openfst.compose(first, second)
    if not made.num_states():
        return 0.0
    return math.exp(-float(openfst.shortestdistance(made, delta=TINY, reverse=True)[made.start()]))


def exactly(first: Any, second: Any) -> float:
    """Return D with all of its digits: a written machine of one state ends with its final weight and its arcs, none."""
    made = summed(first, second)
    if not made.num_states():
        return 0.0
    cost, _ = struct.unpack("<dq", made.write_to_string()[-16:])
    assert abs(cost - float(made.final(made.start()))) <= 1e-8 * max(1.0, abs(cost))  # to 9 digits
    return math.exp(-cost)


def read_costs(codes: dict[str, int]) -> Iterator[Any]:
    """Iterate over the lattices of the file as OpenFst machines, costs as they are written there."""
    with gzip.open(LATTICES, "rt", encoding="utf-8") as file:
        for block in file.read().strip().split("\n\n"):
            made = openfst.VectorFst("log64")
            for fields in (line.split() for line in block.splitlines()[1:]):
                while made.num_states() <= max(int(state) for state in fields[: 2 if len(fields) > 2 else 1]):
                    made.add_state()
                if len(fields) > 2:
                    label, cost = codes[fields[2]] + 1, float(fields[4]) if len(fields) > 4 else 0.0
                    made.add_arc(int(fields[0]), openfst.Arc(label, label, weight("log64", cost), int(fields[1])))
                else:
                    made.set_final(int(fields[0]), weight("log64", float(fields[1]) if len(fields) > 1 else 0.0))
            yield made.set_start(0).arcsort("olabel")


def compare(count: int, seed: int) -> list[Row]:
    """Return the largest differences of kernel values on lattices."""
    X = kw.read_lattices(LATTICES)
    rng = np.random.default_rng(seed)
    pairs = [(i, i) for i in range(len(X))][:count]
    pairs += list(map(tuple, rng.integers(0, len(X), (max(0, count - len(pairs)), 2)).tolist()))
    theirs = list(read_costs({word: code for code, word in enumerate(X.alphabet.letters)}))
    rows, places = [], tuple(np.array(pairs).T)
    for order in ORDERS:
        counter = automata.ngram_counter(X.alphabet, order)
        other = as_fst(counter, "log64")
        phi = [features(acceptor, other, deterministic=False) for acceptor in theirs]
        wanted = np.array([exactly(phi[i], phi[j]) for i, j in pairs])
        row = {"order": order, "lattices": len(X), "pairs": len(pairs), "zero": int((wanted == 0).sum())}
        for name, kernel in (("ngram", kw.NGram(order)), ("rational", kw.Rational(counter))):
            values = kernel.gram(X)[places]
            row[f"{name}_difference"] = difference(values, wanted)
        rows.append(row)
    return rows


def difference(values: np.ndarray, wanted: np.ndarray) -> float:
    """Return the largest relative difference, infinite where one of two values is zero."""
    same = values == wanted
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.max(np.where(same, 0.0, abs(values - wanted) / abs(wanted)), initial=0.0))


def stories(count: int) -> list[str]:
    """Return the beginnings of the first stories that are long enough."""
    found: list[str] = []
    with gzip.open(STORIES, "rt", encoding="utf-8") as file:
        for story in map(json.loads, file):
            text = " ".join(f"{story['title']} {story['body']}".lower().split())
            if len(text) >= LENGTH:
                found.append(text[:LENGTH])
            if len(found) == count:
                break
    return found


class Ours:
    """Kernel values by kernelweave, on prepared machines or from the acceptors on."""

    def __init__(self, acceptors: list[Transducer], counter: Transducer):
        self.acceptors, self.counter = acceptors, counter
        self.phi = [self.features(i) for i in range(len(acceptors))]
        self.table = automata.pack(self.phi)

    def features(self, i: int) -> Transducer:
        made = automata.project(automata.compose(self.acceptors[i], self.counter), "output")
        return automata.determinize(automata.remove_epsilon(made))

    def sweep(self, pairs: Pairs) -> Any:
        return automata.intersection_pairs(self.table, self.table, *np.array(pairs).T)

    def compose(self, pairs: Pairs) -> Any:
        return [automata.total_weight(automata.compose(self.phi[i], self.phi[j])) for i, j in pairs]

    def chain(self, pairs: Pairs) -> Any:
        return [automata.intersection_total(self.features(i), self.features(j)) for i, j in pairs]


class Theirs:
    """The same by OpenFst."""

    def __init__(self, ours: Ours, arc: str):
        self.acceptors = [as_fst(acceptor, arc) for acceptor in ours.acceptors]
        self.counter = as_fst(ours.counter, arc)
        self.phi = {minimal: [features(x, self.counter, minimal) for x in self.acceptors] for minimal in (False, True)}

    def prepared(self, minimal: bool, value: Callable[[Any, Any], float], pairs: Pairs) -> Any:
        return [value(self.phi[minimal][i], self.phi[minimal][j]) for i, j in pairs]

    def chain(self, pairs: Pairs) -> Any:
        made = (
            (features(self.acceptors[i], self.counter), features(self.acceptors[j], self.counter)) for i, j in pairs
        )
        return [by_epsilon(x, y) for x, y in made]


def measure(count: int, seed: int) -> list[Row]:
    """Return values per CPU second."""
    texts = stories(STRINGS)
    alphabet = kw.Alphabet("text", "".join(sorted(set("".join(texts)))))
    counter = automata.ngram_counter(alphabet, ORDER)
    ours = Ours([automata.acceptor(text, alphabet) for text in texts], counter)
    pairs: Pairs = list(map(tuple, np.random.default_rng(seed).integers(0, len(texts), (count, 2)).tolist()))
    few = pairs[:CHAINS]
    prepared: dict[str, Callable[[], Any]] = {
        "kernelweave, one sweep": lambda: ours.sweep(pairs),
        "kernelweave, compose and total weight": lambda: ours.compose(pairs),
    }
    chain: dict[str, Callable[[], Any]] = {"kernelweave": lambda: ours.chain(few)}
    for arc in ("log64", "log"):
        theirs = Theirs(ours, arc)
        for value in (by_distance, by_epsilon):
            for minimal in (False, True):
                name = f"OpenFst {arc}, {value.__name__[3:]}{', minimal' if minimal else ''}"
                prepared[name] = lambda t=theirs, m=minimal, v=value: t.prepared(m, v, pairs)  # type: ignore[misc]
        chain[f"OpenFst {arc}"] = lambda t=theirs: t.chain(few)  # type: ignore[misc]
    ours.sweep(few[:1]), ours.compose(few[:1]), ours.chain(few[:1])
    exact = kw.NGram(ORDER).gram(kw.Sequences.from_strings(texts, alphabet=alphabet))
    rows = lines("prepared", alternate(prepared, REPEATS), exact, pairs)
    return rows + lines("chain", alternate(chain, REPEATS), exact, few)


def lines(task: str, timings: dict[str, Timing], exact: np.ndarray, pairs: Pairs) -> list[Row]:
    wanted, first = exact[tuple(np.array(pairs).T)], next(iter(timings.values()))
    rows = []
    for name, timing in timings.items():
        row = {"task": task, "who": name, "pairs": len(pairs), "cpu": timing.cpu, "per_second": len(pairs) / timing.cpu}
        row |= {"times_slower": timing.cpu / first.cpu, "error": difference(np.asarray(timing.result), wanted)}
        rows.append(row)
    return rows


def draw(rows: list[Row]) -> Any:
    """Return a figure: values per CPU second, a panel for each task."""
    fig, axes = figure(2, 1, (7.0, 5.4))
    titles = {"prepared": "machines of the strings made before", "chain": "all from the two strings on"}
    for ax, (task, title) in zip(axes, titles.items()):
        chosen = [row for row in rows if row["task"] == task][::-1]
        colours = [BLUE if row["who"].startswith("kernelweave") else GREY for row in chosen]
        bars = ax.barh([row["who"] for row in chosen], [row["per_second"] for row in chosen], color=colours)
        ax.bar_label(bars, [f"{row['per_second']:,.0f}" for row in chosen], padding=3, fontsize=8)
        ax.set_xlim(right=1.1 * max(row["per_second"] for row in chosen))
        ax.set_title(title, fontsize=10)
        ax.tick_params(labelsize=8)
        quiet(ax)
    axes[-1].set_xlabel(f"kernel values per CPU second, strings of {LENGTH} letters, order {ORDER}")
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lattice-pairs", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for path in (LATTICES, STORIES):
        if not path.is_file():
            raise SystemExit(f"The data are missing: {path}")
    print(conditions("pynini"))
    values = compare(options.lattice_pairs, options.seed)
    print(show(values))
    print(write_csv("lattice_openfst_values", values))
    worst = max(row[name] for row in values for name in ("ngram_difference", "rational_difference"))
    print(f"largest relative difference of a kernel value: {worst:.1e} (asked for: {EXACT:.0e})\n")
    rows = measure(options.pairs, options.seed)
    print(show(rows))
    print(write_csv("lattice_openfst", rows))
    print(write_picture("lattice_openfst", draw(rows)))
    for task in ("prepared", "chain"):
        mine, *others = [row for row in rows if row["task"] == task]
        theirs = [row for row in others if row["who"].startswith("OpenFst")]
        fastest = min(theirs, key=lambda row: row["cpu"])
        print(f"{task}: {mine['per_second']:,.0f} values per CPU second", end="")
        for row in (theirs[0], fastest):
            print(f"; {row['cpu'] / mine['cpu']:.1f} times as many as {row['who']}", end="")
        print(f" (asked for: {AIM:.0f})" if task == "prepared" else "")


if __name__ == "__main__":
    main()
