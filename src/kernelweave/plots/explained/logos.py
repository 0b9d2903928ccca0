"""Letters as high as what they add: logos of explained rows, of motifs and of positional oligomer importance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

import numpy as np

from kernelweave.interpret.explain.explanation import Explanation
from kernelweave.interpret.motifs.find import Motif
from kernelweave.interpret.poim import Poim
from kernelweave.plots.style import GREY, figure, plain, quiet

Array = np.ndarray
COLOURS = {"A": "#009E73", "C": "#0072B2", "G": "#E69F00", "T": "#D55E00", "U": "#D55E00"}
"""Of the Okabe-Ito palette, told apart by colour-blind eyes; other letters are grey."""
OTHER = "#555555"
LETTER_WIDTH, PANEL_HEIGHT = 0.11, 1.5
"""Inches of a letter, and of a logo."""
NARROWEST, WIDEST = 4.0, 16.0
MOST = 12
"""Logos of one picture."""


@dataclass(repr=False)
class LogoDisplay:
    """Letters as high as what they add; those that take off hang upside down below the line.

    Build it with `from_explanation`, `from_motifs` or `from_poim`.

    Attributes
    ----------
    names : a title for each logo
    heights : (places, letters) of each logo
    letters : of the alphabet
    starts : number of the first place of each logo
    ylabel : what heights are
    figure_, axes_ : the last drawing

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(100, random_state=0)
    >>> told = kw.explain(kw.KernelClassifier("wd:3").fit(X, y), X[:2])
    >>> LogoDisplay.from_explanation(told, [0], start=40, end=70).heights[0].shape
    (30, 4)
    """

    names: list[str]
    heights: list[Array]
    letters: tuple[str, ...]
    starts: list[int]
    ylabel: str
    figure_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_explanation(
        cls,
        told: Explanation,
        rows: Sequence[int] = (0,),
        *,
        start: int = 0,
        end: int | None = None,
        origin: int = 0,
        output: int = 0,
    ) -> Self:
        """Take the letters of rows that were explained.

        Parameters
        ----------
        told : by `kernelweave.explain`
        rows : which, 12 at most
        start, end : the letters that are drawn, counted from 0; None for all up to the end
        origin : the letter that pictures show as 0
        output : number of the decision value
        """
        if len(told.tracks) != 1 or told.tracks[0].unit != "letter":
            raise ValueError("Logos are for letters of one view; this model divides its decision value otherwise.")
        if not 1 <= len(rows) <= MOST:
            raise ValueError(f"A picture has room for 1 to {MOST} logos, not for {len(rows)}.")
        track = told.tracks[0]
        alphabet, heights, decision = track.rows.alphabet, [], told.sums[:, output]
        for row in rows:
            values = track.of(row)[start:end, output]
            codes = track.rows.codes[track.offsets[row] : track.offsets[row + 1]][start:end]
            heights.append(np.where(codes[:, None] == np.arange(alphabet.size), values[:, None], 0.0))
        names = [f"{told.ids[row]}, decision value {decision[row]:+.2f}" for row in rows]
        return cls(names, heights, alphabet.letters, [start - origin] * len(rows), "adds")

    @classmethod
    def from_motifs(cls, motifs: Sequence[Motif]) -> Self:
        """Take the matrices of motifs; letters are as high as their share of the information, in bits.

        Parameters
        ----------
        motifs : as `kernelweave.interpret.motifs.find.find_motifs` gives them, 12 at most
        """
        if not 1 <= len(motifs) <= MOST:
            raise ValueError(f"A picture has room for 1 to {MOST} logos, not for {len(motifs)}.")
        heights = []
        for motif in motifs:
            shares = motif.frequencies
            bits = np.log2(shares.shape[1]) + (shares * np.log2(shares)).sum(axis=1, keepdims=True)
            heights.append(shares * bits)
        names = [f"{motif.consensus}, {motif.n_sites} sites, {motif.total:+.2f} each" for motif in motifs]
        return cls(names, heights, motifs[0].letters, [1] * len(motifs), "bits")

    @classmethod
    def from_poim(cls, found: Poim, *, start: int = 0, end: int | None = None, origin: int = 0) -> Self:
        """Take positional oligomer importance; a letter is as high as what seeing it changes on average.

        That is the mean importance of the k-mers that have it, each as often as its other letters are drawn: the same
        for every k.

        Parameters
        ----------
        found : as `kernelweave.interpret.poim` gives it
        start, end : the positions that are drawn, counted from 0; None for all up to the end
        origin : the position that pictures show as 0
        """
        heights = letter_importance(found)[start:end]
        if not len(heights):
            raise ValueError(f"There is no letter to draw from position {start} to {end}.")
        return cls(
            ["importance of each letter"], [heights], found.alphabet.letters, [start - origin], "changes\nthe score"
        )

    def plot(self, axes: Any = None) -> Self:
        """Draw a panel for each logo, below one another.

        Parameters
        ----------
        axes : as many matplotlib axes as logos; None for a new figure
        """
        if axes is None:
            longest = max(len(heights) for heights in self.heights)
            size = (
                float(np.clip(LETTER_WIDTH * longest + 1.2, NARROWEST, WIDEST)),
                PANEL_HEIGHT * len(self.heights) + 0.3,
            )
            _, axes = figure(len(self.heights), 1, size)
        self.axes_ = np.atleast_1d(axes)
        self.figure_ = self.axes_[0].figure
        for ax, name, heights, start in zip(self.axes_, self.names, self.heights, self.starts, strict=True):
            _draw(ax, heights, self.letters, start)
            ax.set_title(plain(name), fontsize=9, loc="left")
            ax.set_ylabel(self.ylabel)
            quiet(ax)
        self.axes_[-1].set_xlabel("position")
        return self


def letter_importance(found: Poim) -> Array:
    """Return the importance of each letter at each position, (positions, letters), from that of k-mers.

    E[s | a at p] is the mean of E[s | z at j] over the z with letter a at p - j, the other letters being drawn.
    """
    size, k = found.alphabet.size, found.k
    grid = found.values.reshape(*[size] * k, -1)
    out = np.empty((grid.shape[-1] + k - 1, size))
    for offset in range(k):
        means = np.moveaxis(grid, offset, 0)
        for _ in range(k - 1):
            means = np.tensordot(found.background, means, axes=(0, 1))
        first = 0 if offset == 0 else grid.shape[-1] - 1  # behind the last k-mer's first letter, one place each
        out[first + offset : grid.shape[-1] + offset] = means.T[first:]
    return out


def _draw(ax: Any, heights: Array, letters: tuple[str, ...], start: int) -> None:
    """Draw the letters of one logo: those that add on top of one another, the smallest below, the others downwards."""
    from matplotlib.collections import PathCollection
    from matplotlib.transforms import Affine2D

    paths, hues = [], []
    for place, column in enumerate(heights, start):
        up = down = 0.0
        for letter in np.argsort(np.abs(column), kind="stable").tolist():
            height = float(column[letter])
            if height == 0.0:
                continue
            base = up if height > 0 else down
            move = Affine2D().scale(0.92, height).translate(place - 0.46, base)
            paths.append(_outline(letters[letter]).transformed(move))
            hues.append(COLOURS.get(letters[letter].upper(), OTHER))
            up, down = (up + height, down) if height > 0 else (up, down + height)
    ax.add_collection(PathCollection(paths, facecolors=hues, linewidths=0))
    low = float(np.minimum(heights, 0).sum(axis=1).min(initial=0.0))
    high = float(np.maximum(heights, 0).sum(axis=1).max(initial=0.0))
    room = 0.05 * (high - low) or 1.0
    ax.set(xlim=(start - 0.8, start + len(heights) - 0.2), ylim=(low - room if low < 0 else 0.0, high + room))
    ax.axhline(0.0, color=GREY, linewidth=0.8)


@cache
def _outline(letter: str) -> Any:
    """Return the outline of a letter that fills the unit square."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    path = TextPath((0, 0), letter, size=1, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    box = path.get_extents()
    fit = Affine2D().translate(-box.x0, -box.y0).scale(1 / max(box.width, 1e-9), 1 / max(box.height, 1e-9))
    return path.transformed(fit)
