"""Kaldi lattices as text, compact or not: costs of graph and acoustics, both negative natural logarithms.

    key
    source target word [graph,acoustic[,alignment]]             an arc of a compact lattice
    source target input word [graph,acoustic]                   an arc of a lattice that is not compact
    state [graph,acoustic[,alignment]]                          a final state

    cost = lm_scale * graph + acoustic_scale * acoustic

A blank line ends a lattice.  Alignments are not kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import partial

from kernelweave.data.atomic import PathLike
from kernelweave.io.blocks import ACCEPTOR, TRANSDUCER, Symbols, fill, read_machines, spell
from kernelweave.io.lattices import register_lattices
from kernelweave.io.machines import Machine, no_score, read_score, read_state, shown
from kernelweave.io.registry import BY_LINES

SUFFIXES = (".lat", ".kaldi.txt", ".ark.txt")
COSTS = re.compile(r"([^,]*),([^,]*)(?:,([0-9_]*))?")
LABEL_LOST = re.compile(r"[-+.0-9eE]+,[-+.0-9eE]+,[0-9_]*")


def read(
    path: PathLike,
    symbols: Symbols | None = None,
    epsilon: Collection[str] | None = None,
    acoustic_scale: float = 1.0,
    lm_scale: float = 1.0,
) -> list[Machine]:
    """Read the lattices of a file.

    Parameters
    ----------
    path : the file, plain or compressed
    symbols : symbol table (words.txt) where words are numbers: a file, number -> word, or a list of words
    epsilon : words that stand for nothing; None for <eps> and its like, and 0 where all words are numbers
    acoustic_scale, lm_scale : what acoustic and graph costs are multiplied by

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "one.lat"
    >>> _ = path.write_text("u1\\n0 1 yes 0.5,20,1_1_2\\n0 1 no 0.7,30,\\n1 0,0,\\n")
    >>> machine, = read(path, acoustic_scale=0.1)
    >>> machine.words, machine.scores
    (['yes', 'no'], [-2.5, -3.7])
    """
    parsed = read_machines(path, is_key=_is_key)
    score = partial(_score, acoustic_scale, lm_scale)
    compact = all(len(fields) <= ACCEPTOR + 1 for _, lines in parsed for _, fields in lines)
    width = ACCEPTOR if compact else TRANSDUCER
    for machine, lines in parsed:
        for line, fields in lines:
            if len(fields) == ACCEPTOR and LABEL_LOST.fullmatch(fields[-1]):
                raise machine.fault(line, "the arc has costs but no word")
        fill(machine, lines, width, width - 1, score)
    machines = [machine for machine, _ in parsed]
    spell(machines, symbols, epsilon)
    return machines


def _is_key(fields: list[str]) -> bool:
    """Tell whether a line may be a key: one word, or several that look like no arc."""
    return len(fields) == 1 or (read_state(fields[0]) is None and not COSTS.fullmatch(fields[-1]))


def _score(acoustic_scale: float, lm_scale: float, machine: Machine, line: int, text: str) -> float:
    costs = COSTS.fullmatch(text)
    if costs is None:
        raise machine.fault(line, f"expected graph,acoustic,alignment as costs, found {shown(text)}")
    total = 0.0
    for name, part, scale in (("graph", costs[1], lm_scale), ("acoustic", costs[2], acoustic_scale)):
        cost = read_score(part)
        if cost is None:
            raise machine.fault(line, no_score(f"the {name} cost", part))
        total -= scale * cost
    return total


def sniff(start: bytes) -> bool:
    """Tell a Kaldi lattice by an arc whose last field holds two costs."""
    arc = rb"(?m)^[ \t]*[0-9]+[ \t]+[0-9]+(?:[ \t]+[^\s]+){1,2}[ \t]+[-+0-9.eE]+,[-+0-9.eE]+(?:,[0-9_]*)?[ \t]*\r?$"
    return re.search(arc, start) is not None


register_lattices("kaldi", SUFFIXES, sniff, read, None, BY_LINES)
