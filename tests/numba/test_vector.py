"""Maxima and copies by vector instructions."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from kernelweave._numba import jit
from kernelweave._numba.vector import LANES, copy_items, largest

RNG = np.random.default_rng(0)


@jit
def top_of(numbers, groups):
    return largest(numbers, groups)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("groups", [1, 2, 7, 32])
def test_the_largest_number_wherever_it_stands(dtype, groups):
    size = LANES * groups
    numbers = RNG.normal(size=size + LANES).astype(dtype)
    numbers[size:] = np.inf  # not looked at
    for place in range(size):
        at = np.roll(numbers[:size], place - int(numbers[:size].argmax()))
        assert top_of(np.concatenate([at, numbers[size:]]), groups) == at[place]


def test_the_largest_among_infinities():
    numbers = np.full(4 * LANES, -np.inf)
    assert top_of(numbers, 4) == -np.inf
    numbers[37] = -3.0
    assert top_of(numbers, 4) == -3.0
    numbers[60] = np.inf
    assert top_of(numbers, 4) == np.inf


@jit
def copied(source, first, target, at, size):
    copy_items(source, first, target, at, size)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint32, np.float32, np.float64])
@pytest.mark.parametrize(("first", "at", "size"), [(0, 0, 9), (3, 5, 4), (8, 0, 1), (2, 7, 0)])
def test_items_are_copied_and_nothing_beside_them(dtype, first, at, size):
    source, target = np.arange(1, 10).astype(dtype), np.full(12, 77).astype(dtype)
    source.flags.writeable = False
    expected = target.copy()
    expected[at : at + size] = source[first : first + size]
    copied(source, first, target, at, size)
    np.testing.assert_array_equal(target, expected)


def test_items_of_another_type_or_place_are_not_copied():
    for source, target in ((np.zeros(4), np.zeros(4, np.float32)), (np.zeros(8)[::2], np.zeros(4))):
        with pytest.raises(numba.TypingError):
            copied(source, 0, target, 0, 4)


def test_rows_of_several_words_are_copied_whole():
    source, target = RNG.integers(9, size=(6, 3)), np.zeros((5, 3), np.int64)
    copied(source, 2, target, 1, 3)
    np.testing.assert_array_equal(target, np.concatenate([np.zeros((1, 3)), source[2:5], np.zeros((1, 3))]))
