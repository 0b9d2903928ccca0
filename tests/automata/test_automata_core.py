"""Composition, the operations and total weights, against every path walked by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.automata import (
    EPSILON,
    Transducer,
    acceptor,
    closure,
    compose,
    concatenate,
    connect,
    inverse,
    is_acyclic,
    project,
    scale,
    string_weight,
    topological_sort,
    total_weight,
    union,
)
from kernelweave.automata.graph import strong_components
from oracles import automata as oracle

LETTERS = "ab"
LONGEST = 12  # arcs on a path; acyclic machines below have fewer states
WEIGHTS = st.sampled_from([0.5, 1.0, 2.0, -1.0, 3.0])


@st.composite
def machines(draw, acyclic=True, acceptors=False, states=4, epsilons=True, arcs=7):
    n = draw(st.integers(1, states))
    labels = st.sampled_from(["", "a", "b"] if epsilons else ["a", "b"])
    made = []
    for _ in range(draw(st.integers(0, arcs)) if n > 1 or not acyclic else 0):
        source = draw(st.integers(0, n - 2 if acyclic else n - 1))
        target = draw(st.integers(source + 1 if acyclic else 0, n - 1))
        read = draw(labels)
        made.append((source, target, read, read if acceptors else draw(labels), draw(WEIGHTS)))
    finals = {state: draw(WEIGHTS) for state in range(n) if draw(st.booleans())}
    order = [0, *draw(st.permutations(range(1, n)))]  # numbers that say nothing about the order
    arcs_out = [(order[a], order[b], x, y, w) for a, b, x, y, w in made]
    return arcs_out, {order[q]: w for q, w in finals.items()}


def build(machine):
    return Transducer.from_arcs(*machine, alphabet=LETTERS)


def plain(T):
    """Return a machine as the oracle wants it."""
    spell = lambda label: "" if label == EPSILON else T.alphabet.letters[label]  # noqa: E731
    rows = zip(T.source.tolist(), T.target.tolist(), T.inputs.tolist(), T.outputs.tolist(), T.weights.tolist())
    return [(p, q, spell(a), spell(b), w) for p, q, a, b, w in rows], dict(enumerate(T.finals.tolist()))


def relation(T):
    return oracle.relation(plain(T), 2 * LONGEST)


def agree(left, right):
    keys = left.keys() | right.keys()
    return all(left.get(key, 0.0) == pytest.approx(right.get(key, 0.0), abs=1e-9) for key in keys)


def is_sorted(T):
    keys = list(zip(T.source.tolist(), T.inputs.tolist(), T.outputs.tolist(), T.target.tolist()))
    return keys == sorted(keys)


@settings(max_examples=150)
@given(machines(), machines())
def test_composition_counts_every_pair_of_paths_once(first, second):
    made = compose(build(first), build(second))
    assert is_sorted(made)
    assert agree(relation(made), oracle.composed(first, second, LONGEST))
    number = len([1 for _ in oracle.paths(plain(made), 2 * LONGEST)])
    inner = [z for _, z, _ in oracle.paths(first, LONGEST)], [z for z, _, _ in oracle.paths(second, LONGEST)]
    assert number == sum(inner[1].count(z) for z in inner[0])


def test_lone_steps_are_not_shuffled():
    first = Transducer.from_arcs([(0, 1, "a", "", 1.0), (1, 2, "a", "", 1.0), (2, 3, "a", "b", 1.0)], [3], "ab")
    second = Transducer.from_arcs([(0, 1, "", "b", 1.0), (1, 2, "", "b", 1.0), (2, 3, "b", "b", 1.0)], [3], "ab")
    assert total_weight(compose(first, second)) == 1.0
    assert total_weight(compose(compose(first, second), inverse(second))) == 1.0
    assert string_weight(compose(first, second), "aaa", "bbb") == 1.0


@settings(max_examples=60)
@given(machines(), machines(), machines())
def test_composition_is_associative(first, second, third):
    a, b, c = build(first), build(second), build(third)
    assert agree(relation(compose(compose(a, b), c)), relation(compose(a, compose(b, c))))


@given(machines())
def test_inverse_and_projection(machine):
    T = build(machine)
    table = relation(T)
    assert agree(relation(inverse(T)), {(y, x): w for (x, y), w in table.items()})
    assert is_sorted(inverse(T))
    for side, place in (("input", 0), ("output", 1)):
        expected = {}
        for pair, weight in table.items():
            expected[pair[place], pair[place]] = expected.get((pair[place], pair[place]), 0.0) + weight
        A = project(T, side)
        assert A.is_acceptor
        assert is_sorted(A)
        assert agree(relation(A), expected)


@given(machines(), machines(), machines(acceptors=True))
def test_union_scale_and_concatenation(first, second, third):
    parts = [first, second, third]
    expected = {}
    for machine in parts:
        for pair, weight in oracle.relation(machine, LONGEST).items():
            expected[pair] = expected.get(pair, 0.0) + weight
    assert agree(relation(union(*map(build, parts))), expected)
    assert agree(relation(scale(build(first), -2.5)), {k: -2.5 * w for k, w in oracle.relation(first, LONGEST).items()})
    product = {}
    for (x, y), w in oracle.relation(first, LONGEST).items():
        for (x2, y2), w2 in oracle.relation(second, LONGEST).items():
            product[x + x2, y + y2] = product.get((x + x2, y + y2), 0.0) + w * w2
    assert agree(relation(concatenate(build(first), build(second))), product)


@given(machines(acyclic=False))
def test_union_of_cyclic_machines_keeps_the_way_back_to_the_start(machine):
    longest = 4
    both = {k: 2 * w for k, w in oracle.relation(machine, longest).items()}
    assert agree(oracle.relation(plain(union(build(machine), build(machine))), longest), both)


def test_closure_is_the_sum_of_powers():
    T = Transducer.from_arcs([(0, 1, "a", "b", 0.5), (0, 1, "b", "", 2.0)], {1: 3.0}, "ab")
    star = closure(T)
    assert string_weight(star, "", "") == 1.0
    assert string_weight(star, "ab", "b") == 0.5 * 3 * 2 * 3
    assert string_weight(star, "aba", "bb") == pytest.approx(0.5 * 3 * 2 * 3 * 0.5 * 3)


@given(machines(acyclic=False, states=5))
def test_connect_keeps_all_paths_and_only_states_on_them(machine):
    T = build(machine)
    C = connect(T)
    assert sorted(oracle.paths(plain(C), 4)) == sorted(oracle.paths(machine, 4))
    arcs, _ = plain(C)
    reached, before = {0}, -1
    while len(reached) > before:
        before = len(reached)
        reached |= {q for p, q, *_ in arcs if p in reached}
    ends, before = set(np.flatnonzero(C.finals).tolist()), -1
    while len(ends) > before:
        before = len(ends)
        ends |= {p for p, q, *_ in arcs if q in ends}
    assert reached & ends == set(range(C.n_states)) or (C.n_states, C.n_arcs, C.finals[0]) == (1, 0, 0.0)
    assert is_sorted(C)


@given(machines(states=6, arcs=12))
def test_topological_sort(machine):
    T = build(machine)
    assert is_acyclic(T)
    S = topological_sort(T)
    assert (S.target > S.source).all()
    assert is_sorted(S)
    assert sorted(oracle.paths(plain(S), LONGEST)) == sorted(oracle.paths(machine, LONGEST))


def test_a_cycle_has_no_topological_order():
    T = Transducer.from_arcs([(0, 1, "a", 1.0), (1, 2, "a", 1.0), (2, 1, "b", 1.0)], [2], "ab")
    assert not is_acyclic(T)
    assert not is_acyclic(Transducer.from_arcs([(0, 0, "a", 1.0)], [0], "ab"))
    with pytest.raises(ValueError, match="cycle has no topological order"):
        topological_sort(T)


@given(machines(states=6, arcs=12))
def test_total_weight_of_acyclic_machines(machine):
    assert total_weight(build(machine)) == pytest.approx(sum(w for *_, w in oracle.paths(machine, LONGEST)), abs=1e-9)


@given(machines(acyclic=False, states=6, arcs=9))
def test_total_weight_of_cyclic_machines_is_the_limit_of_the_powers(machine):
    arcs, finals = machine
    small = [(p, q, a, b, w / 40) for p, q, a, b, w in arcs]  # at most 9 arcs of 3/40: the powers go down fast
    n = 1 + max([0, *finals, *(max(arc[:2]) for arc in arcs)])
    A, f = np.zeros((n, n)), np.zeros(n)
    for p, q, _, _, w in small:
        A[p, q] += w
    for q, w in finals.items():
        f[q] = w
    total, power = 0.0, f.copy()
    for _ in range(200):
        total, power = total + power[0], A @ power
    assert total_weight(build((small, finals))) == pytest.approx(total, rel=1e-12, abs=1e-14)


def test_large_components_are_solved_as_sparse_systems():
    n = 500
    ring = [(q, (q + 1) % n, "a", 0.999) for q in range(n)] + [(q, (q + 7) % n, "b", 0.0005) for q in range(n)]
    total = total_weight(Transducer.from_arcs(ring, dict.fromkeys(range(n), 1.0), "ab"))
    assert total == pytest.approx(1 / (1 - 0.9995), rel=1e-9)


@pytest.mark.parametrize("weight", [1.0, 1.5, -1.0, 1 - 1e-15])
def test_a_sum_that_does_not_converge_is_an_error(weight):
    T = Transducer.from_arcs([(0, 1, "a", 1.0), (1, 1, "a", weight), (1, 2, "b", 1.0)], [2], "ab")
    with pytest.raises(ValueError, match="total weight diverges: the cycles around state 1"):
        total_weight(T)


@pytest.mark.parametrize("n", [2, 300])
def test_rings_of_weight_one_or_more_diverge(n):
    ring = [(q, (q + 1) % n, "a", 2.0 if q == 0 else 1.0) for q in range(n)]
    with pytest.raises(ValueError, match="diverges"):
        total_weight(Transducer.from_arcs(ring, [0], "a"))


def test_a_diverging_cycle_that_no_accepted_path_takes_is_harmless():
    T = Transducer.from_arcs([(0, 1, "a", 2.0), (0, 2, "a", 1.0), (2, 2, "a", 5.0)], [1], "ab")
    assert total_weight(T) == 2.0


@given(machines(acyclic=False, states=7, arcs=12))
def test_components_come_after_what_they_lead_to(machine):
    T = build(machine)
    members, bounds = strong_components(T.starts, T.target)
    assert sorted(members.tolist()) == list(range(T.n_states))
    reach = np.eye(T.n_states, dtype=bool)
    for _ in range(T.n_states):
        for p, q in zip(T.source, T.target):
            reach[p] |= reach[q]
    group = np.empty(T.n_states, int)
    for number, (a, b) in enumerate(pairwise(bounds)):
        group[members[a:b]] = number
    assert ((group[:, None] == group[None, :]) == (reach & reach.T)).all()
    assert (group[T.source] >= group[T.target]).all()


def test_the_value_of_figure_1():
    """Two paths read aab and write baa: 3 1 4 2 and 3 2 3 2."""
    arcs = [(0, 1, "a", "b", 3.0), (1, 2, "a", "a", 1.0), (2, 3, "b", "a", 4.0)]
    arcs += [(1, 1, "a", "a", 2.0), (1, 3, "b", "a", 3.0), (3, 3, "b", "b", 1.0)]
    U = Transducer.from_arcs(arcs, {3: 2.0}, "ab")
    assert string_weight(U, "aab", "baa") == 60.0
    assert string_weight(project(U, "output"), "baa") == 60.0
    assert total_weight(compose(compose(acceptor("aab", "ab"), U), acceptor("baa", "ab"))) == 60.0


def test_machines_over_different_alphabets_do_not_mix():
    with pytest.raises(ValueError, match="different alphabets"):
        compose(acceptor("ab", "ab"), acceptor("AC", "dna"))
    assert union(acceptor("ab", "ab"), acceptor(np.array([0, 1]))).alphabet.letters == ("a", "b")


def test_bad_arguments():
    with pytest.raises(ValueError, match="side='both' is unknown"):
        project(acceptor("a", "ab"), "both")
    with pytest.raises(ValueError, match="factor=nan"):
        scale(acceptor("a", "ab"), float("nan"))
    with pytest.raises(ValueError, match="at least one machine"):
        union()


def test_a_composition_outgrows_its_first_room():
    """All pairs of the middle states come from one state: steps, states and arcs need room at once."""
    n = 60
    fan = [(0, 1 + k, "a", 1.0) for k in range(n)] + [(1 + k, n + 1, "a", 2.0) for k in range(n)]
    T = Transducer.from_arcs(fan, [n + 1], "ab")
    made = compose(T, T)
    assert (made.n_states, made.n_arcs) == (n * n + 2, 2 * n * n)
    assert total_weight(made) == (2.0 * n) ** 2
