"""Rows of a flat buffer: offsets, row numbers, where a letter lies, ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelweave.data.blocks import LETTERS_TOGETHER
from kernelweave.data.strings.letters import Row, lengths_of

if TYPE_CHECKING:
    from kernelweave.data.strings.alphabet import Alphabet

Array = np.ndarray

IDS = np.dtypes.StringDType()
"""Type of the ids: strings of any length, a few bytes each."""


def offsets_of(lengths: Array) -> Array:
    """Return where rows of these lengths start in a flat buffer, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def first_masked(codes: Array, offsets: Array, mask: int) -> tuple[int, int] | None:
    """Return (row, position) of the first masked letter, or None."""
    for start in range(0, codes.size, LETTERS_TOGETHER):
        hits = codes[start : start + LETTERS_TOGETHER] == mask
        if hits.any():
            at = start + int(np.argmax(hits))
            row = int(np.searchsorted(offsets, at, side="right")) - 1
            return row, at - int(offsets[row])
    return None


def strange_code(codes: Array, size: int, mask: int) -> int | None:
    """Return the first code that is neither a letter nor the mask, or None."""
    for start in range(0, codes.size, LETTERS_TOGETHER):
        piece = codes[start : start + LETTERS_TOGETHER]
        odd = (piece >= size) & (piece != mask)
        if odd.any():
            return int(piece[np.argmax(odd)])
    return None


def row_numbers(key: Any, n: int) -> Array:
    """Return non-negative row numbers for a list, an integer array or a boolean mask."""
    rows = np.asarray(key)
    if rows.size == 0 and rows.dtype != bool:
        return np.zeros(0, np.int64)
    if rows.ndim != 1 or rows.dtype.kind not in "iub":
        raise IndexError(f"Rows are chosen by integers, a slice or a boolean mask, not by {type(key).__name__}.")
    if rows.dtype == bool:
        if rows.size != n:
            raise IndexError(f"The boolean mask has {rows.size} entries for {n} rows.")
        return np.flatnonzero(rows)
    rows = rows.astype(np.int64)
    if rows.min() < -n or rows.max() >= n:
        bad = int(rows.max() if rows.max() >= n else rows.min())
        raise IndexError(f"Row {bad} does not exist: there are {n} rows.")
    return np.where(rows < 0, rows + n, rows)


def stepped_rows(start: int, stop: int, step: int) -> Array:
    """Return the row numbers of a range, whatever the size of its step."""
    whole = abs(stop - start) + 1
    return np.arange(start, stop, max(-whole, min(step, whole)))


def same_ids(a: Array | None, b: Array | None) -> bool:
    """Tell whether two sets of ids, or their absence, agree."""
    return a is b if a is None or b is None else bool(np.array_equal(a, b))


def as_ids(ids: Iterable[str] | None, n: int) -> Array | None:
    """Return n ids as an array of strings; None stays None."""
    if ids is None:
        return None
    if isinstance(ids, np.ndarray) and ids.dtype == IDS:
        names = ids
    else:
        names = np.array([str(name) for name in ids], dtype=IDS)
    if names.shape != (n,):
        raise ValueError(f"There are {names.size} ids for {n} rows.")
    return names


def check_parts(parts: Sequence[Any], kind: str) -> Array | None:
    """Return the ids of parts that are to stand behind one another, None unless all have some; raise where they differ.

    Parts are Sequences or Lattices over one alphabet.
    """
    if not parts:
        raise ValueError(f"Nothing to concatenate: expected at least one {kind}.")
    first = parts[0].alphabet
    for number, part in enumerate(parts):
        if part.alphabet != first:
            raise ValueError(f"Part {number} is over {part.alphabet!r}, part 0 over {first!r}; they must be equal.")
    ids = [part.ids for part in parts if part.ids is not None]
    return np.concatenate(ids) if len(ids) == len(parts) else None


def codes_in(alphabet: Alphabet, letters: Iterable[str]) -> Array:
    """Return the code of each letter, int64; ``alphabet.size`` stands for a letter that the alphabet lacks."""
    codes, lengths = alphabet.encode_rows([[letter] for letter in letters])
    out = np.full(lengths.size, alphabet.size, np.int64)
    single = lengths == 1  # bytes spell some letters with several codes, characters none longer than one
    out[single] = np.minimum(codes[offsets_of(lengths)[:-1][single]], alphabet.size)
    return out


def packed_ids(ids: Array | None) -> dict[str, Array]:
    """Return ids as named arrays of numbers: bytes behind one another and where each starts; none for None."""
    if ids is None:
        return {}
    raw = [name.encode("utf-8", "surrogatepass") for name in ids]
    return {"id_offsets": offsets_of(lengths_of(raw)), "id_bytes": np.frombuffer(b"".join(raw), np.uint8)}


def unpacked_ids(arrays: Mapping[str, Array], n: int) -> Array | None:
    """Return the n ids that `packed_ids` put among named arrays, or None."""
    if "id_offsets" not in arrays:
        return None
    raw, bounds = arrays["id_bytes"].tobytes(), arrays["id_offsets"].tolist()
    return as_ids([raw[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(bounds)], n)


def record_text(row: Any) -> Any:
    """Return the letters of a record of Biopython or pyfaidx as a text, anything else as it is.

    Known by what they have: a record its `seq`, a sequence its `reverse_complement`, a chromosome of an indexed file
    its `long_name`.
    """
    if isinstance(row, str | bytes | list | tuple):
        return row
    if hasattr(row, "seq"):
        return str(row.seq)
    return str(row) if hasattr(row, "reverse_complement") or hasattr(row, "long_name") else row


def record_ids(rows: Sequence[Any]) -> list[str] | None:
    """Return the names of records, None unless all have one."""
    names = [getattr(row, "id", None) or getattr(row, "name", None) for row in rows]
    return [str(name) for name in names] if names and all(isinstance(name, str) for name in names) else None


def check_rows(strings: Iterable[Row]) -> list[Row]:
    """Return rows of text as a list, or raise at the first that is none."""
    if isinstance(strings, str | bytes):
        raise TypeError("Expected a list of strings, got a single string.")
    rows = [record_text(row) for row in strings]
    for number, row in enumerate(rows):
        if not isinstance(row, str | bytes | list | tuple):
            raise TypeError(f"Row {number} is a {type(row).__name__}, expected a string.")
    return rows
