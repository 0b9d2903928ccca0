"""Many explained rows of one length as one picture: a line for each row, a colour for what each letter adds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelweave.interpret.explain.explanation import Explanation
from kernelweave.plots.style import diverging, figure

Array = np.ndarray
MOST_ROWS = 2000
"""Rows that are drawn; of more, as many evenly spaced ones in the order of their decision values."""
SATURATED = 0.995
"""Share of the letters whose colours are not clipped."""


@dataclass(repr=False)
class ExplanationMapDisplay:
    """What every letter of many aligned rows adds, the rows with the highest decision values on top.

    Attributes
    ----------
    values : (rows, letters) what is drawn
    decision : (rows,) decision values
    output : name of the decision value
    figure_, ax_ : the last drawing

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(100, random_state=0)
    >>> told = kw.explain(kw.KernelClassifier("wd:3").fit(X, y), X[:30])
    >>> ExplanationMapDisplay.from_explanation(told).values.shape
    (30, 141)
    """

    values: Array
    decision: Array
    output: str
    figure_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_explanation(cls, told: Explanation, output: int = 0) -> Self:
        """Take rows of one length that were explained.

        Parameters
        ----------
        told : by `kernelweave.explain`
        output : number of the decision value
        """
        if not len(told):
            raise ValueError("There is no letter to draw: no row was explained.")
        values, decision = told.matrix(output), told.sums[:, output]
        order = np.argsort(-decision, kind="stable")
        if len(order) > MOST_ROWS:
            order = order[np.linspace(0, len(order) - 1, MOST_ROWS).astype(int)]
        return cls(values[order], decision[order], told.outputs[output])

    def plot(self, ax: Any = None, *, origin: int = 0) -> Self:
        """Draw the map; blue adds, vermilion takes off; a dotted line stands where decision values change sign.

        Parameters
        ----------
        ax : matplotlib axes; None for a new figure
        origin : the letter that the picture shows as 0
        """
        if ax is None:
            _, ax = figure(1, 1, (7.5, 4.5))
        self.ax_, self.figure_ = ax, ax.figure
        limit = float(np.quantile(np.abs(self.values), SATURATED)) or 1.0
        rows, letters = self.values.shape
        image = ax.imshow(
            self.values, aspect="auto", cmap=diverging(), vmin=-limit, vmax=limit, interpolation="nearest",
            extent=(-origin - 0.5, letters - origin - 0.5, rows, 0),
        )  # fmt: skip
        ax.set(xlabel="position", ylabel="rows, by decision value")
        above = int(np.count_nonzero(self.decision > 0))
        if 0 < above < rows:
            ax.axhline(above, color="black", linewidth=0.8, linestyle=":")
        ax.figure.colorbar(image, ax=ax, label=f"adds to the decision value for {self.output}")
        return self
