from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.automata.algorithms.determinize import determinize, is_deterministic
from kernelweave.automata.algorithms.epsilon import remove_epsilon
from kernelweave.automata.algorithms.minimize import minimize
from kernelweave.automata.algorithms.push import push
from kernelweave.automata.algorithms.rational import scale, union
from kernelweave.automata.base import EPSILON, Transducer
from kernelweave.automata.trie import trie
from oracles.weighted_sets import accepted, minimal_size, prefixes

STATES = 6
WEIGHT = st.sampled_from([-2.0, -1.0, 1.0, 2.0, 3.0])
ARC = st.tuples(st.integers(0, STATES - 1), st.integers(0, STATES - 1), st.integers(EPSILON, 2), WEIGHT)


@st.composite
def acyclic(draw):
    """An acyclic acceptor with epsilons whose states are numbered in any order."""
    names = [0, *draw(st.permutations(range(1, STATES)))]
    arcs = [
        (names[min(p, q)], names[max(p, q)], label, weight)
        for p, q, label, weight in draw(st.lists(ARC, max_size=14))
        if p != q
    ]
    return Transducer.from_arcs(arcs, draw(st.dictionaries(st.integers(0, STATES - 1), WEIGHT)), n_states=STATES)


def agree(first, second):
    return all(abs(first.get(s, 0) - second.get(s, 0)) < 1e-11 for s in {*first, *second})


@settings(max_examples=60)
@given(acyclic())
def test_all_four_keep_the_weighted_strings(machine):
    before = [column.copy() for column in (machine.source, machine.target, machine.weights, machine.finals)]
    strings = accepted(machine)
    free = remove_epsilon(machine)
    assert (free.inputs != EPSILON).all()
    assert accepted(free) == strings
    assert agree(accepted(push(machine)), strings)
    exact = determinize(machine, exact=True)
    assert is_deterministic(exact)
    assert accepted(exact) == strings
    rounded = determinize(machine)
    assert is_deterministic(rounded)
    assert agree(accepted(rounded), strings)
    after = (machine.source, machine.target, machine.weights, machine.finals)
    assert all(np.array_equal(a, b) for a, b in zip(before, after))


@settings(max_examples=60)
@given(acyclic())
def test_minimal_is_minimal(machine):
    strings = accepted(machine)
    exact = minimize(machine, exact=True)
    assert accepted(exact) == strings
    assert (exact.n_states, exact.n_arcs) == minimal_size(strings)
    assert (exact.target > exact.source).all()
    assert is_deterministic(exact)
    rounded = minimize(determinize(machine, exact=True))
    assert agree(accepted(rounded), strings)
    assert (rounded.n_states, rounded.n_arcs) == minimal_size(strings)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.lists(st.integers(0, 3), max_size=4).map(tuple), st.integers(-2, 2)), max_size=12))
def test_a_trie_has_a_state_for_each_prefix(pairs):
    strings = np.full((len(pairs), 4), EPSILON, np.int32)
    for row, (string, _) in zip(strings, pairs):
        row[: len(string)] = string
    tree = trie(strings, np.array([float(value) for _, value in pairs]))
    sums = {}
    for string, value in pairs:
        sums[string] = sums.get(string, 0) + value
    sums = {string: value for string, value in sums.items() if value}
    assert accepted(tree) == sums
    assert tree.n_states == len(prefixes(sums) | {()})
    assert tree.n_arcs == tree.n_states - 1


def test_pushed_states_start_with_one():
    rng = np.random.default_rng(0)
    strings = np.unique(rng.integers(0, 4, (80, 5)).astype(np.int32), axis=0)
    machine = push(trie(strings, rng.normal(size=len(strings))))
    first = np.where(machine.finals != 0, machine.finals, np.append(machine.weights, 0)[machine.starts[:-1]])
    assert (first[1:] == 1.0).all()


def test_long_products_stay_in_range():
    """A path of weight 1e-900 beside one of weight 1: potentials are kept with their exponents."""
    n = 300
    rare = [(i, i + 1, 1, 1e-3) for i in range(1, n)]
    machine = Transducer.from_arcs([(0, 1, 0, 1e300), (0, n, 1, 1.0), *rare], finals={n: 1e-300})
    with pytest.raises(OverflowError, match="scale the weights"):
        push(machine)
    balanced = Transducer.from_arcs(
        [(0, 1, 0, 1.0), *((i, i + 1, 1, 1e-3 if i < n // 2 else 1e3) for i in range(1, n))], [n]
    )
    assert push(balanced).weights[1:] == pytest.approx(np.ones(n - 1), rel=1e-15)
    assert push(balanced).weights[0] == pytest.approx(1e3, rel=1e-12)


def test_sums_that_vanish():
    """Two paths of one string cancel: the string is gone, and so are states that only served it."""
    arcs = [(0, 1, 0, 1.0), (0, 2, 0, -1.0), (0, 3, 1, 2.0), (1, 3, 0, 1.0), (2, 3, 0, 1.0)]
    machine = Transducer.from_arcs(arcs, finals=[3])
    assert accepted(minimize(machine)) == {(1,): 2}
    assert (minimize(machine).n_states, minimize(machine).n_arcs) == (2, 1)
    nothing = Transducer.from_arcs(arcs[:2] + arcs[3:], finals=[3])
    assert (minimize(nothing).n_states, minimize(nothing).n_arcs) == (1, 0)


def test_a_state_explosion_is_told():
    """Two states a layer, all arcs of random weights: each prefix has residuals of its own."""
    rng, length = np.random.default_rng(0), 12
    layers = [(0, 0), *((2 * i - 1, 2 * i) for i in range(1, length + 1))]
    arcs = [
        (p, q, label, rng.normal())
        for here, there in pairwise(layers)
        for p in sorted(set(here))
        for q in there
        for label in (0, 1)
    ]
    machine = Transducer.from_arcs(arcs, finals=[2 * length - 1, 2 * length])
    with pytest.raises(ValueError, match="more than max_states=1000 states"):
        determinize(machine, max_states=1000)
    assert determinize(machine).n_states == 2 ** (length + 1) - 1


def test_proportional_residuals_are_one_state():
    """2 a (1 b + 2 c) and 6 d (1 b + 2 c), as sets of two states: the second set is three times the first."""
    arcs = [(0, 1, 0, 2.0), (0, 2, 0, 4.0), (0, 1, 1, 6.0), (0, 2, 1, 12.0), (1, 3, 2, 1.0), (2, 3, 3, 1.0)]
    made = determinize(Transducer.from_arcs(arcs, finals=[3]))
    assert (made.n_states, made.weights.tolist()) == (3, [2.0, 6.0, 1.0, 2.0])


@pytest.mark.parametrize("kind", ["in", "out", "ladder"])
def test_epsilon_removal_takes_the_time_of_its_result(kind):
    """Long chains of epsilons into, out of, and beside letters: lists along them are not copied."""
    n = 50_000
    if kind == "in":  # one state gets all arcs
        arcs = [(i, i + 1, EPSILON, 1.0) for i in range(n)] + [(i, 2 * n - i, 0, 1.0) for i in range(n - 1)]
    elif kind == "out":  # all states lead to one arc
        arcs = (
            [(i, i + 1, EPSILON, 0.5) for i in range(1, n)]
            + [(0, i, i, 1.0) for i in range(1, n)]
            + [(n, n + 1, 0, 1.0)]
        )
    else:  # final weights run through, and a few letters
        arcs = [(i, i + 1, EPSILON, 0.5) for i in range(n)] + [(i, n + 1 + i, 0, 1.0) for i in range(0, n, n // 4)]
    source, target, labels, weights = (np.array(column) for column in zip(*arcs))
    order = np.lexsort((labels, source))
    labels = labels[order].astype(np.int32)
    finals = np.ones(2 * n + 2)
    machine = Transducer(
        source[order].astype(np.int32), target[order].astype(np.int32), labels, labels, weights[order], finals
    )
    made = remove_epsilon(machine)
    assert made.n_arcs <= machine.n_arcs
    assert (made.inputs != EPSILON).all()


def test_epsilon_removal_goes_with_cycles_and_transducers():
    """a* with an epsilon on the way back is a machine with a cycle, but without an epsilon cycle."""
    machine = Transducer.from_arcs([(0, 1, "a", "b", 0.5), (1, 0, None, None, 0.5)], finals=[1], alphabet="ab")
    made = remove_epsilon(machine)
    assert made.inputs.tolist() == [0, 0]
    assert made.outputs.tolist() == [1, 1]
    assert made.weights.tolist() == [0.5, 0.25]
    half = Transducer.from_arcs([(0, 1, None, "b", 0.5)], finals=[1], alphabet="ab")
    assert remove_epsilon(half) is half


LOOSE = st.tuples(
    st.integers(0, 3), st.integers(0, 3), st.integers(EPSILON, 1), st.sampled_from([-0.5, 0.25, 0.5, 1.0])
)


def relation(machine, longest=5):
    """Weights of all strings of up to so many letters, by powers of matrices; epsilon paths by their inverse."""
    n = machine.n_states
    steps = {}
    for letter in (EPSILON, 0, 1):
        steps[letter] = np.zeros((n, n))
        chosen = machine.inputs == letter
        np.add.at(steps[letter], (machine.source[chosen], machine.target[chosen]), machine.weights[chosen])
    star, found = np.linalg.inv(np.eye(n) - steps[EPSILON]), {}
    level = {(): np.eye(n)[0] @ star}
    for _ in range(longest + 1):
        found |= {string: float(row @ machine.finals) for string, row in level.items()}
        level = {(*string, c): row @ steps[c] @ star for string, row in level.items() for c in (0, 1)}
    return {string: weight for string, weight in found.items() if abs(weight) > 1e-12}


@settings(max_examples=25)
@given(st.lists(LOOSE, max_size=9), st.dictionaries(st.integers(0, 3), st.sampled_from([1.0, 2.0])))
def test_epsilon_cycles_that_converge_are_summed(arcs, finals):
    arcs = [(p, q, c, w / 10 if c == EPSILON else w) for p, q, c, w in arcs]  # nine of them always converge
    machine = Transducer.from_arcs(arcs, finals, n_states=4)
    made = remove_epsilon(machine)
    assert (made.inputs != EPSILON).all()
    assert relation(made) == pytest.approx(relation(machine), rel=1e-9, abs=1e-11)


@settings(max_examples=25)
@given(st.lists(LOOSE, max_size=9), st.dictionaries(st.integers(0, 3), st.sampled_from([1.0, 2.0]), min_size=1))
def test_machines_with_cycles_are_pushed_and_minimised(arcs, finals):
    """The first arc of each letter counts, so that the machine is deterministic; a copy of each state merges again."""
    first = {(p, c): (p, q, c, w) for p, q, c, w in reversed(arcs) if c != EPSILON}
    machine = Transducer.from_arcs(list(first.values()), finals, n_states=4)
    copied = [(p, q + 4, c, w / 3.0) for p, q, c, w in first.values()]
    copied += [(p + 4, q, c, 3.0 * w) for p, q, c, w in first.values()]
    ends = {q + 4 * a: w * (3.0 if a else 1.0) for q, w in finals.items() for a in (0, 1)}
    doubled = Transducer.from_arcs(copied, ends, n_states=8)
    wanted = relation(machine)
    for one in (push(machine), determinize(machine), minimize(machine), minimize(doubled)):
        assert relation(one) == pytest.approx(wanted, rel=1e-9, abs=1e-11)
    assert minimize(doubled).n_states == minimize(machine).n_states <= max(1, push(machine).n_states)
    again = minimize(minimize(machine))
    assert (again.n_states, again.n_arcs) == (minimize(machine).n_states, minimize(machine).n_arcs)


def test_a_nondeterministic_machine_with_cycles_that_has_a_deterministic_one():
    arcs = [(0, 1, "a", 1.0), (0, 2, "a", 1.0), (1, 1, "b", 0.5), (2, 2, "b", 0.5)]
    made = minimize(Transducer.from_arcs(arcs, {1: 1.0, 2: 2.0}, "ab"))
    assert is_deterministic(made)
    assert (made.n_states, made.n_arcs) == (2, 2)
    assert relation(made, 2) == pytest.approx({(0,): 3.0, (0, 1): 1.5})


def test_what_cancels_to_rounding_vanishes():
    """0.1 + 0.2 - 0.3 is not zero in doubles; union, determinise and minimise leave no arc of it, as the store does."""
    strings = np.array([[0, 1], [1, 1]], np.int32)
    parts = [scale(trie(strings[:1], np.ones(1)), w) for w in (0.1, 0.2, -0.3)]
    made = minimize(union(*parts, trie(strings[1:], np.ones(1))))
    assert (made.n_states, made.n_arcs) == (3, 2)
    finals = [Transducer.from_arcs([(0, 1, 0, w)], [1]) for w in (0.1, 0.2, -0.3)]
    assert minimize(union(*finals)).n_arcs == 0


def test_refusals():
    loop = Transducer.from_arcs([(0, 1, None, 1.0), (1, 0, None, 1.0)], finals=[1], alphabet="a")
    with pytest.raises(ValueError, match="diverges: the cycles around state"):
        remove_epsilon(loop)
    twins = [(0, 1, "a", 1.0), (0, 2, "a", 1.0), (1, 1, "a", 1.0), (2, 2, "a", 0.5)]
    without = Transducer.from_arcs(twins, finals=[1, 2], alphabet="a")
    with pytest.raises(ValueError, match="no deterministic equivalent"):
        determinize(without, max_states=50)
    with pytest.raises(OverflowError, match="leave the range"):
        minimize(without)
    with pytest.raises(ValueError, match="for machines without cycles"):
        minimize(Transducer.from_arcs([(0, 0, "a", 2.0)], finals=[0], alphabet="a"), exact=True)
    with pytest.raises(ValueError, match="project it first"):
        determinize(Transducer.from_arcs([(0, 1, "a", "b", 1.0)], finals=[1], alphabet="ab"))
    half = Transducer.from_arcs([(0, 1, "a", 0.5)], finals=[1], alphabet="a")
    for function in (determinize, minimize):
        with pytest.raises(ValueError, match="whole numbers"):
            function(half, exact=True)
    large = Transducer.from_arcs([(0, 1, 0, 2.0**40), (0, 2, 0, 3.0), (1, 3, 0, 2.0**40), (2, 3, 0, 1.0)], finals=[3])
    for function in (determinize, minimize):
        with pytest.raises(OverflowError, match=r"2\^53"):
            function(large, exact=True)


def test_minimize_wants_an_acceptor():
    with pytest.raises(ValueError, match="project it first"):
        minimize(Transducer.from_arcs([(0, 1, "a", "b", 1.0)], finals=[1], alphabet="ab"))
