from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from kernelweave.data import Alphabet, Lattices, Sequences, Views, select
from kernelweave.data.lattices.rows import EPSILON, LatticeError
from oracles.lattices import paths, strings

ABC = Alphabet.words(["a", "b", "c"])
N_STATES = 6
weights = st.floats(0.05, 4.0)


@st.composite
def lattices(draw: st.DrawFn, start_first: bool = True) -> tuple[list[Any], dict[int, float]]:
    """Arcs that follow a hidden order of the states, and some final weights."""
    order = [0, *draw(st.permutations(range(1, N_STATES)))] if start_first else draw(st.permutations(range(N_STATES)))
    pairs = st.tuples(st.integers(0, N_STATES - 1), st.integers(0, N_STATES - 1)).filter(lambda p: p[0] < p[1])
    arcs = draw(st.lists(st.tuples(pairs, st.sampled_from(["a", "b", "c", None]), weights), max_size=10))
    finals = draw(st.dictionaries(st.integers(0, N_STATES - 1), weights, max_size=3))
    return [(order[s], order[t], label, w) for (s, t), label, w in arcs], finals


many = st.lists(lattices(), max_size=6)


def build(rows: list[Any], **options: Any) -> Lattices:
    return Lattices.from_arcs(rows, ABC, ids=[f"r{i}" for i in range(len(rows))], strict=False, **options)


def walked(arcs: list[Any], finals: dict[int, float]) -> dict[tuple[int, ...], float]:
    """String -> weight of a lattice as it was given."""
    found: dict[tuple[int, ...], float] = {}
    open_paths: list[tuple[int, tuple[int, ...], float]] = [(0, (), 1.0)]
    while open_paths:
        state, letters, weight = open_paths.pop()
        if finals.get(state, 0.0) > 0:
            found[letters] = found.get(letters, 0.0) + weight * finals[state]
        for source, target, label, w in arcs:
            if source == state:
                open_paths.append((target, letters if label is None else (*letters, "abc".index(label)), weight * w))
    return found


@given(many, st.booleans())
def test_keeps_every_string_and_its_weight(rows: list[Any], connect: bool) -> None:
    X = build(rows, connect=connect)
    assert Lattices(*X._table, ABC, X.ids) == X  # sorted and in topological order
    for i, (arcs, finals) in enumerate(rows):
        assert strings(X, i) == pytest.approx(walked(arcs, finals))
        if not connect:
            highest = max([*finals, *(max(arc[:2]) for arc in arcs), 0])
            assert X.state_counts[i] == highest + 1


@given(st.lists(lattices(start_first=False), max_size=4))
def test_state_0_is_the_initial_one_whatever_leads_to_it(rows: list[Any]) -> None:
    X = build(rows)
    assert Lattices(*X._table, ABC, X.ids) == X
    for i, (arcs, finals) in enumerate(rows):
        assert strings(X, i) == pytest.approx(walked(arcs, finals))


def test_states_in_front_of_the_initial_one_are_left_out() -> None:
    arcs = [(0, 1, "a", 1.0), (2, 0, "into", 1.0), (2, 1, "lost", 1.0)]
    X = Lattices.from_arcs([(arcs, [1])])
    assert (X[0], len(X.source), len(X.finals)) == ("a", 1, 2)
    with pytest.raises(LatticeError, match="the final state 2 cannot be reached from the initial state 0"):
        Lattices.from_arcs([(arcs, [1, 2])])


@given(many)
def test_connected_lattices_have_useful_states_only(rows: list[Any]) -> None:
    X = build(rows)
    forward, backward = X.forward_weights(), X.backward_weights()
    for i in range(len(X)):
        span = slice(X.state_offsets[i], X.state_offsets[i + 1])
        if X.state_counts[i] > 1:
            assert (forward[span] > 0).all()
            assert (backward[span] > 0).all()
        elif X.finals[span] == 0:
            assert X.arc_counts[i] == 0


@given(many)
def test_sums_and_best_paths(rows: list[Any]) -> None:
    X = build(rows)
    best, N = X.one_best(), X.normalized()
    totals = [sum(w for _, w in paths(X, i)) for i in range(len(X))]
    np.testing.assert_allclose(X.total_weights(), totals, rtol=1e-12)
    products = X.forward_weights() * X.finals
    np.testing.assert_allclose([products[a:b].sum() for a, b in zip(X.state_offsets, X.state_offsets[1:])], totals)
    for i, total in enumerate(totals):
        found = paths(X, i)
        if not found:
            assert best[i] == X[i] == ""
            continue
        top = max(weight for _, weight in found)
        spelled = {ABC.decode(np.array(letters, np.int64)) for letters, w in found if w >= top * (1 - 1e-12)}
        assert best[i] == X[i]
        assert X[i] in spelled
        assert strings(N, i) == pytest.approx({letters: w / total for letters, w in strings(X, i).items()})
    for source in range(int(N.state_counts.max(initial=0))):
        for i in range(len(N)):
            if source < N.state_counts[i] and totals[i] > 0:
                span = slice(N.arc_offsets[i], N.arc_offsets[i + 1])
                leaving = N.weights[span][N.source[span] == source].sum() + N.finals[N.state_offsets[i] + source]
                assert leaving == pytest.approx(1.0)


@given(many, st.data())
def test_indexes_like_a_list(rows: list[Any], data: st.DataObject) -> None:
    X, n = build(rows), len(rows)
    part = data.draw(st.slices(n))
    assert X[part] == X[list(range(n))[part]]
    assert X[part].ids.tolist() == [f"r{i}" for i in range(n)][part]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    assert X[mask] == X[mask, ...] == X[np.flatnonzero(mask)]
    assert list(X) == [X[i] for i in range(n)] == X.one_best().to_strings()
    assert pickle.loads(pickle.dumps(X)) == X
    for i in range(n):
        assert strings(X[[i]], 0) == strings(X, i)
    if n:
        assert Lattices.concatenate([X[: n // 2], X[n // 2 :]]) == X


@given(st.lists(st.text("ACGTN", max_size=8), max_size=6))
def test_strings_are_linear_lattices(rows: list[str]) -> None:
    S = Sequences.from_strings(rows, unknown="mask")
    X = Lattices.from_sequences(S)
    assert Lattices(*X._table, X.alphabet) == X
    assert X.one_best() == S
    assert X.total_weights().tolist() == [1.0] * len(rows)
    assert X.normalized() == X


def test_long_lattices_stay_in_range() -> None:
    n = 2000
    arcs = [(i, i + 1, label, 1e-3 * w) for i in range(n) for label, w in (("a", 2.0), ("b", 1.0))]
    X = Lattices.from_arcs([(arcs, [n]), ([(*arc[:3], arc[3] * 1e6) for arc in arcs], [n])])
    assert X.total_weights().tolist() == [0.0, np.inf]
    np.testing.assert_allclose(X.normalized().weights, np.tile([2 / 3, 1 / 3], 2 * n), rtol=1e-12)
    assert X[0] == X[1] == " ".join("a" * n)
    tiny = Lattices.from_arcs([([(0, 1, "a", 5e-324), (1, 2, "b", 5e-324)], [2])]).normalized()
    assert tiny.weights.tolist() == [1.0, 1.0]


def test_small_cases() -> None:
    X = Lattices.from_arcs([([], {}), ([], [0]), ([(0, 2, "", 1.0), (2, 1, "a", 0.0)], {2: 0.5, 1: 1})], ABC)
    assert X.shape == (3,)
    assert X.state_counts.tolist() == [1, 1, 2]
    assert X.finals.tolist() == [0.0, 1.0, 0.0, 0.5]
    assert X.labels.tolist() == [EPSILON]
    assert X.total_weights().tolist() == [0.0, 1.0, 0.5]
    assert repr(X) == "<3 lattices, words, 0 to 1 arcs>"
    assert repr(X[:0]) == "<0 lattices, words>"
    assert (X.one_best() == X) is False
    assert not X.weights.flags.writeable
    by_code = Lattices.from_arcs([([(0, 1, 2, 1.0), (0, 1, np.int64(EPSILON), 1.0)], [1])], ABC)
    assert by_code.labels.tolist() == [EPSILON, 2]
    assert Lattices.from_arcs([([(0, 1, "A", 1.0)], [1])], "dna").alphabet.name == "dna"
    numpy_words = Lattices.from_arcs([([(0, 1, np.str_("a"), 1.0)], [1])]).alphabet.letters
    assert [type(word) for word in numpy_words] == [str]


def arc(*parts: Any, finals: Any = (1,), **options: Any) -> Lattices:
    return Lattices.from_arcs([([], [0]), ([(0, 1, "a", 1.0), parts], finals)], ABC, **options)


BAD = {
    "cycle": (lambda: arc(1, 0, "a", 1.0), 1, 0, "it lies on a cycle"),
    "loop": (lambda: arc(1, 1, "a", 1.0), 1, 1, "it lies on a cycle"),
    "lost cycle": (
        lambda: Lattices.from_arcs([([(0, 1, "a", 1.0), (2, 3, "a", 1.0), (3, 2, "a", 1.0), (3, 4, "a", 1.0)], [1])]),
        0, 2, "it lies on a cycle",
    ),
    "negative weight": (lambda: arc(0, 1, "a", -0.5), 1, 1, "the weight -0.5 is not positive"),
    "not a number": (lambda: arc(0, 1, "a", np.nan), 1, 1, "the weight nan is not finite"),
    "infinite": (lambda: arc(0, 1, "a", np.inf), 1, 1, "the weight inf is not finite"),
    "negative state": (lambda: arc(-1, 1, "a", 1.0), 1, 1, "its source -1 is not a state; there are 2"),
    "huge state": (lambda: arc(0, 2**31, "a", 1.0), 1, None, "states must be numbered from 0 to less than"),
    "unknown letter": (lambda: arc(0, 1, "x", 1.0), 1, 1, "the letter 'x' is unknown; the words alphabet has a b c"),
    "unknown code": (lambda: arc(0, 1, 9, 1.0), 1, 1, "the label 9 is unknown"),
    "lost final": (lambda: arc(0, 1, "a", 1.0, finals=[1, 3]), 1, None, "the final state 3 cannot be reached"),
    "bad final": (lambda: arc(0, 1, "a", 1.0, finals={1: -1.0}), 1, None, "state 1 ends with weight -1.0"),
    "short arc": (lambda: arc(0, 1), 1, 1, "it is (0, 1), expected (source, target, label, weight)"),
    "enters 0": (
        lambda: arc(2, 0, "a", 1.0, connect=False, strict=False), 1, 1, "it enters the initial state 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_errors_name_lattice_and_arc(case: str) -> None:
    make, lattice, number, reason = BAD[case]
    with pytest.raises(LatticeError) as caught:
        make()
    assert (caught.value.lattice, caught.value.arc) == (lattice, number)
    assert reason in str(caught.value)
    assert str(caught.value).startswith(f"Lattice {lattice}")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_the_constructor_checks_order() -> None:
    one, two = np.array([0, 1]), np.array([0, 2])

    def make(**changes: Any) -> Lattices:
        parts: dict[str, Any] = {
            "source": [0, 0], "target": [1, 1], "labels": [0, 1], "weights": [1.0, 1.0], "arc_offsets": two,
            "finals": [0.0, 1.0], "state_offsets": two,
        }  # fmt: skip
        return Lattices(**{**parts, **changes}, alphabet=ABC)

    assert make()[0] == "a"
    cases = {
        "arc 1: it is out of order": {"labels": [1, 0]},
        "arc 0: it does not lead to a higher state": {"source": [1, 0]},
        "arc 0: the weight 0 is not positive": {"weights": [0.0, 1.0]},
        "must be flat arrays": {"labels": [1]},
        "arc_offsets must rise from 0": {"arc_offsets": one},
        "whole numbers of 32 bits": {"labels": [2**32, 0]},
        "labels must hold whole": {"labels": [0.5, 1.0]},
        "1 lattices have arcs, but 2": {"state_offsets": [0, 1, 2]},
        "it has no state": {"arc_offsets": [0, 2, 2], "state_offsets": [0, 2, 2]},
    }
    for reason, changes in cases.items():
        with pytest.raises(ValueError, match=reason):
            make(**changes)


def test_unknown_letters_match_nothing() -> None:
    X = Lattices.from_arcs([([(0, 1, "c", 0.6), (0, 1, "a", 0.4), (1, 2, "x", 1.0)], [2])])
    other = Alphabet.words(["x", "a"])
    Y = X.with_alphabet(other, unknown="mask")
    assert Lattices(*Y._table, other) == Y
    assert strings(Y, 0) == {(2, 0): 0.6, (1, 0): 0.4}
    assert Y[0] == "<unk> x"
    assert Y.with_alphabet(ABC, unknown="mask")[0] == "<unk> <unk>"
    assert X.with_alphabet(X.alphabet) is X
    with pytest.raises(LatticeError, match="Lattice 0, arc 1: the letter 'c' is unknown; the words alphabet has x a"):
        X.with_alphabet(other)
    masked = Lattices.from_arcs([([(0, 1, "zzz", 1.0)], [1])], ABC, unknown="mask")
    assert masked.labels.tolist() == [ABC.size]


def test_sequences_change_their_alphabet() -> None:
    X = Sequences.from_tokens([["a", "c"], ["b"]])
    other = Alphabet.words(["c", "a"])
    assert X.with_alphabet(other, unknown="mask").to_strings() == ["a c", "<unk>"]
    assert X[:1].with_alphabet(other).codes.tolist() == [1, 0]
    with pytest.raises(ValueError, match="Row 1 has the unknown letter 'b' at position 0"):
        X.with_alphabet(other)
    assert Sequences.from_strings(["ACN"], unknown="mask").with_alphabet(Alphabet.named("bytes"))[0] == "AC?"


def test_saved_files(tmp_path: Path) -> None:
    X = build([([(0, 1, "a", 0.5)], [1]), ([], {})])
    X.save(tmp_path / "x.kwlat")
    for mmap in (True, False):
        assert Lattices.open(tmp_path / "x.kwlat", mmap) == X
    with pytest.raises(ValueError, match="holds lattices, not sequences"):
        Sequences.open(tmp_path / "x.kwlat")
    X.one_best().save(tmp_path / "s.kwseq")
    with pytest.raises(ValueError, match="holds sequences, not lattices"):
        Lattices.open(tmp_path / "s.kwseq")
    whole = (tmp_path / "x.kwlat").read_bytes()
    for size in range(0, len(whole), 7):
        (tmp_path / "cut.kwlat").write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"is damaged|is not a file of saved"):
            Lattices.open(tmp_path / "cut.kwlat")


def test_scikit_learn_splits_them() -> None:
    X = Lattices.from_sequences(Sequences.from_strings(["A", "CC", "GGG", "TTTT"]))
    y = [0, 1, 2, 3]
    assert _num_samples(X) == 4
    assert indexable(X, y)[0] is X
    assert _safe_indexing(X, np.array([2, 0])).one_best().to_strings() == ["GGG", "A"]
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    assert [len(text) - 1 for text in train] == y_train
    assert [len(text) - 1 for text in test] == y_test


def test_views_hold_them() -> None:
    X = Lattices.from_sequences(Sequences.from_strings(["A", "CC", "GGG"]))
    V = Views({"speech": X, "size": [1.0, 2.0, 3.0]})
    assert V[[2, 0]]["speech"] == X[[2, 0]]
    assert Views({"speech": X[:], "size": [1.0, 2.0, 3.0]}) == V
    assert Views({"speech": X[[0, 2, 1]], "size": [1.0, 2.0, 3.0]}) != V
    assert select(V, "speech") is X
    with pytest.raises(TypeError, match="The view 'speech' holds lattices"):
        select(V, ["size", "speech"])
    with pytest.raises(TypeError, match="X is Lattices"):
        select(X, [0])


def test_refuses_other_indices_and_parts() -> None:
    X = build([([], [0])])
    with pytest.raises(IndexError, match="indexed by rows only"):
        X[0, 0]
    with pytest.raises(IndexError, match="Row 1 does not exist"):
        X[1]
    with pytest.raises(ValueError, match="Nothing to concatenate"):
        Lattices.concatenate([])
    with pytest.raises(ValueError, match="Part 1 is over"):
        Lattices.concatenate([X, X.with_alphabet(Alphabet.words(["x"]))])
    with pytest.raises(ValueError, match="There are 2 ids for 1 rows"):
        Lattices.from_arcs([([], [0])], ABC, ids=["a", "b"])
