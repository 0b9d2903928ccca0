"""The normal vector of a model of positional k-mers, one number for each k-mer at each place.

A model with weights beta on kernels of the ability `Positional` (cells c, shift weights m) and coefficients alpha of
its support rows x_r scores a row x by

    s(x) = b + sum_i sum_k w(i, x_i .. x_{i+k-1})

    w(i, u) = sum_{|t| <= S} C_t(i, k) a(i + t, u)             what the k-mer u at position i adds
    a(i, u) = sum_r alpha_r [x_r has u at i]
    C_t(i, k) = sum_m beta_m m_|t| sqrt(c_ik c_{i+t,k})        the cells of kernel m; without shifts sum_m beta_m c_ik

Nothing of size |alphabet|^k is ever made.  For each position i all starts (r, i + t) are sorted by their letters; a
k-mer is then a run of neighbours that agree in k letters, and one sweep that opens and closes runs (a walk through
the trie of position i) finds every k-mer of every length with its weight, children before their parent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from kernelweave._numba import jit
from kernelweave.data import Alphabet
from kernelweave.interpret.parts import (
    check_one_place,
    lacking,
    last_step,
    learned_parts,
    letters_of,
    positional,
)
from kernelweave.kernels.base import Array
from kernelweave.operators.expansion.terms import Term
from kernelweave.operators.kmers.prefixes import spread


@dataclass(frozen=True)
class Nodes:
    """The k-mers of one position, each followed by its prefixes; k-mer number q is read off one row that has it.

    rows, starts : (q,) where it stands; depth : (q,) its length; weight : (q,) w(i, u); count : (q,) starts with it
    """

    rows: Array
    starts: Array
    depth: Array
    weight: Array
    count: Array


@dataclass(frozen=True)
class NormalVector:
    """What w is made of; its k-mers are found position by position.

    Attributes
    ----------
    codes : (n, length) letters of the support rows
    alphabet : of these
    coef : (n, groups) coefficients of the rows; kernels with the same coefficients are one group
    coupling : (groups, 2 S + 1, length, degree), C_t(i, k)
    """

    codes: Array
    alphabet: Alphabet
    coef: Array
    coupling: Array

    @property
    def length(self) -> int:
        """Letters of a row."""
        return self.codes.shape[1]

    def at(self, position: int) -> Nodes:
        """Return the k-mers of every length that start at a position."""
        span = self.coupling.shape[1] // 2
        first, last = max(position - span, 0), min(position + span, self.length - 1)
        starts = np.repeat(np.arange(first, last + 1), len(self.codes))
        rows = np.tile(np.arange(len(self.codes)), last - first + 1)
        deepest = min(self.coupling.shape[3], self.length - position)
        rows, starts = _sort_starts(self.codes, self.alphabet.size, deepest, rows, starts)
        found = np.empty((4, len(rows) * deepest), np.int64)
        weight = np.empty(len(rows) * deepest)
        gains = np.ascontiguousarray(self.coupling[:, :, position, :])
        used = _walk(self.codes, self.alphabet.mask, self.coef, gains, position, deepest, rows, starts, found, weight)
        kept = found[:, :used]
        return Nodes(kept[0], kept[1], kept[2], weight[:used], kept[3])


def normal_vector(model: Any, target: Any = None) -> NormalVector:
    """Return the normal vector of a fitted model; of several kernels, that of the positional ones among them.

    Parameters
    ----------
    model : fitted estimator of this library
    target : the class whose decision value is meant; None where there is one decision value
    """
    core = last_step(model)
    parts = learned_parts(core, target)
    found = [term for part in parts for term in positional(part.terms)]
    if not found:
        raise ValueError(lacking(core, parts))
    return _gathered(found)


def _gathered(parts: list[Term]) -> NormalVector:
    """Put kernels that share rows and coefficients together."""
    prepared = letters_of(parts)
    check_one_place(prepared)
    first, length = prepared[0], prepared[0].codes.shape[1]
    offsets: dict[tuple[int, int], int] = {}
    codes: list[Array] = []
    total = 0
    for some in prepared:
        key = (some.codes.ctypes.data, len(some.codes))
        if key not in offsets:
            offsets[key], total = total, total + len(some.codes)
            codes.append(some.codes)
    groups: dict[bytes, tuple[Array, list[Array]]] = {}
    for part, some in zip(parts, prepared):
        at = offsets[some.codes.ctypes.data, len(some.codes)]
        coef = np.zeros(total)
        coef[at : at + len(some.codes)] = part.coef
        groups.setdefault(coef.tobytes(), (coef, []))[1].append(
            part.factor * spread(part.kernel.cells(length), part.kernel.shift_weights())
        )
    coupling = [_added(tables) for _, tables in groups.values()]
    shape = np.max([table.shape for table in coupling], axis=0)
    stacked = np.stack([_grown(table, shape) for table in coupling])
    columns = np.stack([coef for coef, _ in groups.values()], axis=1)
    return NormalVector(np.ascontiguousarray(np.concatenate(codes)), first.alphabet, columns, stacked)


def _added(tables: list[Array]) -> Array:
    shape = np.max([table.shape for table in tables], axis=0)
    return cast(Array, sum(_grown(table, shape) for table in tables))


def _grown(table: Array, shape: Array) -> Array:
    """Return the table with zeros for further shifts (on both sides) and degrees."""
    side = (int(shape[0]) - table.shape[0]) // 2
    return np.pad(table, ((side, side), (0, 0), (0, int(shape[2]) - table.shape[2])))


@jit
def _sort_starts(codes, letters, deepest, rows, starts):  # type: ignore[no-untyped-def]
    """Sort starts by their first letters, the last letter first; masked letters and the end of the row come last."""
    length = codes.shape[1]
    count = np.zeros(letters + 2, np.int64)
    other_rows, other_starts = np.empty_like(rows), np.empty_like(starts)
    for depth in range(deepest - 1, -1, -1):
        count[:] = 0
        for q in range(len(rows)):
            at = starts[q] + depth
            count[1 + (min(np.int64(codes[rows[q], at]), letters) if at < length else letters)] += 1
        for a in range(letters):
            count[a + 1] += count[a]
        for q in range(len(rows)):
            at = starts[q] + depth
            a = min(np.int64(codes[rows[q], at]), letters) if at < length else letters
            other_rows[count[a]], other_starts[count[a]] = rows[q], starts[q]
            count[a] += 1
        rows, other_rows = other_rows, rows
        starts, other_starts = other_starts, starts
    return rows, starts


@jit
def _walk(codes, mask, coef, gains, position, deepest, rows, starts, found, weight):  # type: ignore[no-untyped-def]
    """Write one node for each distinct k-mer (row, start, length, count; weight) and return how many there are."""
    length, groups, span = codes.shape[1], coef.shape[1], gains.shape[1] // 2
    sums, counts = np.zeros(deepest + 1), np.zeros(deepest + 1, np.int64)
    used, open_depth = 0, 0
    for q in range(len(rows) + 1):
        depth, same = 0, 0
        if q < len(rows):
            row, start = rows[q], starts[q]
            before, there = (rows[q - 1], starts[q - 1]) if q else (row, start)
            matching = q > 0
            while depth < deepest and start + depth < length and codes[row, start + depth] != mask:
                matching = matching and depth < open_depth and codes[before, there + depth] == codes[row, start + depth]
                same += matching
                depth += 1
        for d in range(open_depth, same, -1):
            found[0, used], found[1, used], found[2, used], found[3, used] = rows[q - 1], starts[q - 1], d, counts[d]
            weight[used] = sums[d]
            used += 1
            sums[d], counts[d] = 0.0, 0
        for d in range(1, depth + 1):
            for g in range(groups):
                sums[d] += coef[row, g] * gains[g, span + start - position, d - 1]
            counts[d] += 1
        open_depth = depth
    return used
