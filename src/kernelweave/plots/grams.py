"""Which n-grams decide, as a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelweave.interpret import NGramWeight, top_ngrams
from kernelweave.plots.style import AGAINST, BLUE, GREY, elided, figure, plain, quiet


@dataclass(repr=False)
class NGramDisplay:
    """The n-grams that decide most, with what each adds to the decision value: computed once, drawn often.

    Build it with `from_estimator`, or from a list of `NGramWeight` at hand.

    Attributes
    ----------
    ngrams : what is drawn
    figure_, ax_ : the last drawing

    Examples
    --------
    >>> import kernelweave as kw
    >>> model = kw.KernelClassifier(kw.NGram(1)).fit([["good", "day"], ["bad", "day"]], [1, -1])
    >>> sorted(gram.ngram for gram in NGramDisplay.from_estimator(model, n=2).ngrams)
    ['bad', 'good']
    """

    ngrams: list[NGramWeight]
    figure_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, model: Any, n: int = 20, length: int | None = None, *, by: str = "spread", target: Any = None
    ) -> Self:
        """Find the n-grams that decide most; nothing is drawn yet.

        Parameters
        ----------
        model, n, length, by, target : as for `kernelweave.interpret.top_ngrams`
        """
        return cls(top_ngrams(model, n, length, by=by, target=target))

    def plot(self, ax: Any = None) -> Self:
        """Draw a line for each n-gram, the one that speaks most for the class on top.

        Parameters
        ----------
        ax : matplotlib axes; None for a new figure
        """
        if not self.ngrams:
            raise ValueError("There is no n-gram to draw: no n-gram of the model has a weight.")
        if ax is None:
            _, ax = figure(1, 1, (7.0, 1.2 + 0.24 * max(len(self.ngrams), 4)))
        self.ax_, self.figure_ = ax, ax.figure
        ordered = sorted(self.ngrams, key=lambda gram: -gram.weight)
        rows, weights = np.arange(len(ordered)), np.array([gram.weight for gram in ordered])
        hues = [BLUE if weight >= 0 else AGAINST for weight in weights]
        ax.hlines(rows, 0, weights, color=hues, linewidth=1.6)
        ax.scatter(weights, rows, color=hues, s=28, zorder=3)
        ax.axvline(0, color=GREY, linewidth=1.0)
        ax.set_yticks(rows, [f"{_short(gram.ngram)}  ({gram.rows})" for gram in ordered], fontsize=9)
        ax.set(xlabel="adds to the decision value", ylim=(len(ordered) - 0.4, -0.6))
        ax.set_ylabel("n-gram  (support vectors with it)")
        quiet(ax)
        return self


def _short(ngram: str) -> str:
    """Return a name that fits beside the picture; blanks and line ends of characters are shown as such."""
    text = elided(ngram)
    return plain(text if text.isprintable() and text.strip() == text else repr(text))
