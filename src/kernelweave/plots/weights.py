"""The kernel weights of one model, as bars or as a heat map of classes by kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelweave.interpret import WeightStability
from kernelweave.plots.style import BLUE, GREY, figure, labels, quiet
from kernelweave.plots.weight_path import HUES, fitted_weights, heat_map, kernel_names


@dataclass(repr=False)
class KernelWeightsDisplay:
    """The weight of each kernel in a fitted model: computed once, drawn as often as wanted.

    Build it with `from_estimator`.

    Attributes
    ----------
    names : (m,)
    weights : (m,), or (classes, m) where each class has weights of its own
    classes : names of the classes, empty for shared weights
    low, high, frequency : same shape as `weights`, or None without bootstrap refits
    confidence : of the interval between low and high
    figure_, ax_ : the last drawing

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_stars(100, random_state=0)
    >>> model = kw.MKLClassifier(kw.RBF.grid([0.1, 1.0, 10.0])).fit(X, y)
    >>> KernelWeightsDisplay.from_estimator(model).names
    ['RBF(width=0.1)', 'RBF(width=1.0)', 'RBF(width=10.0)']
    """

    names: list[str]
    weights: np.ndarray
    classes: list[str] = field(default_factory=list)
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    frequency: np.ndarray | None = None
    confidence: float = 0.95
    figure_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, model: Any, stability: WeightStability | None = None, *, names: Sequence[str] | None = None
    ) -> Self:
        """Take the weights of a fitted model; nothing is drawn yet.

        Parameters
        ----------
        model : fitted MKLClassifier, MKLRegressor or MKLNovelty
        stability : what `kernelweave.interpret.weight_stability` returned for it: drawn as error bars
        names : shorter names of the kernels, in their order
        """
        weights = np.asarray(fitted_weights(model))
        shown = kernel_names(model, names)
        classes = [str(label) for label in model.classes_] if weights.ndim == 2 else []
        if stability is None:
            return cls(shown, weights, classes)
        if stability.mean.shape != weights.shape:
            raise ValueError(
                f"stability holds weights of shape {stability.mean.shape}, but the model's are {weights.shape}; "
                "it belongs to another model."
            )
        bounds = {"low": stability.low, "high": stability.high, "frequency": stability.frequency}
        return cls(shown, weights, classes, **bounds, confidence=stability.confidence)

    def plot(self, ax: Any = None, *, kind: str = "auto", top: int = 30, color: str = BLUE) -> Self:
        """Draw the weights.

        Parameters
        ----------
        ax : matplotlib axes; None for a new figure
        kind : "bar", "heatmap" (classes by kernels), or "auto": bars for up to four classes
        top : how many kernels to show, the heaviest ones, in the order of the model
        color : of the bars where there is one set of them
        """
        if kind not in ("auto", "bar", "heatmap"):
            raise ValueError(f"kind={kind!r} is unknown; choose one of auto, bar, heatmap.")
        rows = np.atleast_2d(self.weights)
        if kind == "auto":
            kind = "bar" if len(rows) <= len(HUES) else "heatmap"
        kept = np.sort(np.argsort(-rows.max(axis=0), kind="stable")[:top])
        if ax is None:
            _, ax = figure(1, 1, self._size(kind, len(kept), len(rows)))
        self.ax_, self.figure_ = ax, ax.figure
        if kind == "bar":
            self._draw_bars(ax, kept, color)
        else:
            shown, columns = labels(self.names), self.classes or [""]
            heat_map(ax, rows[:, kept].T, [shown[k] for k in kept], columns, "class" if self.classes else "")
        if len(kept) < len(self.names):
            rest, largest = len(self.names) - len(kept), np.delete(rows, kept, axis=1).max()
            ax.set_xlabel(f"{ax.get_xlabel()}\n{rest} kernels of weight {largest:.2g} or less are not shown".lstrip())
        return self

    def _size(self, kind: str, kernels: int, sets: int) -> tuple[float, float]:
        name = 0.07 * max(map(len, labels(self.names)))
        if kind == "heatmap":
            return 2.6 + name + 0.4 * sets, 1.3 + 0.3 * kernels
        return 4.6 + name, 1.2 + (0.12 + 0.2 * sets) * kernels

    def _draw_bars(self, ax: Any, kept: np.ndarray, color: str) -> None:
        rows = np.atleast_2d(self.weights)[:, kept]
        place, height = np.arange(len(kept)), 0.8 / len(rows)
        colors = [color] if len(rows) == 1 else HUES
        for c, (row, hue) in enumerate(zip(rows, colors)):
            at = place + (c - 0.5 * (len(rows) - 1)) * height
            label = f"class {self.classes[c]}" if self.classes else None
            ax.barh(at, row, 0.92 * height, color=hue, label=label)
            if self.low is not None and self.high is not None:
                low, high = (np.atleast_2d(side)[c, kept] for side in (self.low, self.high))
                interval = f"{self.confidence:.0%} of the bootstrap refits" if c == 0 else None
                ax.hlines(at, low, high, color="black", linewidth=1.2, label=interval)
                ax.plot(np.r_[low, high], np.r_[at, at], "|", color="black", markersize=5)
        if self.frequency is not None and len(rows) == 1:
            self._write_frequency(ax, kept, place)
        shown = labels(self.names)
        ax.set_yticks(place, [shown[k] for k in kept], fontsize=9)
        ax.set(xlabel="kernel weight", ylim=(len(kept) - 0.4, -0.6), xlim=(0, None))
        quiet(ax)
        ax.grid(False, axis="y")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2)

    def _write_frequency(self, ax: Any, kept: np.ndarray, place: np.ndarray) -> None:
        """Write behind each bar in what share of the refits its kernel was selected."""
        assert self.frequency is not None
        for y, k in zip(place, kept):
            text = f"{self.frequency[k]:.0%}"
            ax.text(1.02, y, text, transform=ax.get_yaxis_transform(), va="center", fontsize=9, color=GREY)
        ax.text(1.02, -0.7, "selected", transform=ax.get_yaxis_transform(), fontsize=9, color=GREY, va="bottom")
