"""Rules for letters and rows of text that alphabets and sequences share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernelweave.data.errors import ParameterError

Array = np.ndarray
Row = str | bytes | Sequence[str]
ALPHABET_KINDS = ("characters", "words", "bytes")
_WORD = re.compile(r"\w+")
TOKENIZERS: dict[str, Callable[[str], list[str]]] = {
    "words": str.split,
    "text": lambda text: _WORD.findall(text.lower()),
}
"""How a text becomes words, by the name of the alphabet that is asked for: "words" cuts at blanks, "text" takes runs of
letters, digits and underscores, in lower case."""


def check_letters(name: str, letters: tuple[str, ...], partners: tuple[str, ...] | None, fold: bool, kind: str) -> None:
    """Raise unless letters, their partners and the kind make an alphabet."""
    if kind not in ALPHABET_KINDS:
        raise ValueError(f"kind={kind!r} is unknown; use one of {', '.join(ALPHABET_KINDS)}.")
    if not letters:
        what = "words" if kind == "words" else "letters"
        raise ValueError(f"Alphabet {name!r} has no {what}.")
    compared = [letter.upper() for letter in letters] if fold else letters
    if len(set(compared)) < len(compared):
        twice = next(letter for letter in compared if compared.count(letter) > 1)
        raise ValueError(f"Alphabet {name!r} holds the letter {twice!r} twice.")
    if kind == "words" and (bad := [word for word in letters if word.split() != [word]]):
        raise ValueError(f"Alphabet {name!r} holds {bad[0]!r}; a word has at least one character and no blank.")
    if kind == "characters" and any(len(letter) != 1 for letter in letters):
        raise ValueError(f"Alphabet {name!r} is of characters but holds letters of another length than 1.")
    if partners is not None and (len(partners) != len(letters) or set(partners) != set(letters)):
        raise ValueError(f"The complement of alphabet {name!r} must list each of its letters once.")


def check_unknown(unknown: str) -> None:
    """Raise unless the policy for unknown letters is a known one."""
    if unknown not in ("error", "mask"):
        raise ParameterError("{unknown} is not valid; use 'error' or 'mask'.", {"unknown": unknown})


def tokens_of(row: Row, tokens: str = "words") -> list[str]:
    """Return the words of a row: text is cut by a tokenizer of this name, a list is taken as it is."""
    if isinstance(row, bytes):
        row = row.decode("utf-8", "surrogateescape")
    return TOKENIZERS[tokens](row) if isinstance(row, str) else list(row)


def lengths_of(rows: Sequence[Any]) -> Array:
    """Return the length of each row, int64."""
    return np.fromiter(map(len, rows), np.int64, len(rows))
