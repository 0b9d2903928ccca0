"""From nearly optimal to exact: solve the optimality conditions of the free variables as linear equations.

    min over v   1/2 a'K a + 1/2 sum ridge v^2 - sum p v,     low <= v <= high,     sum v = total     (`box`)

With B the variables at a bound, the free ones satisfy  ``(K + ridge) v + b = p - K_B v_B``,  ``sum v = total``.
The change is taken as far as the bounds allow; a variable that meets its bound joins B and the rest is solved again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lstsq

if TYPE_CHECKING:
    from kernelweave.solvers.svm.box import BoxSolver

MOST_FREE = 400
"""More free variables than this would cost more than the exactness is worth."""
ROUNDS = 20


def polish(state: BoxSolver) -> bool:
    """Move the free variables of a box problem to their exact optimum; return whether anything moved."""
    moved = False
    for _ in range(ROUNDS):
        copy, row = np.nonzero((state.v > state.box.low) & (state.v < state.box.high))
        if not 0 < len(row) <= MOST_FREE:
            break
        change, reach = _newton_change(state, copy, row)
        if reach <= 0.0 or not np.any(change):
            break
        _apply(state, copy, row, reach * change)
        moved = True
        if reach == 1.0:
            break
    return moved


def _newton_change(state: BoxSolver, copy: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the full change of the free variables and the fraction of it that stays within bounds."""
    rows, where = np.unique(row, return_inverse=True)
    K = state.problem.operator.submatrix(rows)[np.ix_(where, where)].astype(float) + state.problem.shift
    K[np.diag_indices_from(K)] += state.box.ridge[row]
    gains = state.gains()[copy, row]
    m = len(row)
    if state.problem.free:
        system = np.ones((m + 1, m + 1))
        system[:m, :m], system[m, m] = K, 0.0
        change = lstsq(system, np.append(gains, 0.0), lapack_driver="gelsy")[0][:m]
    else:
        change = lstsq(K, gains, lapack_driver="gelsy")[0]
    v = state.v[copy, row]
    room = np.where(change > 0, state.box.high[copy, row] - v, state.box.low[copy, row] - v)
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction = np.where(change != 0, room / change, np.inf)
    return change, float(min(1.0, fraction.min()))


def _apply(state: BoxSolver, copy: np.ndarray, row: np.ndarray, change: np.ndarray) -> None:
    """Add the change; a variable that comes within rounding of its bound is put on it."""
    rows, where = np.unique(row, return_inverse=True)
    v = state.v[:, rows]
    v[copy, where] += change
    low, high = state.box.low[:, rows], state.box.high[:, rows]
    with np.errstate(invalid="ignore"):
        close = 1e-14 * np.where(np.isfinite(high - low), high - low, 0.0)
    v = np.where(v <= low + close, low, np.where(v >= high - close, high, v))
    state.move(rows, v)
