"""One explained sequence as a track: what each letter adds, with its interval, at its place on the chromosome."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelweave.interpret.explain.explanation import Explanation
from kernelweave.interpret.explain.files import PLACE
from kernelweave.interpret.explain.stability import ExplanationStability
from kernelweave.plots.positional import Signals, legend_above, shade
from kernelweave.plots.style import AGAINST, BLUE, figure, plain, quiet

Array = np.ndarray
SPELLED = 90
"""Letters up to which they are written below the track."""
INCHES = 0.13
NARROWEST, WIDEST = 7.5, 13.0
PAD = 22.0
"""Points between the axes and the title, where a legend stands between them."""


@dataclass(repr=False)
class LocusDisplay:
    """What each letter of one row adds: a bar for each, blue where it adds, vermilion where it takes off.

    Build it with `from_explanation`, or with `from_stability` for bars with their bootstrap intervals.

    Attributes
    ----------
    name : of the row
    letters : what stands at each place
    values : (letters,) what each adds
    places : (letters,) number of each; where the id of the row is an interval such as chr1:100-300(-), its place on the
        chromosome, counted from 1
    low, high : (letters,) ends of the intervals, None without
    level : share of the bootstrap samples between them
    decision : decision value of the row
    output : name of the decision value
    figure_, ax_ : the last drawing

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(100, random_state=0)
    >>> told = kw.explain(kw.KernelClassifier("wd:3").fit(X, y), X[:2])
    >>> LocusDisplay.from_explanation(told, 1).values.shape
    (141,)
    """

    name: str
    letters: list[str]
    values: Array
    places: Array
    low: Array | None
    high: Array | None
    level: float
    decision: float
    output: str
    figure_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_explanation(cls, told: Explanation, row: int = 0, output: int = 0) -> Self:
        """Take one row that was explained.

        Parameters
        ----------
        told : by `kernelweave.explain`
        row : its number
        output : number of the decision value
        """
        if len(told.tracks) != 1 or told.tracks[0].unit == "arc":
            raise ValueError("A track is for the places of one view in a line; this model divides its value otherwise.")
        track, values = told.tracks[0], told.tracks[0].of(row)[:, output]
        found = PLACE.match(told.ids[row])
        places = np.arange(len(values))
        if found and int(found["end"]) - int(found["start"]) == len(values):
            places = np.arange(int(found["start"]) + 1, int(found["end"]) + 1)
            places = places[::-1] if found["strand"] == "-" else places
        decision = float(told.sums[row, output])
        name, spelled = told.ids[row], track.spelled(row)
        return cls(name, spelled, values, places, None, None, 0.0, decision, told.outputs[output])

    @classmethod
    def from_stability(cls, stability: ExplanationStability, row: int = 0, output: int = 0) -> Self:
        """Take one row with its bootstrap intervals.

        Parameters
        ----------
        stability : by `kernelweave.interpret.explain.stability.explanation_stability`
        row : its number
        output : number of the decision value
        """
        made = cls.from_explanation(stability.explanation, row, output)
        offsets = stability.explanation.tracks[0].offsets
        inside = slice(int(offsets[row]), int(offsets[row + 1]))
        made.low, made.high = stability.lower[0][inside, output], stability.upper[0][inside, output]
        made.level = stability.level
        return made

    def plot(
        self,
        ax: Any = None,
        *,
        start: int = 0,
        end: int | None = None,
        signals: Signals | None = None,
        origin: int = 0,
    ) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib axes; None for a new figure
        start, end : the letters that are drawn, counted from 0 within the row; None for all up to the end
        signals : name -> (first letter, one past the last), within the row, shaded; where places are those of the row
        origin : the letter that the picture shows as 0, where places are those of the row
        """
        part = slice(start, end)
        places, values, letters = self.places[part], self.values[part], self.letters[part]
        on_chromosome = not np.array_equal(self.places, np.arange(len(self.places)))
        x = places if on_chromosome else places - origin
        if ax is None:
            _, ax = figure(1, 1, (float(np.clip(INCHES * len(x) + 1.2, NARROWEST, WIDEST)), 2.8))
        self.ax_, self.figure_ = ax, ax.figure
        if not on_chromosome:
            shade(ax, signals, origin)
        ax.bar(x, values, 0.9, color=[BLUE if value >= 0 else AGAINST for value in values])
        if self.low is not None and self.high is not None:
            label = f"{self.level:.0%} of the bootstrap samples"
            ax.vlines(x, self.low[part], self.high[part], color="black", linewidth=0.8, label=label)
        ax.axhline(0.0, color="black", linewidth=0.8)
        ax.set(xlim=(x.min() - 0.8, x.max() + 0.8), ylabel="adds to the\ndecision value")
        ax.set_xlabel(self._places_label(on_chromosome, origin))
        if len(x) <= SPELLED and max(map(len, letters)) == 1:
            self._spell(ax, x, letters)
        quiet(ax)
        ax.ticklabel_format(axis="x", style="plain", useOffset=False)
        legend_above(ax, 6)
        title, pad = (
            f"{plain(self.name)}: {self.decision:+.2f} for {plain(self.output)}",
            PAD if ax.get_legend() else None,
        )
        ax.set_title(title, fontsize=10, loc="left", pad=pad)
        return self

    def _places_label(self, on_chromosome: bool, origin: int) -> str:
        if on_chromosome:
            found = PLACE.match(self.name)
            return f"position on {plain(found['name'])}" if found else "position"
        return "letters from the origin" if origin else "position"

    @staticmethod
    def _spell(ax: Any, x: Array, letters: list[str]) -> None:
        """Write the letters in a line at the foot of the axes."""
        low, high = ax.get_ylim()
        ax.set_ylim(low - 0.12 * (high - low), high)
        for place, letter in zip(x, letters):
            ax.text(
                place, 0.02, plain(letter), transform=ax.get_xaxis_transform(), ha="center", va="bottom", fontsize=7,
                family="monospace",
            )  # fmt: skip
