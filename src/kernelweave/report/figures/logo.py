"""Letters as high as what they add, in blocks of ten that wrap where the page ends.

The outlines of A, C, G, T and U are drawn here, so that their heights are exact wherever the page is shown; other
letters are set in the font of the page and stretched.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelweave.report.figures.ends import Ends, between, sure
from kernelweave.report.html import Markup, tag
from kernelweave.report.numbers import signed, written

Array = np.ndarray
BLOCK, WIDE, UP = 10, 9.0, 46.0
"""Letters of a block, the width of one, and the height of the largest."""
FOOT = 12.0
CAPITAL = 0.72
"""Height of a capital letter, as a share of the size of its font."""
OUTLINES = {
    "A": "M0 1L.38 0H.62L1 1H.79L.71 .76H.29L.21 1ZM.35 .58H.65L.5 .15Z",
    "C": "M1 .67C.96 .89 .78 1 .53 1C.2 1 0 .81 0 .5C0 .19 .2 0 .53 0C.78 0 .95 .12 .99 .32L.77 .36"
         "C.74 .24 .66 .18 .53 .18C.34 .18 .23 .29 .23 .5C.23 .71 .34 .82 .53 .82C.67 .82 .75 .75 .78 .62Z",
    "G": "M.53 .44H1V.85C.88 .95 .72 1 .54 1C.2 1 0 .81 0 .5C0 .19 .2 0 .53 0C.77 0 .94 .11 .98 .3L.76 .35"
         "C.73 .24 .65 .18 .53 .18C.34 .18 .23 .29 .23 .5C.23 .71 .34 .82 .54 .82C.63 .82 .71 .8 .78 .75V.61H.53Z",
    "T": "M0 0H1V.19H.61V1H.39V.19H0Z",
    "U": "M0 0H.22V.6C.22 .75 .32 .82 .5 .82C.68 .82 .78 .75 .78 .6V0H1V.6C1 .86 .82 1 .5 1C.18 1 0 .86 0 .6Z",
}  # fmt: skip
"""Letters that fill the unit square."""


def outlines() -> Markup:
    """Return the outlines once, for all logos of a page."""
    shapes = [tag("path", id=f"L{letter}", d=d, fill_rule="evenodd") for letter, d in OUTLINES.items()]
    return tag("svg", tag("defs", *shapes), width="0", height="0", aria_hidden="true", class_="defs")


def letters_of_row(
    letters: Sequence[str], values: Sequence[float], largest: float, start: int, ends: Ends | None = None
) -> Markup:
    """Return the letters of one row, those that take off hanging below the line, each row of letters below.

    Parameters
    ----------
    values : what each letter adds
    largest : size of the letter that is drawn full
    start : number of the first letter
    ends : of the intervals of what they add; letters whose interval leaves out zero are written bold below
    """
    scale = UP / (largest or 1.0)
    low, blocks = max(0.0, -min(values, default=0.0)) * scale + 2, []
    for first in range(0, len(letters), BLOCK):
        some = range(first, min(first + BLOCK, len(letters)))
        up = max(0.0, max(values[first : first + BLOCK])) * scale + 2
        parts = [
            _cell(letters[place], [(letters[place], values[place] * scale)], place - first, up, low,
                  f"{letters[place]} at {written(start + place)}: {signed(values[place], 4)}{between(ends, place)}",
                  sure(ends, place))
            for place in some
        ]  # fmt: skip
        blocks.append(_block(parts, len(some), up, low + FOOT, written(start + first)))
    return tag("div", *blocks, class_="logo")


def stacked(heights: Array, letters: Sequence[str], titles: Sequence[str], high: float, start: int = 1) -> Markup:
    """Return stacks of letters, the highest on top: a motif, or what letters at places are worth.

    Parameters
    ----------
    heights : (places, letters)
    titles : what to say of each place
    high : sum of heights that is drawn full
    """
    scale = UP / (high or 1.0)
    up = float(np.maximum(heights, 0).sum(axis=1).max(initial=0.0)) * scale + 2
    low = float(np.maximum(-heights, 0).sum(axis=1).max(initial=0.0)) * scale + 2
    blocks = []
    for first in range(0, len(heights), BLOCK):
        some = range(first, min(first + BLOCK, len(heights)))
        parts = []
        for place in some:
            order = np.argsort(np.abs(heights[place]), kind="stable").tolist()
            piles = [(letters[k], float(heights[place, k]) * scale) for k in order]
            parts.append(_cell("", piles, place - first, up, low, titles[place]))
        blocks.append(_block(parts, len(some), up, low, written(start + first)))
    return tag("div", *blocks, class_="logo")


def _block(parts: list[Markup], n: int, up: float, low: float, name: str) -> Markup:
    width, height = n * WIDE, up + low + FOOT
    line = tag("line", x1=0.0, x2=width, y1=up, y2=up, class_="zero")
    number = tag("text", name, x=0.5, y=height - 2, class_="tick")
    return tag("svg", line, *parts, number, viewBox=f"0 0 {width:g} {height:.1f}", width=f"{width:g}",
               height=f"{height:.1f}", aria_hidden="true")  # fmt: skip


def _cell(
    letter: str, piles: list[tuple[str, float]], place: int, up: float, low: float, said: str, bold: bool = False
) -> Markup:
    """Return one place: its letters, the plain letter below, and what is said of it."""
    x, above, below = place * WIDE, up, up
    parts = []
    for name, height in piles:
        if abs(height) < 0.25:
            continue
        if height > 0:
            above -= height
            parts.append(_letter(name, x + 0.3, above, WIDE - 0.6, height))
        else:
            parts.append(_letter(name, x + 0.3, below, WIDE - 0.6, -height))
            below -= height
    area = tag("rect", x=x, y=0.0, width=WIDE, height=up + low + (FOOT if letter else 0.0), class_="area")
    kind = "plain mid sure" if bold else "plain mid"
    plain = tag("text", letter, x=x + WIDE / 2, y=up + low + FOOT - 3, class_=kind) if letter else None
    return tag("g", area, *parts, plain, data_t=said, class_="place")


def _letter(name: str, x: float, y: float, width: float, height: float) -> Markup:
    """Return a letter that fills a box."""
    upper = name.upper()
    if upper in OUTLINES:
        move = f"translate({x:.2f} {y:.2f}) scale({width:.2f} {height:.2f})"
        return tag("use", href=f"#L{upper}", transform=move, class_=f"l{upper}")
    move = f"translate({x:.2f} {y + height:.2f}) scale(1 {height / (10 * CAPITAL):.3f})"
    return tag("text", name, transform=move, textLength=f"{width:.1f}", lengthAdjust="spacingAndGlyphs", class_="glyph")
