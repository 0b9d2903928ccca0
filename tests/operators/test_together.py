"""Two threads on one descent: the same bits as one, whoever does what, and what the method says step by step."""

from contextlib import contextmanager

import numpy as np
import pytest

from kernelweave.engines import Serial, Threads
from kernelweave.kernels import WeightedDegree
from kernelweave.operators import bind
from kernelweave.operators.base import DescentState
from kernelweave.operators.kmers import together
from oracles.rows import sequences

N, PASSES = 300, 3


def begin(engine, kernel, X, dtype=np.float64):
    """Return a descent from zero, and the state of a hinge loss with labels that follow a letter."""
    rng = np.random.default_rng(3)
    descent, y = bind(kernel, X, engine, need="features").descent(None, dtype), rng.choice([-1.0, 1.0], len(X))
    descent.start(np.zeros(len(X)))
    curvature = kernel.diag(X) + 0.5
    low, high = np.minimum(y / 10, 0)[None], np.maximum(y / 10, 0)[None]
    nothing = np.zeros(len(X))
    state = DescentState(
        y[None], nothing, 0.0, low, high, curvature, rng.normal(size=len(X)), 0.2, 0.5, nothing[None].copy(),
        nothing.copy(),
    )  # fmt: skip
    return descent, state


def orders():
    rng = np.random.default_rng(4)
    return [rng.permutation(N) for _ in range(PASSES)]


def everything(engine, kernel, X, dtype=np.float32):
    descent, state = begin(engine, kernel, X, dtype)
    moved = [descent.sweep(rows, state) for rows in orders()]
    return [np.array(moved), state.v, state.outputs, *(one for half in descent.vector for one in half)]


class Nobody(Threads):
    """Threads of which none is ever free."""

    @contextmanager
    def beside(self, fn):
        yield


@pytest.mark.parametrize("masked", [0.0, 0.05])
@pytest.mark.parametrize("letters", ["dna", "protein"])
def test_the_same_bits_whoever_helps(masked, letters, monkeypatch):
    monkeypatch.setattr(together, "FEWEST", 2)
    X, kernel = sequences(N, 45, letters, masked=masked), WeightedDegree(9)
    first = everything(Serial(), kernel, X)
    for engine in (Threads(2), Threads(3), Nobody(2), Threads(2)):
        for a, b in zip(first, everything(engine, kernel, X)):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("length", [1, 2, 31])
def test_steps_are_those_of_the_method(length, monkeypatch):
    """The twin holds the Gram matrix and steps one row after the other."""
    monkeypatch.setattr(together, "FEWEST", 2)
    X, kernel = sequences(N, length), WeightedDegree(12)
    K = kernel.gram(X)
    descent, state = begin(Threads(2), kernel, X)
    alpha, f = np.zeros(N), np.zeros(N)
    for rows in orders():
        moved = 0.0
        for i in rows:
            f[i] = K[i] @ alpha + state.fixed[i] + state.intercept + state.pull * moved
            new = np.clip(alpha[i] + (state.p[0, i] - f[i]) / state.curvature[i], state.low[0, i], state.high[0, i])
            alpha[i], moved = new, moved + new - alpha[i]
        assert descent.sweep(rows, state) == pytest.approx(moved, abs=1e-10)
    np.testing.assert_allclose(state.v[0], alpha, atol=1e-10)
    np.testing.assert_allclose(state.outputs, f, atol=1e-9)
    assert np.any(alpha)


@pytest.mark.parametrize("engine", [Serial(), Threads(2)])
def test_no_rows_and_one_row(engine, monkeypatch):
    monkeypatch.setattr(together, "FEWEST", 0)
    descent, state = begin(engine, WeightedDegree(9), sequences(N, 40))
    assert descent.sweep(np.zeros(0, np.int64), state) == 0.0
    assert descent.sweep(np.array([7]), state) == state.v[0, 7] == state.v.sum() != 0.0


def test_a_helper_that_sleeps_in_a_visit_is_waited_for():
    """The first visit is claimed by nobody; the leader gives up for now, and goes on once that visit is done."""
    X, kernel = sequences(N, 40), WeightedDegree(9)
    rows = orders()[0]
    alone, other = begin(Serial(), kernel, X), begin(Serial(), kernel, X)
    alone[0].sweep(rows, alone[1])
    descent, state = other
    what = together.shared_work(descent.paths, descent.vector, descent.own, rows, state)
    turns, codes = what[-3], what[-1]
    turns[together.CLAIMED] = 1
    assert not together._work(together.LEADER, *what)
    assert (turns[together.OFFERED], turns[together.ALONE]) == (1, 1 + together.REST)
    assert not together._work(together.LEADER, *what)
    assert turns[together.ALONE] == 1 + together.REST, "it is the same wait"
    second = descent.paths.halves[1]
    amounts = np.empty((2, codes.shape[2]))
    what[-2][together.FOUND] = together._visit(
        descent.paths.letters, second, descent.vector[1], rows, 0, 0.0, codes[1], amounts
    )
    turns[together.DONE] = 1
    assert together._work(together.LEADER, *what)
    assert turns[together.OFFERED] == 1, "the rest was done alone"
    np.testing.assert_allclose(state.v, alone[1].v, atol=1e-12)
    np.testing.assert_allclose(state.outputs, alone[1].outputs, atol=1e-10)


def test_a_helper_ends_when_all_is_done_and_when_the_leader_fails(monkeypatch):
    X, kernel = sequences(N, 40), WeightedDegree(9)
    monkeypatch.setattr(together, "FEWEST", 2)
    descent, state = begin(Threads(2), kernel, X)
    work = together._work

    def fails(role, *what):
        if role == together.LEADER:
            raise KeyboardInterrupt
        return work(role, *what)

    monkeypatch.setattr(together, "_work", fails)
    with pytest.raises(KeyboardInterrupt):
        descent.sweep(np.arange(N), state)
    assert Threads(2).map(lambda x: x + 1, range(8)) == list(range(1, 9))
