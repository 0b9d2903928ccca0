"""Binary files of OpenFst as arrays: what `fstcompile` and every tool behind it write.

    header   magic, type of machine ("vector"), type of arcs, version, flags, properties, initial state, states, arcs
    symbols  a table for the inputs and one for the outputs, where the flags say so: pairs of text and number
    states   final weight, number of arcs; arcs of input, output, weight, target

Numbers are little endian.  Weights are costs, -ln of a weight, of 4 bytes in machines of "standard" or "log" arcs and
of 8 in "log64".  The label 0 is the empty one.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
MAGIC, SYMBOLS_MAGIC = 2125659606, 2125658996
VERSION = 2
INPUT_SYMBOLS, OUTPUT_SYMBOLS, ALIGNED = 1, 2, 4
COSTS = {"standard": "<f4", "log": "<f4", "log64": "<f8"}
"""Types of arcs, and that of their weights."""
LONGEST_NAME, SHOWN = 1 << 20, 20
"""Bytes of a text in a file, a longer one is a damaged length; letters of it in a message."""


@dataclass(frozen=True)
class BinaryFile:
    """A machine as it stands in a binary file.

    Parameters
    ----------
    start : the initial state, negative where there is none
    symbols : number -> text of the inputs and of the outputs, None where the file has no such table
    arcs : with input, output, cost and target, by state
    counts, finals : (states,) arcs that leave each state, and its final cost, infinite where no path ends
    """

    start: int
    symbols: tuple[dict[int, str] | None, dict[int, str] | None]
    arcs: Array
    counts: Array
    finals: Array


def parse(data: bytes) -> BinaryFile:
    """Return what a binary file says, costs as they stand there."""
    reader = _Reader(data)
    if reader.numbers("<i")[0] != MAGIC:
        raise ValueError("These bytes are no binary file of OpenFst: they do not begin with its magic number.")
    kind, arc_type = reader.text(), reader.text()
    if kind != "vector" or arc_type not in COSTS:
        raise ValueError(
            f"This file has a machine of the type {kind[:SHOWN]!r} with arcs {arc_type[:SHOWN]!r}, but only 'vector' "
            f"with one of {', '.join(map(repr, COSTS))} can be read; fstconvert makes one of the other."
        )
    version, flags, _, start, states, _ = reader.numbers("<iiQqqq")
    if version != VERSION or flags & ALIGNED:
        raise ValueError(
            f"This file has version {version} and flags {flags}, but version {VERSION}, unaligned, is read."
        )
    symbols = [reader.symbols() if flags & flag else None for flag in (INPUT_SYMBOLS, OUTPUT_SYMBOLS)]
    arcs, counts, finals = reader.states(states, np.dtype(COSTS[arc_type]))
    if len(arcs) and not (arcs["target"].min() >= 0 and arcs["target"].max() < states):
        raise ValueError("An arc of this file leads to a state that is not there.")
    return BinaryFile(start, (symbols[0], symbols[1]), arcs, counts, finals.astype(np.float64))


def arc_layout(cost: np.dtype) -> np.dtype:
    """Return how an arc lies in a file, with a cost of this type."""
    return np.dtype([("input", "<i4"), ("output", "<i4"), ("cost", cost), ("target", "<i4")])


class _Reader:
    """Bytes from a place on; what does not fit into them is an error."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        if not 0 <= count <= len(self.data) - self.at:
            raise ValueError(f"This file of OpenFst ends early, or is damaged, at byte {self.at}.")
        self.at += count
        return self.data[self.at - count : self.at]

    def numbers(self, layout: str) -> tuple[int, ...]:
        """Return the next numbers."""
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def text(self) -> str:
        """Return the next text, behind its length."""
        (length,) = self.numbers("<i")
        return self.take(length if length <= LONGEST_NAME else -1).decode("utf-8", "surrogateescape")

    def symbols(self) -> dict[int, str]:
        """Return a table of symbols."""
        if self.numbers("<i")[0] != SYMBOLS_MAGIC:
            raise ValueError(f"This file of OpenFst should have a table of symbols at byte {self.at - 4}, but has not.")
        self.text()
        _, size = self.numbers("<qq")
        table = {}
        for _ in range(min(size, len(self.data))):
            name = self.text()
            table[self.numbers("<q")[0]] = name
        return table

    def states(self, count: int, cost: np.dtype) -> tuple[Array, Array, Array]:
        """Return all arcs, how many each state has, and the final costs."""
        arc, parts = arc_layout(cost), []
        if not 0 <= count <= len(self.data):
            raise ValueError(f"This file of OpenFst tells of {count} states, more than its bytes can hold.")
        counts, finals = np.zeros(count, np.int64), np.full(count, np.inf)
        for state in range(count):
            finals[state] = np.frombuffer(self.take(cost.itemsize), cost)[0]
            (counts[state],) = self.numbers("<q")
            parts.append(np.frombuffer(self.take(int(counts[state]) * arc.itemsize), arc))
        return np.concatenate([np.zeros(0, arc), *parts]), counts, finals
