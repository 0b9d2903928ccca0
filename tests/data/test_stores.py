"""Rows on disk are the rows in memory, and a store appears whole or not at all."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

import kernelweave as kw
from kernelweave.data import Alphabet, Lattices, Sequences, Views
from kernelweave.data.kinds import describe, find, kind_of
from kernelweave.data.stores import PART_ROWS_STORED, Stored, StoreWriter, in_memory, parts_of, write_store
from oracles.packing import packed_rows, unpacked_row

PROTEIN = "".join(Alphabet.named("protein").letters)
WORDS = Sequences.from_tokens([["to", "be"], ["or"], ["not", "to", "be"], [], ["or", "or"]], ids=list("abcdé"))
MIXED = ["ACGTNAC", "", "NN", "GGCAT", "ACN", "T", "NACGTACGTN"]
MANY = Alphabet("many", [chr(1000 + i) for i in range(255)])
ROWS = {
    "dna of one length": Sequences.from_strings(["ACGTA", "GGCAT", "NTTAN", "CCCCC", "ACGTN"], unknown="mask"),
    "dna of many lengths": Sequences.from_strings(MIXED, unknown="mask"),
    "empty rows": Sequences.from_strings(["", "", ""]),
    "two letters": Sequences.from_strings(["abbab", "b", "aaxaaaaaab"], Alphabet("two", "ab"), unknown="mask"),
    "one letter": Sequences.from_strings(["aa", "a-a"], Alphabet("one", "a"), unknown="mask"),
    "seven letters": Sequences.from_strings(["abc", "gfe?"], Alphabet("seven", "abcdefg"), unknown="mask"),
    "protein": Sequences.from_strings(["ACDX", "YW"], "protein", unknown="mask"),
    "bytes": Sequences.from_strings(["to be", "é"], "bytes"),
    "255 letters": Sequences.from_strings([chr(1000) + "?", chr(1254) + chr(1001)], MANY, unknown="mask"),
    "words": WORDS,
    "lattices": Lattices.from_sequences(WORDS),
}
TABLE = np.arange(15.0).reshape(5, 3) % 4
TABLES = {
    "float64": TABLE,
    "float32": TABLE.astype(np.float32),
    "int32": TABLE.astype(np.int32),
    "bool": TABLE > 1,
    "no columns": TABLE[:, :0],
    "csr_array": sparse.csr_array(TABLE),
    "csr_matrix": sparse.csr_matrix(TABLE.astype(np.float32)),
}
each_case = pytest.mark.parametrize("X", ROWS.values(), ids=ROWS.keys())


def stored(path, X, y=None, part_rows=2, **options):
    with StoreWriter(path, part_rows=part_rows) as writer:
        writer.add(X, y, **options)
    return Stored(path)


def interrupted(path):
    with StoreWriter(path, part_rows=1) as writer:
        writer.add(WORDS[:3])
        writer.add(WORDS[3:4], [1, 2])


@each_case
def test_rows_on_disk_are_the_rows_in_memory(X, tmp_path):
    S = stored(tmp_path / "x.kws", X)
    n = len(X)
    assert S[:] == X
    assert len(S) == n
    assert S.shape == X.shape
    assert list(S) == list(X)
    assert [S[i] for i in (0, -1)] == [X[0], X[-1]]
    for rows in (slice(1, None), slice(None, None, -2), slice(0, 0), np.arange(n)[::-1], [n - 1, 0, n - 1], [-1], []):
        assert S[rows] == X[rows]
    assert S[np.arange(n) % 2 == 0] == X[np.arange(n) % 2 == 0]
    assert S[[0], ...] == X[[0], ...]


@each_case
def test_a_store_is_of_the_kind_of_its_rows(X, tmp_path):
    S = stored(tmp_path / "x.kws", X)
    assert describe(S) == describe(X)
    assert find(S) is not None
    kind, inner = kind_of(S), kind_of(X)
    assert (kind.name, kind.family, kind.noun) == (inner.name, inner.family, inner.noun)
    assert kind.letters(S) == inner.letters(X)
    assert kind.alphabet(S) == S.alphabet == X.alphabet
    assert kind.summary(S).startswith(f"{len(X)} {inner.name}")
    assert kind.concatenate([S, S]) == inner.concatenate([X, X])


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


@pytest.mark.parametrize("X", TABLES.values(), ids=TABLES.keys())
def test_tables_on_disk_are_the_tables_in_memory(X, tmp_path):
    S = stored(tmp_path / "x.kws", X)
    assert S.shape == X.shape
    assert S.ndim == 2
    for rows in (slice(None), slice(1, 4), slice(None, None, -2), slice(0, 0), [4, 0, 4], np.arange(5) % 2 == 0):
        found = S[rows]
        assert kind_of(found).name == "table"
        assert hasattr(found, "tocsr") == hasattr(X, "tocsr")
        assert np.array_equal(dense(found), dense(X[rows]))
    assert describe(S) == describe(X)
    kind = kind_of(S)
    kind.check(S, "input")
    assert kind.tabular
    assert kind.alphabet(S) is None
    assert kind.summary(S) == f"5 rows of {X.shape[1]} columns, stored in 3 parts"
    assert np.array_equal(dense(kind.load(kind.save(S))), dense(X))


def test_names_of_columns(tmp_path):
    with StoreWriter(tmp_path / "x.kws", names=["a", "b", "c"]) as writer:
        writer.add(TABLE, ids=list("pqrst"))
    S = Stored(tmp_path / "x.kws")
    assert S.feature_names == ("a", "b", "c")
    assert S.ids.tolist() == list("pqrst")
    assert stored(tmp_path / "y.kws", TABLE).feature_names is None


def test_a_value_that_is_not_finite_is_found_in_its_part(tmp_path):
    X = TABLE.copy()
    X[3, 1] = np.nan
    S = stored(tmp_path / "x.kws", X)
    with pytest.raises(ValueError, match=r"Among rows 2 to 3 of .*x.kws: .*\(first in row 1, column 1\)"):
        kind_of(S).check(S, "input")


def test_rows_that_cannot_be_stored(tmp_path):
    for X, message in (
        (Views({"a": TABLE}), "Rows cannot be stored where they are views"),
        (TABLE.astype(complex), "dtype complex128 cannot be stored"),
        (TABLE[0], r"shape \(3,\)"),
    ):
        with pytest.raises(TypeError, match=message):
            stored(tmp_path / "x.kws", X)
    assert not (tmp_path / "x.kws").exists()


def test_rows_are_read_where_they_fit(tmp_path):
    S = stored(tmp_path / "x.kws", TABLE)
    assert np.array_equal(in_memory(S, 120), TABLE)
    assert in_memory(TABLE, 0) is TABLE
    with pytest.raises(
        MemoryError, match=r"The 5 rows of the store .*x.kws take 1.2e-07 GB in memory, but .*; buy more"
    ):
        in_memory(S, 119, "buy more")


def test_letters_are_packed(tmp_path):
    X, y = kw.datasets.make_splice(2000, random_state=0)
    S = X.to_store(tmp_path / "x.kws", y)
    (part,) = S.manifest.parts
    assert {name: one.size for name, one in part.sections.items()} == {"letters": 2000 * 36, "label_codes": 2000}
    assert S.nbytes == X.codes.nbytes + X.offsets.nbytes
    assert Sequences.from_store(tmp_path / "x.kws") == S


@pytest.mark.parametrize(("letters", "bits"), [("AB", 1), ("ACGT", 2), ("ABCDEFGHIJ", 4), (PROTEIN, 8)])
@pytest.mark.parametrize("length", [1, 3, 4, 7, 16])
def test_packed_letters_are_those_of_the_slow_twin(letters, bits, length, tmp_path):
    rng = np.random.default_rng(length)
    codes = rng.integers(0, len(letters), (6, length)).astype(np.uint8)
    alphabet = Alphabet("some", letters)
    equal = Sequences(codes.reshape(-1), np.arange(7) * length, alphabet)
    sections, _ = kind_of(equal).packing.sections(equal)
    assert sections["letters"].tobytes() == packed_rows(codes.tolist(), bits)
    bounds = np.sort(rng.integers(0, codes.size + 1, 5))
    uneven = Sequences(codes.reshape(-1), np.array([0, *bounds, codes.size]), alphabet)
    data = kind_of(uneven).packing.sections(uneven)[0]["letters"].tobytes()
    S = stored(tmp_path / "x.kws", uneven, part_rows=6)
    for row, (start, size) in enumerate(zip(uneven.offsets, uneven.lengths)):
        assert S[row : row + 1].codes.tolist() == unpacked_row(data, int(start), int(size), bits)


def test_parts_are_cut_by_the_data_alone(tmp_path):
    X = Sequences.from_strings(["ACGT"] * 10)
    with StoreWriter(tmp_path / "a.kws", part_rows=4) as writer:
        for some in (X[:3], X[3:4], X[4:]):
            writer.add(some)
    one, other = Stored(tmp_path / "a.kws"), stored(tmp_path / "b.kws", X, part_rows=4)
    assert one.parts == [slice(0, 4), slice(4, 8), slice(8, 10)]
    assert one.fingerprint == other.fingerprint
    assert one == other
    assert one != stored(tmp_path / "c.kws", X[1:], part_rows=4)
    assert parts_of(one) == one.parts
    assert parts_of(X) == [slice(0, 10)] == X.to_store(tmp_path / "d.kws").parts
    wide = np.zeros((10, 1 << 20))
    assert parts_of(wide)[0] == slice(0, 10)
    assert parts_of(np.broadcast_to(0.0, (1 << 19, 2)))[0] == slice(0, PART_ROWS_STORED)


@pytest.mark.parametrize(
    "y",
    [
        np.array([1, -1, 1, 1, -1]),
        np.array([0.5, 1.5, np.nan, 0.5, 2.0]),
        np.array(["yes", "no", "yes", "maybe", "no"]),
        np.array([True, False, True, True, False]),
        np.array([3, 1, 2, 3, 1], np.uint8),
    ],
    ids=lambda y: str(y.dtype),
)
def test_labels_weights_and_ids(y, tmp_path):
    weight = np.arange(5) / 3
    S = stored(tmp_path / "x.kws", WORDS, y, sample_weight=weight)
    assert np.array_equal(S.y, y, equal_nan=y.dtype.kind == "f")
    assert np.array_equal(S.labels(slice(1, 4)), y[1:4], equal_nan=y.dtype.kind == "f")
    assert np.array_equal(S.labels([0, 3]), y[[0, 3]])
    assert np.array_equal(S.sample_weight, weight)
    assert np.array_equal(S.weights([1, 4]), weight[[1, 4]])
    assert S.ids.tolist() == list("abcdé")
    assert S.names([1, 4]).tolist() == ["b", "é"]
    order = [4, 0, 3, 3]
    assert np.array_equal(S.labels(order), y[order])
    assert S.weights(order).tolist() == weight[order].tolist()
    assert S.names(order).tolist() == ["é", "a", "d", "d"]
    assert [len(S.labels([])), len(S.weights([])), len(S.names(slice(0, 0)))] == [0, 0, 0]
    assert S.take(slice(0, 2), ids=False).ids is None


def test_rows_without_labels_weights_and_ids(tmp_path):
    S = stored(tmp_path / "x.kws", Sequences.from_strings(["AC", "GT"]))
    assert S.y is S.sample_weight is S.ids is None


def test_very_many_labels_are_stored_by_value(tmp_path, monkeypatch):
    monkeypatch.setattr("kernelweave.data.stores.labels.MOST_CLASSES", 3)
    X = Sequences.from_strings(["A"] * 6)
    y = np.array([1.0, 2.0, 1.0, 2.0, 3.0, 4.0])
    S = stored(tmp_path / "x.kws", X, y)
    assert [sorted(part.sections)[0] for part in S.manifest.parts] == ["label_codes", "label_codes", "label_values"]
    assert np.array_equal(S.y, y)
    with pytest.raises(ValueError, match="more than 3 different labels, such as 'c'"):
        stored(tmp_path / "y.kws", X, np.array(list("abcdef")))


def test_pickled_as_a_path(tmp_path):
    S = stored(tmp_path / "x.kws", WORDS)
    data = pickle.dumps(S)
    assert len(data) < 500
    assert pickle.loads(data)[1:] == WORDS[1:]
    stored(tmp_path / "x.kws", WORDS[:3])
    with pytest.raises(ValueError, match=r"The store .*x.kws has changed since these rows were opened"):
        pickle.loads(data)


@pytest.mark.parametrize("part_rows", [1, 2, 3, 100])
@pytest.mark.parametrize("n", [1, 3, 4])
def test_append(n, part_rows, tmp_path):
    y, weight = np.array(["p", "q", "p", "r", "q"]), np.arange(5.0)
    stored(tmp_path / "x.kws", WORDS[:n], y[:n], part_rows, sample_weight=weight[:n])
    with StoreWriter(tmp_path / "x.kws", append=True) as writer:
        assert writer.rows == n
        writer.add(WORDS[n:], y[n:], weight[n:])
    whole = stored(tmp_path / "y.kws", WORDS, y, part_rows, sample_weight=weight)
    S = Stored(tmp_path / "x.kws")
    assert whole == S
    assert S[:] == WORDS
    assert S.y.tolist() == y.tolist()
    assert len(list((tmp_path / "x.kws").iterdir())) == len(S.parts) + 1


def test_what_cannot_be_appended(tmp_path):
    path = tmp_path / "x.kws"
    stored(path, WORDS, [1, 2, 1, 2, 1])
    cases = [
        ((WORDS, None), "have labels, but the new rows have none"),
        ((WORDS, [1] * 5, [1.0] * 5), "have no weights, but the new rows have weights"),
        ((Sequences.from_strings(["A"]), [1]), r"holds sequences of words \(4 of them\), but the new rows are sequ"),
        ((np.eye(2), [1, 2]), "cannot be stored|holds sequences"),
        ((WORDS, [1, 2]), "There are 2 labels for 5 rows"),
        ((WORDS, list("abcde")), "numbers in some rows and texts in others"),
    ]
    for rows, message in cases:
        with pytest.raises((ValueError, TypeError), match=message), StoreWriter(path, append=True) as writer:
            writer.add(*rows)
    assert Stored(path)[:] == WORDS
    assert len(list(path.iterdir())) == 4
    with pytest.raises(FileNotFoundError, match="does not exist"):
        StoreWriter(tmp_path / "none.kws", append=True)
    with pytest.raises(ValueError, match="There are no rows to store"), StoreWriter(tmp_path / "none.kws"):
        pass
    assert not (tmp_path / "none.kws").exists()


def test_a_store_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "x.kws"
    stored(path, WORDS)
    with pytest.raises(ValueError, match="2 labels"):
        interrupted(path)
    assert Stored(path)[:] == WORDS
    assert write_store(path, WORDS[:2])[:] == WORDS[:2]
    assert len(list(path.iterdir())) == 2
    with pytest.raises(ValueError, match="2 labels"):
        interrupted(tmp_path / "new.kws")
    assert not (tmp_path / "new.kws").exists()
