"""Scoring every window of long sequences.

A model f of sequences of w letters is slid along a sequence x: f(x[s : s + w]) for the starts s = 0, step, 2 step, ...
On the other strand it is f of the reverse complement of the same letters.  Windows are gathered in blocks across rows
and scored by the model's own `decision_function`; long sequences come in pieces that overlap by w - 1 letters
(`kernelweave.io.stream`), so memory does not grow with their length.

An anchor "AG@60" keeps the windows whose letters from place 60 on are AG.  On the other strand the window has to have
the reverse complement of those letters at place w - 60 - 2.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernelweave._numba import jit
from kernelweave._numba.vector import copy_items
from kernelweave.data import Alphabet, Sequences
from kernelweave.data.errors import Metavar, ParameterError
from kernelweave.data.kinds import alphabet_of, kind_of
from kernelweave.data.stores import is_stored
from kernelweave.io.stream import Block, stream

Array = np.ndarray
SCANNED_WINDOWS = 1 << 16
"""Windows that are scored at once."""

SCANNED_LETTERS = 1 << 24
"""Letters of the windows that are scored at once: long windows come in smaller blocks."""

SIDE, AT, SIZE, LETTERS = range(4)
"""Columns of the table of anchors: strand (0 or 1), place in the window, number of letters, and the first of them."""


class Windows(NamedTuple):
    """Scored windows of one sequence, in the order of their starts.

    Parameters
    ----------
    seqid : the id of the sequence, or its number where there are no ids
    starts : (n,) place in the sequence of the first letter of each window
    strands : (n,) 1 for the sequence as it stands, -1 for its other strand
    scores : (n,) decision values; (n, classes) for a model of more than two classes
    """

    seqid: str
    starts: Array
    strands: Array
    scores: Array


def scan(
    model: Any,
    sequences: Any,
    window: int | None = None,
    step: int = 1,
    *,
    both_strands: bool = False,
    anchor: str | Iterable[str] = (),
    skip_masked: bool = False,
    threshold: float | None = None,
) -> Iterator[Windows]:
    """Score the windows of long sequences with a model of short ones.

    Parameters
    ----------
    model : fitted estimator, trained on sequences
    sequences : Sequences, a store of them, a list of texts, or the path of a FASTA, FASTQ or label-TAB-sequence file,
        plain or compressed, which is read in pieces; letters outside of the model's alphabet match nothing
    window : letters of a window; None for the length of the training sequences, if they have the same
    step : letters from the start of one window to the start of the next
    both_strands : score the reverse complement of each window as well
    anchor : letters that a window must have at a place counted from 0, such as "AG@60"; several: any of them
    skip_masked : leave out windows with letters that match nothing
    threshold : leave out windows with a lower score

    Returns
    -------
    iterator of `Windows`: (seqid, starts, strands, scores)

    Examples
    --------
    >>> import kernelweave as kw
    >>> model = kw.KernelClassifier("wd:2").fit(["AG", "AG", "CT", "TT"], [1, 1, -1, -1])
    >>> for seqid, starts, strands, scores in kw.scan(model, ["CCAGCTT"], both_strands=True, threshold=0.9):
    ...     print(seqid, starts, strands)
    0 [2 4] [ 1 -1]
    """
    scanner = Scanner(model, window, step, both_strands, anchor, skip_masked, threshold)
    if isinstance(sequences, str | os.PathLike):
        blocks = stream(sequences, scanner.alphabet, "mask", overlap=scanner.window - 1)
    else:
        if alphabet_of(sequences) is None:
            sequences = Sequences.from_strings(sequences, scanner.alphabet, "mask")
        blocks = in_blocks(sequences)
    return (windows for block in blocks for scored in scanner.windows(block) for windows in scored)


def whole(X: Sequences) -> Block:
    """Return sequences in memory as one block."""
    return Block(X, np.zeros(len(X), np.int64), 0, 0)


def in_blocks(X: Any) -> Iterator[Block]:
    """Yield sequences in memory as one block, those of a store part by part."""
    if not is_stored(X):
        yield whole(X)
        return
    for part in X.parts:
        yield whole(X[part])._replace(first=part.start)


class Scanner:
    """A model and the windows that it looks at; counts what it has seen.

    Attributes
    ----------
    window, alphabet : letters of a window, and what they are
    n_letters, n_masked : letters seen, and those among them that match nothing
    n_windows : windows scored
    """

    def __init__(
        self,
        model: Any,
        window: int | None = None,
        step: int = 1,
        both_strands: bool = False,
        anchor: str | Iterable[str] = (),
        skip_masked: bool = False,
        threshold: float | None = None,
    ):
        rows = trained_sequences(model)
        self.alphabet, self.threshold = rows.alphabet, threshold
        self.window = _window(rows) if window is None else _count("window", window)
        if both_strands and self.alphabet.complement is None:
            raise ValueError(f"There is no other strand: the {self.alphabet.name} alphabet has no complement.")
        self._score = model.decision_function if hasattr(model, "decision_function") else model.predict
        masked = self.alphabet.mask if skip_masked else -1
        self._rule = np.array([self.window, _count("step", step), masked, 1 + both_strands], np.int64)
        self._anchors = _anchor_table(anchor, self.alphabet, self.window, both_strands)
        self._partners = self.alphabet.complement_codes if both_strands else np.zeros(1, self.alphabet.dtype)
        self.n_letters = self.n_masked = self.n_windows = 0

    def windows(self, block: Block) -> Iterator[list[Windows]]:
        """Score the windows of some rows; yield those that are good enough, perhaps none, each time some are scored."""
        X, names = block.X, block.names
        self.n_masked += int(np.count_nonzero(X.codes[block.shared :] == self.alphabet.mask))
        before, state = self.n_letters - block.shared, np.array([0, -1], np.int64)
        while state[0] < len(X):
            found = np.empty((3, max(2, min(SCANNED_WINDOWS, SCANNED_LETTERS // self.window))), np.int64)
            found = found[:, : find_windows(X.codes, X.offsets, block.places, self._rule, self._anchors, state, found)]
            at, rows, strands = found
            scores = self._scores(X, found) if at.size else np.zeros(0)
            self.n_letters = before + max(int(state[1]) if state[0] < len(X) else X.codes.size, block.shared)
            starts = at - X.offsets[rows] + block.places[rows]
            yield list(self._kept(names, rows, starts, strands.astype(np.int8), scores))

    def _scores(self, X: Sequences, found: Array) -> Array:
        n, w = found.shape[1], self.window
        codes = np.empty(n * w, X.codes.dtype)
        gather_windows(X.codes, found, w, self._partners, codes)
        self.n_windows += n
        return self._score(Sequences._trusted(codes, np.arange(0, (n + 1) * w, w), X.alphabet, None))

    def _kept(self, names: list[str], rows: Array, starts: Array, strands: Array, scores: Array) -> Iterator[Windows]:
        """Give the windows that are good enough, those of a row together."""
        if self.threshold is not None:
            if scores.ndim > 1:
                raise ValueError(f"A threshold needs one score a window, but the model has {scores.shape[1]} classes.")
            good = np.flatnonzero(scores >= self.threshold)
            rows, starts, strands, scores = rows[good], starts[good], strands[good], scores[good]
        cuts = [0, *(np.flatnonzero(np.diff(rows)) + 1).tolist(), rows.size]
        for a, b in pairwise(cuts):
            if b > a:
                yield Windows(names[rows[a]], starts[a:b], strands[a:b], scores[a:b])


def trained_sequences(model: Any) -> Sequences:
    """Return the sequences that a model keeps; one of other rows raises."""
    core = model[-1] if hasattr(model, "steps") else model
    check_is_fitted(core, "expansion_")
    if alphabet_of(core.expansion_.rows) is None or kind_of(core.expansion_.rows).uncertain:
        raise TypeError("Only a model that was trained on sequences can score windows of sequences.")
    return core.expansion_.rows


def _window(rows: Sequences) -> int:
    if rows.is_fixed_length and rows.shape[1]:
        return rows.shape[1]
    lengths = f"{rows.lengths.min()} to {rows.lengths.max()}" if len(rows) else "unknown numbers of"
    trained = f"The model was trained on sequences of {lengths} letters"
    raise ParameterError(
        "{trained}; give {window}, the letters of a window.", {"window": Metavar("N")}, trained=trained
    )


def _count(name: str, value: Any) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ParameterError("{" + name + "} must be a positive integer.", {name: value})
    return int(value)


def _anchor_table(anchors: str | Iterable[str], alphabet: Alphabet, window: int, both: bool) -> Array:
    """Return a line of numbers for each anchor and strand; see `SIDE` and its neighbours for the columns."""
    lines = []
    for text in [anchors] if isinstance(anchors, str) else anchors:
        letters, sign, place = text.rpartition("@")
        if not sign or not letters or not (place.isascii() and place.isdigit()):
            form = "letters, @ and a place counted from 0, such as AG@60"
            raise ParameterError("{anchor} must be {form}.", {"anchor": text}, form=form)
        try:
            codes, at = alphabet.encode(letters), int(place)
        except ValueError as error:
            raise ParameterError("{anchor}: {error}", {"anchor": text}, error=error) from None
        if at + codes.size > window:
            beyond = f"reaches beyond the {window} letters of a window"
            raise ParameterError("{anchor} {beyond}.", {"anchor": text}, beyond=beyond)
        lines.append([0, at, codes.size, *codes.tolist()])
        if both:
            lines.append([1, window - at - codes.size, codes.size, *alphabet.complement_codes[codes[::-1]].tolist()])
    width = max(map(len, lines), default=LETTERS)
    return np.array([line + [0] * (width - len(line)) for line in lines], np.int64).reshape(-1, width)


@jit
def find_windows(codes, offsets, places, rule, anchors, state, found):  # type: ignore[no-untyped-def]
    """Fill the columns of `found` with position, row and strand (1, -1) of the next windows; return how many.

    `rule` is: letters of a window, step, the code that no letter may have (or -1), number of strands.  `state` is the
    row and position to go on from; it begins as (0, -1), and its row is the number of rows when all is done.
    """
    window, step, masked, n_strands = rule[0], rule[1], rule[2], rule[3]
    n, row, at = 0, state[0], state[1]
    while row < offsets.size - 1:
        if at < 0:
            at = offsets[row] + (-places[row]) % step
        while at + window <= offsets[row + 1]:
            if n + n_strands > found.shape[1]:
                state[0], state[1] = row, at
                return n
            for side in range(n_strands):
                if fits(codes, at, side, window, masked, anchors):
                    found[0, n], found[1, n], found[2, n] = at, row, 1 - 2 * side
                    n += 1
            at += step
        row, at = row + 1, -1
    state[0], state[1] = row, at
    return n


@jit
def fits(codes, at, side, window, masked, anchors):  # type: ignore[no-untyped-def]
    """Tell whether a window has one of the anchors of its strand, where there are any, and no masked letter."""
    anchored = anchors.shape[0] == 0
    for a in range(anchors.shape[0]):
        if anchors[a, SIDE] == side:
            i, first = 0, at + anchors[a, AT]
            while i < anchors[a, SIZE] and codes[first + i] == anchors[a, LETTERS + i]:
                i += 1
            if i == anchors[a, SIZE]:
                anchored = True
                break
    if not anchored:
        return False
    if masked >= 0:
        for i in range(window):
            if codes[at + i] == masked:
                return False
    return True


@jit
def gather_windows(codes, found, window, partners, out):  # type: ignore[no-untyped-def]
    """Copy windows behind one another into `out`, those of the other strand reversed and complemented."""
    size = partners.size - 1
    for n in range(found.shape[1]):
        at, target = found[0, n], n * window
        if found[2, n] > 0:
            copy_items(codes, at, out, target, window)
        else:
            for i in range(window):
                out[target + i] = partners[min(codes[at + window - 1 - i], size)]
