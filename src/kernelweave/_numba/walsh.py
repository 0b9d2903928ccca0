"""Functions of all words of l letters out of four, and their Walsh-Hadamard transform, in place.

A word is a number of l digits in base 4.  A symmetric matrix H over words whose entries depend on the Hamming distance
alone, ``H[u, v] = h[d(u, v)]``, is diagonal in the characters of (Z2 x Z2)^l:

    H = W diag(s) W / 4^l,      W[u, v] = (-1)^(number of bits that u and v share),
    s_u = sum_m h_m K_m(w(u)),  w(u) the number of digits of u that are not zero, K_m the polynomial of Krawtchouk

so that ``H x`` takes two transforms of 4^l additions for each bit.  The table is read three times: the upper digits are
transformed by columns that fit the second-level cache, the lower ones, back and forth, in the first-level cache.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba.jit import jit

Array = np.ndarray
LOWER = 6
"""Digits of the part of a table that fits the first-level cache: 4^6 numbers of 8 bytes."""
COLUMNS = 1 << 15
"""Numbers of the columns that are transformed together; they fit the second-level cache."""
NARROWEST = 8
"""Numbers of a line of the cache."""
EVERY_DIGIT = -1
"""Mask of the digits that count."""


def spectrum(values: Array, letters: int) -> Array:
    """Return s by the number of digits that are not zero, (l + 1,), from h by the distance.

    Examples
    --------
    >>> spectrum([2.0, 1.0], 1)  # [[2, 1, 1, 1], [1, 2, 1, 1], ..]
    array([5., 1.])
    """
    h = np.zeros(letters + 1)
    h[: len(values)] = values[: letters + 1]
    out = np.empty(letters + 1)
    for w in range(letters + 1):
        # The generating function of Krawtchouk's polynomials: (1 - t)^w (1 + 3 t)^(l - w).
        series = np.ones(1)
        for factor in [-1.0] * w + [3.0] * (letters - w):
            series = np.convolve(series, [1.0, factor])
        out[w] = series @ h
    return out


def multiply(table: Array, letters: int, factors: Array) -> None:
    """Multiply a table (4^l,) by H in place; `factors` are s / 4^l."""
    lower = min(letters, LOWER)
    _product(table, lower, _weights(lower), EVERY_DIGIT, factors)


def multiply_at(table: Array, letters: int, place: int, factors: Array) -> None:
    """Multiply a table in place by the matrix that is zero where words differ at `place` (0: the first letter).

    The other letters give ``h[d(u, v)]``; `factors` are ``spectrum(h, l - 1) / 4^l``.
    """
    lower, digit = min(letters, LOWER), letters - 1 - place
    mask = EVERY_DIGIT if digit < lower else ~(3 << 2 * (digit - lower))
    _product(table, lower, _weights(lower, digit), mask, factors)


def _product(table: Array, lower: int, weights: Array, mask: int, factors: Array) -> None:
    _upper(table, 4**lower)
    _inner(table, 4**lower, weights, mask, np.ascontiguousarray(factors, np.float64))
    _upper(table, 4**lower)


def power(table: Array, letters: int) -> Array:
    """Return the sum of the squares of a table's transform by the number of digits that are not zero, over 4^l.

    ``x'H x`` is its inner product with s.  The table is used up.
    """
    lower, out = min(letters, LOWER), np.zeros(letters + 1)
    _upper(table, 4**lower)
    _powers(table, 4**lower, _weights(lower), out)
    return out / 4.0**letters


def add_other_strand(table: Array, letters: int, partner: Array) -> None:
    """Add to every word's number that of its reverse complement, in place; `partner` (4,) is the complement."""
    outer = letters // 3
    _mirror(table, _turned(outer, partner), _turned(letters - 2 * outer, partner))


def _weights(letters: int, without: int = -1) -> Array:
    """Return the number of digits that are not zero of every word, (4^letters,); one of them may be left out."""
    words = np.arange(4**letters)
    out = np.zeros_like(words)
    for digit in range(letters):
        if digit != without:
            out += (words >> 2 * digit) & 3 != 0
    return out


def _turned(letters: int, partner: Array) -> Array:
    """Return the reverse complement of every word, (4^letters,)."""
    words = np.arange(4**letters)
    out = np.zeros_like(words)
    for place in range(letters):
        out = 4 * out + np.asarray(partner, np.int64)[(words >> 2 * place) & 3]
    return out


@jit
def _butterfly(a, b, c, d):  # type: ignore[no-untyped-def]
    for j in range(len(a)):
        p, q, r, s = a[j] + b[j], a[j] - b[j], c[j] + d[j], c[j] - d[j]
        a[j], b[j], c[j], d[j] = p + r, q + s, p - r, q - s


@jit
def _digits(x, least):  # type: ignore[no-untyped-def]
    # All digits of the numbers of lines of `least` contiguous entries.
    step = len(x) // 4
    while step >= least:
        for start in range(0, len(x), 4 * step):
            a, b = x[start : start + step], x[start + step : start + 2 * step]
            c, d = x[start + 2 * step : start + 3 * step], x[start + 3 * step : start + 4 * step]
            _butterfly(a, b, c, d)
        step //= 4


@jit
def _lowest(x):  # type: ignore[no-untyped-def]
    for i in range(0, len(x), 4):
        p, q, r, s = x[i] + x[i + 1], x[i] - x[i + 1], x[i + 2] + x[i + 3], x[i + 2] - x[i + 3]
        x[i], x[i + 1], x[i + 2], x[i + 3] = p + r, q + s, p - r, q - s


@jit
def _all_digits(x):  # type: ignore[no-untyped-def]
    if len(x) >= 16:
        _digits(x, 4)
    if len(x) >= 4:
        _lowest(x)


@jit
def _upper(table, lower):  # type: ignore[no-untyped-def]
    lines = len(table) // lower
    if lines == 1:
        return
    x = table.reshape(lines, lower)
    width = min(lower, max(NARROWEST, COLUMNS // lines))
    buffer = np.empty((lines, width))
    for start in range(0, lower, width):
        for i in range(lines):
            buffer[i] = x[i, start : start + width]
        _digits(buffer.reshape(-1), width)
        for i in range(lines):
            x[i, start : start + width] = buffer[i]


@jit
def _inner(table, lower, weights, mask, factors):  # type: ignore[no-untyped-def]
    every = np.empty((len(factors), lower))
    known = np.zeros(len(factors), np.bool_)
    for start in range(0, len(table), lower):
        x, upper = table[start : start + lower], 0
        word = (start // lower) & mask
        while word:
            upper += word & 3 != 0
            word >>= 2
        if not known[upper]:
            known[upper] = True
            for j in range(lower):
                every[upper, j] = factors[upper + weights[j]]
        _all_digits(x)
        line = every[upper]
        for j in range(lower):
            x[j] *= line[j]
        _all_digits(x)


@jit
def _powers(table, lower, weights, out):  # type: ignore[no-untyped-def]
    for start in range(0, len(table), lower):
        x, upper = table[start : start + lower], 0
        word = start // lower
        while word:
            upper += word & 3 != 0
            word >>= 2
        _all_digits(x)
        for j in range(lower):
            out[upper + weights[j]] += x[j] * x[j]


@jit
def _mirror(table, outer, middle):  # type: ignore[no-untyped-def]
    # A word is (a, m, b); its reverse complement (b~, m~, a~).
    ends = len(outer)
    x = table.reshape(ends, len(middle), ends)
    for m in range(len(middle)):
        other = middle[m]
        if other < m:
            continue
        for a in range(ends):
            there = outer[a]
            for b in range(ends):
                i = outer[b]
                if other == m and (i < a or (i == a and there < b)):
                    continue
                total = x[a, m, b] + x[i, other, there]
                x[a, m, b], x[i, other, there] = total, total
