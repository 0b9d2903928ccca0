"""The total weight of a machine: the sum over all its accepting paths.

    D(U) = sum over accepting paths of  (product of arc weights) (final weight)  =  x_0

where x_q, the weight of all paths from q to the end, solves  x = f + A x,  A[q, r] = weights of the arcs from q to r.
An acyclic machine takes one sweep from the back.  With cycles the components of mutually reachable states are solved
one after the other, from the back.  The sum over paths means something only where it converges absolutely: where |A|
of each component has a spectral radius below one.  |A| is irreducible there, so that this is the case exactly where

    (I - |A|) y = 1   has a solution y > 0

(left Perron vector v > 0:  (1 - rho) v'y = v'1 > 0;  conversely y = sum_k |A|^k 1 >= 1), and that is what is checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.automata.algorithms.compose import compose
from kernelweave.automata.algorithms.rational import connect
from kernelweave.automata.base import Array, Transducer
from kernelweave.automata.build import acceptor
from kernelweave.automata.graph import strong_components

DENSE = 200
"""Components up to this many states are solved as dense systems."""
LARGEST_SUM = 1e12
"""A component whose sum of path weights is larger than this is taken to diverge: rounding has eaten the difference."""


def total_weight(machine: Transducer) -> float:
    """Return the sum of the weights of all accepting paths, D(U).

    Raises
    ------
    ValueError : where the sum over the paths of a cyclic machine does not converge (absolutely)

    Examples
    --------
    >>> total_weight(Transducer.from_arcs([(0, 0, "a", 0.5), (0, 1, "b", 1.0)], finals=[1], alphabet="ab"))
    2.0
    """
    m = connect(machine)
    if (m.target > m.source).all():
        return float(_sweep(m.starts, m.target, m.weights, m.finals))
    return _solve(m, *strong_components(m.starts, m.target))


def string_weight(machine: Transducer, x: Any, y: Any = None) -> float:
    """Return the weight U(x, y) of a pair of strings; an acceptor takes one string.

    Parameters
    ----------
    machine : Transducer
    x, y : text, lists of letters, or arrays of codes; without y the sum over all outputs

    Examples
    --------
    >>> T = Transducer.from_arcs([(0, 1, "a", "b", 3.0), (0, 1, "a", "b", 4.0)], finals={1: 2.0}, alphabet="ab")
    >>> string_weight(T, "a", "b"), string_weight(T, "a", "a")
    (14.0, 0.0)
    """
    paths = compose(acceptor(x, machine.alphabet), machine)
    return total_weight(paths if y is None else compose(paths, acceptor(y, machine.alphabet)))


def _solve(m: Transducer, members: Array, bounds: Array) -> float:
    x, place = m.finals.copy(), np.full(m.n_states, -1, np.int64)
    loops = np.zeros(m.n_states, np.bool_)
    loops[m.source[m.source == m.target]] = True
    swept = 0
    for group in np.flatnonzero((np.diff(bounds) > 1) | loops[members[bounds[:-1]]]):
        a, b = bounds[group], bounds[group + 1]
        _sweep_states(m.starts, m.target, m.weights, members[swept:a], x)
        states = members[a:b]
        place[states] = np.arange(len(states))
        arcs = np.concatenate([np.arange(m.starts[q], m.starts[q + 1]) for q in states])
        row, column, weights = place[m.source[arcs]], place[m.target[arcs]], m.weights[arcs]
        out, inside = column < 0, column >= 0
        given = x[states] + np.bincount(row[out], weights[out] * x[m.target[arcs[out]]], len(states))
        x[states] = _component(row[inside], column[inside], weights[inside], given, int(states[0]))
        place[states] = -1
        swept = b
    _sweep_states(m.starts, m.target, m.weights, members[swept:], x)
    return float(x[0])


def component_star(row: Array, column: Array, weights: Array, n: int, state: int) -> Array:
    """Return the sums over all paths inside of a component, (n, n), the empty ones included; checked to converge."""
    _check_convergence(row, column, weights, n, state)
    matrix = np.eye(n)
    np.subtract.at(matrix, (row, column), weights)
    return np.linalg.inv(matrix)


def _check_convergence(row: Array, column: Array, weights: Array, n: int, state: int) -> None:
    size = _linear(row, column, np.abs(weights), np.ones(n))
    if size is None or not (size > 0).all() or size.max() > LARGEST_SUM:
        raise ValueError(
            f"The total weight diverges: the cycles around state {state} weigh one or more; scale their arcs down."
        )


def _component(row: Array, column: Array, weights: Array, given: Array, state: int) -> Array:
    """Return the solution of (I - A) x = given for one component, checked to be the sum over its paths."""
    _check_convergence(row, column, weights, len(given), state)
    solution = _linear(row, column, weights, given)
    assert solution is not None  # |A| < 1 makes I - A regular
    return solution


def _linear(row: Array, column: Array, weights: Array, right: Array) -> Array | None:
    n = len(right)
    if n <= DENSE:
        matrix = np.eye(n)
        np.subtract.at(matrix, (row, column), weights)
        try:
            return np.linalg.solve(matrix, right)
        except np.linalg.LinAlgError:
            return None
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import splu

    sparse = (eye_array(n) - csc_array((weights, (row, column)), shape=(n, n))).tocsc()
    try:
        return splu(sparse).solve(right)
    except RuntimeError:  # exactly singular
        return None


@jit
def _sweep(starts, target, weights, finals):  # type: ignore[no-untyped-def]
    x = finals.copy()
    for state in range(finals.shape[0] - 1, -1, -1):
        for arc in range(starts[state], starts[state + 1]):
            x[state] += weights[arc] * x[target[arc]]
    return x[0]


@jit
def _sweep_states(starts, target, weights, states, x):  # type: ignore[no-untyped-def]
    for state in states:
        for arc in range(starts[state], starts[state + 1]):
            x[state] += weights[arc] * x[target[arc]]
