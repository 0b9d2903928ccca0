"""Binary files of OpenFst, one machine each: what `fstcompile` and the tools behind it write.

Costs are negative natural logarithms.  Labels are spelled by the symbols of the file where it has them, else by a table
that is named; 0 is epsilon.  The name of the file, without its suffix, is the key of the lattice.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from pathlib import Path

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.data.errors import preceded
from kernelweave.data.lattices.openfst import MAGIC, BinaryFile, parse
from kernelweave.io.blocks import EPSILONS, NOTHING, Symbols, spell
from kernelweave.io.dataset import check_options
from kernelweave.io.lattices import register_lattices
from kernelweave.io.machines import MAX_SCORE, Machine
from kernelweave.io.registry import BY_MAGIC
from kernelweave.io.source import open_binary, unpacked_name

BEGIN = struct.pack("<i", MAGIC)


def read(
    path: PathLike, symbols: Symbols | None = None, epsilon: Collection[str] | None = None, side: str = "output"
) -> list[Machine]:
    """Read the machine of a file.

    Parameters
    ----------
    path : the file, plain or compressed; its machine is of the type "vector", arcs are "standard", "log" or "log64"
    symbols : symbol table where the file has none: a file of words and numbers, number -> word, or a list of words
    epsilon : words that stand for nothing, beside the label 0; None for <eps> and its like
    side : "output" or "input", which labels of a transducer spell the strings

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from kernelweave.automata import Transducer, to_binary
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "u1.fst"
    >>> machine = Transducer.from_arcs([(0, 1, "a", "a", 0.5), (0, 1, "b", "b", 0.5)], finals=[1], alphabet="ab")
    >>> _ = path.write_bytes(to_binary(machine))
    >>> machine, = read(path)
    >>> machine.key, machine.words, [round(score, 3) for score in machine.scores]
    ('u1', ['a', 'b'], [-0.693, -0.693])
    """
    check_options(side=(side, ("input", "output")))
    with open_binary(path) as file:
        data = file.read()
    try:
        found = parse(data)
    except ValueError as error:
        raise preceded(error, str(path)) from error
    machine = _machine(path, found, side)
    table = found.symbols[side == "output"]
    if table is not None and symbols is None:
        symbols = table | {0: EPSILONS[0]}
    spell([machine], symbols, None if epsilon is None else (*epsilon, EPSILONS[0], NOTHING))
    return [machine]


def _machine(path: PathLike, found: BinaryFile, side: str) -> Machine:
    """Return the machine, its labels as numbers; one without an initial state has no arcs."""
    machine = Machine(path, 0, key=Path(unpacked_name(str(path))).stem, initial=max(found.start, 0))
    if found.start < 0:
        return machine
    if found.start >= len(found.counts):
        raise machine.fault(0, f"its initial state {found.start} is not there")
    arcs, finals = found.arcs, np.flatnonzero(found.finals != np.inf)
    costs = arcs["cost"].astype(np.float64)
    for what, some in (("an arc", costs), ("a final state", found.finals[finals])):
        if not (np.abs(some) <= MAX_SCORE).all():
            raise machine.fault(0, f"the cost of {what} is not the logarithm of a probability")
    if len(arcs) and arcs[side].min() < 0:
        raise machine.fault(0, "a label is negative")
    machine.sources = np.repeat(np.arange(len(found.counts)), found.counts).tolist()
    machine.targets, machine.scores = arcs["target"].tolist(), (0.0 - costs).tolist()
    machine.words, machine.lines = [str(label) for label in arcs[side].tolist()], [0] * len(arcs)
    machine.finals = {int(state): (0.0 - float(found.finals[state]), 0) for state in finals}
    return machine


def sniff(start: bytes) -> bool:
    """Tell a binary file of OpenFst by its first bytes."""
    return start.startswith(BEGIN)


register_lattices("fst", (), sniff, read, None, BY_MAGIC)
