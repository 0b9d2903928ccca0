from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from kernelweave.data import Sequences, Views, select

TABLE = np.arange(12.0).reshape(4, 3)


def views() -> Views:
    return Views(
        {
            "table": TABLE,
            "counts": sparse.csr_array(np.eye(4)),
            "dna": Sequences.from_strings(["A", "CC", "G", "TT"]),
            "size": [1, 2, 3, 4],
        }
    )


def test_shape_names_and_blocks() -> None:
    X = views()
    assert X.shape == (4, 4)
    assert len(X) == 4
    assert X.names == ("table", "counts", "dna", "size")
    assert X["size"].shape == (4, 1)
    assert "dna" in X
    assert "rna" not in X
    assert dict(X.items())["dna"] is X["dna"]


@pytest.mark.parametrize("rows", [[2, 0], np.array([2, 0]), slice(None, None, 2), [True, False, True, False]])
def test_rows_are_chosen_in_every_block(rows: object) -> None:
    X, numbers = views(), np.arange(4)[rows]
    part = X[rows]
    np.testing.assert_array_equal(part["table"], TABLE[numbers])
    np.testing.assert_array_equal(part["counts"].toarray(), np.eye(4)[numbers])
    assert part["dna"] == X["dna"][numbers]
    assert part == X[rows, ...]
    assert part != X


def test_one_row_stays_a_row() -> None:
    assert views()[1].shape == (1, 4)
    assert views()[-1]["dna"].to_strings() == ["TT"]


def test_scikit_learn_splits_them() -> None:
    A, B = train_test_split(views(), test_size=1, random_state=0)
    assert (len(A), len(B)) == (3, 1)
    assert _safe_indexing(views(), [3, 1])["size"].ravel().tolist() == [4, 2]


def test_from_frame() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    X = Views.from_frame(frame)
    assert X.names == ("a", "b")
    np.testing.assert_array_equal(X["b"], [[3], [4]])
    np.testing.assert_array_equal(select(frame, ["b", "a"]), [[3, 1], [4, 2]])
    np.testing.assert_array_equal(select(frame, 1), [[3], [4]])


@pytest.mark.parametrize(
    ("key", "columns"),
    [
        (1, [1]),
        (-1, [2]),
        ([2, 0], [2, 0]),
        (slice(1, None), [1, 2]),
        (np.array([True, False, True]), [0, 2]),
        ([True, False, True], [0, 2]),
    ],
)
def test_select_columns(key: object, columns: list[int]) -> None:
    np.testing.assert_array_equal(select(TABLE, key), TABLE[:, columns])
    np.testing.assert_array_equal(select(TABLE.tolist(), key), TABLE[:, columns])
    for make in (sparse.csr_array, sparse.csr_matrix, sparse.coo_array):
        part = select(make(TABLE), key)
        assert part.format == "csr"
        np.testing.assert_array_equal(part.toarray(), TABLE[:, columns])


def test_select_views() -> None:
    X = views()
    assert select(X, "dna") is X["dna"]
    np.testing.assert_array_equal(select(X, ["size", "table"]), np.hstack([X["size"], TABLE]))
    stacked = select(X, ["table", "counts"])
    np.testing.assert_array_equal(stacked.toarray(), np.hstack([TABLE, np.eye(4)]))
    np.testing.assert_array_equal(select({"a": TABLE}, "a"), TABLE)


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: Views({"a": TABLE, "b": TABLE[:2]}), ValueError, "same number of rows, but 'a' has 4, 'b' has 2"),
        (lambda: Views({}), ValueError, "at least one named block"),
        (lambda: Views({1: TABLE}), TypeError, "named by a string, not by 1"),
        (lambda: Views({"a": np.array([1j, 2j])}), TypeError, "View 'a' holds .* wrapped by Sequences"),
        (lambda: Views({"a": [[1], [1, 2]]}), ValueError, "View 'a' has rows of different lengths"),
        (lambda: Views({"a": np.zeros((2, 2, 2))}), ValueError, "View 'a' has 3 dimensions"),
        (lambda: views()["x"], KeyError, "no view 'x'; known names are table, counts, dna, size"),
        (lambda: views()[9], IndexError, "Row 9 does not exist"),
        (lambda: views()[0, 1], IndexError, "indexed by a name or by rows"),
        (lambda: select(views(), "x"), ValueError, "no view 'x'; known names are table"),
        (lambda: select(views(), ["dna", "size"]), TypeError, "'dna' holds sequences and cannot be put side by side"),
        (lambda: select(views(), 0), TypeError, "selected by name, not by 0; known names are table"),
        (lambda: select(TABLE, "a"), TypeError, "view 'a' was asked for, but X is a ndarray"),
        (lambda: select(TABLE, 3), ValueError, "Column 3 does not exist: the table has 3 columns"),
        (lambda: select(TABLE, [0, -4]), ValueError, "Column -4 does not exist"),
        (lambda: select(TABLE, [True]), ValueError, "mask has 1 entries for 3 columns"),
        (lambda: select(TABLE, []), ValueError, "No columns are selected"),
        (lambda: select(TABLE, 0.5), TypeError, "Columns are selected by integers"),
        (lambda: select(TABLE, True), TypeError, "Columns are selected by integers"),
        (lambda: select(TABLE[0], 0), ValueError, "two-dimensional table, but X has shape"),
        (lambda: select(views()["dna"], 0), TypeError, "but X is Sequences"),
        (lambda: select(pd.DataFrame({"a": [1]}), "b"), ValueError, "no view 'b'; known names are a"),
    ],
)
def test_bad_input(make: object, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        make()
