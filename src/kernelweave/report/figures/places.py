"""One explained row: letters as logos, words tinted, arcs as a lattice, columns and kernels as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelweave.interpret.explain.explanation import Explanation, Track
from kernelweave.report.figures.bars import signed_bar
from kernelweave.report.figures.ends import Ends, between
from kernelweave.report.figures.lattice import MOST_ARCS, lattice
from kernelweave.report.figures.logo import letters_of_row
from kernelweave.report.html import Markup, clipped, join, kernel_name, note, table, tag
from kernelweave.report.numbers import signed

MOST_LETTERS, MOST_WORDS, MOST_BARS = 300, 600, 12
"""Places of a row that are drawn; of longer rows the stretch that adds or takes off most, or the largest bars."""


@dataclass(frozen=True)
class Scale:
    """The largest contribution of a place of each unit over all rows, so that rows can be compared."""

    largest: dict[str, float]

    @classmethod
    def of(cls, told: Explanation, outputs: Sequence[int]) -> Self:
        """Take the scale of rows, each with the decision value that it is explained by."""
        found: dict[str, float] = {"kernel": 0.0}
        for row, output in enumerate(outputs):
            for track in told.tracks:
                values = np.abs(track.of(row)[:, output])
                found[track.unit] = max(found.get(track.unit, 0.0), float(values.max(initial=0.0)))
            found["kernel"] = max(found["kernel"], float(np.abs(told.rest[row, :, output]).max(initial=0.0)))
        return cls({unit: value or 1.0 for unit, value in found.items()})


def drawn_row(
    told: Explanation, row: int, output: int, scale: Scale, origin: int = 0, cells: dict[str, str] | None = None,
    firm: Sequence[Ends | None] = (),
) -> Markup:  # fmt: skip
    """Return a row with what its places add.

    Parameters
    ----------
    row, output : numbers of the row and of the decision value
    scale : of all rows
    origin : the position that is shown as 0
    cells : values by column, for a row of a table
    firm : for each track the ends of the intervals of its places, or None
    """
    if not told.tracks and len(told.rest_names) == 1:
        return _whole(told, row, cells)
    ends = [_ends(firm, number, track, row, output) for number, track in enumerate(told.tracks)]
    tracks, parts = list(zip(told.tracks, ends)), list[Any]()
    columns = [pair for pair in tracks if pair[0].unit == "column" and pair[0].kernel is None]
    if len(columns) > 1:
        parts.append(_columns(columns, row, output, scale.largest["column"], cells or {}))
        tracks = [pair for pair in tracks if pair[0].unit != "column" or pair[0].kernel is not None]
    for track, known in tracks:
        if track.view or track.kernel:
            parts.append(tag("h4", clipped(" of ".join(part for part in (track.kernel, track.view) if part))))
        parts.append(_drawn(track, row, output, scale.largest[track.unit], origin, cells, known))
    if told.rest_names:
        pairs = [(kernel_name(name), "", float(v)) for name, v in zip(told.rest_names, told.rest[row, :, output])]
        parts.append(_bars(pairs, scale.largest["kernel"], ["kernel", "", "adds"]))
    return join(parts)


def _columns(
    tracks: list[tuple[Track, Ends | None]], row: int, output: int, largest: float, cells: dict[str, str]
) -> Markup:
    """Return the columns of several views as one table."""
    pairs = [
        (clipped(name), cells.get(name, ""), value)
        for track, _ in tracks
        for name, value in zip(column_names(track), track.of(row)[:, output].tolist())
    ]
    known = [ends for _, ends in tracks if ends is not None]
    ends = (np.concatenate([low for low, _ in known]), np.concatenate([high for _, high in known])) if known else None
    heads = ["column", "value", "", "adds"] if any(value for _, value, _ in pairs) else ["column", "", "adds"]
    return _bars(pairs, largest, heads, ends if len(known) == len(tracks) else None)


def column_names(track: Track) -> list[str]:
    """Return the names of the columns of a track, with the view that they are of."""
    return [f"{track.view}: {name}" if track.view and track.view != name else name for name in track.names]


def _whole(told: Explanation, row: int, cells: dict[str, str] | None) -> Markup:
    """Return what there is to see where one kernel compares whole rows: decision values of all classes, the row."""
    parts: list[Any] = []
    if len(told.outputs) > 1:
        largest = float(np.abs(told.sums).max()) or 1.0
        pairs = [(clipped(name), "", float(v)) for name, v in zip(told.outputs, told.sums[row])]
        parts.append(_bars(pairs, largest, ["class", "", "decision value"]))
    if cells is not None:
        rest = "" if len(cells) <= MOST_BARS else f", … ({len(cells):,} columns)"
        plain = list(cells) == [str(k) for k in range(len(cells))]
        shown = [value if plain else f"{clipped(name)}\u00a0{value}" for name, value in cells.items()]
        parts.append(tag("p", f"Values of the row: {', '.join(shown[:MOST_BARS])}{rest}", class_="dim"))
    return join(parts)


def _ends(firm: Sequence[Ends | None], number: int, track: Track, row: int, output: int) -> Ends | None:
    """Return the ends of the intervals of the places of one row, None where there are none."""
    found = firm[number] if number < len(firm) else None
    some = slice(track.offsets[row], track.offsets[row + 1])
    return None if found is None else (found[0][some, output], found[1][some, output])


def _drawn(
    track: Track, row: int, output: int, largest: float, origin: int, cells: dict[str, str] | None, ends: Ends | None
) -> Markup:
    values, names = track.of(row)[:, output], track.spelled(row)
    if track.unit == "letter":
        return _letters(names, values, largest, origin, ends)
    if track.unit == "word":
        return _words(names, values, largest, ends)
    if track.unit == "arc":
        return _arcs(track, row, names, values, largest, ends)
    known = list(cells.values()) if cells is not None and len(cells) == len(names) else [""] * len(names)
    heads = ["column", "value", "", "adds"] if any(known) else ["column", "", "adds"]
    return _bars([(clipped(n), c, float(v)) for n, c, v in zip(names, known, values)], largest, heads, ends)


def _letters(names: list[str], values: np.ndarray, largest: float, origin: int, ends: Ends | None) -> Markup:
    if not names:
        return note("The row has no letters.")
    start, end, said = 0, len(names), None
    if end > MOST_LETTERS:
        running = np.concatenate([[0.0], np.cumsum(np.abs(values))])
        start = int(np.argmax(running[MOST_LETTERS:] - running[:-MOST_LETTERS]))
        said = note(f"The {MOST_LETTERS} of {end:,} letters that add or take off most; the others are not drawn.")
        end = start + MOST_LETTERS
    ends = None if ends is None else (ends[0][start:end], ends[1][start:end])
    drawn = letters_of_row(names[start:end], values[start:end].tolist(), largest, start - origin, ends)
    return join([drawn, said, _spoken(names[start:end])])


def _spoken(letters: list[str]) -> Markup:
    """Return the letters as plain text, for those who do not see the logo."""
    return tag("p", "".join(letters), class_="unseen")


def _words(names: list[str], values: np.ndarray, largest: float, ends: Ends | None) -> Markup:
    if len(names) > MOST_WORDS:
        said = note(f"The first {MOST_WORDS:,} of {len(names):,} words.")
        names, values = names[:MOST_WORDS], values[:MOST_WORDS]
    else:
        said = None
    spans = [
        tag("span", clipped(name), class_="word " + ("plus" if v >= 0 else "less"),
            style=f"--v:{min(abs(v) / largest, 1):.3f}", data_t=f"{clipped(name)}: {signed(v, 4)}{between(ends, k)}")
        for k, (name, v) in enumerate(zip(names, values.tolist()))
    ]  # fmt: skip
    return join([tag("p", join(spans, " "), class_="words"), said])


def _arcs(track: Track, row: int, names: list[str], values: np.ndarray, largest: float, ends: Ends | None) -> Markup:
    if len(names) > MOST_ARCS or not names:
        pairs = [(clipped(n) or "(nothing)", "", float(v)) for n, v in zip(names, values)]
        return _bars(pairs, largest, ["arc", "", "adds"], ends)
    some = slice(track.offsets[row], track.offsets[row + 1])
    rows = track.rows
    return lattice(
        rows.source[some], rows.target[some], [clipped(n) for n in names], rows.weights[some], values, largest, ends
    )


def _bars(pairs: list[tuple[str, str, float]], largest: float, heads: list[str], ends: Ends | None = None) -> Markup:
    order = sorted(range(len(pairs)), key=lambda k: -abs(pairs[k][2]))[:MOST_BARS]
    kept, wide, lines = [pairs[k] for k in order], len(heads) == 4, list[list[Any]]()
    for k, (name, more, v) in zip(order, kept):
        drawn = signed_bar(v, largest, signed(v) + between(ends, k))
        lines.append([name, *([more] if wide else []), drawn, signed(v)])
    rest = len(pairs) - len(kept)
    said = "What each adds, the largest first."
    if rest:
        others = sum(v for *_, v in pairs) - sum(v for *_, v in kept)
        lines.append([f"{rest:,} others", *([""] if wide else []), "", signed(others)])
    made = table(heads, lines, caption=said, numbers=(1, 3) if wide else (2,), unseen=True)
    return tag("div", made, class_="bars four" if wide else "bars")
