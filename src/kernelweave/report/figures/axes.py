"""The frame that drawings share: scales, ticks, names of the axes.

A drawing is as wide in its own units as on a narrow screen in pixels, so that its letters are never scaled down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from kernelweave.report.html import Markup, tag
from kernelweave.report.numbers import MINUS

WIDTH, HEIGHT = 340.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 10.0, 40.0
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Frame:
    """Where numbers lie in a drawing.

    Attributes
    ----------
    x, y : first and last number of the axes
    width, height : of the drawing
    left, bottom : what the numbers and names of the axes take
    """

    x: tuple[float, float]
    y: tuple[float, float]
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    bottom: float = BOTTOM

    def across(self, value: float) -> float:
        """Return where a number of the first axis lies."""
        low, high = self.x
        return self.left + (value - low) / ((high - low) or 1.0) * (self.width - self.left - RIGHT)

    def down(self, value: float) -> float:
        """Return where a number of the second axis lies."""
        low, high = self.y
        return self.height - self.bottom - (value - low) / ((high - low) or 1.0) * (self.height - self.bottom - TOP)

    def points(self, x: Sequence[float], y: Sequence[float]) -> str:
        """Return points as a polyline takes them."""
        return " ".join(f"{self.across(a):.1f},{self.down(b):.1f}" for a, b in zip(x, y))


def drawing(frame: Frame, title: str, *parts: Any, class_: str | None = None) -> Markup:
    """Return a drawing with its name, for those who do not see it.

    Parameters
    ----------
    title : one sentence that says what it shows
    parts : elements
    class_ : of the drawing
    """
    return tag(
        "svg", tag("title", title), *parts, viewBox=f"0 0 {frame.width:g} {frame.height:g}", role="img", class_=class_,
        aria_label=title,
    )  # fmt: skip


def axes(frame: Frame, x_name: str, y_name: str, *, x_ticks: Any = None, y_ticks: Any = None) -> Markup:
    """Return the lines, numbers and names of both axes.

    Parameters
    ----------
    x_ticks, y_ticks : pairs of number and text; None to choose them
    """
    base, parts = frame.height - frame.bottom, []
    for value, name in x_ticks if x_ticks is not None else ticks(*frame.x):
        at = frame.across(value)
        parts += [_line(at, base, at, base + 4), tag("text", name, x=at, y=base + 15, class_="tick mid")]
    for value, name in y_ticks if y_ticks is not None else ticks(*frame.y, most=5):
        at = frame.down(value)
        parts += [
            tag("line", x1=frame.left, y1=at, x2=frame.width - RIGHT, y2=at, class_="grid"),
            tag("text", name, x=frame.left - 6, y=at + 3.5, class_="tick end"),
        ]
    middle = (frame.left + frame.width - RIGHT) / 2
    side = (TOP + base) / 2
    parts += [
        _line(frame.left, base, frame.width - RIGHT, base),
        tag("text", x_name, x=middle, y=frame.height - 6, class_="axis mid"),
        tag("text", y_name, transform=f"translate(11 {side:.1f}) rotate(-90)", class_="axis mid"),
    ]
    return tag("g", *parts)


def ticks(low: float, high: float, most: int = 6) -> list[tuple[float, str]]:
    """Return round numbers between two others, with their texts.

    >>> [name for _, name in ticks(0.0, 1.0)]
    ['0.0', '0.2', '0.4', '0.6', '0.8', '1.0']
    >>> [name for _, name in ticks(-60.0, 80.0)]
    ['−50', '−25', '0', '25', '50', '75']
    """
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [(low, spelled(low, abs(low)))]
    size = 10.0 ** math.floor(math.log10(span / most))
    step = next((size * s for s in STEPS if span / (size * s) <= most), size * 10)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(number * step, spelled(number * step, step)) for number in range(first, last + 1)]


def spelled(value: float, step: float) -> str:
    """Return a number with the digits that its distance to the next one asks for."""
    if value != 0 and (abs(value) >= 1e5 or step < 1e-4):
        return f"{value:.2g}".replace("-", MINUS)
    power = math.floor(math.log10(step) + 1e-9) if step > 0 else 0
    digits = max(0, (round(step / 10.0**power, 6) == 2.5) - power)
    shown = f"{value:.{digits}f}"
    return shown.lstrip("-") if float(shown) == 0 else shown.replace("-", MINUS)


def slices(frame: Frame, at: Sequence[float], y: Sequence[float], say: Callable[[int], str]) -> Markup:
    """Return strips that light up a point and say its numbers when they are pointed at.

    Parameters
    ----------
    at, y : points, from left to right
    say : what to say of a point, by its number
    """
    edges = [frame.across(value) for value in at]
    bounds = [frame.left, *((a + b) / 2 for a, b in pairwise(edges)), frame.width - RIGHT]
    parts = []
    for place, (edge, value) in enumerate(zip(edges, y)):
        area = tag(
            "rect", x=bounds[place], y=TOP, width=max(bounds[place + 1] - bounds[place], 0.1),
            height=frame.height - frame.bottom - TOP,
        )  # fmt: skip
        parts.append(
            tag("g", area, tag("circle", cx=edge, cy=frame.down(value), r=3.5), class_="hit", data_t=say(place))
        )
    return tag("g", *parts)


def _line(x1: float, y1: float, x2: float, y2: float) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_="rule")
