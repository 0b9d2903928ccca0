"""Coordinate descent along paths by two threads, each with one half of the positions: exactly what one thread does.

A step along row t needs what the row reads of both halves.  With visit(h, t) for "write the step of row t - 1 into half
h and read row t of it", there are two visits for each row and one number each to exchange:

    leader    offers visit(1, t), does visit(0, t), takes the result of the other or, if nobody has begun, does it
              itself; steps; t <- t + 1
    helper    claims what is offered and does it

No thread waits for one that has not begun: where the other core is busy, or there is none, the leader does everything.
A helper that was sent to sleep in the midst of a visit is waited for; after that the leader works alone for a while.
All that is summed is summed in the same order by the same machine code, so who did what cannot be seen in the result.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.atomic import claim, load, store
from kernelweave._numba.coordinate import box_step
from kernelweave.engines.base import Beside, Engine
from kernelweave.operators.base import DescentState
from kernelweave.operators.kmers.paths import Paths, Vector, expect, read, write

Array = np.ndarray
LEADER, HELPER = 0, 1
LINE = 16
"""Numbers that two lines of the cache hold: what different threads write lies so far apart."""
OFFERED, CHANGE = 0, 1
CLAIMED = LINE
DONE, FOUND, HELPED = 2 * LINE, 2 * LINE + 1, 2 * LINE + 2
STOPPED, ALONE = 3 * LINE, 3 * LINE + 1
"""Where numbers lie: visits offered, change of the former row; visits claimed; visits done, what was read, visits of
the helper; whether all is done, and the turn before which nothing is offered."""
TURN, WAITING, FIRST, MOVED, RESTED = (4 * LINE + i for i in range(5))
"""What the leader keeps for when it is called again."""
FEWEST = 512
"""Fewer rows are not worth waking a second thread."""
SPINS = 100_000
"""How often a thread looks for what the other is about to do before it lets others work: some 50 microseconds."""
REST, ENOUGH = 1000, 4000
"""Rows that the leader does alone after it had to wait for a sleeping helper, and twice as many each time that fewer
than the second number of rows went by together: so many make up for the wait."""
PAUSE, LONGEST_PAUSE, USEFUL = 2e-4, 5e-3, 16
"""Seconds that a helper sleeps where nothing is offered, twice as long each time that it helped with fewer rows."""
MINE, THEIRS, ASLEEP = 0, 1, 2


def sweep(paths: Paths, vector: Vector, own: Array, rows: Array, state: DescentState, engine: Engine) -> float:
    """Step along each of the rows in turn; return by how much the sum of alpha changed.

    Parameters
    ----------
    vector : the normal vector; changed in place
    own : (n,) what a row's own step adds to its output beside what the normal vector has
    """
    if len(rows) == 0:
        return 0.0
    what = shared_work(paths, vector, own, rows, state)
    turns, numbers = what[-3], what[-2]
    if len(rows) < FEWEST or engine.workers < 2 or not isinstance(engine, Beside):
        turns[ALONE] = len(rows) + 1
        _work(LEADER, *what)
        return float(numbers[MOVED])
    with engine.beside(lambda: _help(turns, what)):
        try:
            while not _work(LEADER, *what):
                time.sleep(0)
        finally:
            turns[STOPPED] = 1
    return float(numbers[MOVED])


def shared_work(paths: Paths, vector: Vector, own: Array, rows: Array, state: DescentState) -> tuple[Any, ...]:
    """Return what leader and helper are called with; last what they say to each other, and the letters of two rows."""
    turns = np.zeros(5 * LINE, np.int64)
    codes = np.empty((2, 2, max(half.levels.shape[1] for half in paths.halves) + LINE), np.int64)
    return (paths.letters, paths.halves, vector, own, rows, *state, turns, turns.view(np.float64), codes)


def _help(turns: Array, what: tuple[Any, ...]) -> None:
    """Do what is offered until the end; sleep a little where nothing is."""
    pause = PAUSE
    while not turns[STOPPED]:
        before = turns[HELPED]
        _work(HELPER, *what)
        pause = PAUSE if turns[HELPED] >= before + USEFUL else min(2 * pause, LONGEST_PAUSE)
        if not turns[STOPPED]:
            time.sleep(pause)


@jit
def _work(  # type: ignore[no-untyped-def]
    role, letters, halves, vector, own, rows,
    p, ridge, entropy, low, high, curvature, fixed, intercept, pull, v, outputs, turns, numbers, codes,
):  # fmt: skip
    """Work as leader or helper; return whether all is done.  One call of `_visit` is the same machine code for both."""
    n, h, t, waiting = len(rows), role, turns[TURN], role == LEADER and turns[WAITING] != 0
    amounts, value = np.empty((2, codes.shape[2]), vector[0][0].dtype), 0.0
    while True:
        if not waiting:
            if role == HELPER:
                t = _next_turn(turns)
                if t < 0:
                    return False
            elif h == 0 and t >= turns[ALONE]:
                store(turns, OFFERED, t + 1)
            value = _visit(letters, halves[h], vector[h], rows, t, numbers[CHANGE], codes[h], amounts)
            numbers[FOUND if h == 1 else FIRST] = value
        if h == 1:
            if role == LEADER:
                store(turns, CLAIMED, t + 1)
            store(turns, DONE, t + 1)
        if role == HELPER:
            turns[HELPED] += 1
            continue
        if h == 0:
            taken = _take(turns, t)
            turns[TURN], turns[WAITING], waiting = t, taken == ASLEEP, False
            if taken == ASLEEP:
                return False
            if taken == MINE:
                h = 1
                continue
        if t == n:
            return True
        h, i, alpha = 0, rows[t], 0.0
        for c in range(v.shape[0]):
            alpha += v[c, i]
        f = numbers[FIRST] + numbers[FOUND]
        f += own[i] * alpha + fixed[i] + intercept + pull * numbers[MOVED]
        outputs[i] = f
        numbers[CHANGE] = box_step(i, f, p, ridge, entropy, low, high, curvature, v)
        numbers[MOVED] += numbers[CHANGE]
        t += 1


@jit
def _visit(letters, half, vector, rows, t, change, codes, amounts):  # type: ignore[no-untyped-def]
    """Write the step of row t - 1 into a half, and return what row t reads of it.

    The rows are spelled in turns into the two lines of `codes`, each one a visit before it is read.
    """
    direct, shared = vector
    size = half.levels.shape[1]
    former, here = codes[1 - t % 2, :size], codes[t % 2, :size]
    if t == 0:
        expect(letters, half, direct, shared, rows[0], here)
    elif change != 0.0:
        write(letters, half, direct, shared, rows[t - 1], change, former, amounts)
    if t == len(rows):
        return 0.0
    if t + 1 < len(rows):
        expect(letters, half, direct, shared, rows[t + 1], former)
    return read(letters, half, direct, shared, rows[t], here)


@jit
def _next_turn(turns):  # type: ignore[no-untyped-def]
    """Return the turn that was claimed, -1 if there was nothing to claim."""
    for spin in range(SPINS):
        offered, claimed = load(turns, OFFERED), load(turns, CLAIMED)
        if claimed < offered and claim(turns, CLAIMED, claimed):
            return claimed
        if spin % LINE == 0 and (load(turns, STOPPED) != 0 or load(turns, ALONE) > claimed):
            return -1
    return -1


@jit
def _take(turns, t):  # type: ignore[no-untyped-def]
    """Tell who does visit(1, t): the leader, the helper, who is through with it, or a helper that is asleep."""
    if turns[OFFERED] <= t:
        return MINE
    for spin in range(SPINS):
        if load(turns, DONE) > t:
            return THEIRS
        if spin % LINE == LINE - 1 and load(turns, CLAIMED) == t and claim(turns, CLAIMED, t):
            return MINE
    if t >= turns[ALONE]:  # else it is the same wait
        turns[RESTED] = REST if t - turns[ALONE] >= ENOUGH else max(REST, 2 * turns[RESTED])
        store(turns, ALONE, t + 1 + turns[RESTED])
    return ASLEEP
