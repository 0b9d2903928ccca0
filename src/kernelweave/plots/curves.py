"""ROC and precision-recall curves side by side, with the uncertainty of a finite test set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelweave.interpret import Curves, Interval, bootstrap_curves, bootstrap_scores, curves
from kernelweave.plots.style import BLUE, GREY, figure, quiet

GRID_POINTS = 201
"""Rates at which the bands are drawn: half a percent apart, finer than a picture shows."""


@dataclass(repr=False)
class CurvesDisplay:
    """Both curves of one set of scores: computed once, drawn as often as wanted.

    Build it with `from_scores` or `from_estimator`.

    Attributes
    ----------
    curves : the points of both curves
    scores : "accuracy", "auroc", "auprc" with their bootstrap intervals
    grid, bands : rates, and the pointwise band at each: "true_positive_rate" and "precision", (low, high)
    prevalence : share of positive examples, the precision of guessing
    name : shown in the legend
    figure_, axes_ : the last drawing

    Examples
    --------
    >>> display = CurvesDisplay.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], n_resamples=50)
    >>> display.scores["auroc"].value
    0.75
    """

    curves: Curves
    scores: dict[str, Interval]
    grid: np.ndarray
    bands: dict[str, tuple[np.ndarray, np.ndarray]]
    prevalence: float
    confidence: float = 0.95
    name: str = "model"
    figure_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_scores(
        cls,
        y_true: Any,
        scores: Any,
        *,
        positive: Any = None,
        name: str = "model",
        n_resamples: int = 1000,
        confidence: float = 0.95,
        random_state: int = 0,
    ) -> Self:
        """Compute both curves of decision values; nothing is drawn yet.

        Parameters
        ----------
        y_true : (n,) two distinct labels
        scores : (n,) decision values, larger for the positive class
        positive : label of the positive class; None for the larger one
        name : shown in the legend
        n_resamples, confidence, random_state : of the bootstrap, see `kernelweave.interpret.bootstrap_scores`
        """
        points, grid = curves(y_true, scores, positive=positive), np.linspace(0.0, 1.0, GRID_POINTS)
        draw: dict[str, Any] = {
            "n_resamples": n_resamples,
            "confidence": confidence,
            "positive": positive,
            "random_state": random_state,
        }
        return cls(
            curves=points,
            scores=bootstrap_scores(y_true, scores, **draw),
            grid=grid,
            bands=bootstrap_curves(y_true, scores, grid, **draw),
            prevalence=float(points.precision[-1]),
            confidence=confidence,
            name=name,
        )

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **options: Any) -> Self:
        """Compute both curves of a fitted two-class estimator on held-out examples.

        Parameters
        ----------
        estimator : fitted, with `classes_` and `decision_function`
        X, y : examples it was not trained on, and their labels
        options : as for `from_scores`
        """
        if len(estimator.classes_) != 2:
            found = f"{type(estimator).__name__} has {len(estimator.classes_)} classes"
            raise ValueError(f"{found}; these curves need exactly two.")
        options = {"positive": estimator.classes_[1], "name": type(estimator).__name__, **options}
        return cls.from_scores(y, estimator.decision_function(X), **options)

    def plot(self, axes: Any = None, *, color: str = BLUE) -> Self:
        """Draw the ROC curve (left) and the precision-recall curve (right).

        Parameters
        ----------
        axes : two matplotlib axes, to draw several models into one picture; None for a new figure
        color : of the curves and their bands
        """
        if axes is None:
            _, axes = figure(1, 2, (9.6, 5.8))
        self.axes_, self.figure_ = axes, axes[0].figure
        self._draw_roc(axes[0], color)
        self._draw_precision_recall(axes[1], color)
        for ax in axes:
            quiet(ax)
            ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02))
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), frameon=False, fontsize=9)
        return self

    def _draw_roc(self, ax: Any, color: str) -> None:
        x = np.append(0.0, self.curves.false_positive_rate)
        y = np.append(0.0, self.curves.true_positive_rate)
        ax.plot(x, y, color=color, linewidth=1.8, label=f"{self.name}\narea {self._shown('auroc')}")
        self._draw_band(ax, "true_positive_rate", color)
        _reference(ax, [0, 1], [0, 1])
        ax.set(title="ROC", xlabel="false positive rate", ylabel="true positive rate")

    def _draw_precision_recall(self, ax: Any, color: str) -> None:
        x = np.append(0.0, self.curves.recall)
        y = np.append(self.curves.precision[0], self.curves.precision)
        label = f"{self.name}\naverage precision {self._shown('auprc')}"
        ax.plot(x, y, color=color, linewidth=1.8, drawstyle="steps-pre", label=label)
        self._draw_band(ax, "precision", color)
        _reference(ax, [0, 1], [self.prevalence] * 2)
        ax.set(title="Precision-recall", xlabel="recall", ylabel="precision")

    def _draw_band(self, ax: Any, which: str, color: str) -> None:
        low, high = self.bands[which]
        label = f"{self.confidence:.0%} bootstrap band"
        ax.fill_between(self.grid, low, high, color=color, alpha=0.18, linewidth=0, label=label)

    def _shown(self, which: str) -> str:
        score = self.scores[which]
        return f"{score.value:.3f} [{score.low:.3f}, {score.high:.3f}]"


def _reference(ax: Any, x: list[float], y: list[float]) -> None:
    label = "guessing"
    if label not in ax.get_legend_handles_labels()[1]:
        ax.plot(x, y, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, label=label)
