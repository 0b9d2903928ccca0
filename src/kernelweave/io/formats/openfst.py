"""OpenFst and AT&T text: one arc or final state a line, costs are negative natural logarithms.

    source target label [cost]            an arc of an acceptor
    source target input output [cost]     an arc of a transducer
    state [cost]                          a final state

Lattices follow one another separated by blank lines, each behind a line with its key; a file of one machine needs no
key.  The first state that is mentioned is the initial one.  A missing cost is 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from typing import Any

from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.data.lattices.rows import Lattices
from kernelweave.io.blocks import (
    ACCEPTOR,
    EPSILONS,
    FINAL,
    NOTHING,
    TRANSDUCER,
    Line,
    Symbols,
    fill,
    read_machines,
    spell,
)
from kernelweave.io.dataset import check_options, check_rows
from kernelweave.io.lattices import register_lattices
from kernelweave.io.machines import Machine, no_score, read_score, read_state
from kernelweave.io.numbers import is_number
from kernelweave.io.registry import BY_LINES

SUFFIXES = (".fst.txt", ".fst", ".att")
_ARC = re.compile(rb"[ \t]*[0-9]+[ \t]+[0-9]+(?:[ \t]+[^\s]+){1,3}[ \t]*\r?$")
_FINAL = re.compile(rb"[ \t]*[0-9]+(?:[ \t]+[-+.0-9eE]+)?[ \t]*\r?$")


def read(
    path: PathLike,
    symbols: Symbols | None = None,
    epsilon: Collection[str] | None = None,
    side: str = "output",
    kind: str = "auto",
) -> list[Machine]:
    """Read the machines of a file.

    Parameters
    ----------
    path : the file, plain or compressed
    symbols : symbol table where labels are numbers: a file of words and numbers, number -> word, or a list of words
    epsilon : labels that stand for nothing; None for <eps> and its like, and 0 where all labels are numbers
    side : "output" or "input", which labels of a transducer spell the strings
    kind : "acceptor" or "transducer"; "auto" looks at the number of fields, and where all arcs have four, takes them
        as those of an acceptor if the last is a number (mostly)

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "one.fst.txt"
    >>> _ = path.write_text("u1\\n0 1 yes 0.7\\n0 1 no 0.7\\n1\\n")
    >>> machine, = read(path)
    >>> machine.key, machine.words, machine.scores
    ('u1', ['yes', 'no'], [-0.7, -0.7])
    """
    check_options(side=(side, ("input", "output")), kind=(kind, ("auto", "acceptor", "transducer")))
    parsed = read_machines(path, is_key=lambda fields: len(fields) == 1)
    width = _width(parsed) if kind == "auto" else ACCEPTOR if kind == "acceptor" else TRANSDUCER
    column = 2 if width == ACCEPTOR or side == "input" else 3
    for machine, lines in parsed:
        fill(machine, lines, width, column, _score)
    machines = [machine for machine, _ in parsed]
    spell(machines, symbols, epsilon)
    return machines


def _width(parsed: list[tuple[Machine, list[Line]]]) -> int:
    """Return the number of fields of an arc without its cost, from the arcs of a file."""
    arcs = [fields for _, lines in parsed for _, fields in lines if len(fields) > FINAL]
    widths = set(map(len, arcs))
    if TRANSDUCER + 1 in widths or ACCEPTOR in widths:
        return TRANSDUCER if TRANSDUCER + 1 in widths else ACCEPTOR
    numbers = sum(is_number(fields[-1]) for fields in arcs)  # one that is damaged must not turn costs into words
    return ACCEPTOR if 2 * numbers >= len(arcs) else TRANSDUCER


def _score(machine: Machine, line: int, text: str) -> float:
    cost = read_score(text)
    if cost is None:
        raise machine.fault(line, no_score("the cost", text))
    return 0.0 - cost


def write(path: PathLike, X: Lattices, y: Any = None, ids: Any = None) -> None:
    """Write acceptors, each behind its key; lattices without ids are called row0, row1, ...

    Parameters
    ----------
    path : the file; a name that ends in .gz is compressed
    X : Lattices
    y : None, the format has no place for labels
    ids : n names, or None for those of the lattices
    """
    if y is not None:
        raise ValueError("OpenFst text has no place for labels; write PLF, or the labels to a file of their own.")
    ids = X.ids if ids is None else ids
    check_rows(len(X), None, ids)
    names = [f"row{i}" for i in range(len(X))] if ids is None else [str(name) for name in ids]
    for row, name in enumerate(names):
        if name.split() != [name]:
            raise ValueError(f"The id {name!r} of row {row} cannot be a key of OpenFst text: it must be one word.")
    words = spelling(X, EPSILONS)
    if NOTHING in words and all(read_state(word) is not None for word in words[:-1]):
        raise ValueError(f"The word {NOTHING!r} among words that are numbers would be read back as epsilon.")
    with open_aside(path) as file:
        for row, name in enumerate(names):
            file.write("\n".join([name, *_lines(X, row, words), "", ""]).encode())


def spelling(X: Lattices, epsilons: tuple[str, ...]) -> list[str]:
    """Return what each code is written as, nothing (-1) at the end; a word that means nothing cannot be written."""
    if X.labels.size and X.labels.max() >= X.alphabet.size:
        raise ValueError("Masked words cannot be written: they are not in the alphabet.")
    for word in X.alphabet.letters:
        if word in epsilons:
            raise ValueError(f"The word {word!r} cannot be written: this format reads it as epsilon.")
    return [*X.alphabet.letters, epsilons[0]]


def _lines(X: Lattices, row: int, words: list[str]) -> Iterator[str]:
    """Yield the arcs and final weights of one lattice by state, as OpenFst prints them."""
    arcs = slice(X.arc_offsets[row], X.arc_offsets[row + 1])
    finals = X.finals[X.state_offsets[row] : X.state_offsets[row + 1]].tolist()
    table = list(zip(*(x[arcs].tolist() for x in (X.source, X.target, X.labels, X.weights))))
    at = 0
    for state, final in enumerate(finals):
        while at < len(table) and table[at][0] == state:
            _, target, label, weight = table[at]
            yield f"{state} {target} {words[label]} {cost_text(weight)}"
            at += 1
        if final > 0:
            yield f"{state} {cost_text(final)}"


def cost_text(weight: float) -> str:
    """Return -ln of a weight with all its digits."""
    return repr(0.0 - math.log(weight))


def is_whole(start: bytes) -> bool:
    """Tell OpenFst text from tables: arcs, final states and a key behind each blank line, and nothing else."""
    lines = start.split(b"\n")
    lines = lines[:-1] if len(lines) > 1 else lines  # the last one may be cut
    arcs, finals = list(map(_ARC.match, lines)), list(map(_FINAL.match, lines))
    for number, line in enumerate(lines):
        key = number == 0 or not lines[number - 1].strip()
        if not (arcs[number] or finals[number] or key or not line.strip()):
            return False
    return any(arcs) and any(finals)


def sniff(start: bytes) -> bool:
    """Tell OpenFst text by an arc: two states and a label among the first lines."""
    return re.search(rb"(?m)^[ \t]*[0-9]+[ \t]+[0-9]+[ \t]+[^\s]", start) is not None


register_lattices("openfst", SUFFIXES, sniff, read, write, BY_LINES + 1, sniff_alone=is_whole)
