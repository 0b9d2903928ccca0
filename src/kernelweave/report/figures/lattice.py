"""A lattice: its states from left to right, its arcs as curves, each word tinted by what it adds.

A state stands as far to the right as its longest path from the start has arcs; arcs between the same two states bend
apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.report.figures.ends import Ends, between
from kernelweave.report.html import Markup, tag
from kernelweave.report.numbers import short, signed

Array = np.ndarray
MOST_ARCS = 80
"""Arcs of a lattice that is drawn."""
STEP, LANE, APART, EDGE = 86.0, 54.0, 24.0, 22.0
"""Sizes: from state to state, between states above one another, between parallel arcs, around everything."""


def lattice(
    source: Array, target: Array, words: list[str], weights: Array, values: Array, largest: float,
    ends: Ends | None = None,
) -> Markup:  # fmt: skip
    """Return the drawing of one lattice.

    Parameters
    ----------
    source, target, weights : of the arcs
    words : of the arcs, "" for none
    values : what the arcs add
    largest : what is tinted full
    ends : of the intervals of what they add
    """
    x, y = _places(source, target)
    bends = _bends(source, target, x)
    tops = [y[a] / 2 + y[b] / 2 + bend for a, b, bend in zip(source, target, bends)]
    low = min(float(y.min()), *tops) - EDGE
    width, height = float(x.max()) + 2 * EDGE, max(float(y.max()), *tops) + EDGE - low
    parts: list[Any] = []
    for arc, (a, b) in enumerate(zip(source.tolist(), target.tolist())):
        start, end = (x[a] + EDGE, y[a] - low), (x[b] + EDGE, y[b] - low)
        value, weight, word = float(values[arc]), float(weights[arc]), words[arc]
        said = f"{word or '(nothing)'}: {signed(value, 4)}{between(ends, arc)}, weight {short(weight)}"
        parts.append(_arc(start, end, bends[arc], word, weight, value / largest, said))
    parts += [tag("circle", cx=float(x[k]) + EDGE, cy=float(y[k]) - low, r=4.0, class_="state") for k in range(len(x))]
    title = "Lattice: " + " ".join(dict.fromkeys(word for word in words if word))
    drawn = tag("svg", tag("title", title), *parts, viewBox=f"0 0 {width:.0f} {height:.0f}", width=f"{width:.0f}",
                height=f"{height:.0f}", role="img", aria_label=title, class_="lattice")  # fmt: skip
    return tag("div", drawn, class_="scroll")


def _places(source: Array, target: Array) -> tuple[Array, Array]:
    """Return where the states stand; every arc leads to a state of a higher number."""
    n = int(target.max()) + 1
    depth = np.zeros(n, np.int64)
    for a, b in sorted(zip(source.tolist(), target.tolist())):
        depth[b] = max(depth[b], depth[a] + 1)
    y = np.zeros(n)
    for level in range(int(depth.max()) + 1):
        there = np.flatnonzero(depth == level)
        y[there] = (np.arange(len(there)) - (len(there) - 1) / 2) * LANE
    return depth * STEP, y


def _bends(source: Array, target: Array, x: Array) -> list[float]:
    """Return how far each arc bends down: parallel ones apart, those that pass states around them."""
    pairs = list(zip(source.tolist(), target.tolist()))
    seen: dict[tuple[int, int], int] = {}
    bends = []
    for pair in pairs:
        number = seen[pair] = seen.get(pair, -1) + 1
        passed = round(float(x[pair[1]] - x[pair[0]]) / STEP) - 1
        bends.append((number - (pairs.count(pair) - 1) / 2) * APART - passed * LANE / 2)
    return bends


def _arc(
    start: tuple[float, float], end: tuple[float, float], bend: float, word: str, weight: float, tint: float, said: str
) -> Markup:
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    path = f"M{start[0]:.0f} {start[1]:.0f}Q{x:.0f} {y + 2 * bend:.0f} {end[0]:.0f} {end[1]:.0f}"
    strong, sign = min(abs(tint), 1.0), "plus" if tint >= 0 else "less"
    wide = max(6.5 * len(word) + 6, 10.0)
    return tag(
        "g", tag("path", d=path, class_="arc", stroke_width=f"{0.8 + 2 * min(weight, 1.0):.1f}"),
        tag("rect", x=x - wide / 2, y=y + bend - 8, width=wide, height=16.0, rx=3.0, class_="back"),
        tag("rect", x=x - wide / 2, y=y + bend - 8, width=wide, height=16.0, rx=3.0, class_=f"tinted {sign}",
            style=f"--v:{strong:.3f}"),
        tag("text", word, x=x, y=y + bend + 4, class_="mid"), data_t=said, class_="place",
    )  # fmt: skip
