from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.automata.algorithms.minimize import minimize
from kernelweave.automata.base import EPSILON
from kernelweave.automata.minimal.automaton import MinimalStore
from kernelweave.automata.trie import trie
from oracles.weighted_sets import DictStore, accepted, minimal_size, prefixes

LONGEST = 5
STRINGS = st.lists(st.integers(0, 2), max_size=LONGEST).map(tuple)
ADDITION = st.tuples(st.lists(st.tuples(STRINGS, st.integers(-3, 3)), max_size=8), st.integers(-2, 2))
HISTORY = st.lists(ADDITION, max_size=8)


def rows(strings, longest=LONGEST):
    made = np.full((len(strings), longest), EPSILON, np.int32)
    for row, string in zip(made, strings):
        row[: len(string)] = string
    return made


def play(store, history, scale=1.0):
    """Add a history to a store and to a dict; after each addition, give both to the caller."""
    plain = DictStore()
    for pairs, step in history:
        strings, values = [s for s, _ in sorted(pairs)], [scale * v for _, v in sorted(pairs)]
        store.add(rows(strings), np.array(values), step)
        plain.add(strings, values, step)
        yield plain, strings


def same_machine(first, second):
    columns = ("source", "target", "inputs")
    return all(np.array_equal(getattr(first, c), getattr(second, c)) for c in columns)


@settings(max_examples=40)
@given(HISTORY)
def test_whole_numbers_stay_exact_and_minimal(history):
    store = MinimalStore(exact=True)
    for plain, strings in play(store, history):
        assert (store.n_states, store.n_arcs) == minimal_size(plain.weights)
        machine = store.to_transducer()
        assert accepted(machine) == plain.weights
        assert (machine.target > machine.source).all()
        assert store.touched <= len(prefixes(strings)) + (not strings)


@settings(max_examples=40)
@given(HISTORY, st.sampled_from([1.0, 0.1, -1e-7, 3e40]))
def test_doubles_agree_with_a_dict_and_with_rebuilding(history, scale):
    store = MinimalStore()
    size = {()}
    for plain, strings in play(store, history, scale):
        size |= set(strings)
        known = rows(sorted(size))
        wanted = np.array([float(plain.weights.get(string, 0)) for string in sorted(size)])
        wanted[abs(wanted) < 1e-13 * abs(scale)] = 0.0  # 0.1 + 0.2 - 0.3 as a fraction is not zero
        assert store.weights(known) == pytest.approx(wanted, rel=1e-12, abs=1e-12 * abs(scale))
        rebuilt = minimize(trie(known, wanted))
        assert (store.n_states, store.n_arcs) == (rebuilt.n_states, rebuilt.n_arcs)


def test_random_weights_over_many_updates():
    rng = np.random.default_rng(0)
    every = rows([(a, b, c) for a in range(6) for b in range(6) for c in range(6)], 3)
    store, plain = MinimalStore(), np.zeros(len(every))
    for _ in range(400):
        chosen = np.sort(rng.choice(len(every), 20, replace=False))
        values = rng.normal(size=20)
        store.add(every[chosen], values, 0.3)
        plain[chosen] += 0.3 * values
    assert store.weights(every) == pytest.approx(plain, rel=1e-12, abs=1e-13)
    rebuilt = minimize(trie(every, plain))
    assert (store.n_states, store.n_arcs) == (rebuilt.n_states, rebuilt.n_arcs)
    store.add(every, store.weights(every), -1.0)
    assert (store.n_states, store.n_arcs) == (1, 0)


def test_what_is_proportional_shares_its_states():
    """All weights are products: the automaton is a chain, and an update breaks one link of it only."""
    letters, length = 4, 5
    every = np.array(np.unravel_index(range(letters**length), (letters,) * length), np.int32).T
    factors = np.random.default_rng(1).uniform(0.5, 2.0, (length, letters))
    values = np.prod([factors[j, every[:, j]] for j in range(length)], axis=0)
    store = MinimalStore()
    for part in np.array_split(np.random.default_rng(2).permutation(len(every)), 30):
        part = np.sort(part)
        store.add(every[part], values[part])
    assert (store.n_states, store.n_arcs) == (length + 1, length * letters)
    store.add(every[:1], np.ones(1))
    assert (store.n_states, store.n_arcs) == (2 * length, 2 * length * letters - letters)
    store.add(every[:1], np.ones(1), -1.0)
    assert (store.n_states, store.n_arcs) == (length + 1, length * letters)


def test_the_cost_follows_the_added_strings_not_the_automaton():
    rng = np.random.default_rng(3)
    added = rows([(0, 1, 2, 3), (0, 1, 7, 7), (5, 5, 5, 5)], 4)
    touched = []
    for n in (100, 1000, 10_000):
        store = MinimalStore()
        strings = np.unique(rng.integers(0, 10, (n, 4)).astype(np.int32), axis=0)
        store.add(strings, rng.normal(size=len(strings)))
        assert store.touched == len(prefixes(map(tuple, strings.tolist())))
        store.add(added, np.ones(3))
        assert store.touched == len(prefixes(map(tuple, added.tolist()))) == 11
        assert store.touched_arcs <= 11 * 10
        touched.append((store.touched, store.n_states))
    assert touched[-1][1] > 10 * touched[0][1]


def test_memory_is_used_again():
    rng = np.random.default_rng(4)
    strings = np.unique(rng.integers(0, 5, (300, 4)).astype(np.int32), axis=0)
    store = MinimalStore()
    sizes = []
    for _ in range(60):
        store.add(strings, rng.normal(size=len(strings)))
        sizes.append(store.nbytes)
    assert sizes[-1] == sizes[20]


@settings(max_examples=30)
@given(HISTORY, st.lists(st.tuples(STRINGS, st.integers(-3, 3)), max_size=10), st.integers(0, 10))
def test_sums_over_rows(history, asked, cut):
    store = MinimalStore(exact=True)
    plain = DictStore()
    for latest, _ in play(store, history):
        plain = latest
    strings, values = rows([s for s, _ in asked]), np.array([float(v) for _, v in asked])
    assert store.look_up(strings, values) == plain.look_up(*zip(*asked)) if asked else True
    cut = min(cut, len(asked))
    parts = store.look_up_rows(strings, values, np.array([0, cut, cut, len(asked)]))
    wanted = [sum(float(v) * float(plain.weights.get(s, 0)) for s, v in part) for part in (asked[:cut], asked[cut:])]
    assert parts.tolist() == [wanted[0], 0.0, wanted[1]]


@pytest.mark.parametrize("exact", [True, False])
def test_same_automaton_whatever_the_order_of_additions(exact):
    rng = np.random.default_rng(5)
    strings = np.unique(rng.integers(0, 3, (60, 4)).astype(np.int32), axis=0)
    values = rng.integers(1, 4, len(strings)).astype(float)
    whole, parts = MinimalStore(exact=exact), MinimalStore(exact=exact)
    whole.add(strings, values)
    for row in rng.permutation(len(strings)):
        parts.add(strings[row : row + 1], values[row : row + 1])
    first, second = (minimize(store.to_transducer(), exact=exact) for store in (whole, parts))
    assert same_machine(first, second)
    assert first.weights == pytest.approx(second.weights, rel=1e-14)


def test_neighbours_across_the_edge_of_a_bucket_are_found():
    """Ratios one unit in the last place apart, wherever they lie, are one state."""
    store = MinimalStore()
    ratios = np.random.default_rng(6).uniform(1.0, 2.0, 3000)
    for k, ratio in enumerate(ratios):
        pair = np.array([[2 * k, 0], [2 * k, 1], [2 * k + 1, 0], [2 * k + 1, 1]], np.int32)
        store.add(pair, np.array([1.0, ratio, 1.0, ratio * (1 + 2.0**-46)]))
    assert store.n_states == 2 + len(ratios)


def test_the_empty_string_and_nothing():
    store = MinimalStore()
    assert repr(store) == "<minimal automaton, 1 states, 0 arcs>"
    store.add(np.zeros((0, 3), np.int32), np.zeros(0))
    store.add(rows([()], 0), np.array([2.5]))
    assert store.weights(rows([(), (1,)], 2)).tolist() == [2.5, 0.0]
    assert accepted(store.to_transducer()) == {(): 2.5}
    store.add(rows([(), (), (0,), (0,)], 2), np.array([1.0, -3.5, 1.0, 1.0]))
    assert accepted(store.to_transducer()) == {(0,): 2.0}
    store.clear()
    assert (store.n_states, store.n_arcs, store.weights(rows([(0,)])).tolist()) == (1, 0, [0.0])


def test_refusals_leave_the_store_as_it_is():
    store = MinimalStore(exact=True)
    store.add(rows([(0, 1)]), np.array([2.0**52]))
    with pytest.raises(OverflowError, match=r"string 1 would reach 2\^53"):
        store.add(rows([(0,), (0, 1)]), np.array([1.0, 2.0**52 + 1]))
    with pytest.raises(OverflowError, match="string 1"):
        store.add(rows([(3,), (3,)]), np.array([2.0**53 - 1, 1.0]))
    with pytest.raises(ValueError, match="whole numbers"):
        store.add(rows([(0,)]), np.array([0.5]))
    with pytest.raises(ValueError, match="String 2 is smaller"):
        store.add(rows([(0,), (1, 1), (1, 0)]), np.ones(3))
    with pytest.raises(ValueError, match="finite"):
        store.add(rows([(0,)]), np.array([np.nan]))
    with pytest.raises(ValueError, match="shape"):
        store.add(rows([(0,)]), np.ones(2))
    assert accepted(store.to_transducer()) == {(0, 1): 2.0**52}
    with pytest.raises(ValueError, match="tolerance"):
        MinimalStore(tolerance=0.1)


def test_ratios_beyond_double_precision_are_told():
    store = MinimalStore()
    with pytest.raises(OverflowError, match="the store is empty now"):
        store.add(rows([(0, 0), (0, 1)]), np.array([1e-200, 1e200]))
    assert store.n_states == 1
