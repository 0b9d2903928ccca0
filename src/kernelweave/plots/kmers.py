"""What a weighted-degree model looks for: importance of all short k-mers, and the single best k-mers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelweave.interpret import Kmer, Poim, poim, top_kmers
from kernelweave.plots.positional import Signals, legend_above, position_label, shade
from kernelweave.plots.style import AGAINST, BLUE, GREY, diverging, figure, quiet

SMALL = 1e-300
"""Scale of a picture of zeros."""
SHORTEST_AXIS = 10.0
"""Positions that the axis of places shows at least."""
MARGIN, LETTER = 0.04, 1 / 50
"""Shares of that axis: free at each end, and for a letter of a name."""


@dataclass(repr=False)
class PoimDisplay:
    """Positional oligomer importance as a heat map, the largest of each position above: computed once, drawn often.

    Build it with `from_estimator`, or from a `Poim` at hand.

    Attributes
    ----------
    poim : what is drawn
    figure_, axes_ : the last drawing

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(100, random_state=0)
    >>> model = kw.KernelClassifier(kw.WeightedDegree(3)).fit(X, y)
    >>> PoimDisplay.from_estimator(model, k=2).poim.values.shape
    (16, 140)
    """

    poim: Poim
    figure_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, model: Any, k: int = 2, background: Any = None, *, target: Any = None) -> Self:
        """Compute the importance of all k-mers; nothing is drawn yet.

        Parameters
        ----------
        model, k, background, target : as for `kernelweave.interpret.poim`
        """
        return cls(poim(model, k, background, target=target))

    def plot(self, axes: Any = None, *, signals: Signals | None = None, origin: int = 0, top: int = 64) -> Self:
        """Draw the largest absolute importance at each position (above) and that of each k-mer (below).

        Parameters
        ----------
        axes : two matplotlib axes, one above the other; None for a new figure
        signals : name -> (first position, one past the last), shaded behind the curve
        origin : position that is shown as 0, the splice site for example
        top : how many k-mers to show, those of the largest importance, in the order of the alphabet
        """
        sizes = np.abs(self.poim.values)
        kept = np.sort(np.argsort(-sizes.max(axis=1), kind="stable")[:top])
        if axes is None:
            axes = _pair(len(kept))
        self.axes_, self.figure_ = axes, axes[0].figure
        self._draw_curve(axes[0], signals, origin)
        self._draw_map(axes[1], kept, origin)
        axes[0].set_xlim(axes[1].get_xlim())
        return self

    def _draw_curve(self, ax: Any, signals: Signals | None, origin: int) -> None:
        shade(ax, signals, origin)
        curve = self.poim.by_position
        ax.plot(np.arange(len(curve)) - origin, curve, color=BLUE, linewidth=1.6)
        ax.set(ylim=(0, None), ylabel="largest\nimportance")
        ax.tick_params(labelbottom=False)
        quiet(ax)
        legend_above(ax)

    def _draw_map(self, ax: Any, kept: np.ndarray, origin: int) -> None:
        values = self.poim.values[kept]
        limit = max(float(np.abs(values).max()), SMALL)
        extent = (-origin - 0.5, values.shape[1] - origin - 0.5, len(kept) - 0.5, -0.5)
        drawn = ax.imshow(
            values, cmap=diverging(), vmin=-limit, vmax=limit, aspect="auto", extent=extent, interpolation="nearest"
        )
        names = [self.poim.kmers[z] for z in kept]
        ax.set_yticks(np.arange(len(kept)), names, fontsize=6 if len(kept) > 20 else 9, family="monospace")
        ax.tick_params(axis="y", length=0)
        some = len(kept) < len(self.poim.values)
        ax.set_ylabel(f"{len(kept)} of {len(self.poim.values)} k-mers" if some else "k-mer")
        ax.set_xlabel(position_label(origin))
        ax.spines[:].set_visible(False)
        if origin:
            ax.axvline(0, color=GREY, linewidth=1.0, linestyle=(0, (1, 2)))
        bar = ax.figure.colorbar(drawn, ax=ax, pad=0.01, fraction=0.05, aspect=30)
        bar.set_label(f"importance of {self.poim.k}-mers", fontsize=9)
        bar.outline.set_visible(False)


@dataclass(repr=False)
class KmerDisplay:
    """The best k-mers of a model: where each one stands, and what it adds to the decision value.

    Build it with `from_estimator`, which leaves out k-mers that say again what a better one says: those inside it at
    the same place, and those around it.

    Attributes
    ----------
    kmers : the k-mers, the best first
    figure_, axes_ : the last drawing

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(100, random_state=0)
    >>> model = kw.KernelClassifier(kw.WeightedDegree(3)).fit(X, y)
    >>> len(KmerDisplay.from_estimator(model, n=7).kmers)
    7
    """

    kmers: list[Kmer]
    figure_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, model: Any, n: int = 20, k: int | None = None, *, by: str = "spread", target: Any = None
    ) -> Self:
        """Find the best k-mers; nothing is drawn yet.

        Parameters
        ----------
        model, n, k, by, target : as for `kernelweave.interpret.top_kmers`
        """
        return cls(top_kmers(model, n, k, by=by, target=target, repeats=False))

    def plot(self, axes: Any = None, *, signals: Signals | None = None, origin: int = 0) -> Self:
        """Draw, from the first position to the last, the place of each k-mer (left) and its weight (right).

        Parameters
        ----------
        axes : two matplotlib axes, side by side; None for a new figure
        signals : name -> (first position, one past the last), shaded
        origin : position that is shown as 0, the splice site for example
        """
        if not self.kmers:
            raise ValueError("There is no k-mer to draw: no k-mer of the model has a weight.")
        if axes is None:
            _, axes = figure(1, 2, (9.0, 1.4 + 0.21 * max(len(self.kmers), 4)))
            axes[0].get_gridspec().set_width_ratios([2.2, 1.0])
        self.axes_, self.figure_ = axes, axes[0].figure
        ordered = sorted(self.kmers, key=lambda kmer: (kmer.position, len(kmer.kmer), kmer.kmer))
        self._draw_places(axes[0], ordered, signals, origin)
        self._draw_weights(axes[1], ordered)
        return self

    def _draw_places(self, ax: Any, kmers: list[Kmer], signals: Signals | None, origin: int) -> None:
        low, high = _limits(kmers, origin)
        seen = {
            name: ends for name, ends in (signals or {}).items() if ends[1] - origin > low and ends[0] - origin < high
        }
        shade(ax, seen, origin)
        style: dict[str, Any] = {"fontsize": 8, "family": "monospace", "va": "center", "ha": "right"}
        for row, kmer in enumerate(kmers):
            start = kmer.position - origin - 0.5
            ax.hlines(row, start, start + len(kmer.kmer), color=_hue(kmer), linewidth=5.0)
            ax.annotate(kmer.kmer, (start, row), (-4, 0), textcoords="offset points", **style)
        firsts = [kmer.position - origin for kmer in kmers]
        names = [str(a) if a != b else "" for a, b in zip(firsts, [None, *firsts])]
        ax.set_yticks(np.arange(len(kmers)), names, fontsize=8)
        ax.set(xlim=(low, high), ylim=(len(kmers) - 0.4, -0.6), xlabel=position_label(origin), ylabel="first position")
        ax.locator_params(axis="x", integer=True)
        quiet(ax)
        legend_above(ax)

    def _draw_weights(self, ax: Any, kmers: list[Kmer]) -> None:
        rows, weights = np.arange(len(kmers)), np.array([kmer.weight for kmer in kmers])
        hues = [_hue(kmer) for kmer in kmers]
        ax.hlines(rows, 0, weights, color=hues, linewidth=1.6)
        ax.scatter(weights, rows, color=hues, s=28, zorder=3)
        ax.axvline(0, color=GREY, linewidth=1.0)
        ax.set_yticks(rows, [])
        ax.set(xlabel="adds to the decision value", ylim=(len(kmers) - 0.4, -0.6))
        ax.locator_params(axis="x", nbins=4)
        quiet(ax)


def _limits(kmers: list[Kmer], origin: int) -> tuple[float, float]:
    """Return the ends of the axis of positions, with room for the names on the left."""
    first = min(kmer.position for kmer in kmers) - origin - 0.5
    last = max(kmer.position + len(kmer.kmer) for kmer in kmers) - origin - 0.5
    longest, span = max(len(kmer.kmer) for kmer in kmers), max(last - first, SHORTEST_AXIS)
    return first - (MARGIN + longest * LETTER) * span, first + (1.0 + MARGIN) * span


def _hue(kmer: Kmer) -> str:
    return BLUE if kmer.weight >= 0 else AGAINST


def _pair(rows: int) -> Any:
    """Return axes for the curve and, below it, for a heat map of so many rows."""
    tall = max(1.6, (0.1 if rows > 20 else 0.2) * rows)
    _, axes = figure(2, 1, (9.0, 2.4 + tall))
    axes[0].get_gridspec().set_height_ratios([1.4, tall])
    return axes
