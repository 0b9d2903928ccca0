"""Support rows and coefficients: scores by kernel values, those of kernels with a common base from one computation.

Exponentials of one number that share coefficients (Gaussians of several widths) are looked up as one curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from kernelweave.data.blocks import spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array, Kernel, take
from kernelweave.operators.expansion.base import Share, State, held_bytes
from kernelweave.operators.expansion.cross import KEPT_ROWS, NEW_ROWS
from kernelweave.operators.gram.curves import Curve
from kernelweave.operators.gram.mixture import Family, weighted_curve


class SupportRows:
    """Kernels that are functions of one number a pair, which is computed once on the rows that any of them has.

    Parameters
    ----------
    kernels, shares : of each kernel; all have the same base (Gaussians of several widths, or one kernel)
    kept : rows the model keeps
    """

    way = "values"

    def __init__(self, kernels: Sequence[Kernel], shares: Sequence[Share], kept: Any):
        self.family, self.shares = Family(kernels), list(shares)
        self.numbers = tuple(share.kernel for share in self.shares)
        self.base, self.outputs = self.family.bases[0], self.shares[0].coef.shape[1]
        union = np.unique(np.concatenate([share.places for share in self.shares]))
        self.kept = self.base.prepare(kept if len(union) == kept.shape[0] else kept[union])
        self.inner = [np.searchsorted(union, share.places) for share in self.shares]
        self.size = len(union)

    def scores(self, X: Any, engine: Engine) -> Array:
        """Return kernel values times coefficients, added over the kernels."""
        if any(curve is None for curve in self._curves):
            return self._swept(X, engine, 1, lambda k: 0)[0]
        new, coef = self.base.prepare(X), self.shares[0].coef
        parts = [(take(self.kept, span), coef[span]) for span in spans(self.size, KEPT_ROWS)]

        def score(tile: slice) -> Array:
            rows, out = take(new, tile), np.zeros((tile.stop - tile.start, self.outputs))
            for kept, part in parts:
                base = self.base.block(rows, kept, np.float64)
                for output, curve in enumerate(self._curves):
                    values = np.zeros(base.shape)
                    cast(Curve, curve).add_to(values, base)
                    out[:, output] += values @ part[:, output]
            return out

        tiles = engine.map(score, spans(X.shape[0], NEW_ROWS))
        return np.concatenate(tiles) if tiles else np.zeros((0, self.outputs))

    @cached_property
    def _curves(self) -> list[Curve | None]:
        """The weighted sum of the kernels as a curve for each output; None where it has no table."""
        first = self.shares[0]
        if any(share.coef is not first.coef or share.places is not first.places for share in self.shares):
            return [None]
        factors = np.stack([np.broadcast_to(share.factor, self.outputs) for share in self.shares], axis=1)
        return [weighted_curve(self.family, self.family.members[0], weights) for weights in factors]

    def contributions(self, X: Any, engine: Engine) -> Array:
        """Return kernel values times coefficients of each kernel."""
        return self._swept(X, engine, len(self.shares), lambda k: k)

    def _swept(self, X: Any, engine: Engine, sums: int, place: Any) -> Array:
        """Go through the tiles of new by kept rows; kernel k adds to sum number ``place(k)``."""
        new = self.base.prepare(X)
        parts = [(take(self.kept, span), span) for span in spans(self.size, KEPT_ROWS)]

        def score(tile: slice) -> Array:
            rows, out = take(new, tile), np.zeros((sums, tile.stop - tile.start, self.outputs))
            for kept, span in parts:
                base = self.base.block(rows, kept, np.float64)
                for k, (share, inner) in enumerate(zip(self.shares, self.inner)):
                    first, last = np.searchsorted(inner, (span.start, span.stop))
                    if first == last:
                        continue
                    whole = last - first == base.shape[1]
                    used_up = whole and k == len(self.shares) - 1
                    chosen = base if used_up else base.copy() if whole else base[:, inner[first:last] - span.start]
                    out[place(k)] += (self.family.finish(k, chosen) @ share.coef[first:last]) * share.factor
            return out

        tiles = engine.map(score, spans(X.shape[0], NEW_ROWS))
        return np.concatenate(tiles, axis=1) if tiles else np.zeros((sums, 0, self.outputs))

    def state(self) -> State:
        """Return nothing: rows and coefficients belong to the model."""
        return {}

    @property
    def nbytes(self) -> int:
        """Bytes of the prepared rows and of coefficients, those that kernels share counted once."""
        coef = {id(share.coef): share.coef for share in self.shares}
        return held_bytes(self.kept) + held_bytes(list(coef.values()))


class Constant:
    """A number for each output: what centring adds to every row."""

    way = "constant"

    def __init__(self, number: int, values: Array):
        self.numbers: tuple[int, ...] = (number,)
        self.values = np.asarray(values, np.float64)

    def scores(self, X: Any, engine: Engine) -> Array:
        """Return the numbers for every row."""
        return np.tile(self.values, (X.shape[0], 1))

    def contributions(self, X: Any, engine: Engine) -> Array:
        """Return the numbers for every row, as one kernel's."""
        return self.scores(X, engine)[None]

    def state(self) -> State:
        """Return the numbers."""
        return {"values": self.values}

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers."""
        return self.values.nbytes
