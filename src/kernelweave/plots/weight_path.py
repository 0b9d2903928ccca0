"""Kernel weights along a path, as a heat map: the picture of how the chosen kernels follow the problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelweave.plots.style import BLUE, figure, quiet
from kernelweave.plots.style import labels as named

HUES = (BLUE, "#E69F00", "#009E73", "#CC79A7")
"""Blue, orange, green and purple of the Okabe-Ito palette."""
SEQUENTIAL = "Blues"
"""White for no weight, dark for all of it: one hue, read by lightness alone."""
FEW_CELLS = 12
"""Columns up to which the numbers are written into a heat map."""
MOST_TICKS = 12
"""Labels that fit side by side below a heat map."""
SMALLEST_SCALE = 1e-12
"""Weight that gets the darkest colour where all weights are zero."""


@dataclass(repr=False)
class WeightPathDisplay:
    """Kernel weights along a path: one column for each model, one row for each kernel.

    Build it with `from_estimators` (models fitted one after the other) or `from_estimator` (the path of a
    cross-validated model over C).

    Attributes
    ----------
    names : (m,)
    values : (steps,) the parameter of each step
    weights : (steps, m)
    parameter : name of the parameter
    scores : curves drawn above the heat map, each (steps,), by name
    figure_, axes_ : the last drawing

    Examples
    --------
    >>> display = WeightPathDisplay(["narrow", "wide"], [1, 2], np.eye(2), "distance")
    >>> display.weights[0]
    array([1., 0.])
    """

    names: list[str]
    values: Sequence[float]
    weights: np.ndarray
    parameter: str = ""
    scores: Mapping[str, Any] = field(default_factory=dict)
    figure_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimators(
        cls,
        models: Sequence[Any],
        values: Sequence[float],
        *,
        parameter: str = "",
        names: Sequence[str] | None = None,
        scores: Mapping[str, Any] | None = None,
    ) -> Self:
        """Take the weights of fitted models; weights of several classes are averaged.

        Parameters
        ----------
        models : fitted with the same kernels
        values : what was varied from model to model
        parameter : its name
        names : shorter names of the kernels, in their order
        scores : by name, one number for each model: drawn above
        """
        if len(models) == 0 or len(models) != len(values):
            raise ValueError(f"A path needs a value for each model, but got {len(models)} and {len(values)}.")
        weights = [np.atleast_2d(fitted_weights(model)).mean(axis=0) for model in models]
        sizes = {len(row) for row in weights}
        if len(sizes) > 1:
            raise ValueError(f"The models of a path have the same kernels, but these have {sorted(sizes)} of them.")
        return cls(kernel_names(models[0], names), list(values), np.stack(weights), parameter, dict(scores or {}))

    @classmethod
    def from_estimator(cls, model: Any, *, norm: float | None = None, names: Sequence[str] | None = None) -> Self:
        """Take the path over C of a cross-validated model, with its accuracy above.

        Parameters
        ----------
        model : fitted MKLClassifierCV
        norm : which of its norms; None for the one chosen
        names : shorter names of the kernels, in their order
        """
        if not hasattr(model, "path_weights_"):
            raise TypeError(f"{type(model).__name__} has no path of weights; use a fitted MKLClassifierCV.")
        norm = model.norm_ if norm is None else norm
        if norm not in list(model.norms):
            raise ValueError(f"norm={norm!r} is not among the norms of the model, {list(model.norms)}.")
        which = list(model.norms).index(norm)
        scores = {f"cross-validated {model.scoring}": model.cv_scores_[which].mean(axis=1)}
        return cls(kernel_names(model, names), list(model.Cs), model.path_weights_[which], "C", scores)

    def plot(self, axes: Any = None, *, log: bool | None = None) -> Self:
        """Draw the heat map and, where there are scores, their curves above it.

        Parameters
        ----------
        axes : one matplotlib axes, or two (curves, heat map) where there are scores; None for a new figure
        log : whether the axis of the curves is logarithmic; None for yes where they span a factor of a thousand
        """
        if axes is None:
            axes = self._new_axes()
        axes = np.atleast_1d(axes)
        self.axes_, self.figure_ = axes, axes[0].figure
        labels = [f"{value:g}" for value in self.values]
        heat_map(axes[-1], np.asarray(self.weights).T, named(self.names), labels, self.parameter)
        if len(axes) > 1:
            self._draw_scores(axes[0], log)
        return self

    def _new_axes(self) -> Any:
        wide = 2.6 + 0.07 * max(map(len, named(self.names))) + min(6.5, 0.45 * len(self.values))
        tall = 1.3 + 0.32 * len(self.names)
        if not self.scores:
            return figure(1, 1, (wide, tall))[1]
        _, axes = figure(2, 1, (wide, tall + 1.5))
        axes[0].get_gridspec().set_height_ratios([1.5, tall])
        axes[0].sharex(axes[1])
        return axes

    def _draw_scores(self, ax: Any, log: bool | None) -> None:
        place = np.arange(len(self.values))
        hues = (*HUES[1:], BLUE) if len(self.scores) > 1 else (BLUE,)
        for (name, score), hue in zip(self.scores.items(), hues):
            ax.plot(place, score, "o-", color=hue, markersize=4, linewidth=1.4, label=name)
        every = np.concatenate([np.asarray(score, dtype=float) for score in self.scores.values()])
        if log if log is not None else every.min() > 0 and every.max() / every.min() > 1000:
            ax.set_yscale("log")
        elif 0 <= every.min() < 0.5 * every.max():
            ax.set_ylim(bottom=0)
        quiet(ax)
        ax.tick_params(axis="x", labelbottom=False)
        if len(self.scores) > 1:
            ax.legend(frameon=False, fontsize=9)
        else:
            ax.set_title(next(iter(self.scores)), fontsize=9, loc="left")


def heat_map(ax: Any, values: np.ndarray, names: Sequence[str], labels: Sequence[str], parameter: str) -> None:
    """Draw weights, kernels down and steps across, white for zero, with a bar that explains the colours."""
    down, across = values.shape
    edges = np.arange(across + 1) - 0.5, np.arange(down + 1) - 0.5
    mesh = ax.pcolormesh(*edges, values, cmap=SEQUENTIAL, vmin=0.0, vmax=max(float(values.max()), SMALLEST_SCALE))
    thin = np.arange(across)[:: -(-across // MOST_TICKS)]
    ax.set_xticks(thin, [labels[i] for i in thin], fontsize=9)
    ax.set_yticks(np.arange(down), names, fontsize=9)
    ax.set(xlabel=parameter, xlim=(-0.5, across - 0.5), ylim=(down - 0.5, -0.5))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.hlines(edges[1], -0.5, across - 0.5, color="#C8C8C8", linewidth=0.7)
    if across <= FEW_CELLS:
        for (row, column), value in np.ndenumerate(values):
            light = value > 0.55 * values.max()
            text = f"{value:.2f}" if value >= 0.005 else "0" if value == 0 else "<.01"
            ax.text(column, row, text, ha="center", va="center", fontsize=8, color="white" if light else "#303030")
    ax.figure.colorbar(mesh, ax=ax, label="kernel weight", pad=0.02).outline.set_visible(False)


def fitted_weights(model: Any) -> np.ndarray:
    """Return the weights of a fitted model, or raise one sentence."""
    expansion = getattr(model, "expansion_", None)
    if expansion is not None and expansion.keeps_rows and expansion.weights is None:
        raise TypeError(
            f"{type(model).__name__} has one coefficient for each kernel and row in place of kernel weights; "
            "RoundsDisplay draws its columns."
        )
    if not hasattr(model, "kernel_weights_"):
        raise TypeError(f"{type(model).__name__} has no kernel weights; expected a fitted model with many kernels.")
    return np.asarray(model.kernel_weights_)


def kernel_names(model: Any, given: Sequence[str] | None) -> list[str]:
    """Return the names given, or those of the model."""
    names = [str(name) for name in (model.kernel_names_ if given is None else given)]
    if len(names) != len(model.kernel_names_):
        raise ValueError(f"The model has {len(model.kernel_names_)} kernels, but {len(names)} names were given.")
    return names
