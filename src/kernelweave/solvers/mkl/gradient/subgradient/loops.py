"""The inner loop of `ufo` and `obscure`: one row at a time, on dense and on sparse rows.

Both keep a plain sum theta of rows, in blocks, and read the normal vector off it.  With q the dual exponent of r,

    w_k = factor (kept_k / |kept|_q)^(q - 2) (kept_k / |theta_k|) theta_k,     kept_k = max(|theta_k| - cut, 0),

so w is never stored: the output of a row needs the inner products with the blocks of theta and one number a block.  A
row adds ``step x_i`` to theta; the norms follow by ``|theta_k + step x|^2 = |theta_k|^2 + 2 step <theta_k, x> +
step^2 |x|^2``.  A row costs its entries and a few operations for each kernel.

Legend: sq (m,) squared norms of the blocks of theta; share (m,) w_k = state[FACTOR] share_k theta_k; power (m,)
``(kept_k / top)^q`` with top = state[TOP], a norm seen lately: powers of what is near 1 neither overflow nor vanish.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.callback import call
from kernelweave._numba.rows import dense_add, row_add

UFO, ONLINE, BATCH = range(3)
"""The rules by which theta moves."""
RULE, Q, LAMBDA, ETA, RADIUS, CUT, MOVING, PULL, KNOBS = range(9)
"""Places in `knobs`: the rule; exponent; regularisation; step of ONLINE; radius of BATCH; what UFO cuts off the norms
for each row seen; whether the intercept moves, and how strongly it is pulled to zero."""
TOP, TOTAL, FACTOR, GAIN, TIME, SLACK, CLOCK, B, COUNT, STATE = range(10)
"""Places in `state`: see above; sum of `power`; of BATCH: theta is GAIN times what is stored; rows seen by the rule;
sum of the slacks of BATCH; rows seen by the intercept; the intercept; vectors in `mean`."""
LARGEST, SMALLEST = 1e100, 1e-100
"""Where the sum of powers leaves this range, the powers are made anew."""
CAUTION = 3.0
"""The intercept's step is so many times shorter than that of w."""
SMALLEST_GAIN, VANISHED = 1e-6, 1e-30
"""Below the first theta is multiplied by its gain; the second stands for a gain of zero."""


@jit
def iterate(  # type: ignore[no-untyped-def]
    values, columns, starts, offsets, y, weight, order, slope, shape, knobs,
    theta, norms, state, slopes, lengths, stride, mean,
):  # fmt: skip
    """Walk over the rows in `order`.

    Parameters
    ----------
    values, columns, starts : the entries of a part; dense rows, one after the other, have no columns
    slope, shape : the slope of the loss (`Loss.compiled_slope`)
    norms : (3, m) sq, power, share
    slopes : (rows,) where the slope of each row is added
    lengths : (rows,) the group norms of the rows, filled on the way; negative while unknown
    stride, mean : after so many rows, and after the last, w is added to mean (width,)
    """
    m, q = len(offsets) - 1, knobs[Q]
    dots, squares = np.empty(m), np.empty(m)
    for t in range(len(order)):
        i = order[t]
        first, end = starts[i], starts[i + 1]
        there, row = columns[first:end] if len(columns) > 0 else columns, values[first:end]
        read(row, there, offsets, theta, dots, squares)
        f = 0.0
        for k in range(m):
            f += norms[2, k] * dots[k]
        s = call(slope, shape, state[FACTOR] * f + state[B], y[i])
        slopes[i] += s
        s *= weight[i]
        step = -s
        if knobs[RULE] == ONLINE:
            step *= knobs[ETA]
        elif knobs[RULE] == BATCH:
            if lengths[i] < 0.0:
                lengths[i] = group_norm(squares, q)
            step *= batch_step(abs(s) * lengths[i], knobs, state) / state[GAIN]
        state[TIME] += 1.0
        if step != 0.0:
            if len(columns) > 0:
                row_add(there, row, step, theta)
            else:
                dense_add(row, step, theta)
            follow(step, dots, squares, q, norms, state)
        finish(knobs, theta, norms, state)
        if knobs[MOVING] > 0.0:
            state[CLOCK] += 1.0
            rate = 1.0 / max(1.0, min(np.sqrt(state[CLOCK]), CAUTION * knobs[LAMBDA] * state[CLOCK]))
            state[B] -= rate * (s + knobs[PULL] * state[B])
        if (t + 1) % stride == 0 or t + 1 == len(order):
            add_normal(offsets, theta, norms[2], state[FACTOR], mean)
            state[COUNT] += 1.0


@jit
def read(row, there, offsets, theta, dots, squares):  # type: ignore[no-untyped-def]
    """Write the inner product with theta and the squared length of every block of a row."""
    if len(there) == 0 and len(row) > 0:
        for k in range(len(dots)):
            block = slice(offsets[k], offsets[k + 1])
            x, z = row[block], theta[block]
            a, c = 0.0, 0.0
            for j in range(len(x)):
                a += x[j] * z[j]
                c += np.float64(x[j]) * np.float64(x[j])
            dots[k], squares[k] = a, c
        return
    at = 0
    for k in range(len(dots)):
        a, c = 0.0, 0.0
        while at < len(row) and there[at] < offsets[k + 1]:
            a += row[at] * theta[there[at]]
            c += np.float64(row[at]) * np.float64(row[at])
            at += 1
        dots[k], squares[k] = a, c


@jit
def batch_step(size, knobs, state):  # type: ignore[no-untyped-def]
    """Return eta_t of the second stage of OBSCURE for a subgradient of some group norm, and shrink theta.

    s_t = s_{t-1} + (sqrt(d^2 + q (lambda |theta|_q / q + size)^2 / R^2) - d) / 2, d = lambda t + s_{t-1};
    eta_t = q / (lambda t + s_t).
    """
    q, lam = knobs[Q], knobs[LAMBDA]
    norm = state[GAIN] * state[TOP] * state[TOTAL] ** (1.0 / q)
    d = lam * (state[TIME] + 1.0) + state[SLACK]
    push = lam * norm / q + size
    state[SLACK] += 0.5 * (np.sqrt(d * d + q * push * push / knobs[RADIUS] ** 2) - d)
    rate = q / (lam * (state[TIME] + 1.0) + state[SLACK])
    state[GAIN] = max(state[GAIN] * (1.0 - lam * rate / q), VANISHED)
    return rate


@jit
def follow(step, dots, squares, q, norms, state):  # type: ignore[no-untyped-def]
    """Bring norms, powers and shares of the blocks that a row touches in line with theta."""
    top = state[TOP]
    for k in range(len(dots)):
        if squares[k] > 0.0:
            new = max(norms[0, k] + step * (2.0 * dots[k] + step * squares[k]), 0.0)
            norms[0, k] = new
            if top > 0.0:
                part = new / (top * top)
                norms[1, k] = power(part, 0.5 * q)
                norms[2, k] = norms[1, k] / part if part > 0.0 else 0.0


@jit
def finish(knobs, theta, norms, state):  # type: ignore[no-untyped-def]
    """Set the factor of w after a row, and project theta under the rule BATCH."""
    q, cut = knobs[Q], knobs[CUT] * state[TIME]
    total = 0.0
    for k in range(norms.shape[1]):
        total += norms[1, k]
    state[TOTAL] = total
    if cut > 0.0 or not SMALLEST < total < LARGEST:
        renew(q, cut, norms, state)
    if state[TOTAL] == 0.0:
        state[FACTOR] = 0.0
        return
    flat = power(state[TOTAL], 2.0 / q - 1.0)
    if knobs[RULE] == UFO:
        state[FACTOR] = flat / (knobs[LAMBDA] * state[TIME])
        return
    if knobs[RULE] == BATCH:
        norm = state[GAIN] * state[TOP] * state[TOTAL] ** (1.0 / q)
        if norm > q * knobs[RADIUS]:
            state[GAIN] *= q * knobs[RADIUS] / norm
        if state[GAIN] < SMALLEST_GAIN:
            fold(theta, norms, state)
    state[FACTOR] = flat * state[GAIN] / q


@jit
def power(x, exponent):  # type: ignore[no-untyped-def]
    """Return ``x^exponent``; those of p = 2, which is the usual norm, take a fraction of the time."""
    if exponent == 2.0:
        return x * x
    if exponent == -0.5:
        return 1.0 / np.sqrt(x)
    return x**exponent


@jit
def renew(q, cut, norms, state):  # type: ignore[no-untyped-def]
    """Make powers and shares of all blocks anew from their norms."""
    top, total = 0.0, 0.0
    for k in range(norms.shape[1]):
        top = max(top, np.sqrt(norms[0, k]) - cut)
    for k in range(norms.shape[1]):
        size = np.sqrt(norms[0, k])
        kept = size - cut
        norms[1, k] = norms[2, k] = 0.0
        if kept > 0.0:
            norms[1, k] = (kept / top) ** q
            norms[2, k] = norms[1, k] * (top / kept) * (top / size)
            total += norms[1, k]
    state[TOP], state[TOTAL] = top, total


@jit
def fold(theta, norms, state):  # type: ignore[no-untyped-def]
    """Multiply theta by its gain."""
    gain = state[GAIN]
    for j in range(len(theta)):
        theta[j] *= gain
    for k in range(norms.shape[1]):
        norms[0, k] *= gain * gain
    state[TOP] *= gain
    state[GAIN] = 1.0


@jit
def add_normal(offsets, theta, share, factor, out):  # type: ignore[no-untyped-def]
    """Add w to `out`, (width,)."""
    for k in range(len(share)):
        for j in range(offsets[k], offsets[k + 1]):
            out[j] += factor * share[k] * theta[j]


@jit
def group_norm(squares, q):  # type: ignore[no-untyped-def]
    """Return ``(sum_k |x_k|^q)^(1/q)`` of squared block norms."""
    top, total = 0.0, 0.0
    for k in range(len(squares)):
        top = max(top, squares[k])
    if top == 0.0:
        return 0.0
    for k in range(len(squares)):
        total += (squares[k] / top) ** (0.5 * q)
    return np.sqrt(top) * total ** (1.0 / q)
