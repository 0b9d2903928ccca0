"""The features of one block of rows after another under the same kernels: coded features met later get new columns.

Block t is a design of its own.  Its columns are those of the blocks before, in their order, and behind them in each
kernel those that came in with block t: a weight of an earlier block keeps its feature, only its place moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from kernelweave.kernels.base import Array
from kernelweave.operators.features.design.matrix import Design


def in_memory(design: Design) -> Iterator[tuple[slice, Design]]:
    """Yield the parts of a design as designs in memory, each with its rows; a streamed one makes one after the other.

    Examples
    --------
    >>> import kernelweave as kw
    >>> from kernelweave.engines import Serial
    >>> from kernelweave.operators import Task, choose
    >>> bound = choose(Task([kw.Linear()], np.eye(4), Serial(), need="design")).operator
    >>> [(rows, part.n) for rows, part in in_memory(bound.design)]
    [(slice(0, 4, None), 4)]
    """
    for number, rows in enumerate(design.parts):
        part = design.part(number)
        yield rows, Design(design.maps, part, [slice(0, part.n)], design.engine)


def moved(w: Array, old: Array, new: Array) -> Array:
    """Return a vector over the columns of former blocks, (..., old width), over those of a later one: zero where new.

    Parameters
    ----------
    old, new : (m + 1,) the first column of each kernel, before and now

    Examples
    --------
    >>> moved(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 3]), np.array([0, 3, 5]))
    array([1., 2., 0., 3., 0.])
    """
    out = np.zeros((*w.shape[:-1], int(new[-1])))
    for (first, last), start in zip(pairwise(old), new):
        out[..., start : start + last - first] = w[..., first:last]
    return out
