"""Pictures of held-out calls: who is taken for whom, and whether probabilities keep their word."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelweave.interpret import ClassReport, Reliability, class_report, reliability
from kernelweave.plots.style import BLUE, GREY, figure, quiet

MANY_CLASSES = 12
"""Classes up to which the cells of a confusion picture carry their counts."""
INCHES = 0.55
"""Width of a class in a confusion picture."""


@dataclass
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


@dataclass
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
