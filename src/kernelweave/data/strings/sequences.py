"""Many sequences in one flat buffer of letter codes, indexed like an array of rows."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.data.blocks import PART_ROWS, spans
from kernelweave.data.errors import ParameterError
from kernelweave.data.html import sequences_html
from kernelweave.data.rows import (
    as_ids,
    check_parts,
    check_rows,
    codes_in,
    first_masked,
    offsets_of,
    packed_ids,
    record_ids,
    row_numbers,
    same_ids,
    stepped_rows,
    strange_code,
    unpacked_ids,
)
from kernelweave.data.saved import DESCRIBED_WRONGLY, read_saved, write_saved
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.letters import TOKENIZERS, Row, check_unknown

if TYPE_CHECKING:
    from kernelweave.data.stores import Stored

Array = np.ndarray


class Sequences:
    """Immutable rows of letters over one alphabet, of equal or different lengths.

    Row ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.  An integer index gives the row as a string; slices, integer
    arrays and boolean masks give `Sequences`.  scikit-learn splits and indexes them as it does arrays.

    Parameters
    ----------
    codes : (total letters,) codes of all rows behind one another, in the storage type of the alphabet
    offsets : (n + 1,) where each row starts, and where the last one ends
    alphabet : Alphabet
    ids : n names, or None

    Examples
    --------
    >>> import kernelweave as kw
    >>> X = kw.Sequences.from_strings(["ACGT", "GGCA", "TTAA"], alphabet="dna")
    >>> X.shape, X[1], X[[2, 0]].to_strings()
    ((3, 4), 'GGCA', ['TTAA', 'ACGT'])
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, codes: Array, offsets: Array, alphabet: Alphabet, ids: Iterable[str] | None = None):
        codes, offsets = np.ascontiguousarray(codes), np.ascontiguousarray(offsets, np.int64)
        if codes.dtype != alphabet.dtype or codes.ndim != 1:
            raise TypeError(f"Codes must be a flat array of {alphabet.dtype} for the {alphabet.name} alphabet.")
        if (
            offsets.ndim != 1
            or not offsets.size
            or offsets[0] != 0
            or offsets[-1] != codes.size
            or (np.diff(offsets) < 0).any()
        ):
            raise ValueError(f"Offsets must rise from 0 to the number of letters, {codes.size}.")
        if (code := strange_code(codes, alphabet.size, alphabet.mask)) is not None:
            raise ValueError(f"Code {code} is not a letter of the {alphabet.name} alphabet, which has {alphabet.size}.")
        self._set(codes, offsets, alphabet, as_ids(ids, offsets.size - 1))

    def _set(self, codes: Array, offsets: Array, alphabet: Alphabet, ids: Array | None) -> None:
        self.codes, self.offsets, self.alphabet, self.ids = codes.view(), offsets.view(), alphabet, ids
        self.codes.flags.writeable = self.offsets.flags.writeable = False

    @classmethod
    def _trusted(cls, codes: Array, offsets: Array, alphabet: Alphabet, ids: Array | None) -> Self:
        made = cls.__new__(cls)
        made._set(codes, offsets, alphabet, ids)
        return made

    @classmethod
    def from_strings(
        cls,
        strings: Iterable[Row],
        alphabet: str | Alphabet = "dna",
        unknown: str = "error",
        ids: Iterable[str] | None = None,
    ) -> Self:
        """Encode strings.

        Parameters
        ----------
        strings : n strings (or bytes, or lists of words, or records of Biopython or pyfaidx, whose names become ids)
        alphabet : an Alphabet; "dna", "rna", "protein", "bytes"; "words" to split at blanks and learn the words; "text"
            to learn words without punctuation and in lower case; "auto" to infer one from the letters, "text" where
            there are blanks between them
        unknown : "error" names the first letter that is not in the alphabet, "mask" makes it match nothing
        ids : n names, or None

        Examples
        --------
        >>> Sequences.from_strings(["ACGN"], unknown="mask").to_strings()
        ['ACGN']
        >>> Sequences.from_strings(["ACGN"])
        Traceback (most recent call last):
        ...
        kernelweave.data.errors.ParameterError: Row 0 has the unknown letter 'N' at position 3; the dna alphabet has \
ACGT (unknown='mask' keeps such letters, matching nothing).
        """
        check_unknown(unknown)
        if not isinstance(strings, str | bytes):
            strings = list(strings)
            ids = record_ids(strings) if ids is None else ids
        rows = check_rows(strings)
        chosen = choose_alphabet(alphabet, rows)
        codes, lengths = chosen.encode_rows(rows)
        offsets = offsets_of(lengths)
        if unknown == "error" and (found := first_masked(codes, offsets, chosen.mask)):
            row, position = found
            letter = chosen.letter_at(rows[row], position)
            raise _unknown_letter(row, letter, position, chosen)
        return cls._trusted(codes, offsets, chosen, as_ids(ids, len(rows)))

    @classmethod
    def from_tokens(
        cls,
        rows: Iterable[Sequence[str]],
        alphabet: Alphabet | None = None,
        unknown: str = "error",
        ids: Iterable[str] | None = None,
    ) -> Self:
        """Encode lists of words; without an alphabet the words met, sorted, become one.

        Examples
        --------
        >>> X = Sequences.from_tokens([["the", "cat"], ["the", "old", "cat"]])
        >>> X[1], X.alphabet.letters
        ('the old cat', ('cat', 'old', 'the'))
        """
        return cls.from_strings(rows, alphabet or "words", unknown, ids)

    @classmethod
    def concatenate(cls, parts: Sequence[Sequences]) -> Self:
        """Put rows behind one another; ids are kept when every part has them."""
        ids = check_parts(parts, "Sequences")
        return cls._trusted(
            np.concatenate([part.codes for part in parts]),
            offsets_of(np.concatenate([part.lengths for part in parts])),
            parts[0].alphabet,
            ids,
        )

    @property
    def lengths(self) -> Array:
        """Number of letters of each row, (n,) int64."""
        return np.diff(self.offsets)

    @cached_property
    def is_fixed_length(self) -> bool:
        """Whether there are rows and all have the same number of letters."""
        lengths = self.lengths
        return bool(lengths.size and (lengths == lengths[0]).all())

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n, length)`` when all rows are equally long, else ``(n,)``."""
        return (len(self), self.codes.size // len(self)) if self.is_fixed_length else (len(self),)

    @property
    def matrix(self) -> Array:
        """The codes as an (n, length) view, for rows of equal length."""
        if not self.is_fixed_length:
            shortest, longest = (int(self.lengths.min()), int(self.lengths.max())) if len(self) else (0, 0)
            raise ValueError(
                f"Rows of equal length are needed, but the {len(self)} rows have {shortest} to {longest} letters."
            )
        return self.codes.reshape(self.shape)

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError("Sequences are indexed by rows only: X[rows] or X[rows, ...].")
            key = key[0]
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return self._span(start, max(start, stop))
            return self._take(stepped_rows(start, stop, step))
        if np.ndim(key) == 0 and not isinstance(key, bool | np.bool_):
            row = row_numbers([operator.index(key)], len(self))[0]
            return self.alphabet.decode(self.codes[self.offsets[row] : self.offsets[row + 1]])
        return self._take(row_numbers(key, len(self)))

    def _span(self, start: int, stop: int) -> Self:
        offsets = self.offsets[start : stop + 1]
        ids = None if self.ids is None else self.ids[start:stop]
        return self._trusted(self.codes[offsets[0] : offsets[-1]], offsets - offsets[0], self.alphabet, ids)

    def _take(self, rows: Array) -> Self:
        ids = None if self.ids is None else self.ids[rows]
        offsets = offsets_of(self.lengths[rows])
        if self.is_fixed_length:
            return self._trusted(self.matrix[rows].ravel(), offsets, self.alphabet, ids)
        from kernelweave.data.strings.loops import gather_rows

        codes = np.empty(offsets[-1], self.codes.dtype)
        gather_rows(self.codes, self.offsets, rows, offsets, codes)
        return self._trusted(codes, offsets, self.alphabet, ids)

    def __iter__(self) -> Iterator[str]:
        for part in spans(len(self), PART_ROWS):
            yield from self[part].to_strings()

    def to_strings(self) -> list[str]:
        """Return the rows as text; masked letters print as the alphabet's `mask_letter`."""
        return self.alphabet.decode_rows(self.codes, self.offsets)

    def with_alphabet(self, alphabet: Alphabet, unknown: str = "error") -> Self:
        """Return the same rows over another alphabet; unknown: as in `from_strings`.

        Examples
        --------
        >>> X = Sequences.from_tokens([["old", "cat"]])
        >>> X.with_alphabet(Alphabet.words(["cat", "dog"]), unknown="mask").to_strings()
        ['<unk> cat']
        """
        check_unknown(unknown)
        if alphabet == self.alphabet:
            return self
        codes = np.append(codes_in(alphabet, self.alphabet.letters), alphabet.size)
        codes = np.where(codes < alphabet.size, codes, alphabet.mask).astype(alphabet.dtype)
        made = self._trusted(codes[np.minimum(self.codes, self.alphabet.size)], self.offsets, alphabet, self.ids)
        lost = (made.codes == alphabet.mask) & (self.codes != self.alphabet.mask)
        if unknown == "error" and (found := first_masked(lost, self.offsets, True)):
            row, position = found
            letter = self.alphabet.decode(self.codes[self.offsets[row] + position :][:1])
            raise _unknown_letter(row, letter, position, alphabet)
        return made

    def reverse_complement(self) -> Self:
        """Return each row read backwards on the other strand.

        Examples
        --------
        >>> Sequences.from_strings(["AACG", "T"]).reverse_complement().to_strings()
        ['CGTT', 'A']
        """
        partners = self.alphabet.complement_codes
        codes = partners[np.minimum(self.codes, self.alphabet.size)[::-1]]
        turned = self._trusted(codes, offsets_of(self.lengths[::-1]), self.alphabet, None)
        rows = turned[::-1]
        return self._trusted(rows.codes, rows.offsets, self.alphabet, self.ids)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequences):
            return NotImplemented
        return bool(
            self.alphabet == other.alphabet
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.codes, other.codes)
            and same_ids(self.ids, other.ids)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.codes, self.offsets, self.alphabet, self.ids)

    def __repr__(self) -> str:
        lengths = self.lengths
        span = "" if not len(self) else f", {lengths.min()} to {lengths.max()} letters"
        if self.is_fixed_length:
            span = f", {self.shape[1]} letters each"
        return f"<{len(self)} sequences, {self.alphabet.name}{span}>"

    def _repr_html_(self) -> str:
        return sequences_html(self)

    def save(self, path: PathLike) -> None:
        """Write the rows to one file that `open` can map; the file appears whole or not at all."""
        arrays = {"codes": self.codes, "offsets": self.offsets, **packed_ids(self.ids)}
        write_saved(path, {"alphabet": self.alphabet.to_dict()}, arrays)

    def to_store(self, path: PathLike, y: Any = None, sample_weight: Any = None) -> Stored:
        """Write the rows to a store on disk, packed and in parts, and return the stored rows.

        Parameters
        ----------
        path : directory to write, usually named .kws; a store that is there is replaced
        y : (n,) labels, or None
        sample_weight : (n,) weights of the rows, or None
        """
        from kernelweave.data.stores import write_store

        return write_store(path, self, y, sample_weight)

    @classmethod
    def from_store(cls, path: PathLike) -> Stored:
        """Return the rows of a store, of which only those are read that are asked for.

        Examples
        --------
        >>> import tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "x.kws")
        >>> X = Sequences.from_strings(["ACGT", "AC"]).to_store(path, y=["yes", "no"])
        >>> Sequences.from_store(path)[1:].to_strings(), X.y.tolist()
        (['AC'], ['yes', 'no'])
        """
        from kernelweave.data.stores import open_store

        return open_store(path, "sequences")

    @classmethod
    def open(cls, path: PathLike, mmap: bool = True) -> Self:
        """Return the rows of a saved file, mapped from disk or read into memory; a damaged file is an error.

        All letters are read once and checked; rows beyond the memory belong into a store (`Sequences.to_store`).

        Examples
        --------
        >>> import tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "x.kwseq")
        >>> Sequences.from_strings(["ACGT", "AC"]).save(path)
        >>> Sequences.open(path)[1]
        'AC'
        """
        meta, arrays = read_saved(path, mmap)
        if meta.get("rows") == "lattices":
            raise ValueError(f"{path} holds lattices, not sequences; open it with Lattices.open.")
        try:
            ids = unpacked_ids(arrays, arrays["offsets"].size - 1)
            return cls(arrays["codes"], arrays["offsets"], Alphabet.from_dict(meta["alphabet"]), ids)
        except DESCRIBED_WRONGLY:
            raise ValueError(f"{path} is damaged: its parts do not fit together.") from None


def _rebuild(cls: type[Sequences], *parts: Any) -> Sequences:
    return cls._trusted(*parts)


def _unknown_letter(row: int, letter: str, position: int, alphabet: Alphabet) -> ParameterError:
    found = f"Row {row} has the unknown letter {letter!r} at position {position}"
    return ParameterError("{found}; {expected}.", found=found, expected=alphabet.expected)


def choose_alphabet(alphabet: str | Alphabet, rows: Sequence[Row]) -> Alphabet:
    """Return the alphabet a user asked for; "auto", "words" and "text" look at the rows."""
    if isinstance(alphabet, Alphabet):
        return alphabet
    if alphabet == "auto":
        return Alphabet.infer(row if isinstance(row, str | bytes) else "".join(row) for row in rows)
    if alphabet in TOKENIZERS:
        return Alphabet.learned(rows, alphabet)
    return Alphabet.named(alphabet)
