"""Transducers that count: T(x, z) is the value of the feature z in the string x.

A counter reads the letters before a window and writes nothing, copies the window, and reads the rest:

    ngram           0 --a:a--> 1 --a:a--> .. --a:a--> n       a:eps/1 around 0 and around n
    gappy           the same, and a:eps/decay around 1 .. n - 1
    mismatch        state (i, j): i letters read, j of them written as another letter;  a:b to (i + 1, j + 1)

A masked letter is read where nothing is written, so that it is in no window but keeps its place between windows.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from kernelweave.automata.base import EPSILON, Array, Transducer, sorted_by_source
from kernelweave.automata.build import as_alphabet
from kernelweave.data.strings.alphabet import Alphabet


def ngram_counter(alphabet: Any, n: int) -> Transducer:
    """Return the transducer whose weight of (x, z) is how often the n-gram z occurs in x.

    Parameters
    ----------
    alphabet : Alphabet, a ready name ("dna", ..), or a text of letters
    n : letters of a feature, at least 1

    Examples
    --------
    >>> from kernelweave.automata import string_weight
    >>> string_weight(ngram_counter("ab", 2), "ababa", "ab")
    2.0
    """
    letters = _alphabet(alphabet)
    _check_count("n", n, 1)
    arcs = [_skip(letters, 0, 0, 1.0), *(_copy(letters, i, i + 1) for i in range(n)), _skip(letters, n, n, 1.0)]
    return _made(arcs, n, letters)


def gappy_ngram_counter(alphabet: Any, n: int, decay: float, max_gap: int | None = None) -> Transducer:
    """Return the transducer that sums decay^(letters skipped) over all places where x spells z with gaps.

    Parameters
    ----------
    alphabet : Alphabet, a ready name ("dna", ..), or a text of letters
    n : letters of a feature, at least 1
    decay : weight of a letter that is skipped between the first and the last of the feature
    max_gap : most letters skipped between two neighbours; None for any number

    Examples
    --------
    >>> from kernelweave.automata import string_weight
    >>> T = gappy_ngram_counter("ab", 2, 0.5)
    >>> string_weight(T, "abb", "ab")  # once side by side, once over a gap of one letter
    1.5
    """
    letters = _alphabet(alphabet)
    _check_count("n", n, 1)
    if not np.isfinite(decay) or decay < 0:
        raise ValueError(f"decay={decay!r} must be a finite number that is not negative.")
    if max_gap is not None:
        _check_count("max_gap", max_gap, 0)
    if decay == 0 or max_gap == 0:
        return ngram_counter(letters, n)
    width = 1 if max_gap is None else max_gap + 1  # states after each letter: how many were skipped since
    last = 1 + (n - 1) * width
    arcs = [_skip(letters, 0, 0, 1.0), _copy(letters, 0, 1), _skip(letters, last, last, 1.0)]
    for i in range(n - 1):
        here = 1 + i * width
        for skipped in range(width):
            arcs.append(_copy(letters, here + skipped, here + width))
            if max_gap is None:
                arcs.append(_skip(letters, here, here, decay))
            elif skipped < max_gap:
                arcs.append(_skip(letters, here + skipped, here + skipped + 1, decay))
    return _made(arcs, last, letters)


def mismatch_counter(alphabet: Any, k: int, m: int) -> Transducer:
    """Return the transducer whose weight of (x, z) is how many k-mers of x differ from z in at most m letters.

    Parameters
    ----------
    alphabet : Alphabet, a ready name ("dna", ..), or a text of letters
    k : letters of a feature, at least 1
    m : most letters that may differ

    Examples
    --------
    >>> from kernelweave.automata import string_weight
    >>> string_weight(mismatch_counter("dna", 3, 1), "ACGACC", "ACC")
    2.0
    """
    letters = _alphabet(alphabet)
    _check_count("k", k, 1)
    _check_count("m", m, 0)
    most = min(m, k - 1)  # in front of the last letter; the last state forgets how many there were
    state = {(i, j): 0 for i in range(k) for j in range(min(i, most) + 1)}
    state = {pair: number for number, pair in enumerate(state)}
    end = len(state)
    arcs = [_skip(letters, 0, 0, 1.0), _skip(letters, end, end, 1.0)]
    for (i, j), here in state.items():
        arcs.append(_copy(letters, here, state.get((i + 1, j), end)))
        if j < m:
            arcs.append(_swap(letters, here, state.get((i + 1, j + 1), end)))
    return _made(arcs, end, letters)


def _alphabet(alphabet: Any) -> Alphabet:
    chosen = as_alphabet(alphabet)
    if chosen is None:
        raise ValueError("A counting transducer needs an alphabet, to know which letters there are.")
    return chosen


def _check_count(name: str, value: Any, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ValueError(f"{name}={value!r} must be an integer of at least {least}.")


def _copy(alphabet: Alphabet, source: int, target: int) -> tuple[Array, ...]:
    codes = np.arange(alphabet.size)
    return _arcs(source, target, codes, codes, 1.0)


def _skip(alphabet: Alphabet, source: int, target: int, weight: float) -> tuple[Array, ...]:
    codes = np.arange(alphabet.size + 1)  # the last one is the masked letter
    return _arcs(source, target, codes, np.full(len(codes), EPSILON), weight)


def _swap(alphabet: Alphabet, source: int, target: int) -> tuple[Array, ...]:
    read, write = (side.ravel() for side in np.indices((alphabet.size, alphabet.size)))
    return _arcs(source, target, read[read != write], write[read != write], 1.0)


def _arcs(source: int, target: int, read: Array, write: Array, weight: float) -> tuple[Array, ...]:
    return np.full(len(read), source), np.full(len(read), target), read, write, np.full(len(read), float(weight))


def _made(arcs: list[tuple[Array, ...]], end: int, alphabet: Alphabet) -> Transducer:
    finals = np.zeros(end + 1)
    finals[end] = 1.0
    source, target, read, write, weights = (np.concatenate(column) for column in zip(*arcs))
    return sorted_by_source(source, target, read, write, weights, finals, alphabet)
