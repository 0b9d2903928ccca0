"""Binary files of OpenFst: read as they are specified, written so that they are read again, damage refused."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from kernelweave.automata import Transducer, from_binary, to_binary
from kernelweave.automata.stored import same_machine

T = Transducer.from_arcs(
    [(0, 1, "a", "b", 0.5), (1, 1, None, "a", 0.125), (1, 2, "b", None, 3.0)], {0: 2.0, 2: 1.0}, "ab"
)


def by_hand(start=1, arc_type=b"standard", version=2, flags=0):
    """Two states, arcs 1 -> 0 (labels 3:4, cost ln 2) and 0 -> 0 (0:0, cost 1), state 0 final with cost 0.5."""
    data = (
        struct.pack("<i", 2125659606) + struct.pack("<i", 6) + b"vector" + struct.pack("<i", len(arc_type)) + arc_type
    )
    data += struct.pack("<iiQqqq", version, flags, 0, start, 2, 2)
    data += struct.pack("<fq", 0.5, 1) + struct.pack("<iifi", 0, 0, 1.0, 0)
    return data + struct.pack("<fq", float("inf"), 1) + struct.pack("<iifi", 3, 4, 0.6931472, 0)


def test_a_file_written_by_hand():
    """The initial state of the file, 1, becomes 0."""
    made = from_binary(by_hand())
    assert (made.source.tolist(), made.target.tolist()) == ([0, 1], [1, 1])
    assert (made.inputs.tolist(), made.outputs.tolist()) == ([2, -1], [3, -1])
    np.testing.assert_allclose(made.weights, [0.5, np.exp(-1.0)], rtol=1e-7)
    np.testing.assert_allclose(made.finals, [0.0, np.exp(-0.5)], rtol=1e-7)


@pytest.mark.parametrize("arc_type", ["standard", "log", "log64"])
def test_written_machines_are_read_again(arc_type):
    for given in (T, Transducer(T.source, T.target, T.inputs, T.outputs, T.weights, T.finals)):
        made = from_binary(to_binary(given, arc_type), given.alphabet)
        np.testing.assert_allclose(made.weights, given.weights, rtol=1e-15 if arc_type == "log64" else 1e-6)
        np.testing.assert_allclose(made.finals, given.finals, rtol=1e-15 if arc_type == "log64" else 1e-6)
        assert all(
            np.array_equal(getattr(made, c), getattr(given, c)) for c in ("source", "target", "inputs", "outputs")
        )
        again = from_binary(to_binary(made, arc_type), made.alphabet)
        assert same_machine(made, again) or arc_type == "log64"
    named = from_binary(to_binary(T))
    assert named.alphabet is not None
    assert [named.alphabet.letters[code] for code in named.inputs if code >= 0] == ["a", "b"]


def test_damage_is_refused():
    for data, reason in (
        (b"text", "no binary file of OpenFst"),
        (by_hand(arc_type=b"tropical"), "with arcs 'tropical'"),
        (by_hand(version=1), "has version 1"),
        (by_hand(flags=1), "should have a table of symbols|ends early"),
        (by_hand()[:-3], "ends early"),
    ):
        with pytest.raises(ValueError, match=reason):
            from_binary(data)
    whole = to_binary(T)
    for cut in range(0, len(whole), 7):
        with pytest.raises(ValueError):
            from_binary(whole[:cut])
    with pytest.raises(ValueError, match="must be positive"):
        to_binary(Transducer.from_arcs([(0, 1, 0, -1.0)], [1]))
    with pytest.raises(ValueError, match="has no symbol, or one that is not in the alphabet"):
        from_binary(whole, "ac")
    with pytest.raises(ValueError, match="arc_type='x' is unknown"):
        to_binary(T, "x")
    assert from_binary(by_hand(start=-1)).n_arcs == 0
