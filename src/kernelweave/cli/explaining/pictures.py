"""Which picture `kernelweave explain --plot` draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelweave.interpret.explain.explanation import Explanation

LOGOS = 12
"""Rows whose letters are drawn; more are drawn as a map."""
PANELS = 6
"""Rows whose heaviest places are drawn as bars."""
LETTERS = 32
"""Letters of an alphabet up to which rows are drawn as logos; those of larger ones are texts."""
LONG = 150
"""Letters of a single row from which on it is drawn as a track."""


def check_drawing(plot: str) -> None:
    """Raise where a picture cannot be written, before anything is computed."""
    import os

    from kernelweave.cli.evaluate import check_picture
    from kernelweave.io import check_writable

    check_picture(plot)
    check_writable(plot)
    os.environ.setdefault("MPLBACKEND", "Agg")


def drawing(told: Explanation, output: int) -> Any:
    """Return the picture that fits what was explained."""
    from kernelweave import plots

    units, n = [track.unit for track in told.tracks], len(told)
    rows: Any = told.tracks[0].rows if units else None
    if units == ["arc"] and n == 1:
        return plots.LatticeDisplay.from_explanation(told, 0, output)
    if units == ["word"] or (units == ["letter"] and rows.alphabet.size > LETTERS and n <= LOGOS):
        return plots.TextDisplay.from_explanation(told, output=output)
    if units == ["letter"] and n == 1 and rows.lengths[0] > LONG:
        return plots.LocusDisplay.from_explanation(told, 0, output)
    if units == ["letter"] and n <= LOGOS:
        return plots.LogoDisplay.from_explanation(told, range(n), output=output)
    if units == ["letter"]:
        return plots.ExplanationMapDisplay.from_explanation(told, output)
    return plots.PlacesDisplay.from_explanation(told, range(min(n, PANELS)), output=output)
