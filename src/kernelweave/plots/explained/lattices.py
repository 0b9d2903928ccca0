"""Explained lattices: arcs from left to right, as thick as they are likely, in the colour of what they add."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelweave.data import Lattices
from kernelweave.interpret.explain.explanation import Explanation
from kernelweave.plots.style import GREY, diverging, figure, plain

Array = np.ndarray
MOST_ARCS = 150
"""Arcs beyond which a picture cannot be read."""
BEND = 0.55
"""How far apart arcs run that join the same states."""
THIN, THICK = 1.2, 4.5
"""Points of the least likely and of a sure arc."""
STATE_INCHES, LEVEL_INCHES = 1.45, 1.05
NARROWEST, WIDEST = 4.5, 16.0


@dataclass(repr=False)
class LatticeDisplay:
    """One lattice: paths from left to right, an arc for each word, blue where it adds, vermilion where it takes off.

    Build it with `from_explanation`.

    Attributes
    ----------
    name : of the row
    lattice : one row
    words : the word of each arc, "" for none
    values : (arcs,) what each adds
    chance : (arcs,) share of the weight of all paths that goes through the arc
    decision : decision value of the row
    output : name of the decision value
    figure_, ax_ : the last drawing

    Examples
    --------
    >>> import kernelweave as kw
    >>> arcs = [(0, 1, "rain", 0.9), (0, 1, "train", 0.1), (1, 2, "today", 1.0)]
    >>> other = [(0, 1, "rain", 0.2), (0, 1, "train", 0.8), (1, 2, "today", 1.0)]
    >>> X = kw.Lattices.from_arcs([(arcs, [2]), (other, [2])])
    >>> told = kw.explain(kw.KernelClassifier(kw.NGram(1)).fit(X, [1, 0]), X)
    >>> LatticeDisplay.from_explanation(told).chance.round(2).tolist()
    [0.9, 0.1, 1.0]
    """

    name: str
    lattice: Lattices
    words: list[str]
    values: Array
    chance: Array
    decision: float
    output: str
    figure_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_explanation(cls, told: Explanation, row: int = 0, output: int = 0) -> Self:
        """Take one lattice that was explained.

        Parameters
        ----------
        told : by `kernelweave.explain`
        row : its number
        output : number of the decision value
        """
        if len(told.tracks) != 1 or told.tracks[0].unit != "arc":
            raise ValueError("Paths are drawn of lattices of one view; this model was trained on other rows.")
        track = told.tracks[0]
        one, values = track.rows[row : row + 1], track.of(row)[:, output]
        if not 1 <= len(values) <= MOST_ARCS:
            raise ValueError(f"A picture has room for 1 to {MOST_ARCS} arcs, but row {row} has {len(values)}.")
        total = float(one.total_weights()[0])
        through = one.forward_weights()[one.source] * one.weights * one.backward_weights()[one.target]
        chance = through / total if total > 0 else np.zeros(len(values))
        decision = float(told.sums[row, output])
        return cls(told.ids[row], one, track.spelled(row), values, chance, decision, told.outputs[output])

    def plot(self, ax: Any = None) -> Self:
        """Draw states as circles, those in which a path may end with two, and arcs with their words.

        Parameters
        ----------
        ax : matplotlib axes; None for a new figure
        """
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        x, y = placed(self.lattice)
        if ax is None:
            width = float(np.clip(STATE_INCHES * (x.max() + 1) + 1.2, NARROWEST, WIDEST))
            _, ax = figure(1, 1, (width, LEVEL_INCHES * (np.ptp(y) + 1.6) + 0.4))
        self.ax_, self.figure_ = ax, ax.figure
        limit = float(np.abs(self.values).max(initial=0.0)) or 1.0
        scale = ScalarMappable(Normalize(-limit, limit), diverging())
        self._draw_arcs(ax, x, y, scale)
        sure = self.lattice.finals > 0
        ax.scatter(x, y, s=130, color="white", edgecolor=GREY, linewidth=1.2, zorder=4)
        ax.scatter(x[sure], y[sure], s=55, color="white", edgecolor=GREY, linewidth=1.0, zorder=5)
        ax.scatter(x[:1], y[:1], s=130, color=GREY, zorder=4)
        ax.set(xlim=(-0.4, x.max() + 0.4), ylim=(y.min() - 0.8, y.max() + 0.8))
        ax.set_axis_off()
        ax.set_title(f"{plain(self.name)}: {self.decision:+.2f} for {plain(self.output)}", fontsize=10, loc="left")
        bar = ax.figure.colorbar(scale, ax=ax, pad=0.01, fraction=0.05, shrink=0.9)
        bar.set_label(f"adds to the decision\nvalue for {plain(self.output)}", fontsize=8)
        bar.ax.tick_params(labelsize=8)
        return self

    def _draw_arcs(self, ax: Any, x: Array, y: Array, scale: Any) -> None:
        """Draw the arcs, those between the same states side by side; outlines keep pale ones visible."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        rise = _rises(self.lattice.source, self.lattice.target, x, y)
        for arc, (a, b) in enumerate(zip(self.lattice.source, self.lattice.target)):
            start, stop = np.array([x[a], y[a]]), np.array([x[b], y[b]])
            top = (start + stop) / 2 + [0.0, 2 * rise[arc]]
            curve = Path([start, top, stop], [Path.MOVETO, Path.CURVE3, Path.CURVE3])
            width = THIN + (THICK - THIN) * float(self.chance[arc])
            colour = scale.to_rgba(float(self.values[arc]))
            ax.add_patch(PathPatch(curve, fill=False, edgecolor=GREY, linewidth=width + 1.0, capstyle="round"))
            ax.add_patch(PathPatch(curve, fill=False, edgecolor=colour, linewidth=width, capstyle="round"))
            middle = 0.25 * start + 0.5 * top + 0.25 * stop
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.9}
            ax.text(
                *middle, plain(self.words[arc]) or "\u03b5", fontsize=9, ha="center", va="center", bbox=box, zorder=6
            )


def placed(lattice: Lattices) -> tuple[Array, Array]:
    """Return where the states of one lattice are drawn, x and y: as many steps to the right as the longest way takes.

    States of the same step are ordered by where the arcs that reach them come from.
    """
    n = len(lattice.finals)
    x, y = np.zeros(n), np.zeros(n)
    for a, b in zip(lattice.source.tolist(), lattice.target.tolist()):  # sorted by source: every way to a is known
        x[b] = max(x[b], x[a] + 1)
    for step in range(1, int(x.max()) + 1):
        states = np.flatnonzero(x == step)
        come = [y[lattice.source[lattice.target == state]].mean() for state in states]
        order = states[np.argsort(come, kind="stable")]
        y[order] = np.arange(len(order)) - (len(order) - 1) / 2
    return x, y


def _rises(source: Array, target: Array, x: Array, y: Array) -> Array:
    """Return how high each arc rises above the straight line: those of two states apart, long ones past others."""
    rise = np.zeros(len(source))
    pairs: dict[tuple[int, int], list[int]] = {}
    for arc, pair in enumerate(zip(source.tolist(), target.tolist())):
        pairs.setdefault(pair, []).append(arc)
    turn = 1.0
    for (a, b), arcs in pairs.items():
        base = 0.0
        if x[b] - x[a] > 1 and y[a] == y[b]:
            base, turn = turn * BEND * (x[b] - x[a]) / 2, -turn
        rise[arcs] = base + BEND * ((len(arcs) - 1) / 2 - np.arange(len(arcs))) / max(1.0, 0.5 * (len(arcs) - 1))
    return rise
