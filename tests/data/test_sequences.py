from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, train_test_split
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from kernelweave.data import Alphabet, Sequences

dna_rows = st.lists(st.text("ACGT", max_size=12), max_size=12)
fixed_rows = st.integers(0, 5).flatmap(lambda n: st.lists(st.text("ACGT", min_size=n, max_size=n), max_size=9))
any_rows = dna_rows | fixed_rows


def build(rows: list[str]) -> Sequences:
    return Sequences.from_strings(rows, ids=[f"r{i}" for i in range(len(rows))])


@given(any_rows)
def test_round_trip(rows: list[str]) -> None:
    X = build(rows)
    assert X.to_strings() == rows == list(X)
    assert len(X) == len(rows)
    assert X.lengths.tolist() == [len(row) for row in rows]
    assert pickle.loads(pickle.dumps(X)) == X
    fixed = len({len(row) for row in rows}) == 1
    assert X.is_fixed_length == fixed
    assert X.shape == ((len(rows), len(rows[0])) if fixed else (len(rows),))


@given(st.lists(st.text()))
def test_round_trip_of_text(rows: list[str]) -> None:
    assert Sequences.from_strings(rows, alphabet="bytes").to_strings() == rows


@given(st.lists(st.lists(st.sampled_from(["to", "be", "or", "naïve"]), max_size=5), min_size=1))
def test_round_trip_of_words(rows: list[list[str]]) -> None:
    if not any(rows):
        rows = [*rows, ["be"]]
    X = Sequences.from_tokens(rows)
    assert X.to_strings() == [" ".join(row) for row in rows]
    assert list(X.alphabet.letters) == sorted({word for row in rows for word in row})


@given(any_rows, st.data())
def test_indexes_like_a_list(rows: list[str], data: st.DataObject) -> None:
    X, n = build(rows), len(rows)
    part = data.draw(st.slices(n))
    assert X[part].to_strings() == rows[part]
    assert X[part].ids.tolist() == [f"r{i}" for i in range(n)][part]
    mask = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    expected = [row for row, keep in zip(rows, mask) if keep]
    assert X[np.array(mask, bool)].to_strings() == X[np.array(mask, bool), ...].to_strings() == expected
    if n:
        numbers = data.draw(st.lists(st.integers(-n, n - 1)))
        assert X[numbers].to_strings() == X[np.array(numbers, np.int32)].to_strings() == [rows[i] for i in numbers]
        i = data.draw(st.integers(-n, n - 1))
        assert X[i] == X[np.int64(i)] == X[i, ...] == rows[i]


@given(any_rows)
def test_reverse_complement(rows: list[str]) -> None:
    X = build(rows)
    turned = X.reverse_complement()
    table = str.maketrans("ACGT", "TGCA")
    assert turned.to_strings() == [row[::-1].translate(table) for row in rows]
    assert turned.reverse_complement() == X


def test_reverse_complement_keeps_masks_and_needs_partners() -> None:
    X = Sequences.from_strings(["ANG", "T"], unknown="mask")
    assert X.reverse_complement().to_strings() == ["CNT", "A"]
    with pytest.raises(ValueError, match="protein alphabet has no complement"):
        Sequences.from_strings(["MK"], alphabet="protein").reverse_complement()


@given(st.lists(any_rows, min_size=1, max_size=4))
def test_concatenate(parts: list[list[str]]) -> None:
    X = Sequences.concatenate([build(rows) for rows in parts])
    assert X.to_strings() == [row for rows in parts for row in rows]
    assert X.ids.size == len(X)
    assert Sequences.concatenate([X, Sequences.from_strings(["A"])]).ids is None


def test_concatenate_wants_one_alphabet() -> None:
    with pytest.raises(ValueError, match=r"Part 1 is over .*rna"):
        Sequences.concatenate([build(["A"]), Sequences.from_strings(["A"], alphabet="rna")])


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("rows", [["ACGT", "AC", ""], ["AC", "GT"], []])
def test_saved_and_opened(tmp_path: Path, rows: list[str], mmap: bool) -> None:
    X = build(rows)
    X.save(tmp_path / "x.kwseq")
    Y = Sequences.open(tmp_path / "x.kwseq", mmap=mmap)
    assert Y == X
    assert Y[::-1].to_strings() == rows[::-1]
    assert pickle.loads(pickle.dumps(Y)) == X
    assert [p.name for p in tmp_path.iterdir()] == ["x.kwseq"]


def test_mapped_letters_stay_on_disk(tmp_path: Path) -> None:
    X = Sequences.from_tokens([["über", "x"], ["x"]])
    X.save(tmp_path / "x.kwseq")
    Y = Sequences.open(tmp_path / "x.kwseq")
    assert Y == X
    base = Y.codes
    while isinstance(base.base, np.ndarray):
        base = base.base
    assert isinstance(base, np.memmap)


@pytest.mark.parametrize("rows", [["ACGT"] * 30, ["ACGT", "A", "CC"] * 10])
def test_scikit_learn_splits_them(rows: list[str]) -> None:
    X, y = build(rows), np.arange(30) % 2
    assert _num_samples(X) == 30
    indexable(X, y)
    A, B, yA, yB = train_test_split(X, y, stratify=y, random_state=0)
    assert isinstance(A, Sequences)
    assert sorted(A.ids.tolist() + B.ids.tolist()) == sorted(X.ids.tolist())
    assert [int(name[1:]) % 2 for name in A.ids] == yA.tolist()
    assert len(B) == len(yB)
    for train, test in KFold(3).split(X):
        assert _safe_indexing(X, test).to_strings() == [rows[i] for i in test]
        keep = np.zeros(30, bool)
        keep[train] = True
        assert _safe_indexing(X, keep) == _safe_indexing(X, train) == _safe_indexing(X, train.tolist())


def test_a_mask_is_a_code_of_its_own() -> None:
    X = Sequences.from_strings(["ANA", "NNN"], unknown="mask")
    assert X.matrix.tolist() == [[0, 255, 0], [255, 255, 255]]
    assert X.alphabet.mask == 255
    assert X.to_strings() == ["ANA", "NNN"]


def test_immutable() -> None:
    X = build(["ACG", "TTT"])
    with pytest.raises(ValueError, match="read-only"):
        X.codes[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        X[[1]].matrix[0, 0] = 1
    with pytest.raises(TypeError):
        hash(X)


def test_equality_looks_at_letters_alphabet_and_ids() -> None:
    X = build(["ACG", "TTT"])
    assert build(["ACG", "TTT"]) == X
    assert build(["ACG", "TTA"]) != X
    assert Sequences.from_strings(["ACG", "TTT"]) != X
    assert Sequences.from_strings(["ACG"]) != Sequences.from_strings(["ACG"], alphabet="protein")
    assert X != ["ACG", "TTT"]


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (
            lambda: Sequences.from_strings(["ACG", "AXG"]),
            ValueError,
            "Row 1 has the unknown letter 'X' at position 1; the dna",
        ),
        (lambda: Sequences.from_strings("ACG"), TypeError, "Expected a list of strings, got a single string"),
        (lambda: Sequences.from_strings(["A", 3.0]), TypeError, "Row 1 is a float, expected a string"),
        (lambda: Sequences.from_strings(["A"], ids=["a", "b"]), ValueError, "There are 2 ids for 1 rows"),
        (lambda: Sequences.from_strings(["A"], unknown="x"), ValueError, "unknown='x' is not valid"),
        (lambda: build(["A", "CC"]).matrix, ValueError, "Rows of equal length are needed, but the 2 rows have 1 to 2"),
        (lambda: build(["A"])[1], IndexError, "Row 1 does not exist: there are 1 rows"),
        (lambda: build(["A"])[[0, -2]], IndexError, "Row -2 does not exist"),
        (lambda: build(["A"])[[True, False]], IndexError, "mask has 2 entries for 1 rows"),
        (lambda: build(["A"])[[0.5]], IndexError, "Rows are chosen by integers"),
        (lambda: build(["A"])[0, 0], IndexError, "indexed by rows only"),
        (lambda: Sequences.concatenate([]), ValueError, "Nothing to concatenate"),
        (lambda: Sequences(np.zeros(3, np.int64), [0, 3], Alphabet.named("dna")), TypeError, "flat array of uint8"),
        (lambda: Sequences(np.zeros(3, np.uint8), [0, 2], Alphabet.named("dna")), ValueError, "rise from 0 to"),
        (
            lambda: Sequences(np.full(3, 7, np.uint8), [0, 3], Alphabet.named("dna")),
            ValueError,
            "Code 7 is not a letter",
        ),
    ],
)
def test_bad_input(make: object, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        make()


def test_damaged_store(tmp_path: Path) -> None:
    path = tmp_path / "x.kwseq"
    build(["ACGT" * 100, "A"]).save(path)
    whole = path.read_bytes()
    for cut in (len(whole) - 1, 100, 12, 3, 0):
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=r"is damaged|is not a file of saved sequences"):
            Sequences.open(path)
