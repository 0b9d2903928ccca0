"""Explanations as files: lines of a table, bedGraph for genome browsers, arrays for programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.interpret.explain.explanation import Explanation
from kernelweave.interpret.explain.mutate import Mutations

PLACE = re.compile(r"(?P<name>[^\s:]+):(?P<start>\d+)-(?P<end>\d+)(?:\((?P<strand>[+-])\))?$")
"""How the id of a row names an interval of a genome, counted from 0 and half open: chr1:100-300, chr1:100-300(-)."""


def table_header(told: Explanation) -> list[str]:
    """Return the columns of `table_rows`."""
    kernel = ["kernel"] if any(track.kernel for track in told.tracks) else []
    values = [f"adds_to_{name}" for name in told.outputs] if len(told.outputs) > 1 else ["adds"]
    view = ["view"] if any(track.view for track in told.tracks) else []
    return ["id", *view, "position", "place", *kernel, *values]


def table_rows(told: Explanation, top: int | None = None, output: int = 0) -> Iterator[list[Any]]:
    """Yield a line for each place of each row; for kernels that cannot be divided, and for `base`, one each.

    Parameters
    ----------
    top : only the places of each row that add or take off most, best first
    output : number of the decision value that `top` goes by
    """
    kernel, view = (any(getattr(track, name) for track in told.tracks) for name in ("kernel", "view"))
    for row, name in enumerate(told.ids):
        lines: list[tuple[float, list[Any]]] = []
        for track in told.tracks:
            values = track.of(row)
            extra = [track.kernel or ""] * kernel
            seen = [track.view] * view
            for position, (letter, line) in enumerate(zip(track.spelled(row), values.tolist())):
                lines.append((abs(line[output]), [name, *seen, position, letter, *extra, *line]))
        for undivided, line in zip(told.rest_names, told.rest[row].tolist()):
            lines.append((abs(line[output]), [name, *[""] * view, "", undivided, *[undivided] * kernel, *line]))
        if top is not None:
            lines = sorted(lines, key=lambda each: -each[0])[:top]
        else:
            lines.append((0.0, [name, *[""] * view, "", "base", *[""] * kernel, *told.base.tolist()]))
        yield from (line for _, line in lines)


def compact_rows(told: Explanation, output: int = 0) -> Iterator[list[Any]]:
    """Yield a line for each row: id, decision value, letters, what they add with commas between."""
    if len(told.tracks) != 1 or told.rest_names or told.tracks[0].unit != "letter":
        raise ValueError("One line a row needs letters of one view and nothing else; leave out --compact.")
    (track,), decision = told.tracks, told.sums[:, output].tolist()
    bounds, values = track.offsets.tolist(), track.values[:, output]
    texts = track.rows.to_strings()
    for row, name in enumerate(told.ids):
        numbers = ",".join([f"{value:.6g}" for value in values[bounds[row] : bounds[row + 1]].tolist()])
        yield [name, decision[row], texts[row], numbers]


def bedgraph_rows(told: Explanation, output: int = 0) -> Iterator[list[Any]]:
    """Yield chromosome, start, end and value of every letter; rows whose id names an interval stand at its place.

    On the other strand the first letter of a row is the last of its interval.
    """
    if len(told.tracks) != 1 or told.tracks[0].unit != "letter":
        raise ValueError("bedGraph is for letters of one view; write a table (.tsv) or arrays (.npz).")
    track = told.tracks[0]
    for row, name in enumerate(told.ids):
        values = track.of(row)[:, output].tolist()
        found = PLACE.match(name)
        where, start = (found["name"], int(found["start"])) if found else (name, 0)
        if found and int(found["end"]) - start != len(values):
            raise ValueError(
                f"The id {name!r} names {int(found['end']) - start} letters, but the row has {len(values)}; bedGraph "
                "needs intervals that fit."
            )
        if found and found["strand"] == "-":
            values = values[::-1]
        for at, value in enumerate(values, start):
            yield [where, at, at + 1, f"{value:.6g}"]


def mutation_header(found: Mutations) -> list[str]:
    """Return the columns of `mutation_rows`."""
    letters = found.rows.alphabet.letters
    if len(found.outputs) == 1:
        return ["id", "position", "letter", *letters]
    return ["id", "position", "letter", *(f"{letter}_{name}" for name in found.outputs for letter in letters)]


def mutation_rows(found: Mutations, ids: tuple[str, ...]) -> Iterator[list[Any]]:
    """Yield a line for each letter: what each other one in its place would add to the decision value."""
    texts = found.rows.to_strings()
    for row, (name, text) in enumerate(zip(ids, texts)):
        part = found.changes[found.rows.offsets[row] : found.rows.offsets[row + 1]]
        for position, (letter, line) in enumerate(zip(text, np.swapaxes(part, 1, 2).reshape(len(text), -1).tolist())):
            yield [name, position, letter, *line]


def write_arrays(path: PathLike, told: Explanation) -> None:
    """Write an explanation as arrays (.npz): ids, outputs, base, decision, and of each track values and offsets."""
    arrays: dict[str, Any] = {
        "ids": np.array(told.ids),
        "outputs": np.array(told.outputs),
        "base": told.base,
        "decision": told.sums,
        "rest": told.rest,
        "rest_names": np.array(told.rest_names, dtype=str),
        "tracks": np.array([f"{track.unit}:{track.view}:{track.kernel or ''}" for track in told.tracks], dtype=str),
    }
    for number, track in enumerate(told.tracks):
        arrays |= {f"values_{number}": track.values, f"offsets_{number}": track.offsets}
    with open_aside(path) as file:
        np.savez(file, **arrays)
