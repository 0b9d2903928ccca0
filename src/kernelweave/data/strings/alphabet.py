"""Alphabets: which letters a sequence may hold, and the small integer that stands for each.

The highest code of the storage type is reserved: a *masked* letter, which matches nothing, not even itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from kernelweave.data.errors import Message, ParameterError
from kernelweave.data.strings.letters import TOKENIZERS, Row, check_letters, check_unknown, lengths_of, tokens_of

Array = np.ndarray

MAX_BYTE_LETTERS = 254
"""Alphabets up to this size are stored in one byte a letter."""

_LATIN = 256  # code points that fit one byte


@dataclass(frozen=True)
class Alphabet:
    """An immutable set of letters with a code for each, in the order given.

    Parameters
    ----------
    name : how messages and files call it; two alphabets of the same letters are equal whatever their names
    letters : a string of distinct characters, or a sequence of words
    complement : the partner of each letter, in the order of `letters`; None when letters have none
    ignore_case : read lower case as upper case
    kind : "characters", "words" (rows are words separated by blanks) or "bytes" (rows are UTF-8 text);
        None to choose words when a letter is longer than one character
    tokens : how texts become words, for an alphabet of words: "words" cuts at blanks; "text" takes the runs of letters,
        digits and underscores, in lower case, so that punctuation and capitals do not matter

    Examples
    --------
    >>> from kernelweave.data import Alphabet
    >>> dna = Alphabet.named("dna")
    >>> dna.encode("acGT")
    array([0, 1, 2, 3], dtype=uint8)
    >>> dna.decode(dna.encode("ANT", unknown="mask"))
    'ANT'
    """

    name: str = field(compare=False)
    letters: tuple[str, ...]
    complement: tuple[str, ...] | None = None
    ignore_case: bool = False
    kind: str = ""
    tokens: str = "words"

    def __init__(
        self,
        name: str,
        letters: Iterable[str],
        complement: Iterable[str] | None = None,
        *,
        ignore_case: bool = False,
        kind: str | None = None,
        tokens: str = "words",
    ):
        if tokens not in TOKENIZERS:
            raise ValueError(f"tokens={tokens!r} is unknown; use one of {', '.join(TOKENIZERS)}.")
        letters = tuple(letters)
        partners = None if complement is None else tuple(complement)
        kind = kind or ("words" if any(len(letter) > 1 for letter in letters) else "characters")
        check_letters(name, letters, partners, ignore_case, kind)
        keys = ("name", "letters", "complement", "ignore_case", "kind", "tokens")
        for key, value in zip(keys, (name, letters, partners, ignore_case, kind, tokens)):
            object.__setattr__(self, key, value)

    @staticmethod
    def named(name: str) -> Alphabet:
        """Return a ready alphabet: "dna", "rna", "protein" or "bytes"."""
        if name not in READY:
            raise ValueError(f"There is no alphabet named {name!r}; built-in ones are {', '.join(READY)}.")
        return READY[name]

    @staticmethod
    def words(words: Iterable[str], name: str = "words") -> Alphabet:
        """Return an alphabet whose letters are words, in the order of their first appearance.

        Examples
        --------
        >>> Alphabet.words(["the", "cat", "the"]).encode("cat the")
        array([1, 0], dtype=uint8)
        """
        return Alphabet(name, dict.fromkeys(words), kind="words")

    @staticmethod
    def learned(rows: Iterable[Row], tokens: str = "words") -> Alphabet:
        """Return the words of rows, sorted, as an alphabet.

        Parameters
        ----------
        rows : texts, or lists of words
        tokens : how texts become words: "words" cuts at blanks, "text" ignores punctuation and capitals

        Examples
        --------
        >>> Alphabet.learned(["To be, or not", "to be!"], "text").letters
        ('be', 'not', 'or', 'to')
        """
        words = sorted({str(word) for row in rows for word in tokens_of(row, tokens)})
        return Alphabet(tokens, words, kind="words", tokens=tokens)

    @staticmethod
    def infer(rows: Iterable[str | bytes]) -> Alphabet:
        """Return the smallest ready alphabet that fits nearly all letters of the given strings; the words of text.

        Examples
        --------
        >>> Alphabet.infer(["ACGTTA", "GGNCA"]).name, Alphabet.infer(["to-day", "to-morrow"]).name
        ('dna', 'bytes')
        >>> Alphabet.infer(["To be", "or not"])
        Alphabet('text', 4 letters)
        """
        rows = list(rows)
        text = b"".join(row if isinstance(row, bytes) else row.encode("utf-8", "surrogateescape") for row in rows)
        counts = np.bincount(np.frombuffer(text, np.uint8), minlength=_LATIN)
        return Alphabet.learned(rows, "text") if is_text(counts) else infer_from_counts(counts)

    @property
    def size(self) -> int:
        """Number of letters, the mask not counted."""
        return len(self.letters)

    @cached_property
    def dtype(self) -> np.dtype:
        """Storage type of the codes."""
        if self.size <= MAX_BYTE_LETTERS:
            return np.dtype(np.uint8)
        return np.dtype(np.uint16 if self.size < np.iinfo(np.uint16).max else np.uint32)

    @property
    def mask(self) -> int:
        """The code that matches nothing, not even itself."""
        return int(np.iinfo(self.dtype).max)

    @cached_property
    def mask_letter(self) -> str:
        """What a masked letter prints as: something that is no letter of this alphabet."""
        candidates = ("<unk>",) if self.kind == "words" else ("N", "X", "?", "\ufffd", "\u25a1")
        known = {letter.upper() for letter in self.letters} if self.ignore_case else set(self.letters)
        return next((c for c in candidates if c not in known), "<masked>" if self.kind == "words" else "\U0010ffff")

    @property
    def separator(self) -> str:
        """What stands between two letters in text."""
        return " " if self.kind == "words" else ""

    @cached_property
    def byte_codes(self) -> Array | None:
        """Codes of the 256 bytes of UTF-8 or ASCII text; None when letters are not single bytes."""
        if self.kind == "bytes":
            return np.arange(_LATIN, dtype=self.dtype)
        if self.kind == "words" or not all(letter.isascii() for letter in self.letters):
            return None
        table = np.full(_LATIN, self.mask, self.dtype)
        for letter, code in self._codes.items():
            table[ord(letter)] = code
        return table

    @cached_property
    def _codes(self) -> dict[str, int]:
        codes = {letter: code for code, letter in enumerate(self.letters)}
        if self.ignore_case:
            codes.update({letter.lower(): code for code, letter in enumerate(self.letters)})
        return codes

    @cached_property
    def complement_codes(self) -> Array:
        """Code of the partner of each code; the entry after the last letter is for masked ones."""
        if self.complement is None:
            raise ValueError(f"The {self.name} alphabet has no complement.")
        return np.array([*(self._codes[letter] for letter in self.complement), self.mask], self.dtype)

    def encode(self, row: Row, unknown: str = "error") -> Array:
        """Return the codes of one row of text (or of a list of letters).

        Parameters
        ----------
        row : text, bytes, or a sequence of letters
        unknown : "error" to raise at the first letter that is not in the alphabet, "mask" to mask it
        """
        check_unknown(unknown)
        codes = self.encode_rows([row])[0]
        if unknown == "error" and codes.size and codes.max() == self.mask:
            position = int(np.argmax(codes == self.mask))
            found = f"Unknown letter {self.letter_at(row, position)!r} at position {position}"
            raise ParameterError("{found}; {expected}.", found=found, expected=self.expected)
        return codes

    def encode_rows(self, rows: Sequence[Row]) -> tuple[Array, Array]:
        """Return the codes of all rows behind one another and their lengths; unknown letters are masked."""
        if self.kind == "words":
            return self._encode_tokens([tokens_of(row, self.tokens) for row in rows])
        plain = [row if isinstance(row, str | bytes) else "".join(row) for row in rows]
        if self.kind == "bytes":
            raw = [row if isinstance(row, bytes) else row.encode("utf-8", "surrogateescape") for row in plain]
            return np.frombuffer(b"".join(raw), np.uint8).astype(self.dtype), lengths_of(raw)
        text = "".join([row.decode("latin-1") if isinstance(row, bytes) else row for row in plain])
        if self.byte_codes is not None and text.isascii():
            return self.byte_codes[np.frombuffer(text.encode("ascii"), np.uint8)], lengths_of(plain)
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        distinct, inverse = np.unique(points, return_inverse=True)
        codes = np.array([self._codes.get(chr(point), self.mask) for point in distinct], self.dtype)
        return codes[inverse], lengths_of(plain)

    def _encode_tokens(self, rows: list[list[str]]) -> tuple[Array, Array]:
        lookup, mask = self._codes, self.mask
        lengths = lengths_of(rows)
        codes = np.fromiter((lookup.get(word, mask) for row in rows for word in row), self.dtype, int(lengths.sum()))
        return codes, lengths

    def decode(self, codes: Array) -> str:
        """Return the text of one row of codes; masked letters print as `mask_letter`."""
        return self.decode_rows(codes, np.array([0, len(codes)]))[0]

    def decode_rows(self, codes: Array, offsets: Array) -> list[str]:
        """Return the text of every row of a flat buffer."""
        bounds = offsets.tolist()
        safe = np.minimum(codes, self.size)
        if self.kind == "words":
            spelled = [*self.letters, self.mask_letter]
            words = [spelled[code] for code in safe.tolist()]
            return [" ".join(words[a:b]) for a, b in pairwise(bounds)]
        if self.kind == "bytes":
            raw = np.append(np.arange(_LATIN, dtype=np.uint8), np.uint8(ord("?")))[safe].tobytes()
            return [raw[a:b].decode("utf-8", "surrogateescape") for a, b in pairwise(bounds)]
        points = np.array([ord(letter) for letter in (*self.letters, self.mask_letter)], np.uint32)
        if points.max() < _LATIN:
            text = points.astype(np.uint8)[safe].tobytes().decode("latin-1")
        else:
            text = points[safe].tobytes().decode("utf-32-le", "surrogatepass")
        return [text[a:b] for a, b in pairwise(bounds)]

    def letter_at(self, row: Row, position: int) -> str:
        """Return the letter at a position of a row of text, as it was written."""
        if self.kind == "words":
            return tokens_of(row, self.tokens)[position]
        letter = row[position : position + 1]
        return letter.decode("latin-1") if isinstance(letter, bytes) else "".join(letter)

    @property
    def expected(self) -> Message:
        """What a message about an unknown letter says was expected."""
        joined = self.separator.join(self.letters[:30]) + (" ..." if self.size > 30 else "")
        holds = f"the {self.name} alphabet has {joined}"
        return Message("{holds} ({unknown} keeps such letters, matching nothing)", {"unknown": "mask"}, holds=holds)

    def to_dict(self) -> dict[str, Any]:
        """Return a description that JSON can hold."""
        if self.kind == "bytes":
            return {"name": self.name, "kind": "bytes"}
        return {
            "name": self.name,
            "kind": self.kind,
            "letters": list(self.letters),
            "complement": None if self.complement is None else list(self.complement),
            "ignore_case": self.ignore_case,
            **({} if self.tokens == "words" else {"tokens": self.tokens}),
        }

    @staticmethod
    def from_dict(description: dict[str, Any]) -> Alphabet:
        """Return the alphabet that `to_dict` described."""
        if description["kind"] == "bytes":
            return READY["bytes"]
        rest = {key: description[key] for key in ("complement", "ignore_case", "kind")}
        rest["tokens"] = description.get("tokens", "words")
        return Alphabet(description["name"], description["letters"], **rest)

    def __repr__(self) -> str:
        return f"Alphabet({self.name!r}, {self.size} letters)"


DNA = Alphabet("dna", "ACGT", "TGCA", ignore_case=True)
RNA = Alphabet("rna", "ACGU", "UGCA", ignore_case=True)
PROTEIN = Alphabet("protein", "ACDEFGHIKLMNPQRSTVWY", ignore_case=True)
BYTES = Alphabet("bytes", [bytes([b]).decode("utf-8", "surrogateescape") for b in range(_LATIN)], kind="bytes")
READY = {"dna": DNA, "rna": RNA, "protein": PROTEIN, "bytes": BYTES}

FITS = 0.9
"""`infer` wants this share of the letters in the alphabet itself; the rest may be codes for doubtful letters."""

BLANKS = 0.03
"""Text of which at least this share is blanks is words: one blank in 33 letters."""

_DOUBTFUL = {"dna": "RYSWKMBDHVN-.", "rna": "RYSWKMBDHVN-.", "protein": "BJOUXZ*-."}


def infer_from_counts(counts: Array) -> Alphabet:
    """Return the smallest ready alphabet for text in which each of the 256 bytes occurs so often."""
    total = int(counts.sum())
    if total == 0:
        raise ValueError("No alphabet can be inferred from sequences without letters; name one.")
    for name, doubtful in _DOUBTFUL.items():
        letters = "".join(READY[name].letters)
        # lower-case amino acids look like plain words
        own, extra = (
            (letters + letters.lower(), doubtful + doubtful.lower()) if name != "protein" else (letters, doubtful)
        )
        sure = int(counts[[ord(letter) for letter in own]].sum())
        allowed = sure + int(counts[[ord(letter) for letter in {*extra}]].sum())  # - and . have no lower case
        if allowed == total and sure >= FITS * total:
            return READY[name]
    return BYTES


def is_text(counts: Array) -> bool:
    """Tell whether text in which each byte occurs so often is words: no ready alphabet, and blanks between letters."""
    total = int(counts.sum())
    return total > 0 and infer_from_counts(counts) is BYTES and bool(counts[ord(" ")] >= BLANKS * total)
