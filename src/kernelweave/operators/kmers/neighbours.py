"""Rows that share long k-mers, found in the sorted order of a position, and what they give to each other."""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave.operators.kmers.prefixes import shared_letters


@jit
def add_deep(  # type: ignore[no-untyped-def]
    symbols, order, rank, lcp, masked, mask, depth, sums, rows, steps, part, parts, out
):
    """``out +=`` what k-mers of more than `depth` letters give, for every parts-th position from `part` on.

    `sums` (2S + 1, length, degree + 1) are the weights of the cells, summed over the lengths.
    """
    reach, degree = sums.shape[0] // 2, sums.shape[2] - 1
    places, shares = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for position in range(part, order.shape[0], parts):
        for s in range(sums.shape[0]):
            source, gain = position + s - reach, sums[s, position]
            if source < 0 or source + depth >= symbols.shape[1] or gain[degree] == gain[depth]:
                continue
            find(symbols, order[position], rank[position], masked, mask, position, source, degree, rows, places, shares)
            for j in range(len(rows)):
                _gather(order[position], lcp[position], places[j], shares[j], depth, gain, steps[j], out)


@jit
def add_deep_owned(  # type: ignore[no-untyped-def]
    symbols, order, rank, lcp, masked, mask, depth, given, owner, rows, steps, out
):
    """The same for many kernels: ``out[owner of the cell] +=`` what each cell of more than `depth` letters gives."""
    reach, degree = given.shape[0] // 2, given.shape[2]
    places, shares = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for position in range(order.shape[0]):
        for s in range(given.shape[0]):
            source, weights = position + s - reach, given[s, position]
            if source < 0 or source + depth >= symbols.shape[1]:
                continue
            find(symbols, order[position], rank[position], masked, mask, position, source, degree, rows, places, shares)
            for j in range(len(rows)):
                _gather_owned(
                    order[position], lcp[position], places[j], shares[j], depth, weights, owner[position], steps[j], out
                )


@jit
def find(  # type: ignore[no-untyped-def]
    symbols, order, rank, masked, mask, position, source, degree, rows, places, shares
):
    """Write where in the order of a position the words that rows have at `source` belong, and what they share there.

    A word of another position gets the place of its nearest neighbour: who shares most letters with it.
    """
    longest = min(degree, symbols.shape[1] - max(position, source))
    if source == position:
        # A loop of its own: loads that do not wait for each other overlap.
        for j in range(len(rows)):
            places[j], shares[j] = rank[rows[j]], longest
    if source == position and masked:
        for j in range(len(rows)):
            shares[j] = shared_letters(symbols, rows[j], position, rows[j], position, longest, mask)
    if source != position:
        for j in range(len(rows)):
            places[j], shares[j] = _search(symbols, order, mask, position, rows[j], source, longest)


@jit
def _search(symbols, order, mask, position, row, source, longest):  # type: ignore[no-untyped-def]
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if _before(symbols, order[middle], position, row, source, longest):
            low = middle + 1
        else:
            high = middle
    after = shared_letters(symbols, order[low], position, row, source, longest, mask) if low < len(order) else -1
    before = shared_letters(symbols, order[low - 1], position, row, source, longest, mask) if low > 0 else -1
    return (low, after) if after >= before else (low - 1, before)


@jit
def _before(symbols, i, at, j, there, longest):  # type: ignore[no-untyped-def]
    for k in range(longest):
        if symbols[i, at + k] != symbols[j, there + k]:
            return symbols[i, at + k] < symbols[j, there + k]
    return False


@jit
def _gather(order, lcp, at, own, depth, gain, step, out):  # type: ignore[no-untyped-def]
    # From place `at` both ways, as far as more than `depth` letters are shared.
    if own <= depth:
        return
    out[order[at]] += step * (gain[own] - gain[depth])
    shared, t = own, at + 1
    while t < len(order):
        shared = min(shared, lcp[t])
        if shared <= depth:
            break
        out[order[t]] += step * (gain[shared] - gain[depth])
        t += 1
    shared, t = own, at
    while t > 0:
        shared = min(shared, lcp[t])
        if shared <= depth:
            break
        t -= 1
        out[order[t]] += step * (gain[shared] - gain[depth])


@jit
def _gather_owned(order, lcp, at, own, depth, weights, owners, step, out):  # type: ignore[no-untyped-def]
    if own <= depth:
        return
    _give(order[at], own, depth, weights, owners, step, out)
    shared, t = own, at + 1
    while t < len(order):
        shared = min(shared, lcp[t])
        if shared <= depth:
            break
        _give(order[t], shared, depth, weights, owners, step, out)
        t += 1
    shared, t = own, at
    while t > 0:
        shared = min(shared, lcp[t])
        if shared <= depth:
            break
        t -= 1
        _give(order[t], shared, depth, weights, owners, step, out)


@jit
def _give(row, shared, depth, weights, owners, step, out):  # type: ignore[no-untyped-def]
    for k in range(depth, shared):
        if weights[k] != 0.0:
            out[owners[k], row] += step * weights[k]


@jit
def pair_sums(symbols, rows, others, mask, sums, same, out):  # type: ignore[no-untyped-def]
    """Write the kernel of each row with each other: for every shift one walk along the letters, whatever the degree."""
    reach, length, degree = sums.shape[0] // 2, symbols.shape[1], sums.shape[2] - 1
    for a in range(len(rows)):
        x = symbols[rows[a]]
        for b in range(a + 1 if same else len(others)):
            y, total = symbols[others[b]], 0.0
            for s in range(sums.shape[0]):
                run = 0
                for position in range(min(length, length - s + reach) - 1, max(0, reach - s) - 1, -1):
                    letter = x[position + s - reach]
                    run = min(run + 1, degree) if letter == y[position] and letter != mask else 0
                    total += sums[s, position, run]
            out[a, b] = total
            if same:
                out[b, a] = total


@jit
def own_sums(symbols, mask, sums):  # type: ignore[no-untyped-def]
    """Return the kernel of each row with itself, (n,)."""
    out, value = np.empty(symbols.shape[0]), np.empty((1, 1))
    for i in range(symbols.shape[0]):
        row = np.array([i])
        pair_sums(symbols, row, row, mask, sums, True, value)
        out[i] = value[0, 0]
    return out
