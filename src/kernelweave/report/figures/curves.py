"""Curves with bands, points, steps of histograms, lines by position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernelweave.report.figures.axes import HEIGHT, TOP, Frame, axes, drawing, slices
from kernelweave.report.html import Markup, tag
from kernelweave.report.numbers import count, fixed, short

Array = np.ndarray
MOST_POINTS = 400
"""Points of a curve that a picture of this size can show."""
UNIT = (0.0, 1.0)


def thinned(x: Array, y: Array) -> tuple[list[float], list[float]]:
    """Return a curve with a bounded number of points, the first and the last among them."""
    some = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(int))
    return x[some].tolist(), y[some].tolist()


def steps(x: Array, y: Array) -> tuple[list[float], list[float]]:
    """Return a curve that jumps to its next height at the beginning of each step."""
    x, y = (np.asarray(values) for values in thinned(x, y))
    return np.repeat(x, 2)[:-1].tolist(), np.append(y[0], np.repeat(y[1:], 2)).tolist()


def rate_curve(
    line: tuple[Sequence[float], Sequence[float]],
    grid: Array,
    on_grid: Array,
    band: tuple[Array, Array],
    names: tuple[str, str],
    guess: tuple[float, float],
    title: str,
) -> Markup:
    """Return a curve of two rates with its bootstrap band and the line of guessing.

    Parameters
    ----------
    line : points of the curve
    grid, on_grid : rates at which it can be read, and its height there
    band : lowest and highest height at each of these rates
    names : of the axes
    guess : height of guessing at the left and at the right
    title : of the drawing
    """
    frame = Frame(UNIT, UNIT)
    around = frame.points([*grid, *grid[::-1]], [*band[0], *band[1][::-1]])
    guessing = frame.points([0.0, 1.0], guess)

    def say(place: int) -> str:
        between = f"{fixed(band[0][place], 3)} to {fixed(band[1][place], 3)}"
        return f"{names[0]} {fixed(grid[place], 2)}: {names[1]} {fixed(on_grid[place], 3)} ({between})"

    return drawing(
        frame, title, axes(frame, *names), tag("polygon", points=around, class_="band"),
        tag("polyline", points=guessing, class_="guess"), tag("polyline", points=frame.points(*line), class_="curve"),
        slices(frame, grid.tolist(), on_grid.tolist(), say),
    )  # fmt: skip


def histogram(
    groups: Sequence[tuple[str, Array]],
    x_name: str,
    title: str,
    *,
    threshold: float | None = None,
    y_name: str = "rows",
) -> Markup:
    """Return how often values come, one outline for each group.

    Parameters
    ----------
    groups : names and values
    x_name, title : what the values are, and the drawing
    threshold : a value that is marked
    """
    every = np.concatenate([values for _, values in groups])
    low, high = _span(every)
    bins = int(np.clip(np.sqrt(len(every)), 10, 40))
    edges = np.linspace(low, high, bins + 1)
    heights = [np.histogram(np.clip(values, low, high), edges)[0] for _, values in groups]
    frame = Frame((low, high), (0.0, 1.05 * max(1, *(int(h.max()) for h in heights))))
    parts: list[Any] = [axes(frame, x_name, y_name)]
    for number, tall in enumerate(heights):
        x, y = np.repeat(edges, 2), np.concatenate([[0], np.repeat(tall, 2), [0]])
        parts.append(tag("polygon", points=frame.points(x.tolist(), y.tolist()), class_=f"hist g{number % 6}"))
    if threshold is not None and low < threshold < high:
        at = frame.across(threshold)
        parts.append(tag("line", x1=at, x2=at, y1=TOP, y2=HEIGHT - frame.bottom, class_="mark"))

    def say(place: int) -> str:
        said = ", ".join(f"{name}: {count(int(tall[place]))}" for (name, _), tall in zip(groups, heights))
        return f"{short(edges[place])} to {short(edges[place + 1])}: {said}"

    top = np.max(heights, axis=0)
    parts.append(slices(frame, ((edges[1:] + edges[:-1]) / 2).tolist(), top.tolist(), say))
    return drawing(frame, title, *parts)


def scatter(x: Array, y: Array, names: tuple[str, str], title: str, say: Callable[[int], str]) -> Markup:
    """Return points around the diagonal.

    Parameters
    ----------
    names : of the axes
    say : what to say of a point, by its number
    """
    low, high = _span(np.concatenate([x, y]))
    frame = Frame((low, high), (low, high), height=300.0)
    points = [
        tag("circle", cx=frame.across(a), cy=frame.down(b), r=2.6, class_="dot", data_t=say(place))
        for place, (a, b) in enumerate(zip(x.tolist(), y.tolist()))
    ]
    diagonal = tag("polyline", points=frame.points([low, high], [low, high]), class_="guess")
    return drawing(frame, title, axes(frame, *names), diagonal, *points)


def reliability_curve(predicted: Array, observed: Array, counts: Array, title: str) -> Markup:
    """Return shares of positive rows against probabilities, larger points for more rows."""
    frame = Frame(UNIT, UNIT)
    diagonal = tag("polyline", points=frame.points([0.0, 1.0], [0.0, 1.0]), class_="guess")
    line = tag("polyline", points=frame.points(predicted.tolist(), observed.tolist()), class_="curve")
    sizes = 2.5 + 4.0 * np.sqrt(counts / counts.max())
    dots = [
        tag("circle", cx=frame.across(p), cy=frame.down(o), r=float(r), class_="dot solid",
            data_t=f"probability {fixed(p, 2)}: {fixed(100 * o, 1)}% of {count(int(n), 'row')} are positive")
        for p, o, n, r in zip(predicted.tolist(), observed.tolist(), counts.tolist(), sizes.tolist())
    ]  # fmt: skip
    return drawing(frame, title, axes(frame, "probability", "share of positive rows"), diagonal, line, *dots)


def lines(
    series: Sequence[tuple[str, Array]], x: Array, names: tuple[str, str], title: str, say: Callable[[int], str]
) -> Markup:
    """Return lines by position, over the whole width of the page.

    Parameters
    ----------
    series : names and heights, nan where there is none
    x : positions
    names : of the axes
    say : what to say of a position, by its number
    """
    every = np.concatenate([values for _, values in series])
    low, high = min(0.0, float(np.nanmin(every))), max(0.0, float(np.nanmax(every)))
    room = 0.06 * ((high - low) or 1.0)
    frame = Frame((float(x[0]), float(x[-1]) if len(x) > 1 else float(x[0]) + 1.0),
                  (low - room if low < 0 else 0.0, high + room), width=700.0, height=220.0, left=52.0)  # fmt: skip
    parts: list[Any] = [axes(frame, *names)]
    if low < 0:
        parts.append(tag("polyline", points=frame.points(frame.x, (0.0, 0.0)), class_="zero"))
    for number, (_, values) in enumerate(series):
        there = np.flatnonzero(np.isfinite(values))
        points = frame.points(x[there].tolist(), values[there].tolist())
        parts.append(tag("polyline", points=points, class_=f"line g{number % 6}"))
    largest = np.nanmax(np.abs(np.stack([values for _, values in series])), axis=0)
    tallest = np.where(np.isfinite(largest), largest, 0.0)
    parts.append(slices(frame, x.tolist(), np.clip(tallest, *frame.y).tolist(), say))
    return drawing(frame, title, *parts, class_="wide")


def legend(names: Sequence[str]) -> Markup | None:
    """Return what the colours of a drawing stand for; nothing where there is one."""
    if len(names) < 2:
        return None
    return tag("p", *(tag("span", tag("i", "", class_=f"key g{k % 6}"), name) for k, name in enumerate(names)),
               class_="legend")  # fmt: skip


def _span(values: Array) -> tuple[float, float]:
    """Return the span of all values but, of many, the outermost in ten thousand."""
    low, high = (float(v) for v in np.quantile(values, [1e-4, 1 - 1e-4])) if len(values) > 2000 else (
        float(values.min()), float(values.max())
    )  # fmt: skip
    room = 0.03 * (high - low) or 0.5 * abs(low) or 0.5
    return low - room, high + room
