"""Machines as text, one arc a line, as OpenFst and the AT&T tools read and print them.

    source target input output [weight]        an arc; acceptors may leave the output out
    state [weight]                             a final state

The source of the first line is the initial state.  A missing weight is 1.  Weights are plain numbers, or costs: -ln of
them.  With an alphabet labels are letters and ``<eps>`` is the empty one; blanks and characters that do not print are
``<0x20>`` by their number.  Without one labels are numbers, 0 the empty one, as in a file without symbol tables: the
number k is the code k - 1.
"""

from __future__ import annotations

import math
import re

import numpy as np

from kernelweave.automata.base import EPSILON, Transducer, sorted_by_source
from kernelweave.automata.build import MOST, as_alphabet, letter_codes
from kernelweave.data.strings.alphabet import Alphabet

NOTHING = "<eps>"
_NUMBERED = re.compile(r"<0x([0-9a-fA-F]{1,6})>")


def to_text(machine: Transducer, *, costs: bool = False, acceptor: bool = False) -> str:
    """Return a machine as text.

    Parameters
    ----------
    machine : Transducer
    costs : write -ln of the weights, which must be positive then
    acceptor : write one label an arc; the machine must be an acceptor

    Examples
    --------
    >>> T = Transducer.from_arcs([(0, 1, "a", "", 0.5)], finals={1: 2.0}, alphabet="ab")
    >>> print(to_text(T), end="")
    0 1 a <eps> 0.5
    1 2.0
    """
    if acceptor and not machine.is_acceptor:
        raise ValueError(
            "The machine is not an acceptor: its outputs differ from its inputs; write it with acceptor=False."
        )
    spelled = _spelling(machine.alphabet)
    m = machine
    ends = [f"{state} {_written(m.finals[state], costs)}" for state in np.flatnonzero(m.finals).tolist()]
    arcs = []
    rows = (m.source.tolist(), m.target.tolist(), m.inputs.tolist(), m.outputs.tolist(), m.weights.tolist())
    for source, target, read, write, weight in zip(*rows):
        labels = spelled(read) if acceptor else f"{spelled(read)} {spelled(write)}"
        arcs.append(f"{source} {target} {labels} {_written(weight, costs)}")
    if m.starts[1] == 0:  # no arc tells where to begin: the line of the initial state must come first, if it has one
        arcs = arcs if m.finals[0] else []
        ends = ends if m.finals[0] else []
        arcs, ends = ends[:1] + arcs, ends[1:]
    return "".join(line + "\n" for line in arcs + ends)


def from_text(text: str, alphabet: object = None, *, costs: bool = False, acceptor: bool = False) -> Transducer:
    """Return the machine of a text; states keep their order, the initial one comes first.

    Parameters
    ----------
    text : lines of arcs and final states
    alphabet : Alphabet, a ready name, or a text of letters; None where labels are numbers
    costs : weights are -ln of what they stand for
    acceptor : lines have one label, so that a fourth field is a weight

    Examples
    --------
    >>> from_text("0 1 a b 0.5\\n1 2.0\\n", "ab")
    <transducer, 2 states, 1 arcs>
    >>> from_text("0 1 a c\\n1\\n", "ab")
    Traceback (most recent call last):
    ...
    ValueError: Line 1 has the unknown letter 'c'; the alphabet is Alphabet('given', 2 letters).
    """
    chosen = as_alphabet(alphabet)
    codes = letter_codes(chosen)
    arcs: list[tuple[int, int, int, int, float]] = []
    finals: dict[int, float] = {}
    start = None
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split()
        if not fields:
            continue
        where = f"Line {number}"
        state = _state(fields[0], where)
        start = state if start is None else start
        if len(fields) <= 2:
            if state in finals:
                raise ValueError(f"{where} makes state {state} final, but an earlier line did so.")
            finals[state] = _read(fields[1], costs, where) if len(fields) == 2 else 1.0
        else:
            arcs.append(_arc(fields, where, codes, chosen, costs, acceptor))
    return _numbered(arcs, finals, start, chosen)


def _arc(
    fields: list[str], where: str, codes: dict[str, int], alphabet: Alphabet | None, costs: bool, acceptor: bool
) -> tuple[int, int, int, int, float]:
    labels = 1 if acceptor else 2
    if len(fields) not in (2 + labels, 3 + labels):
        kind = "source target label [weight]" if acceptor else "source target input output [weight]"
        raise ValueError(f"{where} has {len(fields)} fields; an arc is {kind}, a final state is state [weight].")
    source, target = _state(fields[0], where), _state(fields[1], where)
    read = _label(fields[2], where, codes, alphabet)
    write = read if acceptor else _label(fields[3], where, codes, alphabet)
    weight = _read(fields[-1], costs, where) if len(fields) == 3 + labels else 1.0
    return source, target, read, write, weight


def _numbered(
    arcs: list[tuple[int, int, int, int, float]], finals: dict[int, float], start: int | None, alphabet: Alphabet | None
) -> Transducer:
    met = {state for arc in arcs for state in arc[:2]} | set(finals)
    states = sorted(met, key=lambda state: (state != start, state))
    place = {state: k for k, state in enumerate(states)}
    weights = np.zeros(max(1, len(states)))
    for state, weight in finals.items():
        weights[place[state]] = weight
    table = np.array([(place[a], place[b], x, y) for a, b, x, y, _ in arcs], np.int64).reshape(-1, 4).T
    source, target, inputs, outputs = table
    outputs = inputs if np.array_equal(inputs, outputs) else outputs
    return sorted_by_source(source, target, inputs, outputs, np.array([arc[4] for arc in arcs]), weights, alphabet)


def _state(field: str, where: str) -> int:
    if not (field.isascii() and field.isdigit()):
        raise ValueError(f"{where} has the state {field!r}; states are non-negative integers.")
    return int(field)


def _label(field: str, where: str, codes: dict[str, int], alphabet: Alphabet | None) -> int:
    if alphabet is None:
        if not (field.isascii() and field.isdigit() and int(field) <= MOST):
            raise ValueError(f"{where} has the label {field!r}; without an alphabet labels are numbers, 0 for epsilon.")
        return int(field) - 1
    if field == NOTHING:
        return EPSILON
    if field in codes:
        return codes[field]
    if field == alphabet.mask_letter:
        return alphabet.size
    numbered = _NUMBERED.fullmatch(field)
    if numbered and alphabet.kind != "words":
        point = int(numbered[1], 16)
        if alphabet.kind == "bytes" and point < alphabet.size:
            return point
        if point <= 0x10FFFF and chr(point) in codes:
            return codes[chr(point)]
    raise ValueError(f"{where} has the unknown letter {field!r}; the alphabet is {alphabet!r}.")


def _read(field: str, costs: bool, where: str) -> float:
    try:
        value = math.exp(-float(field)) if costs else float(field)
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{where} has the weight {field!r}; weights are finite numbers.")
    return value


def _written(weight: float, costs: bool) -> str:
    if not costs:
        return repr(float(weight))
    if weight <= 0:
        raise ValueError(f"The weight {weight} has no cost, -ln(weight); write plain weights with costs=False.")
    return repr(0.0 - math.log(weight))


def _spelling(alphabet: Alphabet | None):  # type: ignore[no-untyped-def]
    """Return the function from labels to fields."""
    if alphabet is None:
        return lambda label: str(label + 1)
    if NOTHING in alphabet.letters:
        raise ValueError(f"The alphabet has the letter {NOTHING!r}, which stands for the empty label in text.")
    fields = [_field(letter, code, alphabet.kind) for code, letter in enumerate(alphabet.letters)]
    fields += [alphabet.mask_letter, NOTHING]  # EPSILON, -1, is the last entry
    return fields.__getitem__


def _field(letter: str, code: int, kind: str) -> str:
    if kind == "words" or (letter.isprintable() and not letter.isspace()):
        return letter
    return f"<0x{code if kind == 'bytes' else ord(letter):02x}>"
