"""Rows as notebooks show them: a line that says what they are, and the first of them.  Everything is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelweave.data.lattices.rows import Lattices
    from kernelweave.data.strings.sequences import Sequences

SHOWN = 6
"""Rows that are shown."""
LETTERS = 80
"""Letters of a row that are shown."""
PLAIN = "text-align: left; font-family: monospace; white-space: pre"


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]], further: int = 0) -> str:
    """Return a table with a title, and how many rows are not shown.

    >>> table("one row", ["id"], [["<a>"]]).count("&lt;a&gt;")
    1
    """
    top = "".join(f"<th style='text-align: left'>{escape(head)}</th>" for head in heads)
    cells = ["".join(f"<td style='{PLAIN}'>{escape(str(cell))}</td>" for cell in row) for row in rows]
    lines = "".join(f"<tr>{row}</tr>" for row in cells)
    more = f"<div>and {further:,} more</div>" if further > 0 else ""
    return f"<div><div><b>{escape(title)}</b></div><table><tr>{top}</tr>{lines}</table>{more}</div>"


def sequences_html(X: Sequences) -> str:
    """Return the first sequences, each with its id and its length."""
    first = X[:SHOWN]
    rows = [list(row) for row in zip(_names(first.ids, len(first)), first.lengths, map(shortened, first))]
    return table(repr(X).strip("<>"), ["id", "letters", "sequence"], rows, len(X) - len(first))


def lattices_html(X: Lattices) -> str:
    """Return the first lattices, each with its id, its size and its likeliest string."""
    first = X[:SHOWN]
    best = islice(first.one_best(), SHOWN)
    counts = zip(_names(first.ids, len(first)), first.state_counts, first.arc_counts, map(shortened, best))
    heads = ["id", "states", "arcs", "likeliest string"]
    return table(repr(X).strip("<>"), heads, [list(row) for row in counts], len(X) - len(first))


def shortened(text: str) -> str:
    """Return a text with dots for what is too long.

    >>> shortened("A" * 200)[-4:]
    'AAA…'
    """
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"


def _names(ids: Sequence[str] | None, n: int) -> Sequence[object]:
    return range(n) if ids is None else ids
