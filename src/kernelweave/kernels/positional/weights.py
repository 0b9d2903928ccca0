"""What the loops over pairs know of a weighted-degree kernel, worked out once for each length of rows."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from kernelweave._numba.bits import WORD, bit_window
from kernelweave.kernels.base import Array


class Plan(NamedTuple):
    """The kernel by diagonals: t = 0, 1, 2, 3, 4, .. stands for x_{i+s} beside y_i with s = 0, 1, -1, 2, -2, ..

    Attributes
    ----------
    reach : (2 S + 1, words) uint64, the letters that a k-mer may touch
    starts : (2 S + 1, words) uint64, where a k-mer may start
    factors : (2 S + 1, length), sqrt(p_i p_{i+s})
    weights : (d,) beta, times p where that is constant
    gains : (d + 1,) sums of beta
    shifts : (S + 1,) m
    walked : whether to walk along runs rather than to count bits
    low, high : the words in which anything can match
    """

    reach: Array
    starts: Array
    factors: Array
    weights: Array
    gains: Array
    shifts: Array
    walked: bool
    low: int
    high: int


def make_plan(weights: Array, places: Array, window: tuple[int, int], shifts: Array) -> Plan:
    """Return the plan for rows of one length.

    Parameters
    ----------
    weights : (d,) beta
    places : (length,) p, zero outside the window
    window : where k-mers may start
    shifts : (S + 1,) m
    """
    return _planned(weights.tobytes(), places.tobytes(), window, shifts.tobytes())


@lru_cache(maxsize=256)  # solvers ask for one column of the same kernel again and again
def _planned(weights_: bytes, places_: bytes, window: tuple[int, int], shifts_: bytes) -> Plan:
    weights, places, shifts = (np.frombuffer(part).copy() for part in (weights_, places_, shifts_))
    length, (start, stop) = len(places), window
    reach, starts, factors = [], [], []
    for offset in [0, *(sign * s for s in range(1, len(shifts)) for sign in (1, -1))]:
        begin, end = max(start, start - offset), min(stop, stop - offset)
        end = max(begin, end)
        beside = np.zeros(length)
        beside[begin:end] = places[begin + offset : end + offset]
        factors.append(np.sqrt(places * beside))
        starts.append(bit_window(length, begin, end))
        reach.append(bit_window(length, begin, min(length, end + len(weights) - 1) if end > begin else begin))
    inside = places[start:stop]
    even = bool(np.all(inside == inside[:1]))
    return Plan(
        reach=np.array(reach),
        starts=np.array(starts),
        factors=np.array(factors),
        weights=weights * inside[0] if even and len(inside) else weights,
        gains=np.concatenate([[0.0], np.cumsum(weights)]),
        shifts=shifts,
        walked=not even or len(weights) > WORD,
        low=start // WORD,
        high=min(max(1, -(-length // WORD)), (stop + len(weights) - 2) // WORD + 1),
    )
