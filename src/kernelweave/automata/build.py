"""Machines from arcs, from strings and from lattices: everything that comes from outside is checked here, once.

A masked letter of a sequence, which matches nothing, is the label `alphabet.size`: one more than the last letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from kernelweave.automata.algorithms.rational import shared_alphabet
from kernelweave.automata.base import EPSILON, Array, Transducer, sorted_by_source
from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.rows import offsets_of
from kernelweave.data.strings.alphabet import READY, Alphabet

MOST = int(np.iinfo(np.int32).max)
"""States and labels are stored in 32 bits."""


def as_alphabet(alphabet: Any) -> Alphabet | None:
    """Return an alphabet from itself, a ready name ("dna", ..), a text of letters, a list of words, or None."""
    if alphabet is None or isinstance(alphabet, Alphabet):
        return alphabet
    if isinstance(alphabet, str) and alphabet in READY:
        return READY[alphabet]
    return Alphabet("given", alphabet)


def machine(cls: type[Transducer], arcs: Any, finals: Any, alphabet: Any, n_states: int | None) -> Transducer:
    """Return a checked machine from arcs in any order; `Transducer.from_arcs` tells the parameters."""
    chosen = as_alphabet(alphabet)
    codes = letter_codes(chosen)
    rows = [_arc(number, arc, codes, chosen) for number, arc in enumerate(arcs)]
    ends = dict(_finals(finals))
    highest = max([0, *ends, *(max(row[:2]) for row in rows)])
    count = highest + 1 if n_states is None else n_states
    if count <= highest:
        raise ValueError(f"n_states={n_states!r} is too small: state {highest} is mentioned.")
    weights = np.zeros(count)
    for state, weight in ends.items():
        weights[state] = weight
    table = np.array([row[:4] for row in rows], np.int64).reshape(-1, 4).T
    source, target, inputs, outputs = table
    outputs = inputs if np.array_equal(inputs, outputs) else outputs
    return sorted_by_source(source, target, inputs, outputs, np.array([row[4] for row in rows]), weights, chosen)


def letter_codes(alphabet: Alphabet | None) -> dict[str, int]:
    """Return the code of each letter, in upper and lower case where that makes no difference."""
    if alphabet is None:
        return {}
    codes = {letter: code for code, letter in enumerate(alphabet.letters)}
    if alphabet.ignore_case:
        codes |= {letter.lower(): code for letter, code in codes.items()}
    return codes


def _arc(number: int, arc: Any, codes: dict[str, int], alphabet: Alphabet | None) -> tuple[int, int, int, int, float]:
    fields = tuple(arc)
    if len(fields) not in (4, 5):
        raise ValueError(
            f"Arc {number} has {len(fields)} fields; give (source, target, input, output, weight), or "
            "(source, target, label, weight) for an acceptor."
        )
    source, target = (_state(state, f"Arc {number}") for state in fields[:2])
    read = _label(number, fields[2], codes, alphabet)
    write = read if len(fields) == 4 else _label(number, fields[3], codes, alphabet)
    return source, target, read, write, _weight(fields[-1], f"Arc {number}")


def _state(state: Any, where: str) -> int:
    if not isinstance(state, Integral) or isinstance(state, bool) or not 0 <= int(state) < MOST:
        raise ValueError(f"{where} has the state {state!r}; states are non-negative integers.")
    return int(state)


def _weight(weight: Any, where: str) -> float:
    if not isinstance(weight, Real) or not np.isfinite(float(weight)):
        raise ValueError(f"{where} has the weight {weight!r}; weights are finite numbers.")
    return float(weight)


def _label(number: int, label: Any, codes: dict[str, int], alphabet: Alphabet | None) -> int:
    if label is None or (isinstance(label, str) and label == ""):
        return EPSILON
    if isinstance(label, str):
        if alphabet is None:
            raise ValueError(f"Arc {number} has the letter {label!r} but the machine has no alphabet; name one.")
        if label not in codes:
            raise ValueError(f"Arc {number} has the unknown letter {label!r}; the alphabet is {alphabet!r}.")
        return codes[label]
    if not isinstance(label, Integral) or isinstance(label, bool):
        raise ValueError(f"Arc {number} has the label {label!r}; labels are letters, their codes, or None for epsilon.")
    highest = MOST - 1 if alphabet is None else alphabet.size
    if not EPSILON <= int(label) <= highest:
        raise ValueError(f"Arc {number} has the label {label}, which is not a code; codes run from 0 to {highest}.")
    return int(label)


def _finals(finals: Any) -> Iterable[tuple[int, float]]:
    pairs = finals.items() if isinstance(finals, Mapping) else ((state, 1.0) for state in finals)
    for state, weight in pairs:
        yield _state(state, "The list of final states"), _weight(weight, f"Final state {state!r}")


def acceptor(letters: Any, alphabet: Any = None) -> Transducer:
    """Return the machine that accepts one string, with weight 1.

    Parameters
    ----------
    letters : text, a list of letters, or an array of codes; masked letters of a sequence stay masked
    alphabet : Alphabet, a ready name, or a text of letters; may be missing for an array of codes

    Examples
    --------
    >>> X = acceptor("abba", "ab")
    >>> X, X.inputs.tolist()
    (<acceptor, 5 states, 4 arcs>, [0, 1, 1, 0])
    """
    chosen = as_alphabet(alphabet)
    if isinstance(letters, np.ndarray) and letters.dtype.kind in "iu":
        codes = _checked_codes(letters, chosen)
    elif chosen is None:
        raise ValueError("Letters need an alphabet to have codes; name one, or give an array of codes.")
    else:
        codes = chosen.encode(letters).astype(np.int32)
    states = np.arange(len(codes) + 1, dtype=np.int32)
    finals = np.zeros(len(codes) + 1)
    finals[-1] = 1.0
    return Transducer(states[:-1], states[1:], codes, codes, np.ones(len(codes)), finals, chosen)


def _checked_codes(codes: Array, alphabet: Alphabet | None) -> Array:
    if codes.ndim != 1:
        raise ValueError(f"Codes of one string are a flat array, but these have shape {codes.shape}.")
    wide = codes.astype(np.int64)
    strange = wide < 0
    if alphabet is not None:
        strange |= (wide > alphabet.size) & (wide != alphabet.mask)
        wide = np.minimum(wide, alphabet.size)
    strange |= wide >= MOST
    if strange.any():
        place = int(np.argmax(strange))
        raise ValueError(f"Code {codes[place]} at position {place} is not the code of a letter.")
    return wide.astype(np.int32)


def from_lattice(lattices: Lattices, row: int) -> Transducer:
    """Return one lattice as an acceptor.

    Examples
    --------
    >>> from kernelweave.data.lattices.rows import Lattices
    >>> X = Lattices.from_arcs([([(0, 1, "to", 0.7), (0, 1, "two", 0.3)], [1])])
    >>> from_lattice(X, 0)
    <acceptor, 2 states, 2 arcs>
    """
    if not -len(lattices) <= row < len(lattices):
        raise IndexError(f"There is no lattice {row}; there are {len(lattices)}.")
    row %= len(lattices)
    arcs = slice(lattices.arc_offsets[row], lattices.arc_offsets[row + 1])
    states = slice(lattices.state_offsets[row], lattices.state_offsets[row + 1])
    source, target, labels, weights = (
        np.array(column[arcs]) for column in (lattices.source, lattices.target, lattices.labels, lattices.weights)
    )
    return Transducer(source, target, labels, labels, weights, np.array(lattices.finals[states]), lattices.alphabet)


def to_lattices(acceptors: Iterable[Transducer], ids: Iterable[str] | None = None) -> Lattices:
    """Return acyclic acceptors of positive weights as lattices.

    Parameters
    ----------
    acceptors : machines over one alphabet, with or without epsilons
    ids : a name for each, or None

    Examples
    --------
    >>> to_lattices([acceptor("abba", "ab"), acceptor("b", "ab")]).one_best().to_strings()
    ['abba', 'b']
    """
    parts = list(acceptors)
    for number, part in enumerate(parts):
        if not part.is_acceptor:
            raise ValueError(
                f"Machine {number} is not an acceptor: its outputs differ from its inputs; project it first."
            )
    alphabet = shared_alphabet(parts)
    if alphabet is None:
        raise ValueError("Lattices have an alphabet, but none of the machines does.")
    columns = [[m.source for m in parts], [m.target for m in parts], [m.inputs for m in parts]]
    source, target, labels = (np.concatenate([np.zeros(0, np.int32), *column]) for column in columns)
    weights, finals = (
        np.concatenate([np.zeros(0), *column]) for column in ([m.weights for m in parts], [m.finals for m in parts])
    )
    arcs, states = (
        offsets_of(np.array(sizes, np.int64)) for sizes in ([m.n_arcs for m in parts], [m.n_states for m in parts])
    )
    return Lattices.from_table(source, target, labels, weights, arcs, finals, states, alphabet, ids, strict=False)
