"""Conjugate gradients on the free variables of a box problem, where products go through a normal vector (linadd).

    max over d   g'd - 1/2 d'(K + shift + ridge) d,      sum d = 0 for a free intercept,      d on the free variables

Working sets of Q rows find out which variables are free; then they visit them again and again, for each moves what the
others want.  A product with all free variables costs no more than one step of Q rows, and conjugate gradients need few.
The sum of the steps is cut off at the bounds, balanced, and taken as far as the objective rises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelweave.solvers.problems import Array, dot

if TYPE_CHECKING:
    from kernelweave.solvers.svm.box import BoxSolver

MOST_PRODUCTS = 20
"""Products of one run of conjugate gradients."""
REDUCED = 0.1
"""A run ends when the gradient on the face is this share of what it was."""


def follow_face(state: BoxSolver) -> bool:
    """Move the free variables of a box problem towards the optimum of their face; return whether anything moved."""
    v, box = state.v, state.box
    copy, row = np.nonzero((v > box.low) & (v < box.high))
    if len(row) < 2:
        return False
    gains = state.gains()[copy, row]
    step = np.clip(v[copy, row] + _conjugate(state, copy, row, gains), box.low[copy, row], box.high[copy, row])
    step -= v[copy, row]
    if state.problem.free:
        _balance(step, box.low[copy, row] - v[copy, row], box.high[copy, row] - v[copy, row])
    outputs = _outputs(state, row, step)
    rise = dot(gains, step)
    bend = dot(step, outputs[row] + state.box.ridge[row] * step) + state.problem.shift * float(step.sum()) ** 2
    if not rise > 0.0:
        return False
    reach = min(1.0, rise / bend) if bend > 0.0 else 1.0
    v[copy, row] = np.clip(v[copy, row] + reach * step, box.low[copy, row], box.high[copy, row])
    state.F += reach * outputs
    return True


def _conjugate(state: BoxSolver, copy: Array, row: Array, gains: Array) -> Array:
    """Return the step that conjugate gradients reach, bounds left aside."""
    free, shift, ridge = state.problem.free, state.problem.shift, state.box.ridge[row]
    rest = gains - gains.mean() if free else gains.copy()
    step, way, size = np.zeros_like(rest), rest.copy(), dot(rest, rest)
    goal = REDUCED**2 * size
    for _ in range(MOST_PRODUCTS):
        if size <= goal:
            break
        bent = _outputs(state, row, way)[row] + ridge * way + shift * way.sum()
        bent -= bent.mean() if free else 0.0
        curvature = dot(way, bent)
        if not curvature > 0.0:
            break
        reach = size / curvature
        step += reach * way
        rest -= reach * bent
        former, size = size, dot(rest, rest)
        way = rest + (size / former) * way
    return step


def _outputs(state: BoxSolver, row: Array, step: Array) -> Array:
    """Return what a change of some variables does to all outputs."""
    operator = state.problem.operator
    change, out = np.bincount(row, step, operator.n), np.zeros(operator.n)
    moved = np.flatnonzero(change)
    operator.add_to(out, moved, change[moved])
    return out


def _balance(step: Array, low: Array, high: Array) -> None:
    """Change a step, within its bounds, until it adds up to zero."""
    excess = step.sum()
    room = np.minimum(step - low if excess > 0.0 else high - step, abs(excess))
    if (total := room.sum()) > 0.0:
        step -= excess * (room / total)
