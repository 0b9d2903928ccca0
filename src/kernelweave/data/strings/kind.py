"""Sequences as a row kind, made from lists of texts or of words.

Words that the training rows lack match nothing: new rows over words are spelled with the letters of the training rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernelweave.data.kinds import Description, RowKind, register
from kernelweave.data.rows import packed_ids, record_text, unpacked_ids
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.packed import SequencesPacking
from kernelweave.data.strings.sequences import Sequences

Array = np.ndarray
TEXTS = "OUT"
"""Kinds of NumPy types whose arrays may hold texts."""


class StringKind(RowKind):
    """Rows spelled with the letters of an alphabet: strings, or distributions over strings."""

    family = "strings"

    def content(self, X: Any) -> Alphabet:
        """Return the alphabet."""
        return X.alphabet

    def alphabet(self, X: Any) -> Alphabet:
        """Return the alphabet."""
        return X.alphabet

    def phrase(self, content: Alphabet) -> str:
        """Say what rows are made of."""
        if content.kind == "words":
            return f"{self.name} of words ({content.size} of them)"
        return f"{self.name} over the {content.name} alphabet ({content.size} letters)"

    def facts(self, content: Alphabet) -> dict[str, Any]:
        """Return name and size of the alphabet."""
        return {"alphabet": content.name, "letters": content.size}

    def respell(self, X: Any, content: Any) -> Any:
        """Spell rows of words with the words of the training rows; others match nothing."""
        return X.with_alphabet(content, unknown="mask") if _of_words(X.alphabet) and _of_words(content) else X

    def mismatch(self, given: Alphabet, trained: Alphabet, where: str) -> str | None:
        """Return the sentence about other letters."""
        if given == trained:
            return None
        return f"This model was trained on the alphabet {trained.name!r}, but the {where} has {given.name!r}."

    def concatenate(self, parts: Sequence[Any]) -> Any:
        """Return rows over one alphabet behind one another; different words are put together first."""
        alphabets = [part.alphabet for part in parts]
        if all(map(_of_words, alphabets)) and any(alphabet != alphabets[0] for alphabet in alphabets):
            words = Alphabet.words(sorted({word for alphabet in alphabets for word in alphabet.letters}))
            parts = [part.with_alphabet(words) for part in parts]
        return type(parts[0]).concatenate(parts)

    def reading(self, content: Alphabet) -> dict[str, Any]:
        """Return the alphabet; words that it lacks match nothing."""
        return {"alphabet": content, **({"unknown": "mask"} if _of_words(content) else {})}

    def advice(self, X: Any) -> str:
        """Name a kernel for strings."""
        return "use a kernel for strings, such as kw.NGram(2, cumulative=True)"

    def save(self, X: Any) -> dict[str, Any]:
        """Return the alphabet, the arrays, and the ids in one buffer, for there may be millions."""
        ids = packed_ids(X.ids)
        named = {"ids": ids["id_bytes"], "id_offsets": ids["id_offsets"]} if ids else {}
        return {"alphabet": X.alphabet, **self._arrays(X), **named}

    @abstractmethod
    def _arrays(self, X: Any) -> dict[str, Array]:
        """Return the arrays that hold the rows, by name."""


class SequencesKind(StringKind):
    """Strings of letters or words: `Sequences`, lists of texts, lists of lists of words."""

    name = noun = "sequences"
    rows = Sequences
    packing = SequencesPacking()

    def convert(self, X: Any, trained: Description | None = None, by_name: bool = False) -> Sequences | None:
        """Return lists of texts, or of lists of words, in the letters of the model where there is one."""
        X = _records(_only_column(X))
        texts = _is_texts(X)
        if not texts and not _is_tokens(X):
            return None
        known = trained.content if trained is not None and isinstance(trained.content, Alphabet) else None
        alphabet = known or ("auto" if texts else "words")
        rows = [str(text) for text in X] if texts else X
        return Sequences.from_strings(rows, alphabet, "mask" if _of_words(alphabet) else "error")

    def summary(self, X: Sequences) -> str:
        """Say how many sequences there are, how long, and over which letters."""
        lengths = X.lengths
        span = f"{lengths.min()}" if X.is_fixed_length else f"{lengths.min()} to {lengths.max()}"
        return f"{len(X)} sequences of {span} " + ("words" if _of_words(X.alphabet) else f"letters ({X.alphabet.name})")

    def letters(self, X: Sequences) -> tuple[int, int]:
        """Return how many letters there are, and how many of them are masked."""
        return X.codes.size, int(np.count_nonzero(X.codes == X.alphabet.mask))

    def _arrays(self, X: Sequences) -> dict[str, Array]:
        return {"codes": X.codes, "offsets": X.offsets}

    def load(self, state: Mapping[str, Any]) -> Sequences:
        """Return sequences, their letters checked."""
        return Sequences(state["codes"], state["offsets"], state["alphabet"], saved_ids(state, "offsets"))


def saved_ids(state: Mapping[str, Any], offsets: str) -> Array | None:
    """Return the ids among plain data, one for each row of the offsets of this name."""
    named = {"id_bytes": state["ids"], "id_offsets": state["id_offsets"]} if "ids" in state else {}
    return unpacked_ids(named, state[offsets].size - 1)


def _of_words(alphabet: Any) -> bool:
    return isinstance(alphabet, Alphabet) and alphabet.kind == "words"


def _only_column(X: Any) -> Any:
    """Return the column of a DataFrame that has one only, of texts; anything else as it is."""
    if hasattr(X, "columns") and len(X.columns) == 1 and not hasattr(X, "tocsr"):
        column = X[X.columns[0]]
        if len(column) and isinstance(next(iter(column)), str):
            return column
    return X


def _records(X: Any) -> Any:
    """Return the texts of a list of records of sequences; anything else as it is."""
    if isinstance(X, list | tuple) and X and not isinstance(X[0], str | bytes | list | tuple):
        return [record_text(row) for row in X] if isinstance(record_text(X[0]), str) else X
    return X


def _is_texts(X: Any) -> bool:
    """Tell a list, an array or a column of texts; one with holes in it is an error."""
    if isinstance(X, str | bytes):
        raise TypeError("Expected rows, got a single text; put it in a list.")
    if isinstance(X, Mapping) or hasattr(X, "tocsr") or not hasattr(X, "__len__"):
        return False
    if getattr(X, "ndim", 1) != 1 or len(X) == 0 or getattr(getattr(X, "dtype", None), "kind", "O") not in TEXTS:
        return False
    texts = [issubclass(kind, str) for kind in set(map(type, X))]
    if any(texts) and not all(texts):
        first = next(row for row, entry in enumerate(X) if isinstance(entry, str))
        row, odd = next((row, entry) for row, entry in enumerate(X) if not isinstance(entry, str))
        raise TypeError(f"Row {row} is {odd!r}, but row {first} is a text; expected a text in every row.")
    return all(texts)


def _is_tokens(X: Any) -> bool:
    """Tell lists of words from the lists of numbers of a table."""
    if not isinstance(X, list | tuple) or not all(issubclass(kind, list | tuple) for kind in set(map(type, X))):
        return False
    first = next((row for row in X if row), None)
    if first is None or not isinstance(first[0], str):
        return False
    return all(isinstance(word, str) for row in X for word in row)


register(SequencesKind())
