"""Explained texts, each word on the colour of what it adds: for a page (HTML) and for print."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelweave.interpret.explain.explanation import Explanation
from kernelweave.plots.style import diverging, figure, ink, plain, tint

Array = np.ndarray
COLUMNS, FEWEST = 76, 44
"""Characters of a line of the picture, and of its width at least."""
INCHES, LINE = 0.092, 0.24
"""Width of a character and height of a line, in inches."""
LETTER_SHARE = 0.602
"""Width of a letter of the typewriter font as a share of its size."""
MOST = 12
"""Rows of one picture."""
WHITE = {" ": "\u00b7", "\t": "\u2192", "\n": "\u21b5", "\r": "\u21b5"}
"""What stands for blanks and line ends where letters are coloured one by one."""


@dataclass(repr=False)
class TextDisplay:
    """Words, or characters, on a colour for what they add: blue where they add, vermilion where they take off.

    Build it with `from_explanation`. In a notebook it shows itself; `html` gives the same for a page, with the numbers
    on hover; `plot` draws it.

    Attributes
    ----------
    names : a title for each row
    tokens : the words, or characters, of each row
    values : (tokens,) of each row, what they add
    separator : what stands between tokens
    output : name of the decision value
    figure_, ax_ : the last drawing

    Examples
    --------
    >>> import kernelweave as kw
    >>> X = kw.Sequences.from_strings(["how far is it", "it is far", "how are you", "you are here"], "words")
    >>> told = kw.explain(kw.KernelClassifier(kw.NGram(1)).fit(X, [1, 0, 1, 0]), X[:1])
    >>> display = TextDisplay.from_explanation(told)
    >>> display.tokens[0], display.html().count("<span title=")
    (['how', 'far', 'is', 'it'], 4)
    """

    names: list[str]
    tokens: list[list[str]]
    values: list[Array]
    separator: str
    output: str
    figure_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_explanation(cls, told: Explanation, rows: Sequence[int] | None = None, output: int = 0) -> Self:
        """Take texts that were explained.

        Parameters
        ----------
        told : by `kernelweave.explain`
        rows : which, 12 at most; None for the first ones
        output : number of the decision value
        """
        if len(told.tracks) != 1 or told.tracks[0].unit not in ("word", "letter"):
            raise ValueError("Highlighted text is for the words of one view; this model divides its value otherwise.")
        rows = range(min(len(told), MOST)) if rows is None else rows
        if not 1 <= len(rows) <= MOST:
            raise ValueError(f"A picture has room for 1 to {MOST} texts, not for {len(rows)}.")
        track, decision = told.tracks[0], told.sums[:, output]
        names = [f"{told.ids[row]}: {decision[row]:+.2f} for {told.outputs[output]}" for row in rows]
        values = [track.of(row)[:, output] for row in rows]
        separator = " " if track.unit == "word" else ""
        return cls(names, [track.spelled(row) for row in rows], values, separator, told.outputs[output])

    @property
    def limit(self) -> float:
        """What the deepest colour stands for."""
        return max((float(np.abs(values).max(initial=0.0)) for values in self.values), default=0.0) or 1.0

    def html(self) -> str:
        """Return paragraphs of HTML without a script or a style sheet; hovering over a word shows what it adds."""
        lines = []
        for name, tokens, values in zip(self.names, self.tokens, self.values):
            spans = []
            for token, value in zip(tokens, values.tolist()):
                colour = tint(value / self.limit)
                style = f"background-color:{colour};color:{ink(colour)};padding:0 .1em"
                spans.append(f'<span title="{value:+.4f}" style="{style}">{html.escape(token)}</span>')
            lines += [f"<p><b>{html.escape(name)}</b></p>", f"<p>{self.separator.join(spans)}</p>"]
        return "\n".join(lines)

    _repr_html_ = html

    def plot(self, ax: Any = None) -> Self:
        """Draw the texts below one another, with a scale of the colours.

        Parameters
        ----------
        ax : matplotlib axes; None for a new figure
        """
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        rows = zip(self.names, self.tokens, self.values)
        blocks = [(name, list(self._lines(tokens, values))) for name, tokens, values in rows]
        height = sum(1.6 + len(lines) for _, lines in blocks)
        width = max([FEWEST, *(x + len(token) for _, lines in blocks for line in lines for x, token, _ in line)])
        if ax is None:
            _, ax = figure(1, 1, (INCHES * width + 1.4, LINE * height + 0.3))
        self.ax_, self.figure_ = ax, ax.figure
        ax.set(xlim=(0, width), ylim=(height, 0))
        ax.set_axis_off()
        size = 0.95 * INCHES * 72 / LETTER_SHARE
        y = 0.0
        for name, lines in blocks:
            ax.text(0, y + 0.7, plain(name), fontsize=9, fontweight="bold", va="center")
            y += 1.3
            for line in lines:
                for x, token, value in line:
                    self._word(ax, x, y, token, value, size)
                y += 1.0
            y += 0.3
        scale = ScalarMappable(Normalize(-self.limit, self.limit), diverging())
        bar = self.figure_.colorbar(scale, ax=ax, shrink=min(1.0, 8.0 / height), pad=0.01, fraction=0.06)
        bar.set_label(f"adds to the decision\nvalue for {plain(self.output)}", fontsize=8)
        bar.ax.tick_params(labelsize=8)
        return self

    def _lines(self, tokens: list[str], values: Array) -> Iterator[list[tuple[int, str, float]]]:
        """Yield lines of tokens with their first column and what they add; long ones are cut."""
        line: list[tuple[int, str, float]] = []
        x = 0
        for token, value in zip(tokens, values.tolist()):
            shown = "".join(WHITE.get(letter, letter) for letter in token)[:COLUMNS]
            if x + len(shown) > COLUMNS:
                yield line
                line, x = [], 0
            line.append((x, shown, value))
            x += len(shown) + len(self.separator)
        if line:
            yield line

    def _word(self, ax: Any, x: int, y: float, token: str, value: float, size: float) -> None:
        from matplotlib.patches import Rectangle

        colour = tint(value / self.limit)
        ax.add_patch(Rectangle((x, y + 0.08), len(token), 0.84, facecolor=colour, linewidth=0))
        ax.text(
            x + len(token) / 2, y + 0.5, plain(token), fontsize=size, family="monospace", ha="center",
            va="center_baseline", color=ink(colour),
        )  # fmt: skip
