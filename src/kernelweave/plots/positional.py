"""Where a weighted-degree model looks: learned weight by length of k-mer and by position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelweave.interpret import weights_by_degree, weights_by_position
from kernelweave.plots.style import BLUE, GREY, TINTS, figure, quiet

Signals = Mapping[str, tuple[int, int]]

MOST_TICKS = 20
"""Degrees up to which each bar has its number."""


@dataclass(repr=False)
class DegreeWeightsDisplay:
    """Share of the kernel weight by length of k-mer, of one fit or of several.

    Build it with `from_estimator`, or with `from_estimators` for refits (on bootstrap samples, say).

    Attributes
    ----------
    degrees : (d,)
    weights : (d,) shares, the mean where there are several fits
    low, high : (d,) between them lie the shares of most fits; None for one fit
    other : share of kernels that are not positional
    learned : False for a model with one kernel, whose weights are as given
    confidence : share of the fits between low and high
    figure_, ax_ : the last drawing

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(100, random_state=0)
    >>> model = kw.KernelClassifier(kw.WeightedDegree(3)).fit(X, y)
    >>> DegreeWeightsDisplay.from_estimator(model).weights.round(2)
    array([0.5 , 0.33, 0.17])
    """

    degrees: np.ndarray
    weights: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    other: float = 0.0
    confidence: float = 0.95
    learned: bool = True
    figure_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, model: Any, *, target: Any = None) -> Self:
        """Take the weights of a fitted model; nothing is drawn yet.

        Parameters
        ----------
        model : fitted, with one weighted-degree kernel or several
        target : a class, where each class has kernel weights of its own
        """
        found = weights_by_degree(model, target=target)
        return cls(found.degrees, found.weights, other=found.other, learned=found.learned)

    @classmethod
    def from_estimators(cls, models: Sequence[Any], *, confidence: float = 0.95, target: Any = None) -> Self:
        """Take the mean of several fits of one model, and the interval in which most of them lie.

        Parameters
        ----------
        models : fitted, with the same kernels
        confidence : share of the fits between low and high
        target : a class, where each class has kernel weights of its own
        """
        found = [weights_by_degree(model, target=target) for model in _some(models)]
        if len({len(one.degrees) for one in found}) > 1:
            raise ValueError("The models differ in their longest k-mers; expected fits with the same kernels.")
        mean, low, high = _summary([one.weights for one in found], confidence)
        other = float(np.mean([one.other for one in found]))
        return cls(found[0].degrees, mean, low, high, other, confidence, found[0].learned)

    def plot(self, ax: Any = None, *, color: str | None = None) -> Self:
        """Draw one bar for each degree.

        Parameters
        ----------
        ax : matplotlib axes; None for a new figure
        color : of the bars; None for blue, and grey where nothing was learned
        """
        color = color or _colour(self.learned)
        if ax is None:
            _, ax = figure(1, 1, (max(5.0, 2.4 + 0.26 * len(self.degrees)), 3.8))
        self.ax_, self.figure_ = ax, ax.figure
        ax.bar(self.degrees, self.weights, 0.76, color=color)
        if self.low is not None and self.high is not None:
            ax.vlines(
                self.degrees, self.low, self.high, color="black", linewidth=1.2, label=_interval_label(self.confidence)
            )
            ends = np.r_[self.low, self.high]
            ax.plot(np.r_[self.degrees, self.degrees], ends, "_", color="black", markersize=5)
            ax.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2)
        if len(self.degrees) <= MOST_TICKS:
            ax.set_xticks(self.degrees)
        ax.set(xlabel="length of k-mer (degree)", ylabel=_share(self.learned), ylim=(0, None))
        if self.other > 0:
            ax.set_xlabel(f"{ax.get_xlabel()}\nother kernels have {self.other:.1%} of the weight")
        quiet(ax)
        ax.grid(False, axis="x")
        return self


@dataclass(repr=False)
class PositionWeightsDisplay:
    """Share of the kernel weight by position, of one fit or of several.

    Build it with `from_estimator`, or with `from_estimators` for refits (on bootstrap samples, say).

    Attributes
    ----------
    starts, stops : (w,) the windows of positions
    weights : (w,) shares of the windows, the mean where there are several fits
    low, high : (w,) between them lie the shares of most fits; None for one fit
    other : share of kernels that are not positional
    learned : False for a model with one kernel, whose weights are as given
    confidence : share of the fits between low and high
    figure_, ax_ : the last drawing

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(100, random_state=0)
    >>> parts = [kw.WeightedDegree(3, positions=(0, 60)), kw.WeightedDegree(3, positions=(60, 141))]
    >>> display = PositionWeightsDisplay.from_estimator(kw.MKLClassifier(parts).fit(X, y))
    >>> display.starts, display.stops
    (array([ 0, 60]), array([ 60, 141]))
    """

    starts: np.ndarray
    stops: np.ndarray
    weights: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    other: float = 0.0
    confidence: float = 0.95
    learned: bool = True
    figure_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, model: Any, *, target: Any = None) -> Self:
        """Take the weights of a fitted model; nothing is drawn yet.

        Parameters
        ----------
        model : fitted, with one weighted-degree kernel or several
        target : a class, where each class has kernel weights of its own
        """
        found = weights_by_position(model, target=target)
        return cls(found.starts, found.stops, found.weights, other=found.other, learned=found.learned)

    @classmethod
    def from_estimators(cls, models: Sequence[Any], *, confidence: float = 0.95, target: Any = None) -> Self:
        """Take the mean of several fits of one model, and the interval in which most of them lie.

        Parameters
        ----------
        models : fitted, with the same kernels
        confidence : share of the fits between low and high
        target : a class, where each class has kernel weights of its own
        """
        found = [weights_by_position(model, target=target) for model in _some(models)]
        if len({(tuple(one.starts), tuple(one.stops)) for one in found}) > 1:
            raise ValueError("The models differ in their windows of positions; expected fits with the same kernels.")
        mean, low, high = _summary([one.weights for one in found], confidence)
        other = float(np.mean([one.other for one in found]))
        return cls(found[0].starts, found[0].stops, mean, low, high, other, confidence, found[0].learned)

    def plot(
        self, ax: Any = None, *, signals: Signals | None = None, origin: int = 0, color: str | None = None
    ) -> Self:
        """Draw the weight per position, a step for each window.

        Parameters
        ----------
        ax : matplotlib axes; None for a new figure
        signals : name -> (first position, one past the last), shaded
        origin : position that is shown as 0, the splice site for example
        color : of the curve; None for blue, and grey where nothing was learned
        """
        color = color or _colour(self.learned)
        if ax is None:
            _, ax = figure(1, 1, (9.0, 3.8))
        self.ax_, self.figure_ = ax, ax.figure
        shade(ax, signals, origin)
        edges, sizes = np.append(self.starts, self.stops[-1]) - origin - 0.5, self.stops - self.starts
        if self.low is not None and self.high is not None:
            label = _interval_label(self.confidence)
            options: dict[str, Any] = {"color": color, "alpha": 0.25, "linewidth": 0}
            ax.stairs(self.high / sizes, edges, baseline=self.low / sizes, fill=True, label=label, **options)
        else:
            ax.stairs(self.weights / sizes, edges, fill=True, color=color, alpha=0.25, linewidth=0)
        ax.stairs(self.weights / sizes, edges, color=color, linewidth=1.6, baseline=None)
        ax.set(xlim=(edges[0], edges[-1]), ylim=(0, None), xlabel=position_label(origin))
        ax.set_ylabel(_share(self.learned) + ("\nper position" if (sizes > 1).any() else ""))
        if self.other > 0:
            ax.set_xlabel(f"{ax.get_xlabel()}\nother kernels have {self.other:.1%} of the weight")
        quiet(ax)
        legend_above(ax)
        return self


def shade(ax: Any, signals: Signals | None, origin: int) -> None:
    """Shade the places of known signals, one colour each, and mark the origin."""
    for number, (name, (start, stop)) in enumerate((signals or {}).items()):
        tint = TINTS[number % len(TINTS)]
        label = name.replace("_", " ")
        ax.axvspan(start - origin - 0.5, stop - origin - 0.5, color=tint, alpha=0.22, linewidth=0, label=label)
    if origin:
        ax.axvline(0, color=GREY, linewidth=1.0, linestyle=(0, (1, 2)), zorder=1)


def position_label(origin: int) -> str:
    """Say how positions are counted."""
    return f"position relative to {origin}" if origin else "position"


def legend_above(ax: Any, columns: int = 5) -> None:
    """Put the legend, if there is any, into a line above the axes."""
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
        ax.legend(handles, labels, frameon=False, fontsize=9, ncols=min(columns, len(labels)), **place)


def _share(learned: bool) -> str:
    """Say what is drawn; weights that nothing was learned about are not shown as if there were."""
    return "share of the kernel weight" if learned else "share of the kernel weight\n(as given, not learned)"


def _colour(learned: bool) -> str:
    return BLUE if learned else GREY


def _some(models: Sequence[Any]) -> Sequence[Any]:
    if len(models) == 0:
        raise ValueError("There is no model to draw: expected at least one.")
    return models


def _summary(rows: list[np.ndarray], confidence: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r} is not valid; expected a number between 0 and 1.")
    tail = 0.5 * (1.0 - confidence)
    low, high = np.quantile(rows, [tail, 1.0 - tail], axis=0)
    return np.mean(rows, axis=0), low, high


def _interval_label(confidence: float) -> str:
    return f"{confidence:.0%} of the fits"
