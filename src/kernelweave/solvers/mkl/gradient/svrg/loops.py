"""The inner loops of `svrg`: a mini-batch of rows at a time, on dense and on sparse rows.

In units of the mean loss, with G the gradient of the losses at the snapshot and d_i the change of the slope of row i
since then, a step of kernel k is

    w_k <- a_k (w_k - h_k (G_k + mean d_i x_i)),      a_k = 1 / (1 + h_k lambda / beta_k),

a gradient step on the losses and a proximal step on the regulariser.  Sparse rows touch few columns.  What D steps
without a touch do to a column is known, since it is pulled to one point:

    w <- a^D w - (1 - a^D) (beta / lambda) G,

so a column is brought up to date when a row needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.callback import call
from kernelweave._numba.rows import dense_add, dense_dot
from kernelweave.solvers.mkl.gradient.primal import PrimalEvaluation
from kernelweave.solvers.problems import TINY, Array

if TYPE_CHECKING:
    from kernelweave.solvers.mkl.gradient.svrg.solver import SVRG


class Epoch(NamedTuple):
    """An epoch that is over: the looks before and after it (None where it overflowed), their gaps, and whether the last
    one is of a point farther along than the epoch led."""

    old: PrimalEvaluation
    new: PrimalEvaluation | None
    old_gap: float
    new_gap: float
    extrapolated: bool


class Segment:
    """A walk over rows of one part of the design, between two changes of step sizes or weights.

    Parameters
    ----------
    walk : what is optimised
    part, rows : the features of some rows, and which rows these are
    seen : the snapshot
    batch : rows of a step
    here : the normal vector and the intercept to start from; None for the snapshot's
    """

    def __init__(
        self,
        solver: SVRG,
        part: Any,
        rows: slice,
        seen: PrimalEvaluation,
        batch: int,
        here: tuple[Array, float] | None = None,
    ):
        self.solver, self.part, self.batch = solver, part, batch
        w, self.b = here or (seen.w, seen.b)
        self.w, self.size, self.entries = w.copy(), rows.stop - rows.start, part.values.size
        self.gradient = -seen.v / solver.scale
        y = solver.y[rows]
        self.known = y, solver.weight[rows], solver.problem.loss.derivative(seen.f[rows], y)

    def run(self, order: Array, h: Array, beta: Array, intercept: tuple[float, float, float] = (0.0, 0.0, 1.0)) -> None:
        """Take one step for each batch of the order.

        Parameters
        ----------
        order : rows of the part, as many as come
        h, beta : (m,) step sizes (zero for a block at rest) and weights
        intercept : its gradient at the snapshot, its step and its shrinking
        """
        solver, batch, design = self.solver, min(self.batch, len(order)), self.solver.design
        rate = h / (solver.scale * np.maximum(beta, TINY))
        what = (*self.known, order, batch, solver.slope, solver.shape, self.w, self.gradient)
        if design.dense:
            widths = np.diff(design.offsets)
            each = np.repeat(h, widths), np.repeat(1.0 / (1.0 + rate), widths)
            self.b = dense_steps(self.part.values, *what, *each, self.b, *intercept)
            return
        steps = len(order) // batch
        gone = -np.expm1(-np.log1p(rate)[:, None] * np.arange(steps + 1))
        last, rest = np.zeros(design.width, np.int32), -solver.scale * beta
        sparse = self.part.starts, self.part.columns, self.part.values, solver.owner
        self.b = sparse_steps(*sparse, *what, h, gone, rest, last, self.b, *intercept)
        settle(solver.owner, self.w, self.gradient, gone, rest, last, steps)


@jit
def dense_steps(  # type: ignore[no-untyped-def]
    values, y, weight, s0, order, batch, slope, shape, w, G, h, a, b, Gb, hb, ab
):
    """Walk over the rows in `order`, `batch` at a time; h and a are (width,); return the intercept.

    Parameters
    ----------
    weight : (rows,) cost of each row over the mean cost
    s0 : (rows,) slopes of the losses at the snapshot
    slope, shape : the slope of the loss (`Loss.compiled_slope`)
    """
    change, g = np.empty(batch), np.empty(len(w))
    for t in range(len(order) // batch):
        rows, total = order[t * batch : (t + 1) * batch], 0.0
        for q in range(batch):
            i = rows[q]
            f = dense_dot(values[i], w) + b
            change[q] = weight[i] * (call(slope, shape, f, y[i]) - s0[i]) / batch
            total += change[q]
        for j in range(len(w)):
            g[j] = G[j]
        for q in range(batch):
            dense_add(values[rows[q]], change[q], g)
        for j in range(len(w)):
            w[j] = a[j] * (w[j] - h[j] * g[j])
        b = ab * (b - hb * (Gb + total))
    return b


@jit
def sparse_steps(  # type: ignore[no-untyped-def]
    starts, columns, values, owner, y, weight, s0, order, batch, slope, shape, w, G, h, gone, rest, last, b, Gb, hb, ab
):
    """Walk as `dense_steps` does; h and rest = -beta / lambda are (m,), gone[k, D] is ``1 - a_k^D``.

    last : (width,) the step up to which each column is in line; zeros at the start
    """
    change = np.empty(batch)
    for t in range(len(order) // batch):
        rows, total = order[t * batch : (t + 1) * batch], 0.0
        for q in range(batch):
            i = rows[q]
            first, end = starts[i], starts[i + 1]
            there, sizes, f = columns[first:end], values[first:end], b
            for s in range(len(there)):
                j = there[s]
                late = t - last[j]
                if late > 0:
                    k = owner[j]
                    lost = gone[k, late]
                    w[j] += lost * (rest[k] * G[j] - w[j])
                    last[j] = t
                f += sizes[s] * w[j]
            change[q] = weight[i] * (call(slope, shape, f, y[i]) - s0[i]) / batch
            total += change[q]
        for q in range(batch):
            i = rows[q]
            first, end = starts[i], starts[i + 1]
            there, sizes = columns[first:end], values[first:end]
            for s in range(len(there)):
                w[there[s]] -= h[owner[there[s]]] * change[q] * sizes[s]
        b = ab * (b - hb * (Gb + total))
    return b


@jit
def settle(owner, w, G, gone, rest, last, steps):  # type: ignore[no-untyped-def]
    """Bring every column up to the last step."""
    for j in range(len(w)):
        lost = gone[owner[j], steps - last[j]]
        w[j] += lost * (rest[owner[j]] * G[j] - w[j])
        last[j] = 0
