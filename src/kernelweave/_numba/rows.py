"""One row of explicit features and a weight vector: the two steps of every loop that walks along rows.

A dense row is a line of a table; a sparse row is a slice of column numbers and one of values.  Sums are taken in the
precision of w, whatever the precision of the values.
"""

from __future__ import annotations

from kernelweave._numba.jit import jit


@jit
def dense_dot(row, w):  # type: ignore[no-untyped-def]
    """Return the inner product of a dense row with w."""
    total = 0.0
    for j in range(len(row)):
        total += row[j] * w[j]
    return total


@jit
def dense_add(row, step, w):  # type: ignore[no-untyped-def]
    """``w += step phi`` for a dense row."""
    for j in range(len(row)):
        w[j] += step * row[j]


@jit
def row_dot(columns, values, w, zero):  # type: ignore[no-untyped-def]
    """Return the inner product of a row with w, in the precision of `zero`; four sums, so that none waits for another.

    The row is a slice and its columns are unsigned: a place that could be negative would be tested each time.
    """
    a = b = c = d = zero
    fours = len(columns) // 4
    for q in range(fours):
        t = 4 * q
        a += values[t] * w[columns[t]]
        b += values[t + 1] * w[columns[t + 1]]
        c += values[t + 2] * w[columns[t + 2]]
        d += values[t + 3] * w[columns[t + 3]]
    for t in range(4 * fours, len(columns)):
        a += values[t] * w[columns[t]]
    return (a + b) + (c + d)


@jit
def row_add(columns, values, step, w):  # type: ignore[no-untyped-def]
    """``w += step phi`` for a row."""
    for t in range(len(columns)):
        w[columns[t]] += step * values[t]
