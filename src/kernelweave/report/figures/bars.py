"""Bars in the lines of a table: they stand beside their numbers, and the names may be as long as they like."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.report.html import Markup, tag
from kernelweave.report.numbers import short, signed

Array = np.ndarray
LENGTH, THICK = 100.0, 12.0


def bar(value: float, largest: float, low: float | None = None, high: float | None = None) -> Markup:
    """Return a bar from the left, with an interval where there is one.

    Parameters
    ----------
    largest : what the whole length stands for
    low, high : ends of the interval
    """
    scale = LENGTH / (largest or 1.0)
    parts: list[Any] = [tag("rect", x=0.0, y=1.5, width=max(value, 0.0) * scale, height=9.0)]
    said = short(value)
    if low is not None and high is not None:
        parts.append(tag("path", d=f"M{low * scale:.2f} 6H{high * scale:.2f}", class_="whisker"))
        said += f" ({short(low)} to {short(high)})"
    return _svg(parts, said, 0.0)


def signed_bar(value: float, largest: float, said: str | None = None) -> Markup:
    """Return a bar from the middle: to the right what adds, to the left what takes off."""
    half = LENGTH / 2
    size = half * min(abs(value) / (largest or 1.0), 1.0)
    rect = tag("rect", x=half if value >= 0 else half - size, y=1.5, width=size, height=9.0,
               class_="plus" if value >= 0 else "less")  # fmt: skip
    return _svg([tag("path", d=f"M{half:g} 0V{THICK:g}", class_="axis0"), rect], said or signed(value), half)


def _svg(parts: list[Any], said: str, _: float) -> Markup:
    return tag("svg", *parts, viewBox=f"0 0 {LENGTH:g} {THICK:g}", preserveAspectRatio="none", class_="bar",
               data_t=said, aria_hidden="true")  # fmt: skip


def confusion(labels: list[str], counts: Array) -> Markup:
    """Return who is taken for whom as a table with tinted cells: a line for each true class, a column for each call."""
    sizes = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    head = tag("tr", tag("td", tag("span", "true class ↓ called →", class_="dim")),
               *(tag("th", label, scope="col", class_="n") for label in labels))  # fmt: skip
    lines = []
    for label, line, shares in zip(labels, counts.tolist(), (counts / sizes).tolist()):
        cells = [
            tag("td", f"{n:,}" if n else "·", class_="n", style=f"--v:{part:.3f}",
                data_t=f"{label} called {other}: {n:,} ({100 * part:.1f}%)")
            for other, n, part in zip(labels, line, shares)
        ]  # fmt: skip
        lines.append(tag("tr", tag("th", label, scope="row"), *cells))
    return tag("div", tag("table", tag("thead", head), tag("tbody", *lines), class_="confusion"), class_="scroll")
