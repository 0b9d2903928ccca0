"""Counting transducers and inner products of acceptors, against counting by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_automata_core import LETTERS, LONGEST, build, machines

from kernelweave.automata import (
    Transducer,
    acceptor,
    compose,
    gappy_ngram_counter,
    intersection_pairs,
    intersection_total,
    intersection_totals,
    inverse,
    mismatch_counter,
    ngram_counter,
    pack,
    project,
    scale,
    string_weight,
    total_weight,
    union,
)
from kernelweave.automata import intersect as loops
from kernelweave.data import Sequences
from kernelweave.data.lattices.rows import Lattices
from oracles import automata as oracle

TEXTS = st.text(alphabet=LETTERS, max_size=9)


def features(T, x):
    """Return the weight of every string that T makes of x, by walking all its paths."""
    made = project(compose(acceptor(x, T.alphabet), T), "output")
    table = Counter()
    walked = [(0, "", 1.0)]
    while walked:
        state, z, weight = walked.pop()
        table[z] += weight * made.finals[state]
        for arc in range(made.starts[state], made.starts[state + 1]):
            label = made.inputs[arc]
            letter = "" if label < 0 else T.alphabet.letters[label]
            walked.append((made.target[arc], z + letter, weight * made.weights[arc]))
    return {z: w for z, w in table.items() if w}


def gram(T, x, y):
    """Return D(X o T o T^-1 o Y)."""
    return total_weight(compose(compose(compose(acceptor(x, T.alphabet), T), inverse(T)), acceptor(y, T.alphabet)))


def trie(x, n, alphabet):
    """Return the counts of the n-grams of a string as a deterministic acceptor."""
    counts = oracle.ngrams(x, n)
    states = {z: k for k, z in enumerate(sorted({z[:k] for z in ["", *counts] for k in range(n + 1)}))}
    arcs = [(states[z[:-1]], states[z], z[-1], 1.0) for z in states if z]
    return Transducer.from_arcs(arcs, {states[z]: count for z, count in counts.items()}, alphabet)


@given(TEXTS, st.integers(1, 4))
def test_ngram_counter(x, n):
    assert features(ngram_counter(LETTERS, n), x) == oracle.ngrams(x, n)


@given(TEXTS, st.integers(1, 4), st.sampled_from([0.5, 1.0, 0.0, 2.0]), st.sampled_from([None, 0, 1, 2]))
def test_gappy_counter(x, n, decay, max_gap):
    found = features(gappy_ngram_counter(LETTERS, n, decay, max_gap), x)
    assert found == pytest.approx(oracle.gappy(x, n, decay, max_gap))


@settings(max_examples=50)
@given(st.text(alphabet="abc", max_size=6), st.integers(1, 3), st.integers(0, 4))
def test_mismatch_counter(x, k, m):
    assert features(mismatch_counter("abc", k, m), x) == oracle.mismatches(x, "abc", k, m)


def test_counters_read_masked_letters_and_count_around_them():
    X = Sequences.from_strings(["ACNACAN"], unknown="mask")
    codes = X.codes
    T = ngram_counter("dna", 2)
    phi = compose(acceptor(codes, "dna"), T)
    assert total_weight(phi) == 3.0
    assert string_weight(T, codes, "AC") == 2.0
    assert string_weight(mismatch_counter("dna", 2, 1), codes, "AC") == 2.0
    assert string_weight(gappy_ngram_counter("dna", 2, 0.5), codes, "CC") == 0.25


def test_the_first_rows_of_tables_1_and_2():
    T = ngram_counter("ab", 2)
    assert gram(T, "ababa", "ababa") == 8.0
    assert gram(T, "abbab", "abbab") == 6.0
    assert gram(T, "ababa", "abbab") == 6.0
    first, second = (project(compose(acceptor(x, "ab"), T), "output") for x in ("ababa", "abbab"))
    W = scale(first, 1 / 8)
    assert total_weight(compose(second, W)) == 3 / 4
    W = union(W, scale(second, 1 / 24))
    assert total_weight(compose(first, W)) == pytest.approx(1 + 6 / 24)
    # the third string is garbled in print; aabba stands in for it, with the label -1
    third = scale(project(compose(acceptor("aabba", "ab"), T), "output"), -1.0)
    assert total_weight(compose(third, W)) == pytest.approx(-2 / 3)


@settings(max_examples=150)
@given(machines(acceptors=True, epsilons=False, states=5, arcs=10), machines(acceptors=True, epsilons=False, states=5))
def test_intersection_is_the_total_weight_of_the_composition(first, second):
    A, B = build(first), build(second)
    expected = sum(oracle.composed(first, second, LONGEST).values())
    assert intersection_total(A, B) == pytest.approx(expected, abs=1e-9)
    assert total_weight(compose(A, B)) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=30)
@given(
    st.lists(machines(acceptors=True, epsilons=False), max_size=4),
    st.lists(machines(acceptors=True, epsilons=False), max_size=3),
)
def test_blocks_and_pairs_are_the_single_values(left, right):
    A, B = [build(m) for m in left], [build(m) for m in right]
    P, Q = pack(A), pack(B)
    block = intersection_totals(P, Q)
    assert block.shape == (len(A), len(B))
    assert block.ravel().tolist() == [intersection_total(a, b) for a in A for b in B]
    rows, columns = (index.ravel() for index in np.indices(block.shape))
    assert (intersection_pairs(P, Q, rows, columns) == block.ravel()).all()
    own = intersection_totals(P)
    assert (own == own.T).all()
    assert own == pytest.approx(
        np.array([[intersection_total(a, b) for b in A] for a in A]).reshape(own.shape), abs=1e-9
    )


def test_long_strings_are_counted_exactly():
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list("abcd"), 800)) for _ in range(3)]
    P = pack([trie(x, 5, "abcd") for x in strings])
    expected = [[oracle.inner(oracle.ngrams(x, 5), oracle.ngrams(y, 5)) for y in strings] for x in strings]
    assert (intersection_totals(P) == expected).all()


def test_many_waiting_pairs_make_room():
    """All pairs of the first step wait at once, and lead to the same one."""
    n = 60
    assert n * n > loops.WAITING
    fan = [(0, 1 + k, "a", 1.0) for k in range(n)] + [(1 + k, n + 1, "a", 2.0) for k in range(n)]
    A = Transducer.from_arcs(fan, [n + 1], "ab")
    assert intersection_total(A, A) == (2.0 * n) ** 2


def test_a_state_with_many_arcs_meets_one_with_few():
    many = acceptors_of(range(0, 1000, 3))
    few = acceptors_of([0, 5, 6, 500, 501, 999])
    assert intersection_total(many, few) == intersection_total(few, many) == 4.0


def acceptors_of(labels):
    return Transducer.from_arcs([(0, 1, label, 1.0) for label in labels], [1])


def test_lattices_are_packed_as_they_are():
    arcs = [(0, 1, "a", 0.5), (0, 1, "b", 0.5), (1, 2, "a", 1.0)]
    X = Lattices.from_arcs([(arcs, [2]), ([(0, 1, "b", 1.0), (1, 2, "a", 0.25)], [2]), ([], [0])])
    assert intersection_totals(pack(X)).tolist() == [[0.5, 0.125, 0.0], [0.125, 0.0625, 0.0], [0.0, 0.0, 1.0]]
    with pytest.raises(ValueError, match="Machine 1 has epsilon arcs"):
        pack(Lattices.from_arcs([([(0, 1, "a", 1.0)], [1]), ([(0, 1, None, 1.0), (1, 2, "a", 1.0)], [2])]))


def test_what_cannot_be_packed_is_named():
    good = acceptor("ab", "ab")
    with pytest.raises(ValueError, match="Machine 1 is not an acceptor"):
        pack([good, Transducer.from_arcs([(0, 1, "a", "b", 1.0)], [1], "ab")])
    with pytest.raises(ValueError, match="Machine 1 has epsilon arcs"):
        pack([good, Transducer.from_arcs([(0, 1, None, 1.0)], [1], "ab")])
    with pytest.raises(ValueError, match="Machine 1 has a cycle"):
        pack([good, Transducer.from_arcs([(0, 0, "a", 1.0)], [0], "ab")])
    with pytest.raises(ValueError, match="different alphabets"):
        intersection_totals(pack([good]), pack([acceptor("AC", "dna")]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ngram_counter("ab", 0), "n=0 must be an integer of at least 1"),
        (lambda: ngram_counter(None, 2), "needs an alphabet"),
        (lambda: gappy_ngram_counter("ab", 2, -0.5), "decay=-0.5"),
        (lambda: gappy_ngram_counter("ab", 2, 0.5, -1), "max_gap=-1"),
        (lambda: mismatch_counter("ab", 2, True), "m=True"),
    ],
)
def test_bad_parameters(call, message):
    with pytest.raises(ValueError, match=message):
        call()
