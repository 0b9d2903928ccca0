"""Collecting rows of letters from a stream: memory stays near one byte a letter until the alphabet is known.

What is kept of a row beside its letters grows in place as well: 16 bytes and its text beyond 15 letters for the id,
8 for the start, 8 for the hash that finds a second use of the id, 4 for the line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.data.blocks import LETTERS_TOGETHER
from kernelweave.data.errors import ParameterError
from kernelweave.data.rows import IDS, first_masked
from kernelweave.data.strings.alphabet import Alphabet, infer_from_counts, is_text
from kernelweave.data.strings.letters import TOKENIZERS, check_unknown, tokens_of
from kernelweave.data.strings.sequences import Sequences
from kernelweave.io.dataset import check_options
from kernelweave.io.machines import shorter, shown

Array = np.ndarray
Part = tuple[Array, Array, Array, list[str] | None]
"""Letters as bytes, and the start among them, line and id of each row that begins there."""
ARRAY_GROWTH = 1.1
"""Factor by which a full array grows: growing in place costs little time, and what is reserved counts as used."""

FIRST_BYTES = 1 << 20
"""Bytes that a growing array reserves at first."""


class Growing:
    """An array that grows in place at its end."""

    def __init__(self, dtype: Any = np.uint8) -> None:
        self._store = np.empty(FIRST_BYTES // np.dtype(dtype).itemsize, dtype)
        self.size = 0

    def append(self, piece: Array) -> None:
        """Add items at the end."""
        size = self.size + piece.size
        if size > self._store.size:
            self._store.resize(max(size, int(self._store.size * ARRAY_GROWTH)), refcheck=False)
        self._store[self.size : size] = piece
        self.size = size

    def finish(self) -> Array:
        """Return the items and give back what was reserved beyond them."""
        self._store.resize(self.size, refcheck=False)
        return self._store


@dataclass(frozen=True)
class Rows:
    """Where the rows of some letters come from, for messages.

    steps : lines between the header of a row and that of the row before it, counted from line 0; ids : names, or None;
    first, place : the number of the first row, and of its first letter, where the letters begin in mid-file
    """

    path: PathLike
    offsets: Array
    steps: Array
    ids: Array | None
    first: int = 0
    place: int = 0

    def line(self, row: int) -> int:
        """Return the line on which a row begins."""
        return int(self.steps[: row + 1].sum(dtype=np.int64))

    def refuse(self, row: int, position: int, letter: str, alphabet: Alphabet) -> None:
        """Raise because a row has an unknown letter."""
        number, position = self.first + row, position + (0 if row else self.place)
        name = f"row {number}" if self.ids is None else f"row {number} ({shorter(self.ids[row])})"
        found = f"{self.path}:{self.line(row)}: {name} has the unknown letter {letter!r} at position {position}"
        raise ParameterError("{found}; {expected}.", found=found, expected=alphabet.expected)


class Collector:
    """Gathers letters, ids and line numbers of a file and turns them into `Sequences`."""

    def __init__(self, path: PathLike):
        self.path = path
        self.letters = Growing()
        self._starts, self._steps = Growing(np.int64), Growing(np.uint32)
        self._ids, self._hashes = Growing(IDS), Growing(np.int64)
        self._last_line = 0

    @property
    def n_rows(self) -> int:
        """Number of rows so far."""
        return self._starts.size

    def add(self, letters: Array, starts: Array, lines: Array, ids: list[str] | None) -> None:
        """Add letters and the rows that start in them; letters before the first start belong to the last row."""
        self._starts.append(starts + self.letters.size)
        self._steps.append(np.diff(lines, prepend=self._last_line))
        self._last_line = int(lines[-1]) if lines.size else self._last_line
        self.letters.append(letters)
        if ids is not None:
            self._ids.append(np.array(ids, dtype=IDS))
            self._hashes.append(hashes_of(ids))

    def finish(self, alphabet: str | Alphabet, unknown: str, duplicates: str) -> Sequences:
        """Encode what was collected."""
        check_unknown(unknown)
        check_options(duplicates=(duplicates, ("error", "allow")))
        if not self.n_rows:
            raise ValueError(f"{self.path} holds no sequences.")
        raw = self.letters.finish()
        self._starts.append(np.array([raw.size]))
        offsets, steps = self._starts.finish(), self._steps.finish()
        ids = self._ids.finish() if self._ids.size else None
        if ids is not None and duplicates == "error":
            check_unique(self.path, ids, self._hashes.finish(), steps)
        del self._hashes
        if alphabet == "auto":
            if not raw.size:
                raise ValueError(f"{self.path}: no sequence has letters from which to infer an alphabet; name one.")
            counts = byte_counts(raw)
            alphabet = "text" if is_text(counts) else infer_from_counts(counts)
        learned = not isinstance(alphabet, str) or alphabet in TOKENIZERS
        chosen = alphabet if learned else Alphabet.named(str(alphabet))
        return encoded(raw, Rows(self.path, offsets, steps, ids), chosen, unknown)


def encoded(raw: Array, rows: Rows, alphabet: str | Alphabet, unknown: str) -> Sequences:
    """Return the rows of a buffer of bytes as `Sequences`, translated in place where a code is a byte.

    Parameters
    ----------
    raw : (letters,) bytes, which are overwritten
    rows : where each row begins and what messages call it
    alphabet : Alphabet, or "words" or "text" to learn the words
    unknown : "error" or "mask"
    """
    if isinstance(alphabet, str) or alphabet.byte_codes is None:
        return _through_text(raw, rows, alphabet, unknown)
    table = alphabet.byte_codes
    plain = table.tobytes() if table.dtype == np.uint8 else None  # bytes translate faster than arrays
    codes = np.empty(raw.size, table.dtype) if plain is None else raw
    for start in range(0, raw.size, LETTERS_TOGETHER):
        piece = raw[start : start + LETTERS_TOGETHER]
        translated = table[piece] if plain is None else np.frombuffer(piece.tobytes().translate(plain), np.uint8)
        if unknown == "error" and translated.max() == alphabet.mask:
            at = int(np.argmax(translated == alphabet.mask))
            row = int(np.searchsorted(rows.offsets, start + at, side="right")) - 1
            letter = bytes([piece[at]]).decode("ascii", "backslashreplace")
            rows.refuse(row, start + at - int(rows.offsets[row]), letter, alphabet)
        codes[start : start + LETTERS_TOGETHER] = translated
    return Sequences._trusted(codes, rows.offsets, alphabet, rows.ids)


def _through_text(raw: Array, rows: Rows, alphabet: str | Alphabet, unknown: str) -> Sequences:
    texts = [piece.tobytes().decode("utf-8", "surrogateescape") for piece in np.split(raw, rows.offsets[1:-1])]
    if isinstance(alphabet, str) and not any(tokens_of(text, alphabet) for text in texts):
        raise ValueError(f"{rows.path}: no row has words (alphabet={alphabet!r}); name another alphabet.")
    X = Sequences.from_strings(texts, alphabet, "mask", rows.ids)
    if unknown == "error" and (found := first_masked(X.codes, X.offsets, X.alphabet.mask)):
        row, position = found
        rows.refuse(row, position, X.alphabet.letter_at(texts[row], position), X.alphabet)
    return X


def hashes_of(ids: list[str]) -> Array:
    """Return a number for each id, the same for the same id."""
    return np.fromiter(map(hash, ids), np.int64, len(ids))


def check_unique(path: PathLike, ids: Array, hashes: Array, steps: Array) -> None:
    """Raise if two rows have the same id, naming it and both lines; the hashes are sorted in place."""
    hashes.sort()
    if not (hashes[1:] == hashes[:-1]).any():
        return
    suspects = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if hash(name) in suspects and first.setdefault(name, row) != row:
            lines = np.cumsum(steps[: row + 1], dtype=np.int64)
            raise duplicate(path, name, int(lines[row]), int(lines[first[name]]))


def duplicate(path: PathLike, name: str, line: int, before: int) -> ParameterError:
    """Return the error about an id that was used before."""
    found = f"{path}:{line}: the id {shown(name)} was already used on line {before}"
    return ParameterError("{found}; {duplicates} keeps both.", {"duplicates": "allow"}, found=found)


def check_unique_names(path: PathLike, ids: list[str], lines: Array) -> Array:
    """Return ids as an array, or raise if one occurs twice."""
    names = np.array(ids, dtype=IDS)
    check_unique(path, names, hashes_of(ids), np.diff(lines, prepend=0))
    return names


def byte_counts(raw: Array) -> Array:
    """Return how often each of the 256 bytes occurs."""
    counts = np.zeros(256, np.int64)
    for start in range(0, raw.size, LETTERS_TOGETHER):
        counts += np.bincount(raw[start : start + LETTERS_TOGETHER], minlength=256)
    return counts
