"""The block of sparse rows against dense tables."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from kernelweave._numba.csr import CSR, coded, interleaved, stacked

rng = np.random.default_rng(6)
N, WIDTH = 17, 9
TABLE = rng.normal(size=(N, WIDTH)) * (rng.random((N, WIDTH)) < 0.4)
TABLE[3] = 0.0


CHOICES = [
    slice(2, 9),
    slice(5, 5),
    slice(9, 2),
    slice(None, None, -2),
    slice(-4, 99),
    [4, 4, 0],
    np.arange(N) % 3 == 0,
]


def block(table, words=None):
    found = sparse.csr_array(table)
    columns = found.indices.astype(np.uint32) if words is None else np.repeat(found.indices[:, None], words, axis=1)
    return CSR(columns, found.data, found.indptr.astype(np.int64))


@pytest.mark.parametrize("words", [None, 1, 3])
@pytest.mark.parametrize("rows", CHOICES, ids=str)
def test_some_of_the_rows(rows, words):
    some = block(TABLE, words)[rows]
    expected = block(TABLE[rows], words)
    for mine, theirs in zip(some.arrays(), expected.arrays(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert (len(some), some.codes.shape[1]) == (len(TABLE[rows]), words or 1)


def test_lengths_and_factors():
    rows, factors = block(TABLE), rng.normal(size=N)
    np.testing.assert_allclose(rows.diagonal(), (TABLE**2).sum(axis=1))
    np.testing.assert_allclose(rows.times(factors).dense(WIDTH), TABLE * factors[:, None])
    np.testing.assert_allclose(rows.times(2.0).dense(WIDTH), 2.0 * TABLE)
    lengths = np.linalg.norm(TABLE, axis=1, keepdims=True)
    np.testing.assert_allclose(rows.unit().dense(WIDTH), TABLE / np.where(lengths > 0, lengths, 1.0))
    assert rows.astype(np.float32).values.dtype == np.float32


def test_products():
    rows, w, span, offsets = block(TABLE), rng.normal(size=WIDTH), slice(4, 12), np.array([0, 2, 2, WIDTH])
    out, coef = np.ones(8), rng.normal(size=N)
    rows.outputs(w, span, out)
    np.testing.assert_allclose(out, 1.0 + TABLE[span] @ w)
    chosen, out = np.array([3, 0, 3]), np.ones(3)
    rows.some_outputs(w, chosen, out)
    np.testing.assert_allclose(out, 1.0 + TABLE[chosen] @ w)
    np.testing.assert_allclose(rows.vector(chosen, np.array([1.0, 2.0, 3.0]), WIDTH), TABLE[chosen].T @ [1.0, 2.0, 3.0])
    out = np.ones(WIDTH)
    rows.correlate(coef, span, out)
    np.testing.assert_allclose(out, 1.0 + TABLE[span].T @ coef[span])
    each, squares = np.ones((3, 8)), np.empty((3, 8))
    rows.each(offsets, w, span, each)
    rows.squares(offsets, span, squares)
    for k, (a, b) in enumerate(pairwise(offsets)):
        np.testing.assert_allclose(each[k], 1.0 + TABLE[span, a:b] @ w[a:b])
        np.testing.assert_allclose(squares[k], (TABLE[span, a:b] ** 2).sum(axis=1))


def test_blocks_are_put_together():
    rows = block(TABLE, 1)
    again = stacked([rows[:5], rows[5:5], rows[5:]])
    for mine, theirs in zip(again.arrays(), rows.arrays(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(coded(TABLE).dense(WIDTH), TABLE)
    other = block(np.roll(TABLE, 1, axis=0))
    both = interleaved(
        CSR(2 * rows.columns[:, 0], rows.values, rows.starts), CSR(2 * other.columns + 1, other.values, other.starts)
    )
    table = np.zeros((N, 2 * WIDTH))
    table[:, ::2], table[:, 1::2] = TABLE, np.roll(TABLE, 1, axis=0)
    for mine, theirs in zip(both.arrays(), block(table).arrays(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
