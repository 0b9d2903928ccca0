r"""PLF, the Python lattice format: one lattice a line, alone or as the second column of a table.

A lattice is a Python tuple with one entry for each node but the last; an entry is a tuple of arcs
``(word, score, distance)`` that lead from node k to node k + distance.  Scores are natural logarithms.  The last node
is the final one; ``()`` is a lattice that accepts nothing.

    ((('to', -0.2, 1), ('two', -1.7, 1),), (('cats', 0, 1),),)

Tables have a label, the lattice (or nothing in place of ``()``), perhaps an id, and further columns that are not read,
separated by tabs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import Any

from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.data.lattices.rows import Lattices
from kernelweave.io.dataset import check_rows, label_text
from kernelweave.io.lattices import register_lattices
from kernelweave.io.machines import MAX_DIGITS, Machine, no_score, read_score, shown
from kernelweave.io.registry import BY_MARK
from kernelweave.io.source import numbered_lines

SUFFIXES = (".plf", ".plf.tsv")
EPSILON = "*EPS*"
"""The word that stands for nothing."""

_STRING = r"'([^'\\]*(?:\\.[^'\\]*)*)'" "|" r'"([^"\\]*(?:\\.[^"\\]*)*)"'
_NEXT = r"\s*(?:,\s*|(?=\)))"  # a comma, or the end of the list that this is part of
_ARC = re.compile(rf"\(\s*(?:{_STRING})\s*,\s*([-+.0-9a-zA-Z_]+)\s*,\s*(-?[0-9]+)\s*,?\s*\){_NEXT}")
_OPEN, _CLOSE, _END = re.compile(r"\(\s*"), re.compile(rf"\){_NEXT}"), re.compile(r"\)\s*")
_FIRST = re.compile(rb"(?m)^(?:[ ]*+[^\t\n( ][^\t\n]*+\t|[ ]++\t)?+[ ]*+\([ ]*+(?:\(|\)[ \r]*+(?:\t|$))")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_HIGHEST = 0x10FFFF


def read(path: PathLike, epsilon: Collection[str] | None = None) -> list[Machine]:
    """Read the lattices of a file.

    Parameters
    ----------
    path : the file, plain or compressed
    epsilon : words that stand for nothing; None for *EPS*

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "one.plf"
    >>> _ = path.write_text("((('to', -0.2, 1), ('two', -1.7, 1),), (('cats', 0, 1),),)\\n")
    >>> machine, = read(path)
    >>> machine.words, machine.targets, machine.finals
    (['to', 'two', 'cats'], [1, 1, 2], {2: (0.0, 1)})
    """
    silent = {EPSILON} if epsilon is None else set(epsilon)
    machines: list[Machine] = []
    columns = 0
    for line, text in numbered_lines(path):
        cells = text.split("\t") if not text.lstrip(" ").startswith("(") else [text]
        columns = columns or len(cells)
        if len(cells) != columns:
            raise ValueError(f"{path}:{line}: found {len(cells)} columns, but {columns} before.")
        machine = Machine(path, line)
        if columns > 1:
            machine.label = cells[0].strip()
            machine.key = cells[2].strip() if columns > 2 else None
            if not machine.label or machine.key == "":
                what = "id" if machine.label else "label"
                raise ValueError(f"{path}:{line}: the {what} is empty; expected label, lattice and perhaps an id.")
        if columns == 1 or cells[1].strip():  # tables leave the cell empty for a lattice that accepts nothing
            _fill(machine, cells[columns > 1], silent)
        machines.append(machine)
    if not machines:
        raise ValueError(f"{path} has only blank lines.")
    return machines


def _fill(machine: Machine, text: str, silent: set[str]) -> None:
    """Read the arcs of one lattice."""
    text = text.strip()
    line, node, at = machine.line, 0, _after(machine, text, _OPEN, 0, "'(' of the lattice")
    while not (end := _END.match(text, at)):
        at = _after(machine, text, _OPEN, at, "'(' of a node or the last ')'")
        while arc := _ARC.match(text, at):
            _add(machine, node, arc, silent)
            at = arc.end()
        at = _after(machine, text, _CLOSE, at, "an arc (word, score, distance) or ')' behind the arcs of a node")
        node += 1
    if end.end() != len(text):
        raise machine.fault(line, f"expected nothing behind the last ')', found {_seen(text, end.end())}")
    if node:
        machine.end(node, 0.0, line)
    for target in machine.targets:
        if target > node:
            raise machine.fault(line, f"an arc leads to node {target}, but the last one is {node}")


def _after(machine: Machine, text: str, pattern: re.Pattern[str], at: int, expected: str) -> int:
    """Return the place behind a sign that must come next."""
    if found := pattern.match(text, at):
        return found.end()
    raise machine.fault(machine.line, f"expected {expected} at character {at + 1}, found {_seen(text, at)}")


def _seen(text: str, at: int) -> str:
    return repr(text[at : at + 20]) if at < len(text) else "the end of the line"


def _add(machine: Machine, node: int, arc: re.Match[str], silent: set[str]) -> None:
    single, double, score_text, distance_text = arc.groups()
    word = double if single is None else single
    if "\\" in word:
        word = _ESCAPE.sub(_unescaped, word)
    score = read_score(score_text)
    if score is None:
        raise machine.fault(machine.line, no_score(f"the score of {shown(word)},", score_text))
    distance = int(distance_text) if len(distance_text) <= MAX_DIGITS else 0
    if distance < 1:
        reason = f"the arc {shown(word)} leads from node {node} by {distance_text[:MAX_DIGITS]}, backwards or nowhere"
        raise machine.fault(machine.line, f"{reason}: a cycle; a distance is at least 1")
    machine.add(node, node + distance, "" if word in silent else word, score, machine.line)


def _unescaped(found: re.Match[str]) -> str:
    short, middle, long, octal, other = found.groups()
    if other is not None:
        return _LETTERS.get(other, other if other in "\\'\"" else "\\" + other)
    point = int(octal, 8) if octal else int(short or middle or long, 16)
    return chr(point) if point <= _HIGHEST else "\ufffd"


def write(path: PathLike, X: Lattices, y: Any = None, ids: Any = None) -> None:
    """Write one lattice a line; with labels, a table of label, lattice and, if there are ids, the id.

    Parameters
    ----------
    path : the file; a name that ends in .gz is compressed
    X : Lattices
    y : (n,) labels, or None; ids are written beside labels only
    ids : n names, or None for those of the lattices
    """
    from kernelweave.io.formats.openfst import spelling

    ids = X.ids if ids is None else ids
    check_rows(len(X), y, ids)
    words = [repr(word) for word in spelling(X, (EPSILON,))]
    with open_aside(path) as file:
        for row in range(len(X)):
            cells = [_text(X, row, words)]
            if y is not None:
                cells = [label_text(y[row]), *cells, *([] if ids is None else [str(ids[row])])]
            if any(sign in cell for cell in cells for sign in "\t\n\r") or not all(map(str.strip, cells)):
                raise ValueError(f"Row {row} cannot be written: its label or id is blank or holds a tab or line end.")
            file.write(("\t".join(cells) + "\n").encode())


def _text(X: Lattices, row: int, words: list[str]) -> str:
    """Return one lattice; where several states are final, or one with another weight than 1, they lead to a new one."""
    arcs = slice(X.arc_offsets[row], X.arc_offsets[row + 1])
    finals = X.finals[X.state_offsets[row] : X.state_offsets[row + 1]].tolist()
    if not any(finals):
        return "()"
    plain = len(finals) > 1 and finals[-1] == 1 and not any(finals[:-1])
    last = len(finals) - plain
    nodes: list[list[str]] = [[] for _ in range(last)]
    for source, target, label, weight in zip(*(x[arcs].tolist() for x in (X.source, X.target, X.labels, X.weights))):
        nodes[source].append(_arc(words[label], weight, target - source))
    if not plain:
        for state, weight in enumerate(finals):
            if weight > 0:
                nodes[state].append(_arc(words[-1], weight, last - state))
    return "(" + "".join(f"({''.join(node)})," for node in nodes) + ")"


def _arc(word: str, weight: float, distance: int) -> str:
    return f"({word},{math.log(weight)!r},{distance}),"


def sniff(start: bytes) -> bool:
    """Tell PLF by a line that opens a tuple of tuples, alone or behind a label."""
    return _FIRST.search(start) is not None


register_lattices("plf", SUFFIXES, sniff, read, write, BY_MARK)
