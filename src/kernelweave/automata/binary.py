"""Machines as binary files of OpenFst: `fstcompile` writes them, every tool of the library reads them.

How such a file is laid out is told, and read, in `data.lattices.openfst`.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from kernelweave.automata.base import EPSILON, Array, Transducer, sorted_by_source
from kernelweave.automata.build import MOST, as_alphabet, letter_codes
from kernelweave.data.lattices.openfst import (
    COSTS,
    INPUT_SYMBOLS,
    MAGIC,
    OUTPUT_SYMBOLS,
    SYMBOLS_MAGIC,
    VERSION,
    arc_layout,
    parse,
)
from kernelweave.data.strings.alphabet import Alphabet


def to_binary(machine: Transducer, arc_type: str = "log64") -> bytes:
    """Return a machine as OpenFst stores it.

    Parameters
    ----------
    machine : weights must be positive.  Labels are written as their codes plus one, with a table of symbols where the
        machine has an alphabet
    arc_type : "log64" keeps all digits of the weights, "log" and "standard" half of them

    Examples
    --------
    >>> T = Transducer.from_arcs([(0, 1, "a", "b", 0.5)], finals=[1], alphabet="ab")
    >>> from_binary(to_binary(T), T.alphabet).weights
    array([0.5])
    """
    if arc_type not in COSTS:
        raise ValueError(f"arc_type={arc_type!r} is unknown; use one of {', '.join(map(repr, COSTS))}.")
    m, cost = machine, np.dtype(COSTS[arc_type])
    if (m.weights <= 0).any() or (m.finals < 0).any():
        raise ValueError("OpenFst stores -ln of weights, which must be positive, but some of this machine are not.")
    symbols = b"" if m.alphabet is None else _symbols(m.alphabet)
    flags = 0 if m.alphabet is None else INPUT_SYMBOLS | OUTPUT_SYMBOLS
    head = struct.pack("<i", MAGIC) + _text("vector") + _text(arc_type)
    head += struct.pack("<iiQqqq", VERSION, flags, 0, 0, m.n_states, m.n_arcs)
    with np.errstate(divide="ignore"):
        finals = (-np.log(m.finals)).astype(cost)  # infinite where a path cannot end
    arcs = np.empty(m.n_arcs, arc_layout(cost))
    arcs["input"], arcs["output"] = m.inputs + 1, m.outputs + 1
    arcs["cost"], arcs["target"] = -np.log(m.weights) + 0.0, m.target
    parts = [head, symbols, symbols]
    for state in range(m.n_states):
        mine = arcs[m.starts[state] : m.starts[state + 1]]
        parts += [finals[state].tobytes(), struct.pack("<q", len(mine)), mine.tobytes()]
    return b"".join(parts)


def from_binary(data: bytes, alphabet: Any = None) -> Transducer:
    """Return the machine of a binary file of OpenFst; the initial state comes first, the others keep their order.

    Parameters
    ----------
    data : the bytes of one machine of the type "vector" with arcs "standard", "log" or "log64"
    alphabet : Alphabet, a ready name, or a text of letters, which the symbols of the file must be among; None for the
        symbols of the file, in the order of their numbers, or for numbers where it has none: the label k is the code
        k - 1
    """
    file = parse(data)
    start, arcs, states = file.start, file.arcs, len(file.counts)
    if start < 0 or states == 0:  # no initial state: nothing is accepted
        return Transducer.from_arcs([], [], alphabet)
    chosen, codes = _coding(file.symbols, as_alphabet(alphabet))
    first = codes.coded(arcs["input"], 0)
    second = first if np.array_equal(arcs["input"], arcs["output"]) else codes.coded(arcs["output"], -1)
    place = np.arange(states)
    place[: start + 1] = (place[: start + 1] + 1) % (start + 1)
    with np.errstate(over="ignore"):
        weights, ends = np.exp(-arcs["cost"].astype(np.float64)), np.zeros(states)
        ends[place] = np.exp(-file.finals)
    if not (np.isfinite(weights).all() and np.isfinite(ends).all()):
        raise ValueError("A cost of this file is not a number, or so far below zero that its weight is infinite.")
    source = place[np.repeat(np.arange(states), file.counts)]
    return sorted_by_source(source, place[arcs["target"]], first, second, weights, ends, chosen)


def _text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    return struct.pack("<i", len(data)) + data


def _symbols(alphabet: Alphabet) -> bytes:
    names = ["<eps>", *alphabet.letters, alphabet.mask_letter or "<mask>"]
    pairs = b"".join(_text(name) + struct.pack("<q", key) for key, name in enumerate(names))
    return struct.pack("<i", SYMBOLS_MAGIC) + _text("letters") + struct.pack("<qq", len(names), len(names)) + pairs


class _Coding:
    """Which code each label of a file has, for inputs and for outputs; without tables it is the label less one."""

    def __init__(self, tables: list[dict[int, int]]):
        self.tables = tables

    def coded(self, labels: Array, side: int) -> Array:
        """Return the codes of labels; one that the table does not know is an error."""
        if not self.tables:
            if len(labels) and not (labels.min() >= 0 and labels.max() < MOST):
                raise ValueError("A label of this file is negative or too large.")
            return labels.astype(np.int32) - 1
        known, unique = self.tables[side], np.unique(labels)
        strange = [int(label) for label in unique if int(label) not in known]
        if strange:
            raise ValueError(f"The label {strange[0]} of this file has no symbol, or one that is not in the alphabet.")
        codes = np.array([known[int(label)] for label in unique], np.int32)
        return codes[np.searchsorted(unique, labels)]


def _coding(
    symbols: tuple[dict[int, str] | None, dict[int, str] | None], alphabet: Alphabet | None
) -> tuple[Alphabet | None, _Coding]:
    """Return the alphabet, and the codes of the labels of a file with these symbols."""
    tables = [table for table in symbols if table is not None]
    if not tables:
        return alphabet, _Coding([])
    if alphabet is None:
        names = dict.fromkeys(name for table in tables for key, name in sorted(table.items()) if key != 0)
        alphabet = Alphabet.words(list(names))
    codes = letter_codes(alphabet) | {alphabet.mask_letter or "<mask>": alphabet.size}
    found = [
        {key: EPSILON if key == 0 else codes[name] for key, name in table.items() if key == 0 or name in codes}
        for table in tables
    ]
    return alphabet, _Coding(found)
