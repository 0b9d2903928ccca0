"""What decides about single rows, as bars: columns of tables, kernels that cannot be divided, places of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelweave.interpret.explain.explanation import Explanation, Place
from kernelweave.plots.style import AGAINST, BLUE, GREY, elided, figure, plain, quiet

MOST = 6
"""Rows of one picture."""


@dataclass(repr=False)
class PlacesDisplay:
    """The places of a row that add or take off most, what all others add together, and the intercept.

    The bars of a row add up to its decision value.  Build it with `from_explanation`.

    Attributes
    ----------
    names : a title for each row
    bars : of each row, names and what they add, the heaviest first, "others" and "intercept" last
    figure_, axes_ : the last drawing

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(100, random_state=0)
    >>> told = kw.explain(kw.KernelClassifier("wd:3").fit(X, y), X[:2])
    >>> display = PlacesDisplay.from_explanation(told, [1], n=5)
    >>> len(display.bars[0]), bool(abs(sum(value for _, value in display.bars[0]) - told.decision[1]) < 1e-9)
    (7, True)
    """

    names: list[str]
    bars: list[list[tuple[str, float]]]
    figure_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_explanation(cls, told: Explanation, rows: Sequence[int] = (0,), n: int = 10, output: int = 0) -> Self:
        """Take rows that were explained.

        Parameters
        ----------
        told : by `kernelweave.explain`
        rows : which, 6 at most
        n : places of each row
        output : number of the decision value
        """
        if not 1 <= len(rows) <= MOST:
            raise ValueError(f"A picture has room for 1 to {MOST} rows, not for {len(rows)}.")
        decision, base = told.sums[:, output], float(told.base[output])
        names = [f"{told.ids[row]}: {decision[row]:+.2f} for {told.outputs[output]}" for row in rows]
        bars = []
        for row in rows:
            every = sorted(told.places(row, output), key=lambda place: -abs(place.value))
            own = [(_named(place, told), place.value) for place in every[:n]]
            if every[n:]:
                own.append((f"{len(every) - n} others", sum(place.value for place in every[n:])))
            bars.append([*own, ("intercept", base)])
        return cls(names, bars)

    def plot(self, axes: Any = None) -> Self:
        """Draw a panel for each row, below one another.

        Parameters
        ----------
        axes : as many matplotlib axes as rows; None for a new figure
        """
        if axes is None:
            tall = sum(0.7 + 0.23 * len(bars) for bars in self.bars)
            _, axes = figure(len(self.bars), 1, (6.4, tall + 0.3))
        self.axes_ = np.atleast_1d(axes)
        self.figure_ = self.axes_[0].figure
        for ax, name, bars in zip(self.axes_, self.names, self.bars, strict=True):
            lines, values = np.arange(len(bars)), [value for _, value in bars]
            hues = [GREY if k >= len(bars) - 1 else BLUE if value >= 0 else AGAINST for k, value in enumerate(values)]
            ax.barh(lines, values, 0.7, color=hues)
            ax.axvline(0.0, color="black", linewidth=0.8)
            ax.set_yticks(lines, [plain(elided(label)) for label, _ in bars], fontsize=9)
            ax.set(ylim=(len(bars) - 0.4, -0.6))
            ax.set_title(plain(name), fontsize=10, loc="left")
            quiet(ax)
            ax.grid(False, axis="y")
        self.axes_[-1].set_xlabel("adds to the decision value")
        return self


def _named(place: Place, told: Explanation) -> str:
    units = {track.view: track.unit for track in told.tracks}
    where = "" if place.position < 0 or units.get(place.view) == "column" else f" at {place.position}"
    return f"{place.name}{where}" + (f" of {place.view}" if place.view and place.name != place.view else "")
