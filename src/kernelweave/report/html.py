"""Elements of a page: whatever is not an element already is text, and is escaped."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

LONGEST = 120
"""Letters of a name that are shown; the rest is an ellipsis."""
DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of what follows."""
SELECTED = re.compile(r"On\((.+), ('[^']*'|\d+|[\[(][^\[\]()]*[\])])\)")
QUOTES = re.compile(r"[\[\]()']|,(?=\))")
"""The name of a kernel on a view or on columns that were listed, and what names are put in."""
VOID = ("circle", "col", "line", "meta", "path", "polygon", "polyline", "rect", "use")
"""Elements that are closed where they are opened."""


class Markup(str):
    """Text that is made of elements; plain `str` is escaped wherever it enters a page."""

    __slots__ = ()


def text(value: Any) -> Markup:
    """Return a value as text of a page: escaped, without control characters.

    >>> text("<b>"), text(Markup("<b>x</b>"))
    ('&lt;b&gt;', '<b>x</b>')
    """
    return value if isinstance(value, Markup) else Markup(escape(_printable(str(value)), quote=True))


def clipped(name: Any) -> str:
    """Return a name of bounded length.

    >>> len(clipped("A" * 10_000))
    121
    """
    shown = str(name)
    return shown if len(shown) <= LONGEST else shown[:LONGEST] + "…"


def kernel_name(name: Any) -> str:
    """Return the name of a kernel as people say it: on which view or columns, of bounded length.

    >>> kernel_name("On(RBF(width=2.0), 'shape')"), kernel_name("On(Linear(), ['age', 'dose'])")
    ('RBF(width=2.0) on shape', 'Linear() on age, dose')
    """
    found = SELECTED.fullmatch(str(name))
    return clipped(name if found is None else f"{found[1]} on {QUOTES.sub('', found[2])}")


def _printable(shown: str) -> str:
    """Put a mark in the place of what has no picture or changes the direction of what follows."""
    if shown.isprintable() and not DIRECTIONS & set(shown):
        return shown
    return "".join(" " if c.isspace() else "\ufffd" if _strange(c) else c for c in shown)


def _strange(letter: str) -> bool:
    return letter in DIRECTIONS or unicodedata.category(letter) in ("Cc", "Cs", "Cn")


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Return an element; an attribute of None is left out, `class_` is class and `data_t` is data-t.

    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(str(_short(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID and not children:
        return Markup(f"<{name}{given}/>" if name != "meta" and name != "col" else f"<{name}{given}>")
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def join(children: Iterable[Any], between: str = "") -> Markup:
    """Return elements and texts behind one another; None is left out."""
    return Markup(between.join(text(child) for child in children if child is not None))


def paragraph(*children: Any) -> Markup:
    """Return a paragraph."""
    return tag("p", *children)


def note(sentence: str) -> Markup:
    """Return a remark that stands back."""
    return tag("p", sentence, class_="note")


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    caption: str,
    numbers: Iterable[int] = (),
    unseen: bool = False,
) -> Markup:
    """Return a table.

    Parameters
    ----------
    heads : names of the columns
    rows : cells, elements or texts
    caption : what the table shows
    numbers : columns that are set to the right, under one another
    unseen : whether the caption is for those only who do not see the table
    """
    right = set(numbers)
    kinds = ["n" if place in right else None for place in range(len(heads))]
    first = tag("tr", *(tag("th", head, scope="col", class_=kind) for head, kind in zip(heads, kinds)))
    body = [tag("tr", *(tag("td", cell, class_=kind) for cell, kind in zip(row, kinds))) for row in rows]
    whole = tag(
        "table",
        tag("caption", tag("span", caption, class_="unseen" if unseen else None)),
        tag("thead", first),
        tag("tbody", *body),
    )
    return tag("div", whole, class_="scroll")


def facts(pairs: Iterable[tuple[str, Any] | None]) -> Markup:
    """Return names with what is known of them, below one another."""
    kept = [pair for pair in pairs if pair is not None and pair[1] is not None]
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in kept), class_="facts")


def figure(number: str, drawing: Any, caption: str) -> Markup:
    """Return a picture with its caption.

    Parameters
    ----------
    number : such as "Figure 2"
    drawing : elements
    caption : what it shows
    """
    return tag("figure", drawing, tag("figcaption", tag("b", f"{number}. "), (caption)))


def _short(value: Any) -> Any:
    """Return numbers of a drawing with as many digits as can be seen."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
