"""Machines from arcs, strings, text and lattices."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from test_automata_core import build, machines, plain

from kernelweave.automata import (
    EPSILON,
    Transducer,
    acceptor,
    from_lattice,
    from_text,
    string_weight,
    to_lattices,
    to_text,
    total_weight,
)
from kernelweave.data import Alphabet
from kernelweave.data.lattices.rows import Lattices
from oracles import automata as oracle


@pytest.mark.parametrize(
    ("arcs", "finals", "alphabet", "message"),
    [
        ([(0, 1, "a", 1.0), (0, 1, "c", 1.0)], [1], "ab", "Arc 1 has the unknown letter 'c'"),
        ([(0, 1, "a", 1.0)], [1], None, "Arc 0 has the letter 'a' but the machine has no alphabet"),
        ([(0, -1, "a", 1.0)], [1], "ab", "Arc 0 has the state -1; states are non-negative integers"),
        ([(0, 1.5, "a", 1.0)], [1], "ab", "Arc 0 has the state 1.5"),
        ([(0, 1, "a", np.inf)], [1], "ab", "Arc 0 has the weight inf; weights are finite"),
        ([(0, 1, "a", "b", "x")], [1], "ab", "Arc 0 has the weight 'x'"),
        ([(0, 1, "a")], [1], "ab", "Arc 0 has 3 fields"),
        ([(0, 1, 7, 1.0)], [1], "ab", "Arc 0 has the label 7, which is not a code"),
        ([(0, 1, -2, 1.0)], [1], None, "Arc 0 has the label -2"),
        ([(0, 1, 0.5, 1.0)], [1], "ab", "Arc 0 has the label 0.5"),
        ([], {2: np.nan}, "ab", "Final state 2 has the weight nan"),
        ([], [-1], "ab", "list of final states has the state -1"),
    ],
)
def test_bad_arcs_are_named(arcs, finals, alphabet, message):
    with pytest.raises(ValueError, match=message):
        Transducer.from_arcs(arcs, finals, alphabet)


def test_arcs_are_sorted_and_counted():
    T = Transducer.from_arcs([(1, 0, "b", "a", 2), (0, 1, "b", "", 1), (0, 1, None, "a", 3)], {1: 4}, "ab", n_states=3)
    assert (T.n_states, T.n_arcs, T.is_acceptor) == (3, 3, False)
    assert T.inputs.tolist() == [EPSILON, 1, 1]
    assert T.starts.tolist() == [0, 2, 3, 3]
    assert T.finals.tolist() == [0.0, 4.0, 0.0]
    with pytest.raises(ValueError, match="n_states=1 is too small: state 1"):
        Transducer.from_arcs([(0, 1, "a", 1.0)], [1], "ab", n_states=1)


def test_letters_fold_where_the_alphabet_does():
    assert Transducer.from_arcs([(0, 1, "a", 1.0), (0, 1, "G", 1.0)], [1], "dna").inputs.tolist() == [0, 2]


def test_states_with_many_arcs_are_sorted():
    labels = np.random.default_rng(0).permutation(200)
    T = Transducer.from_arcs([(0, 1, label, label % 7, 1.0 * label) for label in labels], [1])
    assert T.inputs.tolist() == T.weights.tolist() == list(range(200))


def test_acceptors_of_strings():
    assert string_weight(acceptor("abba", "ab"), "abba") == 1.0
    assert string_weight(acceptor("abba", "ab"), "abb") == 0.0
    assert total_weight(acceptor("", "ab")) == 1.0
    words = Alphabet.words(["the", "cat"])
    assert acceptor("cat the", words).inputs.tolist() == acceptor(["cat", "the"], words).inputs.tolist() == [1, 0]
    assert acceptor(np.array([0, 255, 3], np.uint8), "dna").inputs.tolist() == [
        0,
        4,
        3,
    ]  # masked: after the last letter
    with pytest.raises(ValueError, match="Unknown letter 'x'"):
        acceptor("abx", "ab")
    with pytest.raises(ValueError, match="Code 9 at position 1 is not the code of a letter"):
        acceptor(np.array([0, 9]), "ab")
    with pytest.raises(ValueError, match="Code -1 at position 0"):
        acceptor(np.array([-1, 0]))
    with pytest.raises(ValueError, match="shape"):
        acceptor(np.zeros((2, 2), int))
    with pytest.raises(ValueError, match="need an alphabet"):
        acceptor("ab")


def test_machines_are_pickled():
    T = Transducer.from_arcs([(0, 1, "a", "b", 0.5)], {1: 2.0}, "ab")
    again = pickle.loads(pickle.dumps(T))
    assert plain(again) == plain(T)
    assert again.alphabet == T.alphabet


@given(machines(acyclic=False))
def test_text_and_back(machine):
    T = build(machine)
    again = from_text(to_text(T), "ab")
    assert sorted(oracle.paths(plain(again), 4)) == sorted(oracle.paths(machine, 4))


@given(machines(acyclic=False, acceptors=True))
def test_text_of_acceptors_and_numbers(machine):
    T = build(machine)
    again = from_text(to_text(T, acceptor=True), "ab", acceptor=True)
    assert sorted(oracle.paths(plain(again), 4)) == sorted(oracle.paths(machine, 4))
    bare = Transducer(T.source, T.target, T.inputs, T.outputs, T.weights, T.finals)
    assert total_lines(to_text(bare)) == total_lines(to_text(T))
    assert len(list(paths_of(from_text(to_text(bare))))) == len(list(paths_of(again)))


def total_lines(text):
    return text.count("\n")


def paths_of(T):
    spelled = Transducer(T.source, T.target, T.inputs, T.outputs, T.weights, T.finals, Alphabet("ab", "ab"))
    return oracle.paths(plain(spelled), 4)


def test_text_as_openfst_prints_it():
    T = from_text("3 1 a b 0.5\n3\t1 <eps> b\n\n1 7 b b 0.25\n7 0.5\n1\n", "ab")
    assert plain(T) == (
        [(0, 1, "", "b", 1.0), (0, 1, "a", "b", 0.5), (1, 2, "b", "b", 0.25)],
        {0: 0.0, 1: 1.0, 2: 0.5},
    )
    A = from_text("0 1 2 0.693147180559945\n0 1 0\n1 Infinity\n1 2 1 0\n2\n", acceptor=True, costs=True)
    assert A.inputs.tolist() == [EPSILON, 1, 0]
    assert A.weights.tolist() == pytest.approx([1.0, 0.5, 1.0])
    assert A.finals.tolist() == [0.0, 0.0, 1.0]
    assert to_text(A, acceptor=True, costs=True).splitlines()[0] == "0 1 0 0.0"
    assert from_text("").n_states == 1


def test_letters_that_do_not_print_are_numbered():
    T = acceptor("a \t", Alphabet("blank", "a \t"))
    assert to_text(T, acceptor=True) == "0 1 a 1.0\n1 2 <0x20> 1.0\n2 3 <0x09> 1.0\n3 1.0\n"
    assert from_text(to_text(T), T.alphabet).inputs.tolist() == [0, 1, 2]
    raw = acceptor("é ~", "bytes")
    assert to_text(raw, acceptor=True).split()[2] == "<0xc3>"
    assert from_text(to_text(raw), "bytes").inputs.tolist() == raw.inputs.tolist()
    masked = acceptor(np.array([255], np.uint8), "dna")
    assert from_text(to_text(masked), "dna").inputs.tolist() == [4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1 a b\n0 x a b\n", "Line 2 has the state 'x'"),
        ("-1 1 a b\n", "Line 1 has the state '-1'"),
        ("0 1 a\n", "Line 1 has 3 fields; an arc is source target input output"),
        ("0 1 a b 1 2\n", "Line 1 has 6 fields"),
        ("0 1 a c\n", "Line 1 has the unknown letter 'c'"),
        ("0 1 a <0x63>\n", "unknown letter '<0x63>'"),
        ("0 1 a b one\n", "Line 1 has the weight 'one'"),
        ("0 1 a b nan\n", "Line 1 has the weight 'nan'"),
        ("0 1 a b\n1\n1 2\n", "Line 3 makes state 1 final, but an earlier line did so"),
    ],
)
def test_bad_text_is_named_by_line(text, message):
    with pytest.raises(ValueError, match=message):
        from_text(text, "ab")


def test_what_text_cannot_say_is_an_error():
    with pytest.raises(ValueError, match="has no cost, -ln"):
        to_text(Transducer.from_arcs([(0, 1, "a", -1.0)], [1], "ab"), costs=True)
    with pytest.raises(ValueError, match="acceptor=False"):
        to_text(Transducer.from_arcs([(0, 1, "a", "b", 1.0)], [1], "ab"), acceptor=True)
    with pytest.raises(ValueError, match="Line 1 has the weight '-inf'"):
        from_text("0 -inf", costs=True)
    with pytest.raises(ValueError, match="label '-3'; without an alphabet"):
        from_text("0 1 -3 0")
    with pytest.raises(ValueError, match="stands for the empty label"):
        to_text(acceptor("<eps>", Alphabet.words(["<eps>"])))


def test_lattices_and_back():
    arcs = [(0, 1, "to", 0.7), (0, 1, "two", 0.3), (1, 2, None, 0.5), (1, 2, "too", 0.5)]
    X = Lattices.from_arcs([(arcs, {2: 1.0}), ([], [0]), ([], [])], ids=["one", "empty", "none"])
    parts = [from_lattice(X, row) for row in range(3)]
    assert [total_weight(part) for part in parts] == [1.0, 1.0, 0.0]
    assert string_weight(parts[0], "to too") == pytest.approx(0.35)
    assert to_lattices(parts, ids=X.ids) == X
    assert plain(from_lattice(X, -3)) == plain(parts[0])
    with pytest.raises(IndexError, match="no lattice 3; there are 3"):
        from_lattice(X, 3)
    with pytest.raises(ValueError, match="Machine 0 is not an acceptor"):
        to_lattices([Transducer.from_arcs([(0, 1, "a", "b", 1.0)], [1], "ab")])
    with pytest.raises(ValueError, match="none of the machines does"):
        to_lattices([acceptor(np.array([1]))])
