"""The rounds of a boosted model: errors on training and held-out rows, and the columns of each kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelweave.plots.convergence import HUES
from kernelweave.plots.style import BLUE, GREY, figure, quiet
from kernelweave.plots.weight_path import kernel_names

ORANGE = HUES[4]
"""Held-out rows: far from the blue of the training rows, also for colour-blind eyes."""
COLOURED = len(HUES) - 1
"""Kernels with a colour of their own; the others share the last one."""
MARKED = 40
"""Rounds up to which each one gets a marker."""


@dataclass(repr=False)
class RoundsDisplay:
    """Errors and columns by round: computed once, drawn as often as wanted.

    Build it with `from_estimator`.  It shows after a few rounds whether C is too large: the error of the training rows
    falls while that of held-out rows rises.

    Attributes
    ----------
    names : (m,) kernels
    train_error, validation_error : (rounds,), the second not a number where no rows were held out
    columns : (rounds, m) columns of each kernel that are in use
    kept : number of the round that the model stands for, from 1; None where classes have stopped at different ones
    error : what the errors are
    figure_, axes_ : the last drawing

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_stars(200, random_state=0)
    >>> kernels = [kw.Linear(), kw.RBF(width=1.0)]
    >>> model = kw.CGBoostClassifier(kernels, termination="TR3", C=10.0).fit(X, y)
    >>> display = RoundsDisplay.from_estimator(model)
    >>> display.columns.shape == (model.n_iter_, 2), display.kept <= model.n_iter_
    (True, True)
    """

    names: list[str]
    train_error: np.ndarray
    validation_error: np.ndarray
    columns: np.ndarray
    kept: int | None = None
    error: str = "error"
    figure_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, model: Any, *, target: Any = None, names: Sequence[str] | None = None) -> Self:
        """Take the course of a fitted model; nothing is drawn yet.

        Parameters
        ----------
        model : fitted CGBoostClassifier, CGBoostRegressor or CGBoostNovelty
        target : class of a model of several to show; None for the mean error over all, and all their columns
        names : shorter names of the kernels, in their order
        """
        if not hasattr(model, "stages_"):
            raise TypeError(f"{type(model).__name__} has no rounds; expected a fitted CGBoost model.")
        if len(model.trace_) == 0:
            raise ValueError("The fit was stopped before its first round was over: there is nothing to draw.")
        outputs = _outputs(model, target)
        train, held_out = (_by_round(model, f"{name}_error", outputs).mean(axis=0) for name in ("train", "validation"))
        counts = [_by_round(model, f"columns_{k}", outputs).sum(axis=0) for k in range(len(model.kernel_names_))]
        kept = {len(model.stages_[output]) for output in outputs}
        wrong = hasattr(model, "classes_") or hasattr(model, "offset_")
        return cls(
            kernel_names(model, names), train, held_out, np.array(counts).T, kept.pop() if len(kept) == 1 else None,
            "share of wrong rows" if wrong else "mean absolute error",
        )  # fmt: skip

    def plot(self, axes: Any = None) -> Self:
        """Draw the errors, and below them the columns in use.

        Parameters
        ----------
        axes : two matplotlib axes; None for a new figure
        """
        if axes is None:
            _, axes = figure(2, 1, (6.4, 5.6))
            axes[0].sharex(axes[1])
        self.axes_, self.figure_ = axes, axes[0].figure
        rounds = np.arange(1, len(self.train_error) + 1)
        self._draw_errors(axes[0], rounds)
        self._draw_columns(axes[1], rounds)
        for ax in axes:
            if self.kept is not None and self.kept < len(rounds):
                label = "round that is kept" if ax is axes[0] else None
                ax.axvline(self.kept, color=GREY, linewidth=1.0, linestyle=(0, (4, 2)), label=label)
            ax.set_xlim(0.4, len(rounds) + 0.6)
            ax.xaxis.get_major_locator().set_params(integer=True)
            quiet(ax)
        axes[0].legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
        axes[1].legend(*_first_kernel_last(axes[1]), frameon=False, fontsize=9, loc="center left",
                       bbox_to_anchor=(1.0, 0.5))  # fmt: skip
        return self

    def _draw_errors(self, ax: Any, rounds: np.ndarray) -> None:
        marker = "o" if len(rounds) <= MARKED else None
        for values, hue, label in (
            (self.train_error, BLUE, "training rows"), (self.validation_error, ORANGE, "held-out rows"),
        ):  # fmt: skip
            if np.isfinite(values).any():
                ax.plot(rounds, values, color=hue, marker=marker, markersize=4.0, linewidth=1.6, label=label)
        ax.set(ylabel=self.error, ylim=(0, None))

    def _draw_columns(self, ax: Any, rounds: np.ndarray) -> None:
        counts, names = self.columns, self.names
        if len(names) > COLOURED + 1:
            busy = np.sort(np.argsort(-counts[-1], kind="stable")[:COLOURED])
            rest = np.setdiff1d(np.arange(len(names)), busy)
            counts = np.column_stack([counts[:, busy], counts[:, rest].sum(axis=1)])
            names = [*(names[k] for k in busy), f"{len(rest)} others"]
        bottom, width = np.zeros(len(rounds)), 0.85 if len(rounds) <= MARKED else 1.0
        for k, name in enumerate(names):
            ax.bar(rounds, counts[:, k], width, bottom=bottom, color=HUES[k], label=name)
            bottom += counts[:, k]
        ax.set(xlabel="round", ylabel="columns in use", ylim=(0, 1) if bottom.max(initial=0) < 1 else None)


def _outputs(model: Any, target: Any) -> list[int]:
    """Return the numbers of the outputs to show."""
    every = list(range(len(model.stages_)))
    if target is None:
        return every
    classes = list(getattr(model, "classes_", ()))
    if len(every) == 1 or target not in classes:
        listed = (
            f"choose one of {', '.join(map(str, classes))}"
            if len(every) > 1
            else "this model has one sequence of rounds"
        )
        raise ValueError(f"target={target!r} is not a class of the model; {listed}.")
    return [classes.index(target)]


def _by_round(model: Any, name: str, outputs: Sequence[int]) -> np.ndarray:
    """Return a column of the trace as (outputs, rounds); an output that has stopped stays as it was."""
    trace = model.trace_
    owner = trace["output"] if "output" in trace.columns else np.zeros(len(trace))
    found = [trace[name][owner == output] for output in outputs]
    rounds = max(len(values) for values in found)
    return np.array([values[np.minimum(np.arange(rounds), len(values) - 1)] for values in found if len(values)])


def _first_kernel_last(ax: Any) -> tuple[list[Any], list[str]]:
    """Return the legend in the order of the stacked bars, the first kernel at the bottom."""
    handles, labels = ax.get_legend_handles_labels()
    return handles[::-1], labels[::-1]
