"""Four items at once, and integers that two threads change."""

import threading

import numpy as np
import pytest

from kernelweave._numba import jit
from kernelweave._numba.atomic import claim, load, store
from kernelweave._numba.lanes import add_four, fetch


@jit
def four(items, at, each, one, place):  # type: ignore[no-untyped-def]
    fetch(items, at)
    add_four(items, at, each, one, place)


@jit
def take_turns(turns, own, found):  # type: ignore[no-untyped-def]
    """Claim numbers until 20,000 are gone; mark those claimed."""
    while True:
        number = load(turns, 0)
        if number == len(found):
            return
        if claim(turns, 0, number):
            found[number] += own
            store(turns, own, load(turns, own) + 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", range(4))
def test_four_items(dtype, place):
    items = np.arange(9, dtype=dtype)
    four(items, 3, dtype(0.5), dtype(2.0), place)
    expected = np.arange(9, dtype=dtype)
    expected[3:7] += 0.5
    expected[3 + place] += 2.0
    np.testing.assert_array_equal(items, expected)


def test_each_number_is_claimed_once():
    turns, found = np.zeros(3, np.int64), np.zeros(20_000, np.int64)
    threads = [threading.Thread(target=take_turns, args=(turns, own, found)) for own in (1, 2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert turns[0] == len(found) == turns[1] + turns[2]
    assert [np.count_nonzero(found == own) for own in (1, 2)] == turns[1:].tolist()
