"""Feature columns with fixed numbers: what a column counts depends on the kernel and the alphabet, never on the data.

A k-mer is read as a number whose digits are its letters, in base |A|; the first letter is the highest digit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.kernels.abilities import check_columns
from kernelweave.kernels.base import Array, Kernel

WILDCARD = "."
"""Stands for any letter in the name of a gapped k-mer."""


def code_type(columns: int) -> type:
    """Return the smallest integer type of scipy's sparse tables that holds the column numbers."""
    return np.int32 if columns <= np.iinfo(np.int32).max else np.int64


def partners(kernel: Kernel, alphabet: Alphabet, wanted: bool) -> Array:
    """Return the complement of each letter, (size,) int64, or an empty array where it is not wanted."""
    if not wanted:
        return np.empty(0, np.int64)
    if alphabet.complement is None:
        raise ValueError(
            f"reverse_complement=True of {type(kernel).__name__} needs letters with a complement, such as dna or rna, "
            f"but the {alphabet.name} alphabet has none."
        )
    return alphabet.complement_codes[: alphabet.size].astype(np.int64)


def as_alphabet(alphabet: str | Alphabet) -> Alphabet:
    """Return an alphabet that was given by its name or as itself."""
    return alphabet if isinstance(alphabet, Alphabet) else Alphabet.named(alphabet)


def check_known(kernel: Kernel, columns: Any, total: int, alphabet: Alphabet) -> Array:
    """Return column numbers as an array; raise where one is no feature of the kernel."""
    check_columns(kernel, total)
    known = np.atleast_1d(np.asarray(columns))
    if known.ndim == 2 and known.shape[1] == 1:
        known = known[:, 0]
    if known.size == 0:
        return np.empty(0, np.int64)
    if known.dtype.kind not in "iu" or known.ndim != 1:
        raise TypeError(f"Feature columns are a list of whole numbers, but got {columns!r}.")
    outside = (known < 0) | (known >= total)
    if outside.any():
        raise ValueError(
            f"Column {known[np.argmax(outside)]} is not a feature of {kernel!r}, which has {total} over the "
            f"{alphabet.name} alphabet."
        )
    return known.astype(np.int64)


def spell(code: int, length: int, alphabet: Alphabet) -> list[str]:
    """Return the letters of a k-mer from its number."""
    letters = []
    for _ in range(length):
        code, digit = divmod(code, alphabet.size)
        letters.append(alphabet.letters[digit])
    return letters[::-1]


def name(code: int, length: int, alphabet: Alphabet) -> str:
    """Return the text of a k-mer from its number."""
    return written(spell(code, length, alphabet), alphabet)


def written(letters: Iterable[str], alphabet: Alphabet) -> str:
    """Return letters as text."""
    text = alphabet.separator.join(letters)
    if alphabet.kind == "bytes":  # bytes that make one character together are read as that character
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    return text
