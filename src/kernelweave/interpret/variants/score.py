"""Scores of variants: the model's decision value of a window under either allele, in the window that changes most."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from kernelweave.data import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.data.strings.shuffled import shuffled
from kernelweave.interpret.variants.contexts import Context
from kernelweave.kernels.base import Array
from kernelweave.operators.expansion.changes import has_changes, window_changes

WINDOWS_TOGETHER = 1 << 16
"""Windows that are scored at once."""
CONTEXTS_TOGETHER = 1 << 13
"""Contexts whose windows are compared at once."""


class Effects(NamedTuple):
    """What variants change, nan (and -1) for those that no window fits.

    Attributes
    ----------
    ref, alt : (n,) decision values of the window under both alleles
    begins : (n,) place of the window on the chromosome
    strands : (n,) 1, or -1 for the other strand
    """

    ref: Array
    alt: Array
    begins: Array
    strands: Array

    @property
    def delta(self) -> Array:
        """What the alternative allele changes, (n,)."""
        return self.alt - self.ref


class Scorer:
    """A model and the windows in which it judges variants.

    Parameters
    ----------
    core : fitted estimator
    alphabet : of the sequences that it was trained on
    window : letters of a window
    every : whether all windows that contain a variant are tried, or the one in whose middle it lies
    both : whether windows of the other strand are tried as well
    output, sign : which decision value, see `interpret.parts.output`
    """

    def __init__(self, core: Any, alphabet: Any, window: int, every: bool, both: bool, output: int, sign: float):
        self.expansion, self.engine, self.intercept = core.expansion_, core._engine(), float(core.intercept_[output])
        self.alphabet, self.window, self.every, self.both = alphabet, window, every, both
        self.output, self.sign = output, sign
        self.by_changes = every and has_changes(self.expansion)

    def scores(self, windows: Array) -> Array:
        """Return the decision values of windows, (n,)."""
        out = np.empty(len(windows))
        for a in range(0, len(windows), WINDOWS_TOGETHER):
            part = np.ascontiguousarray(windows[a : a + WINDOWS_TOGETHER], self.alphabet.dtype)
            offsets = np.arange(len(part) + 1, dtype=np.int64) * self.window
            rows = Sequences._trusted(part.ravel(), offsets, self.alphabet, None)
            out[a : a + len(part)] = self.expansion.scores(rows, self.engine)[:, self.output]
        return self.sign * (out + self.intercept)

    def effects(self, some: Sequence[Context | None]) -> Effects:
        """Return what variants change in the window in which they change most."""
        begins, strands = np.full(len(some), -1), np.ones(len(some), np.int64)
        plain = [k for k, one in enumerate(some) if one is not None and self.by_changes and _is_single(one)]
        for a in range(0, len(plain), CONTEXTS_TOGETHER):
            self._by_changes(some, np.array(plain[a : a + CONTEXTS_TOGETHER]), begins, strands)
        known = set(plain)
        self._by_scores(some, [k for k, one in enumerate(some) if one is not None and k not in known], begins, strands)
        chosen = np.flatnonzero(begins >= 0)
        ref, alt, places = np.full(len(some), np.nan), np.full(len(some), np.nan), np.full(len(some), -1)
        for a in range(0, len(chosen), WINDOWS_TOGETHER):
            part = chosen[a : a + WINDOWS_TOGETHER]
            pairs = [_context(some, k).windows(begins[k : k + 1], self.window) for k in part.tolist()]
            for out, number in ((ref, 0), (alt, 1)):
                out[part] = self.scores(self._turned(np.concatenate([pair[number] for pair in pairs]), strands[part]))
            places[part] = [begins[k] + _context(some, k).first for k in part.tolist()]
        return Effects(ref, alt, places, strands)

    def _turned(self, windows: Array, strands: Array) -> Array:
        """Return windows, those of the other strand reversed and complemented."""
        other = np.flatnonzero(strands < 0)
        if len(other):
            windows = windows.copy()
            partners = self.alphabet.complement_codes
            windows[other] = partners[np.minimum(windows[other][:, ::-1], self.alphabet.size)]
        return windows

    def _by_changes(self, some: Sequence[Context | None], which: Array, begins: Array, strands: Array) -> None:
        """Choose windows of single letters by the changes of all windows."""
        w, mask = self.window, self.alphabet.mask
        before = np.full((len(which), 2 * w - 1), mask, self.alphabet.dtype)
        allowed = np.zeros((len(which), w), bool)
        alt = np.empty(len(which), self.alphabet.dtype)
        for line, k in enumerate(which.tolist()):
            one = _context(some, k)
            shift = one.start - w + 1  # place among its letters of the first column
            low, high = max(shift, 0), min(shift + 2 * w - 1, len(one.letters))
            before[line, low - shift : high - shift] = one.letters[low:high]
            allowed[line, low - shift : max(high - shift - w + 1, 0)] = True
            alt[line] = one.alt[0]
        after = before.copy()
        after[:, w - 1] = alt
        changes = [window_changes(self.expansion, before, after, self.output, self.engine)]
        if self.both:
            turn = np.full(len(which), -1)
            turned = self._turned(before, turn), self._turned(after, turn)
            changes.append(window_changes(self.expansion, *turned, self.output, self.engine)[:, ::-1])
        sizes = np.where(allowed, np.abs(np.stack(changes)), -1.0)
        best = sizes.transpose(1, 0, 2).reshape(len(which), -1).argmax(axis=1)
        fits = allowed.any(axis=1)
        first = np.array([_context(some, k).start - w + 1 for k in which.tolist()])
        begins[which[fits]] = (first + best % w)[fits]
        strands[which] = np.where(best // w == 1, -1, 1)

    def _by_scores(self, some: Sequence[Context | None], which: list[int], begins: Array, strands: Array) -> None:
        """Choose windows by scoring all that come into question; where there is one, it is taken unseen."""
        pending: list[tuple[int, Array]] = []
        waiting = 0
        for k in which:
            found = _context(some, k).begins(self.window, self.every)
            if len(found) == 1 and not self.both:
                begins[k] = found[0]
            elif len(found):
                pending.append((k, found))
                waiting += len(found)
            if waiting >= WINDOWS_TOGETHER:
                self._choose(some, pending, begins, strands)
                pending, waiting = [], 0
        if pending:
            self._choose(some, pending, begins, strands)

    def _choose(
        self, some: Sequence[Context | None], pending: list[tuple[int, Array]], begins: Array, strands: Array
    ) -> None:
        pairs = [_context(some, k).windows(found, self.window) for k, found in pending]
        before, after = (np.concatenate([pair[number] for pair in pairs]) for number in (0, 1))
        sides = (1, -1) if self.both else (1,)
        turns = [np.full(len(before), side) for side in sides]
        changes = [np.abs(self.scores(self._turned(after, t)) - self.scores(self._turned(before, t))) for t in turns]
        place = 0
        for k, found in pending:
            part = np.stack([line[place : place + len(found)] for line in changes])
            side, at = np.unravel_index(int(part.argmax()), part.shape)
            begins[k], strands[k] = found[at], sides[int(side)]
            place += len(found)


def between_shuffled(
    some: Sequence[Context], window: int, rng: np.random.Generator, alphabet: Alphabet
) -> list[Context]:
    """Return variants between shuffled flanks: each keeps its pairs of neighbours, its first letter and its last."""
    flanks: list[Array] = []
    for one in some:
        low, high = max(one.start - window, 0), min(one.start + len(one.ref) + window, len(one.letters))
        flanks += [one.letters[low : one.start], one.letters[one.start + len(one.ref) : high]]
    offsets = np.concatenate([[0], np.cumsum([len(flank) for flank in flanks])])
    rows = Sequences(np.concatenate(flanks).astype(alphabet.dtype), offsets, alphabet)
    mixed = shuffled(rows, rng)
    parts = [mixed.codes[a:b] for a, b in pairwise(mixed.offsets.tolist())]
    return [
        Context(np.concatenate([left, one.ref, right]), 0, len(left), one.ref, one.alt)
        for one, left, right in zip(some, parts[::2], parts[1::2])
    ]


def _is_single(one: Context) -> bool:
    return len(one.ref) == len(one.alt) == 1


def _context(some: Sequence[Context | None], k: int) -> Context:
    one = some[k]
    assert one is not None  # those without a context were left out
    return one
