"""Digit sorts and hash tables against NumPy and dictionaries."""

import numpy as np
import pytest

from kernelweave._numba.hashing import line_of, line_of_words, move_lines
from kernelweave._numba.sorting import FEW, MANY, bit_length, sort_carrying, sort_codes, sort_order

rng = np.random.default_rng(5)
SIZES = [0, 1, 2, FEW, FEW + 1, 500, MANY - 1, MANY, 3 * MANY]


@pytest.mark.parametrize("bits", [0, 1, 7, 8, 13, 40, 63])
@pytest.mark.parametrize("n", SIZES)
def test_codes_are_sorted_and_equal_ones_keep_their_order(n, bits):
    codes = rng.integers(0, max(1, 2**bits - 1), n, endpoint=True) if bits else np.zeros(n, np.int64)
    codes[: n // 2] >>= bits // 2  # many with the same high digits
    order = np.argsort(codes, kind="stable")
    np.testing.assert_array_equal(sort_order(codes, bits), order)
    kept, carried = sort_carrying(codes.copy(), np.arange(n, dtype=np.int32), bits)
    np.testing.assert_array_equal(kept, codes[order])
    np.testing.assert_array_equal(carried, order)
    np.testing.assert_array_equal(sort_codes(codes.copy(), np.empty_like(codes), n, bits)[:n], codes[order])


def test_digits_of_a_number():
    numbers = [0, 1, 2, 3, 255, 256, 2**62, 2**63 - 1]
    assert [bit_length(number) for number in numbers] == [number.bit_length() for number in numbers]


@pytest.mark.parametrize("words", [1, 2, 3])
def test_every_key_has_its_own_line(words):
    keys = np.unique(rng.integers(0, 50, (200, words)), axis=0)
    lines = np.full((512, words + 1), -1, np.int64)
    for i in range(len(keys)):
        at = line_of_words(keys, i, lines)
        assert lines[at, words] == -1
        lines[at] = [*keys[i], i]
    larger = np.full((2048, words + 1), -1, np.int64)
    move_lines(lines, larger)
    for table in (lines, larger):
        assert (table[:, -1] >= 0).sum() == len(keys)
        for i in range(len(keys)):
            assert table[line_of_words(keys, i, table), words] == i
            if words == 1:
                assert table[line_of(keys[i, 0], table), 1] == i
