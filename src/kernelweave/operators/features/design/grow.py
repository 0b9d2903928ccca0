"""The features of one block of rows after another under the same kernels: coded features met later get new columns.

Block t is a design of its own.  Its columns are those of the blocks before, in their order, and behind them in each
kernel those that came in with block t: a weight of an earlier block keeps its feature, only its place moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array
from kernelweave.operators.expansion.cross import spans
from kernelweave.operators.features.design.make import Stream, Survey, joined
from kernelweave.operators.features.design.maps import CodedMap, ColumnMap, as_codes, features_of
from kernelweave.operators.features.design.matrix import Design
from kernelweave.operators.features.design.rows import Rows
from kernelweave.operators.features.design.set import DesignSet
from kernelweave.operators.features.vocabulary import FeatureRows, Vocabulary
from kernelweave.operators.memory import memory_budget
from kernelweave.operators.planner.design import Form, is_single, measured, plan_design
from kernelweave.operators.planner.one import Plan


class Growth(Survey):
    """A survey that goes on numbering where the maps of former rows ended."""

    def __init__(
        self, former: Sequence[ColumnMap], forms: Sequence[Form], X: Any, tol: float, budget: float, keep: bool
    ):  # fmt: skip
        super().__init__([one.kernel for one in former], forms, X, tol, budget, keep)
        self.former = former
        self.known = [_copy(one.vocabulary) if isinstance(one, CodedMap) else None for one in former]

    def _read(self, cut: slice) -> list[Any]:
        """Return the features of some rows, in the form that former rows had: a dense table may follow a sparse one."""
        some, made = self.X[cut], list[Any]()
        for one in self.former:
            found = features_of(one.kernel, some) if isinstance(one, CodedMap) else one.columns(some)
            if isinstance(one, CodedMap) and not isinstance(found, FeatureRows):
                found = as_codes(found)
            values = found.values if isinstance(found, FeatureRows) else found
            kept = values.astype(np.float32) if is_single(values, self.tol) else values
            made.append(found._replace(values=kept) if isinstance(found, FeatureRows) else kept)
        return made

    def maps(self) -> list[ColumnMap]:
        """Return the maps with all columns; their numbers are final, so what was kept has them already."""
        maps = list[ColumnMap]()
        for one, known in zip(self.former, self.known):
            if not isinstance(one, CodedMap) or known is None or known.size == one.width:
                maps.append(one)
                continue
            grown = CodedMap(one.kernel, known.codes(), one.sample)
            grown.vocabulary = known
            maps.append(grown)
        self.widths = [one.width for one in maps]
        return maps


def bind_block(
    maps: Sequence[ColumnMap], X: Any, engine: Engine, limit: float | str | None = "auto", tol: float = 1e-3
) -> tuple[DesignSet, Plan]:
    """Bind a further block of rows to the columns of the blocks before; `design.maps` has the new columns too.

    Parameters
    ----------
    maps : of the design of the block before, or of a model
    X, engine, limit, tol : as for `bind_design`

    Examples
    --------
    >>> import kernelweave as kw
    >>> from kernelweave.engines import Serial
    >>> from kernelweave.operators.features.design.set import bind_design
    >>> first = kw.Sequences.from_strings(["ACA", "CAC"])
    >>> bound, _ = bind_design([kw.Spectrum(1), kw.Spectrum(2)], first, Serial())
    >>> more, _ = bind_block(bound.design.maps, kw.Sequences.from_strings(["ACG"]), Serial())
    >>> bound.design.offsets, more.design.offsets
    (array([0, 2, 4]), array([0, 3, 6]))
    """
    budget, n = memory_budget(limit), X.shape[0]
    forms = [_form(one, measured(one.kernel, X, tol)) for one in maps]
    single, coded = all(form.single for form in forms), any(form.words for form in forms)
    plan, layout = plan_design(forms, n, engine.workers, budget, single)
    grown, pieces = list(maps), None
    if coded or plan.kind == "streamed":
        growth = Growth(maps, forms, X, tol, budget, keep=coded and plan.kind == "explicit")
        growth.run(layout.chunk, engine)
        grown, single, pieces = growth.maps(), growth.single, growth.pieces
        plan, layout = plan_design(growth.forms(), n, engine.workers, budget, single)
    stream = Stream(grown, X, plan.dtype, layout.chunk, engine)
    source: Rows | Stream = stream
    if plan.kind == "explicit":
        source = stream.part(slice(0, n)) if pieces is None else joined(pieces, stream.offsets, plan.dtype)
    return DesignSet(Design(grown, source, spans(n, layout.rows), engine)), plan


def in_memory(design: Design) -> Iterator[tuple[slice, Design]]:
    """Yield the parts of a design as designs in memory, each with its rows; a streamed one makes one after the other.

    Examples
    --------
    >>> import kernelweave as kw
    >>> from kernelweave.engines import Serial
    >>> from kernelweave.operators.features.design.set import bind_design
    >>> bound, _ = bind_design([kw.Linear()], np.eye(4), Serial())
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


def _form(one: ColumnMap, form: Form) -> Form:
    """Return what the features of a block are like in the form that former rows had."""
    if not isinstance(one, CodedMap):
        return form._replace(entries=float(one.width), width=float(one.width), words=0)
    words = int(one.codes.shape[1])
    return form._replace(width=max(form.width, float(one.width)), words=words)


def _copy(known: Vocabulary) -> Vocabulary:
    """Return a vocabulary that may grow while the former one stays with its map."""
    made = Vocabulary(known.words)
    made.lines, made.size = known.lines.copy(), known.size
    return made
