"""Whole automata added to the minimal one, and compared with it, without a list of their strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.automata import (
    MinimalStore,
    Transducer,
    determinize,
    intersection_total,
    minimize,
    scale,
    trie,
    union,
)
from oracles.weighted_sets import DictStore, accepted, minimal_size

LETTERS = 3
ARC = st.tuples(st.integers(0, 4), st.integers(1, 3), st.integers(0, LETTERS - 1), st.sampled_from([-2.0, 1.0, 3.0]))
FINALS = st.dictionaries(st.integers(1, 5), st.sampled_from([1.0, 2.0, -1.0]), min_size=1)


def machine(arcs, finals):
    """An acyclic deterministic acceptor: of arcs with the same source and letter the first one counts."""
    first = {(a, letter): (a, min(a + more, 5), letter, w) for a, more, letter, w in reversed(arcs)}
    return Transducer.from_arcs(list(first.values()), finals, n_states=6)


MACHINE = st.builds(machine, st.lists(ARC, max_size=12), FINALS)


@settings(max_examples=60)
@given(st.lists(st.tuples(MACHINE, st.integers(-2, 2)), max_size=6), st.booleans())
def test_sums_of_machines_are_those_of_their_strings(history, exact):
    store, plain = MinimalStore(exact=exact), DictStore()
    for one, step in history:
        store.add_machine(one, float(step))
        strings = accepted(one)
        plain.add(list(strings), [float(w) for w in strings.values()], step)
        made = store.to_transducer()
        assert (store.n_states, store.n_arcs) == minimal_size(plain.weights)
        weights = {string: float(w) for string, w in accepted(made).items()}
        assert weights == {s: pytest.approx(float(w), rel=0 if exact else 1e-12) for s, w in plain.weights.items()}
        assert (made.target > made.source).all()
    for one, _ in history:
        wanted = sum(float(w) * float(plain.weights.get(s, 0)) for s, w in accepted(one).items())
        assert store.total(one) == pytest.approx(wanted, rel=1e-12, abs=1e-9)


@settings(max_examples=30)
@given(st.lists(st.tuples(MACHINE, st.floats(0.1, 2.0)), min_size=1, max_size=5))
def test_doubles_agree_with_the_general_operations(history):
    store, whole = MinimalStore(), None
    for one, step in history:
        store.add_machine(one, step)
        whole = scale(one, step) if whole is None else union(whole, scale(one, step))
        made, wanted = store.to_transducer(), minimize(whole)
        for other, _ in history:
            assert intersection_total(other, made) == pytest.approx(
                intersection_total(other, wanted), rel=1e-9, abs=1e-9
            )
        assert (made.n_states, made.n_arcs) == (wanted.n_states, wanted.n_arcs)
    for one, step in history:
        store.add_machine(one, -step)
    assert np.abs(store.to_transducer().weights).max(initial=0.0) < 1e-9 or store.n_arcs == 0


def sausage(places, weights, letters=(0, 1)):
    arcs = [(p, p + 1, letter, weights[p % len(weights)] + letter) for p in range(places) for letter in letters]
    return Transducer.from_arcs(arcs, [places])


def test_exponentially_many_strings_and_strings_one_by_one():
    store = MinimalStore(exact=True)
    store.add_machine(sausage(10, [1.0]), 2.0)
    strings = np.array(np.unravel_index(range(2**10), (2,) * 10), np.int32).T
    values = 2.0 * np.prod(1.0 + strings, axis=1)
    np.testing.assert_array_equal(store.weights(strings), values)
    store.add(strings[5:9], np.array([1.0, 2.0, 3.0, 4.0]))
    other = MinimalStore(exact=True)
    other.add(strings, values)
    other.add_machine(trie(strings[5:9], np.array([1.0, 2.0, 3.0, 4.0])))
    assert repr(store) == repr(other)
    np.testing.assert_array_equal(store.weights(strings), other.weights(strings))
    long = MinimalStore()
    for _ in range(3):
        long.add_machine(sausage(200, [0.25, 0.5], (0, 1)), 0.3)
    assert (long.n_states, long.n_arcs) == (201, 400)
    assert long.total(sausage(200, [0.25, 0.5], (2,))) == 0.0


def test_the_cost_follows_the_added_machine_not_the_automaton():
    rng = np.random.default_rng(3)
    added = sausage(4, [1.0])
    for n in (100, 10_000):
        store = MinimalStore()
        strings = np.unique(rng.integers(0, 10, (n, 4)).astype(np.int32), axis=0)
        store.add(strings, rng.normal(size=len(strings)))
        store.add_machine(added)
        assert store.touched <= 2**5 - 1
        assert store.touched_arcs <= 11 * 31


def test_arcs_of_the_initial_state_that_are_not_followed_cost_nothing():
    store, letters = MinimalStore(), 5000
    store.add(np.arange(letters, dtype=np.int32)[:, None], np.arange(1.0, letters + 1))
    one = Transducer.from_arcs([(0, 1, 7, 1.0), (0, 1, 4000, 2.0)], [1])
    store.add_machine(one)
    assert store.touched_arcs <= 4
    store.add_machine(one, -1.0)
    assert (store.n_states, store.n_arcs) == (2, letters)
    np.testing.assert_array_equal(store.weights(np.array([[7], [4000]], np.int32)), [8.0, 4001.0])


def test_memory_is_used_again():
    store, rng, sizes = MinimalStore(), np.random.default_rng(4), []
    machines = [sausage(8, rng.uniform(0.5, 1.0, 8)) for _ in range(3)]
    for _ in range(60):
        for one in machines:
            store.add_machine(one, float(rng.normal()))
        sizes.append(store.nbytes)
    assert sizes[-1] == sizes[30]


def test_errors():
    store = MinimalStore()
    with pytest.raises(ValueError, match="not deterministic, or has epsilon arcs; use determinize"):
        store.add_machine(Transducer.from_arcs([(0, 1, 0, 1.0), (0, 2, 0, 1.0)], [1, 2]))
    with pytest.raises(ValueError, match="has a cycle"):
        store.add_machine(Transducer.from_arcs([(0, 0, 0, 0.5)], [0]))
    with pytest.raises(ValueError, match="step=nan must be a finite number"):
        store.add_machine(sausage(2, [1.0]), float("nan"))
    with pytest.raises(ValueError, match="whole numbers"):
        MinimalStore(exact=True).add_machine(sausage(2, [0.5]))
    exact = MinimalStore(exact=True)
    exact.add_machine(sausage(40, [2.0], (0,)))
    with pytest.raises(OverflowError, match="the store is empty now"):
        exact.add_machine(sausage(40, [3.0], (0,)))
    assert exact.n_arcs == 0
    assert determinize(sausage(3, [1.0])).n_arcs == 6
