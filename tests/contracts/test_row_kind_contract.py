"""What every row kind of the registry promises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernelweave.data import KINDS, Description, GramRows, Lattices, RowKind, Sequences, Views, register
from kernelweave.data.kinds import convert, describe, find, kind_of, matched, n_rows, named, take
from kernelweave.data.stores import write_store
from kernelweave.estimators.files.tree import Reader, Writer

WORDS = Sequences.from_tokens([["to", "be"], ["or"], ["not", "to", "be"], []], ids=["a", "b", "c", "d"])
TABLE = np.arange(8.0).reshape(4, 2)
ROWS = {
    "sequences": [Sequences.from_strings(["ACGT", "CC", "", "GAT"]), WORDS],
    "lattices": [Lattices.from_sequences(WORDS)],
    "table": [TABLE, sparse.csr_array(TABLE), sparse.csr_matrix(TABLE)],
    "matrix": [GramRows.of(TABLE @ TABLE.T), GramRows.of(TABLE)],
    "views": [Views({"size": TABLE, "words": WORDS, "sparse": sparse.csr_array(TABLE)})],
}
CASES = [(name, rows) for name, some in ROWS.items() for rows in some]
each_case = pytest.mark.parametrize(("name", "X"), CASES, ids=[f"{name}-{type(X).__name__}" for name, X in CASES])


def same(a, b):
    if hasattr(a, "toarray"):
        return type(a) is type(b) and (a != b).nnz == 0
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b


def test_every_kind_has_a_case():
    assert set(ROWS) == set(KINDS)


@each_case
def test_containers_are_known(name, X):
    kind = named(name)
    assert kind_of(X) is find(X) is kind
    assert convert(X) is X
    assert n_rows(X) == 4
    assert kind.noun
    assert kind.family


@each_case
@pytest.mark.parametrize("rows", [np.array([2, 0, 2]), slice(1, 3), np.array([True, False, True, False]), slice(0, 0)])
def test_rows_are_taken(name, X, rows):
    part, numbers = take(X, rows), np.arange(4)[rows]
    assert kind_of(part).name == name
    assert n_rows(part) == len(numbers)
    assert describe(part) == describe(X)
    for place, row in enumerate(numbers):
        assert same(take(part, slice(place, place + 1)), take(X, slice(row, row + 1)))


@each_case
def test_rows_go_through_a_model_file(name, X):
    writer = Writer()
    node = writer.node({"rows": X, "described": describe(X)})
    again = Reader(writer.tensors).value(node)
    assert same(again["rows"], X)
    assert again["described"] == describe(X)


@each_case
def test_rows_go_through_a_store(name, X, tmp_path):
    if kind_of(X).packing is None:
        with pytest.raises(TypeError, match=f"cannot be stored where they are {kind_of(X).noun}"):
            write_store(tmp_path / "x.kws", X)
        return
    S = write_store(tmp_path / "x.kws", X)
    kind = kind_of(S)
    assert (kind.name, kind.family, kind.noun) == (name, named(name).family, named(name).noun)
    assert describe(S) == describe(X)
    assert np.array_equal(dense(take(S, slice(1, 3))), dense(take(X, slice(1, 3))))
    assert convert(S) is S


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else X if isinstance(X, np.ndarray) else kind_of(X).summary(X)


@each_case
def test_parts_behind_one_another_are_the_whole(name, X):
    assert same(kind_of(X).concatenate([take(X, slice(0, 1)), take(X, slice(1, 4))]), X)


@each_case
def test_rows_match_their_own_description(name, X):
    trained = describe(X)
    assert trained.kind == name
    assert str(trained) == kind_of(X).phrase(trained.content)
    assert same(matched(X, trained), X)
    kind_of(X).check(X, "input")
    assert "4" in kind_of(X).summary(X)
    assert isinstance(kind_of(X).facts(trained.content), dict)
    assert isinstance(kind_of(X).reading(trained.content), dict)


@each_case
def test_rows_of_other_kinds_do_not_match(name, X):
    for other, rows in CASES:
        if named(other).family != named(name).family:
            with pytest.raises(TypeError, match=f"but the input is {kind_of(rows).noun}"):
                matched(rows, describe(X))


@each_case
def test_words_and_letters_are_counted(name, X):
    total, masked = kind_of(X).letters(X)
    assert (total > 0) == (kind_of(X).alphabet(X) is not None)
    assert masked == 0


def test_new_words_match_nothing():
    new = matched(Sequences.from_tokens([["to", "go"]]), describe(WORDS))
    assert kind_of(new).letters(new) == (2, 1)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (["ACGT", "CC"], "sequences"),
        (np.array(["ACGT", "CC"]), "sequences"),
        (np.array(["ACGT", "CC"], dtype=object), "sequences"),
        ([["to", "be"], ["or"]], "sequences"),
        ([[1.0, 2.0], [3.0, 4.0]], "table"),
        ([np.ones(2), np.ones(2)], "table"),
        ([], "table"),
        ({"a": TABLE, "t": ["x y", "z", "", "w"]}, "views"),
    ],
    ids=repr,
)
def test_what_users_hand_in_is_recognised(given, name):
    assert kind_of(convert(given)).name == name


def test_texts_in_views_keep_the_letters_of_the_model():
    trained = describe(convert({"t": ["to be", "or not"]}))
    new = convert({"t": ["ACGT"]}, trained)
    assert describe(new) == trained
    assert describe(convert({"t": ["ACGT"]})) != trained


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames_are_views_where_kernels_name_columns(package):
    frame = pytest.importorskip(package).DataFrame({"size": [1.0, 2.0], "text": ["a b", "c"]})
    assert kind_of(convert(frame, by_name=True)).name == "views"
    assert convert(frame) is frame


def test_a_kind_enters_once():
    with pytest.raises(ValueError, match="There already is a row kind 'table'"):
        register(KINDS["table"])
    with pytest.raises(ValueError, match="no row kind 'graphs'; known are sequences"):
        named("graphs")
    assert isinstance(KINDS["table"], RowKind)


FORMER = {"sequences": WORDS, "lattices": ROWS["lattices"][0], "csr": ROWS["table"][1]}


@pytest.mark.parametrize("type_", FORMER)
def test_rows_of_former_files(type_):
    rows = FORMER[type_]
    writer = Writer()
    state = writer.node(rows)["state"]
    arrays = {key: part["tensor"] for key, part in state.items() if isinstance(part, dict) and "tensor" in part}
    node = {"type": type_, **state, **arrays}
    assert same(Reader(writer.tensors).value(node), rows)
    views = {"type": "views", "blocks": [["first", node]]}
    assert same(Reader(writer.tensors).value(views)["first"], rows)


def test_descriptions_of_former_files():
    from kernelweave.estimators.files.tree import _present

    views = Views({"size": TABLE, "words": WORDS})
    alphabets = {"size": 2, "words": WORDS.alphabet}
    assert _present({"_alphabets": alphabets, "reference_": views})["_input"] == describe(views)
    assert _present({"_alphabets": {"": WORDS.alphabet}, "reference_": WORDS})["_input"] == describe(WORDS)
    found = _present({"_alphabets": None, "reference_": TABLE, "n_features_in_": 2})
    assert found["_input"] == Description("table", 2)
    assert _present({"_input": 1}) == {"_input": 1}
