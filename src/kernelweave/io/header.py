"""Whether the first line of a table of texts holds names, and which column holds the sequences.

A name must never be taken for a row: the first line holds names where one of them is usual (`sequence`, `text`, ...),
where the letters of a cell are not those of all cells below it, or where words stand over texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelweave.io.numbers import is_number

LABEL_NAMES = ("label", "y", "target", "class")
ID_NAMES = ("id", "ids", "name")
SEQUENCE_NAMES = ("sequence", "seq", "sequences", "dna", "rna", "protein", "peptide", "text", "texts", "sentence")
DELIMITERS = ",\t;"

LETTERS = tuple(map(frozenset, ("ACGTN", "ACGUN", "ACDEFGHIKLMNPQRSTVWYBJOUXZ*")))
"""Letters of DNA, RNA and proteins, with those for doubtful ones that files use most."""
SHORTEST = 4
"""Letters that a cell must have to be taken for a sequence without being called one."""


def guess_delimiter(line: str) -> str:
    """Return what stands between the cells of a line: comma, tab or semicolon, whichever there are most of."""
    return max(DELIMITERS, key=line.count)


def names_sequences(rows: Sequence[Sequence[str]]) -> int | None:
    """Return which column holds sequences or texts below its name; None where the first row holds no names.

    Examples
    --------
    >>> names_sequences([["outcome", "promoter"], ["1", "ACGTAC"], ["0", "GGGCCA"]])
    1
    >>> names_sequences([["1", "ACGTAC"], ["0", "GGGCCA"]]) is None
    True
    """
    top, body = [cell.strip() for cell in rows[0]], rows[1:]
    if not body or "" in top or len(set(top)) < len(top) or any(map(is_number, top)):
        return None
    columns = [[row[c].strip() for row in body] for c in range(len(top))]
    texts = [c for c, cells in enumerate(columns) if not all(is_number(cell) for cell in cells if cell)]
    usual = [c for c in texts if top[c].lower() in SEQUENCE_NAMES]
    if usual:
        return min(usual, key=lambda c: SEQUENCE_NAMES.index(top[c].lower()))
    if any(name in cells for name, cells in zip(top, columns)):
        return None  # a cell like those below it is no name
    found = [c for c in texts if _below_a_name(top[c], columns[c])]
    named = [name.lower() in (*LABEL_NAMES, *ID_NAMES) for name in top]
    labelled = any(usual and name not in cells for usual, name, cells in zip(named, top, columns))
    found = found or [c for c in texts if labelled and _letters_of(columns[c]) is not None]
    found = found or [c for c in texts if _texts_below_a_word(top, columns, c)]
    return found[0] if len(found) == 1 else None


def _letters_of(cells: list[str]) -> frozenset[str] | None:
    """Return the smallest alphabet that spells all cells, None where none does."""
    if not cells or min(map(len, cells)) < SHORTEST:
        return None
    used = set("".join(cells).upper())
    return next((letters for letters in LETTERS if used <= letters), None)


def _below_a_name(name: str, cells: list[str]) -> bool:
    """Tell sequences below a text with other letters."""
    letters = _letters_of(cells)
    return letters is not None and not set(name.upper()) <= letters


def _texts_below_a_word(top: list[str], columns: list[list[str]], c: int) -> bool:
    """Tell texts of several words below one word, beside labels that occur again and again below one that does not."""
    several = sum(" " in cell for cell in columns[c])
    if " " in top[c] or 2 * several < len(columns[c]):
        return False
    others = [k for k in range(len(top)) if k != c]
    return any(top[k] not in columns[k] and 2 * len(set(columns[k])) <= len(columns[k]) for k in others)
