"""How a fit reached its certificate: the duality gap over time, of one model or of several side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelweave.plots.style import BLUE, GREY, figure, quiet

HUES = (BLUE, "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""Colours of the Okabe-Ito palette, and markers that tell the curves apart without colour."""
SMALLEST = 1e-16
"""Gaps are drawn down to this: below it they are rounding."""
FAR_BELOW = 1e-3
"""Share of the gap asked for at which the picture ends: how much smaller the last gap happens to be says little."""
UNEVEN = 20.0
"""Ratio between the longest and the shortest run from which on the axis of seconds is logarithmic."""


@dataclass(frozen=True)
class Run:
    """One curve: seconds and gap per certified iteration, and the paper's stopping rule where the solver has it."""

    name: str
    seconds: np.ndarray
    gap: np.ndarray
    rule: np.ndarray | None = None


@dataclass(repr=False)
class ConvergenceDisplay:
    """Relative duality gap against seconds: computed once, drawn as often as wanted.

    Build it with `from_estimator`, or with `from_estimators` for several models in one picture.

    Attributes
    ----------
    runs : the curves; a model with several outputs has one for each
    tol : the gap that was asked for, or None where the models differ
    figure_, ax_ : the last drawing

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_stars(100, random_state=0)
    >>> model = kw.MKLClassifier(kw.RBF.grid([0.1, 1.0, 10.0]), solver="silp").fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> len(display.runs), bool(display.runs[0].gap[-1] <= display.tol)
    (1, True)
    """

    runs: list[Run]
    tol: float | None = None
    figure_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, model: Any, *, name: str | None = None) -> Self:
        """Take the history of a fitted model; nothing is drawn yet.

        Parameters
        ----------
        model : any fitted estimator of this library
        name : shown in the legend; None for the solver that was used
        """
        given = getattr(model, "solver_", None) or getattr(model, "solver", None) or type(model).__name__
        return cls.from_estimators({str(given) if name is None else name: model})

    @classmethod
    def from_estimators(cls, models: Mapping[str, Any]) -> Self:
        """Take the histories of several fitted models by their names.

        Parameters
        ----------
        models : name -> fitted estimator
        """
        if not models:
            raise ValueError("There is no model to draw: expected at least one.")
        for name, model in models.items():
            if not hasattr(model, "trace_"):
                raise TypeError(f"{name!r} is a {type(model).__name__} without trace_; expected a fitted estimator.")
            if len(model.trace_) and not np.isfinite(model.trace_["gap"]).any():
                raise ValueError(
                    f"{name!r} was not certified while it was trained, so there is no curve to draw; its duality_gap_ "
                    "is that of the end."
                )
        tols = {getattr(model, "tol", None) for model in models.values()}
        runs = [run for name, model in models.items() for run in _runs(name, model.trace_)]
        return cls(runs, tols.pop() if len(tols) == 1 else None)

    def plot(self, ax: Any = None, *, log_seconds: bool | None = None) -> Self:
        """Draw the gap of each run (solid) and, where a solver has it, the paper's stopping rule (dashed).

        Parameters
        ----------
        ax : matplotlib axes; None for a new figure
        log_seconds : logarithmic seconds; None for yes where some runs are far longer than others
        """
        if ax is None:
            _, ax = figure(1, 1, (6.4, 4.2))
        self.ax_, self.figure_ = ax, ax.figure
        names = list(dict.fromkeys(run.name for run in self.runs))
        for run in self.runs:
            self._draw(ax, run, names.index(run.name))
        if self.tol is not None:
            ax.axhline(self.tol, color=GREY, linewidth=1.0, linestyle=(0, (1, 2)), zorder=1, label="gap asked for")
        ends = [float(run.seconds[-1]) for run in self.runs if len(run.seconds)]
        if log_seconds if log_seconds is not None else ends and max(ends) > UNEVEN * max(min(ends), SMALLEST):
            ax.set_xscale("log")
        else:
            ax.set_xlim(left=0)
        ax.set_yscale("log")
        if self.tol:
            ax.set_ylim(bottom=max(ax.get_ylim()[0], FAR_BELOW * self.tol))
        ax.set(xlabel="seconds", ylabel="relative duality gap")
        quiet(ax)
        ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return self

    def _draw(self, ax: Any, run: Run, which: int) -> None:
        hue, marker = HUES[which % len(HUES)], MARKERS[which % len(MARKERS)]
        drawn = ax.get_legend_handles_labels()[1]
        every = max(1, len(run.gap) // 12)
        options: dict[str, Any] = {"color": hue, "linewidth": 1.6, "markersize": 4.5, "markevery": every}
        label = None if run.name in drawn else run.name
        ax.plot(run.seconds, np.maximum(run.gap, SMALLEST), marker=marker, label=label, **options)
        if run.rule is not None:
            label = f"{run.name}: |1 - S/theta|"
            options |= {"linewidth": 1.1, "linestyle": (0, (4, 2))}
            label = None if label in drawn else label
            ax.plot(run.seconds, np.maximum(run.rule, SMALLEST), label=label, **options)


def _runs(name: str, trace: Any) -> list[Run]:
    """Return one curve for each output of a trace, without the iterations that had no certificate yet."""
    outputs = trace["output"] if "output" in trace.columns else np.zeros(len(trace))
    made = []
    for output in np.unique(outputs):
        rows = np.flatnonzero((outputs == output) & np.isfinite(trace["gap"]))
        rule = trace["paper_rule"][rows] if "paper_rule" in trace.columns else np.empty(0)
        shown = np.where(np.isfinite(rule), rule, np.nan) if np.isfinite(rule).any() else None
        made.append(Run(name, trace["seconds"][rows], trace["gap"][rows], shown))
    return made
