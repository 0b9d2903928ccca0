"""Pictures of held-out calls: who is taken for whom, whether probabilities keep their word, how scores are spread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelweave.interpret import ClassReport, Reliability, class_report, reliability
from kernelweave.plots.style import BLUE, GREY, TINTS, figure, plain, quiet

MANY_CLASSES = 12
"""Classes up to which the cells of a confusion picture carry their counts."""
INCHES = 0.55
"""Width of a class in a confusion picture."""


@dataclass(repr=False)
class ConfusionDisplay:
    """Shares of each class that are called each; build it with `from_labels`.

    Attributes
    ----------
    report : counts and scores
    figure_, axes_ : the last drawing

    Examples
    --------
    >>> ConfusionDisplay.from_labels(["a", "a", "b"], ["a", "b", "b"]).report.counts.tolist()
    [[1, 1], [0, 1]]
    """

    report: ClassReport
    figure_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_labels(cls, y_true: Any, y_said: Any, labels: Any = None) -> Self:
        """Count who is taken for whom; nothing is drawn yet.

        Parameters
        ----------
        y_true, y_said : (n,) labels, and what a model calls the rows
        labels : the classes in the order of the picture; None for those of both, sorted
        """
        return cls(class_report(y_true, y_said, labels))

    def plot(self, axes: Any = None) -> Self:
        """Draw one line for each class; its colours are shares of its rows, its numbers their counts.

        Parameters
        ----------
        axes : a matplotlib axes; None for a new figure
        """
        report, k = self.report, len(self.report.labels)
        if axes is None:
            side = max(4.2, 1.8 + INCHES * k)
            _, axes = figure(1, 1, (side + 2.0, side))
        self.axes_, self.figure_ = axes, axes.figure
        rows = np.maximum(report.counts.sum(axis=1, keepdims=True), 1)
        image = axes.imshow(report.counts / rows, cmap="Blues", vmin=0.0, vmax=1.0)
        names = [str(label) for label in report.labels.tolist()]
        slanted = max(map(len, names)) > 3
        axes.set_xticks(range(k), names, rotation=45 if slanted else 0, ha="right" if slanted else "center")
        axes.set_yticks(range(k), names)
        axes.set_xlabel("called")
        axes.set_ylabel("true class")
        axes.set_title(f"accuracy {report.scores['accuracy'].value:.3f}, MCC {report.scores['mcc'].value:.3f}")
        if k <= MANY_CLASSES:
            for (i, j), count in np.ndenumerate(report.counts):
                if count:
                    shade = "white" if count > 0.5 * rows[i, 0] else "black"
                    axes.text(j, i, str(count), ha="center", va="center", color=shade, fontsize=8)
        self.figure_.colorbar(image, ax=axes, label="share of the class", shrink=0.8)
        return self


@dataclass(repr=False)
class CalibrationDisplay:
    """Probabilities against shares; build it with `from_probabilities`.

    Attributes
    ----------
    found : the bins, and the errors over all rows
    figure_, axes_ : the last drawing

    Examples
    --------
    >>> CalibrationDisplay.from_probabilities([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], bins=2).found.counts.tolist()
    [2, 2]
    """

    found: Reliability
    figure_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_probabilities(cls, y_true: Any, probability: Any, *, positive: Any = None, bins: int = 10) -> Self:
        """Compare probabilities with labels; nothing is drawn yet.

        Parameters
        ----------
        y_true, probability, positive, bins : as for `kernelweave.interpret.reliability`
        """
        return cls(reliability(y_true, probability, positive=positive, bins=bins))

    def plot(self, axes: Any = None) -> Self:
        """Draw a point for each bin; on the diagonal, probabilities are the shares of positive rows.

        Parameters
        ----------
        axes : a matplotlib axes; None for a new figure
        """
        if axes is None:
            _, axes = figure(1, 1, (4.8, 4.8))
        self.axes_, self.figure_ = axes, axes.figure
        found = self.found
        axes.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--")
        axes.plot(found.predicted, found.observed, "o-", color=BLUE, ms=5)
        axes.set(xlabel="probability", ylabel="share of positive rows", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        axes.set_title(f"Brier {found.brier:.3f}, calibration error {found.error:.3f}")
        quiet(axes)
        return self


@dataclass(repr=False)
class ScoresDisplay:
    """How decision values are spread, a histogram for each class; build it with `from_scores` or `from_estimator`.

    Attributes
    ----------
    edges : (bins + 1,) of the bins
    counts : the rows of each class in each bin: label -> (bins,)
    threshold : from which on rows are called positive
    figure_, ax_ : the last drawing

    Examples
    --------
    >>> found = ScoresDisplay.from_scores([0, 0, 1, 1], [-1.0, -0.2, 0.1, 2.0], bins=3)
    >>> {label: counts.tolist() for label, counts in found.counts.items()}
    {0: [2, 0, 0], 1: [0, 1, 1]}
    """

    edges: np.ndarray
    counts: dict[Any, np.ndarray]
    threshold: float
    figure_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_scores(cls, y_true: Any, scores: Any, *, threshold: float = 0.0, bins: int = 40) -> Self:
        """Count decision values; nothing is drawn yet.

        Parameters
        ----------
        y_true : (n,) labels of two or more classes
        scores : (n,) decision values
        threshold : from which on rows are called positive
        bins : how many
        """
        y, values = np.asarray(y_true), np.asarray(scores, dtype=float)
        if len(y) != len(values) or not len(y):
            raise ValueError(f"There are {len(y)} labels for {len(values)} decision values; expected one for each.")
        edges = np.histogram_bin_edges(values, bins)
        return cls(edges, {c: np.histogram(values[y == c], edges)[0] for c in np.unique(y).tolist()}, threshold)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, target: Any = None, bins: int = 40) -> Self:
        """Count the decision values of rows.

        Parameters
        ----------
        estimator : fitted classifier
        X, y : rows that it was not trained on, and their labels
        target : the class whose decision value is meant, for a model of several classes
        bins : how many
        """
        scores, classes = np.asarray(estimator.decision_function(X)), np.asarray(estimator.classes_)
        if scores.ndim == 2:
            if target not in classes.tolist():
                raise ValueError(f"target={target!r} is not one of the classes, which are {classes.tolist()}.")
            scores = scores[:, classes.tolist().index(target)]
        stored = getattr(estimator, "threshold_", None)
        return cls.from_scores(y, scores, threshold=0.0 if stored is None else stored.value, bins=bins)

    def plot(self, ax: Any = None) -> Self:
        """Draw the histograms over one another, and the threshold as a broken line.

        Parameters
        ----------
        ax : matplotlib axes; None for a new figure
        """
        if ax is None:
            _, ax = figure(1, 1, (6.4, 3.4))
        self.ax_, self.figure_ = ax, ax.figure
        hues = [TINTS[0], BLUE] if len(self.counts) == 2 else [BLUE, *TINTS]
        for number, (label, counts) in enumerate(self.counts.items()):
            name, hue = f"{plain(str(label))}, {counts.sum()} rows", hues[number % len(hues)]
            ax.stairs(counts, self.edges, fill=True, color=hue, alpha=0.35, linewidth=0)
            ax.stairs(counts, self.edges, color=hue, linewidth=1.5, label=name)
        ax.axvline(self.threshold, color=GREY, linewidth=1.2, linestyle=(0, (4, 3)), label="threshold")
        ax.set(xlabel="decision value", ylabel="rows", ylim=(0, None))
        ax.legend(frameon=False, fontsize=9, ncols=3, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2)
        quiet(ax)
        return self
