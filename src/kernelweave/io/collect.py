"""Collecting rows of letters from a stream: memory stays near one byte a letter until the alphabet is known."""

from __future__ import annotations

import numpy as np

from kernelweave.data.alphabet import Alphabet, infer_from_counts
from kernelweave.data.atomic import PathLike
from kernelweave.data.letters import check_unknown
from kernelweave.data.rows import IDS
from kernelweave.data.sequences import Sequences
from kernelweave.io.dataset import check_options

Array = np.ndarray
GROWTH = 1.1  # growing in place costs little time, and what is reserved counts as used
STEP = 1 << 20


class Growing:
    """A byte array that grows in place at its end."""

    def __init__(self) -> None:
        self._store = np.empty(STEP, np.uint8)
        self.size = 0

    def append(self, piece: Array) -> None:
        """Add bytes at the end."""
        size = self.size + piece.size
        if size > self._store.size:
            self._store.resize(max(size, int(self._store.size * GROWTH)), refcheck=False)
        self._store[self.size : size] = piece
        self.size = size

    def finish(self) -> Array:
        """Return the bytes and give back what was reserved beyond them."""
        self._store.resize(self.size, refcheck=False)
        return self._store


class Collector:
    """Gathers letters, ids and line numbers of a file and turns them into `Sequences`."""

    def __init__(self, path: PathLike):
        self.path = path
        self.letters = Growing()
        self.n_rows = 0
        self._starts: list[Array] = []
        self._lines: list[Array] = []
        self._ids: list[Array] = []
        self._hashes: list[Array] = []

    def add(self, letters: Array, starts: Array, lines: Array, ids: list[str] | None) -> None:
        """Add letters and the rows that start in them; letters before the first start belong to the last row."""
        self._starts.append(starts + self.letters.size)
        self._lines.append(lines)
        self.letters.append(letters)
        self.n_rows += starts.size
        if ids is not None:
            self._ids.append(np.array(ids, dtype=IDS))
            self._hashes.append(np.fromiter(map(hash, ids), np.int64, len(ids)))

    def finish(self, alphabet: str | Alphabet, unknown: str, duplicates: str) -> Sequences:
        """Encode what was collected."""
        check_unknown(unknown)
        check_options(duplicates=(duplicates, ("error", "allow")))
        if not self.n_rows:
            raise ValueError(f"{self.path} holds no sequences.")
        raw = self.letters.finish()
        lines, hashes = _join(self._lines), _join(self._hashes)
        ids = _join(self._ids) if self._ids else None
        if ids is not None and duplicates == "error":
            check_unique(self.path, ids, hashes, lines)
        del hashes
        offsets = _join([*self._starts, np.array([raw.size])])
        self._starts.clear()
        if alphabet == "auto":
            if not raw.size:
                raise ValueError(f"{self.path}: no sequence has letters from which to infer an alphabet; name one.")
            alphabet = infer_from_counts(_byte_counts(raw))
        chosen = Alphabet.named(alphabet) if isinstance(alphabet, str) and alphabet != "words" else alphabet
        if isinstance(chosen, str) or chosen.byte_codes is None:
            return self._through_text(raw, offsets, chosen, unknown, ids)
        codes = self._encode(raw, offsets, chosen, unknown == "error", lines, ids)
        return Sequences(codes, offsets, chosen, ids)

    def _encode(
        self, raw: Array, offsets: Array, alphabet: Alphabet, strict: bool, lines: Array, ids: Array | None
    ) -> Array:
        """Translate bytes to codes, in place where a code is a byte."""
        table = alphabet.byte_codes
        assert table is not None
        codes = raw if table.dtype == np.uint8 else np.empty(raw.size, table.dtype)
        for start in range(0, raw.size, STEP):
            piece = raw[start : start + STEP]
            translated = table[piece]
            if strict and translated.max() == alphabet.mask:
                at = int(np.argmax(translated == alphabet.mask))
                row = int(np.searchsorted(offsets, start + at, side="right")) - 1
                name = f"row {row}" if ids is None else f"row {row} ({ids[row]})"
                letter = bytes([piece[at]]).decode("ascii", "backslashreplace")
                raise ValueError(
                    f"{self.path}:{lines[row]}: {name} has the unknown letter {letter!r} "
                    f"at position {start + at - offsets[row]}; {alphabet.expected}."
                )
            codes[start : start + STEP] = translated
        return codes

    def _through_text(
        self, raw: Array, offsets: Array, alphabet: str | Alphabet, unknown: str, ids: Array | None
    ) -> Sequences:
        rows = [piece.tobytes().decode("utf-8", "surrogateescape") for piece in np.split(raw, offsets[1:-1])]
        try:
            return Sequences.from_strings(rows, alphabet, unknown, ids)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from None


def check_unique(path: PathLike, ids: Array, hashes: Array, lines: Array) -> None:
    """Raise if two rows have the same id, naming it and both lines."""
    ordered = np.sort(hashes)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    order = np.argsort(hashes, kind="stable")
    twins = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    pairs = [(int(order[t]), int(order[t + 1])) for t in twins if ids[order[t]] == ids[order[t + 1]]]
    if pairs:
        first, second = min(pairs, key=lambda pair: pair[1])
        where, name = f"{path}:{lines[second]}", ids[second]
        raise ValueError(
            f"{where}: the id {name!r} was already used on line {lines[first]}; duplicates='allow' keeps both."
        )


def check_unique_names(path: PathLike, ids: list[str], lines: Array) -> Array:
    """Return ids as an array, or raise if one occurs twice."""
    names = np.array(ids, dtype=IDS)
    check_unique(path, names, np.fromiter(map(hash, ids), np.int64, len(ids)), lines)
    return names


def _join(pieces: list[Array]) -> Array:
    """Concatenate pieces and let go of them."""
    whole = np.concatenate(pieces) if pieces else np.empty(0, np.int64)
    pieces.clear()
    return whole


def _byte_counts(raw: Array) -> Array:
    counts = np.zeros(256, np.int64)
    for start in range(0, raw.size, STEP):
        counts += np.bincount(raw[start : start + STEP], minlength=256)
    return counts
