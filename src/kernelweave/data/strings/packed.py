"""Sequences in the parts of a store: letters of 1, 2, 4, 8, 16 or 32 bits, masked ones as runs aside.

Letters stand in slots of equal size, several to a byte, the first in the lowest bits.  Rows of one length begin at a
byte, so that row r begins in slot r * stride; rows of different lengths follow each other without gaps, and `offsets`
tells the slot in which each begins.  Where the code of a masked letter does not fit a slot, the slot is 0 and `masked`
lists the runs of such slots: first, one past the last, first, and so on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernelweave.data.rows import offsets_of, strange_code
from kernelweave.data.stores.packing import Array, Facts, Head, Packing, Piece
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences

SLOT_BITS = (1, 2, 4, 8, 16, 32)
"""Bits that a letter can have: they divide a byte, or are whole bytes."""


class SequencesPacking(Packing):
    """Packed letters."""

    has_ids = True

    def head(self, X: Sequences) -> Head:
        """Return the alphabet."""
        return {"alphabet": X.alphabet.to_dict()}

    def content(self, head: Head) -> Alphabet:
        """Return the alphabet."""
        return Alphabet.from_dict(head["alphabet"])

    def sections(self, X: Sequences) -> tuple[dict[str, Array], Facts]:
        """Return packed letters, where rows begin unless they have one length, and runs of masked letters."""
        lengths, alphabet = X.lengths, X.alphabet
        bits = slot_bits(alphabet)
        shortest, longest = (int(lengths.min()), int(lengths.max())) if len(X) else (0, 0)
        fixed = shortest == longest
        starts = np.arange(len(X)) * _stride(longest, bits) if fixed else X.offsets[:-1]
        hits = np.flatnonzero(X.codes == alphabet.mask)
        found = {} if fixed else {"offsets": X.offsets}
        if hits.size and not _in_place(alphabet, bits):
            found["masked"] = _runs(hits + np.repeat(starts - X.offsets[:-1], lengths)[hits])
        slots = len(X) * _stride(longest, bits) if fixed else X.codes.size
        facts = {"shortest": shortest, "longest": longest, "letters": int(X.codes.size), "masked": int(hits.size)}
        return {"letters": _packed(X, starts, slots, bits), **found}, facts

    def check(self, head: Head, sections: Mapping[str, Array], facts: Facts, n: int) -> None:
        """Raise unless every slot that a row names is there and holds a letter."""
        alphabet = self.content(head)
        bits = slot_bits(alphabet)
        letters, shortest, longest = sections["letters"], facts["shortest"], facts["longest"]
        if letters.dtype != (np.uint8 if bits < 8 else f"uint{bits}"):
            raise ValueError("letters")
        slots = letters.size * max(1, 8 // bits)
        if shortest == longest:
            sound = facts["letters"] == n * longest and letters.size == n * -(-longest // max(1, 8 // bits))
        else:
            offsets = sections["offsets"]
            lengths = np.diff(offsets)
            sound = offsets.dtype == np.int64 and offsets.size == n + 1 and n > 0
            sound = sound and offsets[0] == 0 and offsets[-1] == facts["letters"] <= slots
            sound = sound and lengths.min() == shortest >= 0 and lengths.max() == longest
        if not sound:
            raise ValueError("offsets")
        if "masked" in sections:
            runs = sections["masked"]
            if runs.dtype != np.int64 or runs.size % 2 or (np.diff(runs) <= 0).any() or runs[0] < 0 or runs[-1] > slots:
                raise ValueError("masked")
        _check_codes(letters, alphabet, bits)

    def gather(self, head: Head, pieces: Sequence[Piece], ids: Array | None) -> Sequences:
        """Unpack the chosen rows behind one another."""
        alphabet = self.content(head)
        bits = slot_bits(alphabet)
        spans = [_slots(piece, bits) for piece in pieces]
        offsets = offsets_of(np.concatenate([np.zeros(0, np.int64), *(lengths for _, lengths in spans)]))
        codes, first = np.empty(offsets[-1], alphabet.dtype), 0
        for piece, (starts, lengths) in zip(pieces, spans):
            target = offsets[first : first + lengths.size + 1]
            _unpack(piece.sections, alphabet, bits, starts, target, codes)
            first += lengths.size
        return Sequences._trusted(codes, offsets, alphabet, ids)

    def shape(self, head: Head, n: int, facts: Sequence[Facts]) -> tuple[int, ...]:
        """Return (n, length) where all rows have one length, else (n,)."""
        lengths = {part[key] for part in facts for key in ("shortest", "longest")}
        return (n, lengths.pop()) if len(lengths) == 1 else (n,)

    def nbytes(self, head: Head, n: int, facts: Sequence[Facts]) -> int:
        """Return the bytes of codes and offsets."""
        return sum(part["letters"] for part in facts) * self.content(head).dtype.itemsize + 8 * (n + 1)


def slot_bits(alphabet: Alphabet) -> int:
    """Return how many bits a letter takes.

    Examples
    --------
    >>> slot_bits(Alphabet.named("dna")), slot_bits(Alphabet.named("protein")), slot_bits(Alphabet.named("bytes"))
    (2, 8, 8)
    """
    return next(bits for bits in SLOT_BITS if alphabet.size <= 1 << bits)


def _in_place(alphabet: Alphabet, bits: int) -> bool:
    """Tell whether the code of a masked letter fits a slot."""
    return alphabet.mask < 1 << bits


def _stride(length: int, bits: int) -> int:
    """Return the slots of a row that begins and ends at a byte."""
    together = max(1, 8 // bits)
    return -(-length // together) * together


def _runs(slots: Array) -> Array:
    """Return the runs among rising slot numbers: first, one past the last, and so on."""
    ends = np.flatnonzero(np.diff(slots) > 1)
    first, last = slots[np.append(0, ends + 1)], slots[np.append(ends, slots.size - 1)]
    return np.column_stack([first, last + 1]).reshape(-1).astype(np.int64)


def _packed(X: Sequences, starts: Array, slots: int, bits: int) -> Array:
    if bits >= 8:
        codes = X.codes if _in_place(X.alphabet, bits) else np.where(X.codes == X.alphabet.mask, 0, X.codes)
        return codes.astype(f"uint{bits}")
    from kernelweave.data.strings.loops import pack_rows

    out = np.zeros(-(-slots * bits // 8), np.uint8)
    pack_rows(X.codes, X.offsets, starts, bits, out)
    return out


def _check_codes(letters: Array, alphabet: Alphabet, bits: int) -> None:
    """Raise where a slot holds what is neither a letter nor a masked one."""
    if alphabet.size == 1 << bits:
        return
    if bits >= 8:
        strange = strange_code(letters, alphabet.size, alphabet.mask)
    else:
        held = np.bincount(letters, minlength=256).nonzero()[0]
        each = (held[:, None] >> np.arange(0, 8, bits)) & ((1 << bits) - 1)
        strange = int(each.max()) if each.size and each.max() >= alphabet.size else None
    if strange is not None:
        raise ValueError("letters")


def _slots(piece: Piece, bits: int) -> tuple[Array, Array]:
    """Return the first slot and the length of each wanted row."""
    numbers, longest = piece.numbers, piece.facts["longest"]
    if "offsets" not in piece.sections:
        return numbers * _stride(longest, bits), np.full(numbers.size, longest)
    offsets = piece.sections["offsets"]
    return offsets[numbers], offsets[numbers + 1] - offsets[numbers]


def _unpack(
    sections: Mapping[str, Array], alphabet: Alphabet, bits: int, starts: Array, offsets: Array, codes: Array
) -> None:
    """Write the letters of rows to their places among the codes."""
    from kernelweave.data.strings.loops import mask_runs, unpack_rows

    letters = sections["letters"]
    if bits >= 8:
        from kernelweave.data.strings.loops import convert_rows

        convert_rows(letters, starts, offsets, codes)
    else:
        unpack_rows(letters, starts, offsets, bits, codes)
    if "masked" in sections:
        runs: Any = sections["masked"].reshape(-1, 2)
        first = np.searchsorted(runs[:, 1], starts, side="right")
        mask_runs(runs, first, starts, offsets, codes.dtype.type(alphabet.mask), codes)
