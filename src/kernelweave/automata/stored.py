"""Machines as plain columns: for files, for comparison, and for a short name of what they are."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np

from kernelweave.automata.base import EPSILON, Array, Transducer, sorted_by_source
from kernelweave.automata.build import MOST
from kernelweave.data.strings.alphabet import Alphabet

DIGITS = 12
"""Hexadecimal digits of a fingerprint: two of a million different machines agree with probability 2 in a thousand."""


class Columns(NamedTuple):
    """The arrays of a `Transducer`, in the order of its attributes."""

    source: Array
    target: Array
    inputs: Array
    outputs: Array
    weights: Array
    finals: Array


def columns_of(machine: Transducer) -> Columns:
    """Return the arrays of a machine."""
    return Columns._make(getattr(machine, name) for name in Columns._fields)


def from_columns(columns: Columns, alphabet: Alphabet | None) -> Transducer:
    """Return the machine of some arrays, arcs in any order; arrays that do not fit together are an error.

    Examples
    --------
    >>> T = Transducer.from_arcs([(0, 1, "a", "b", 3.0)], finals=[1], alphabet="ab")
    >>> same_machine(T, from_columns(columns_of(T), T.alphabet))
    True
    """
    arcs, finals = columns[:5], columns.finals
    if any(column.ndim != 1 for column in columns) or len({len(column) for column in arcs}) != 1:
        raise ValueError("The columns of a machine are flat, with an entry for each arc.")
    if any(column.dtype.kind not in "iu" for column in columns[:4]):
        raise ValueError("The states and labels of a machine are whole numbers.")
    if not len(finals) or not (np.isfinite(finals).all() and np.isfinite(columns.weights).all()):
        raise ValueError("A machine has at least one state, and its weights are finite numbers.")
    highest = (MOST if alphabet is None else alphabet.size + 1) - 1
    for column, least, most in zip(columns, (0, 0, EPSILON, EPSILON), (len(finals) - 1,) * 2 + (highest,) * 2):
        if len(column) and not least <= int(column.min()) <= int(column.max()) <= most:
            raise ValueError(f"The states or labels of a machine are out of range: not all from {least} to {most}.")
    source, target, inputs, outputs, weights, _ = columns
    outputs = inputs if np.array_equal(inputs, outputs) else outputs
    return sorted_by_source(source, target, inputs, outputs, weights, finals, alphabet)


def same_machine(first: Transducer, second: Transducer) -> bool:
    """Return whether two machines have the same states, arcs, weights and letters."""
    return first is second or (
        first.alphabet == second.alphabet
        and all(np.array_equal(a, b) for a, b in zip(columns_of(first), columns_of(second)))
    )


def fingerprint(machine: Transducer) -> str:
    """Return a few digits that differ between machines that differ in a state, an arc, a weight or a letter.

    Examples
    --------
    >>> fingerprint(Transducer.from_arcs([(0, 1, "a", "b", 3.0)], finals=[1], alphabet="ab"))
    '1e2449c42431'
    """
    digest = hashlib.sha256(repr(_letters(machine.alphabet)).encode("utf-8", "surrogateescape"))
    for column, kind in zip(columns_of(machine), ("<i4",) * 4 + ("<f8",) * 2):
        digest.update(f"{len(column)} ".encode())
        digest.update(np.ascontiguousarray(column, kind).tobytes())
    return digest.hexdigest()[:DIGITS]


def _letters(alphabet: Alphabet | None) -> Any:
    """Return all that alphabets are compared by."""
    return None if alphabet is None else (alphabet.letters, alphabet.complement, alphabet.ignore_case, alphabet.kind)
