"""Drawing is optional: matplotlib is loaded by the first picture.  Colours are safe for colour-blind eyes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

BLUE, AGAINST, GREY = "#0072B2", "#D55E00", "#6E6E6E"
"""The blue of the Okabe-Ito palette for what adds, its vermilion for what takes off, and a grey for references."""
TINTS = ("#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""Okabe-Ito colours that stand back behind blue curves."""
LONGEST = 40
"""Letters of a name beside a picture."""
DARK = 0.45
"""Brightness of a tint below which letters on it are white."""


def figure(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """Return a new figure and its axes, laid out so that labels never overlap."""
    return _pyplot().subplots(rows, columns, figsize=size, layout="constrained")


def quiet(ax: Any) -> None:
    """Leave the axes only what is read: two spines and a faint grid behind the curves."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#E4E4E4", linewidth=0.7)
    ax.set_axisbelow(True)


def tint(share: float) -> str:
    """Return the colour of a share from -1 (vermilion) over 0 (white) to 1 (blue).

    Examples
    --------
    >>> tint(1.0), tint(0.0), tint(-2.0)
    ('#0072b2', '#ffffff', '#d55e00')
    """
    end, part = (BLUE if share > 0 else AGAINST), min(abs(share), 1.0)
    parts = [round(255 + part * (int(end[k : k + 2], 16) - 255)) for k in (1, 3, 5)]
    return "#{:02x}{:02x}{:02x}".format(*parts)


def ink(colour: str) -> str:
    """Return the colour of letters that can be read on a colour.

    Examples
    --------
    >>> ink("#ffffff"), ink("#0072b2")
    ('#000000', '#ffffff')
    """
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return "#ffffff" if 0.299 * red + 0.587 * green + 0.114 * blue < DARK else "#000000"


def diverging() -> Any:
    """Return the colour map of `tint`, for numbers from -limit to limit."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("adds", [AGAINST, "#FFFFFF", BLUE])


def plain(text: str) -> str:
    """Return a text of which matplotlib takes no letter for a formula."""
    return text.replace("$", r"\$")


def elided(text: str, longest: int = LONGEST) -> str:
    """Return a text that fits beside a picture: of a longer one the beginning and the end.

    Examples
    --------
    >>> elided("Spectrum(3)"), elided("abcdefghij", 7)
    ('Spectrum(3)', 'abc…hij')
    """
    half = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"


def labels(names: Sequence[str]) -> list[str]:
    """Return names that fit beside a picture, numbered from 1 where shortened ones would be the same.

    Examples
    --------
    >>> labels(["RBF(width=1.0)", "RBF(width=2.0)"])
    ['RBF(width=1.0)', 'RBF(width=2.0)']
    >>> labels(["a" * 50 + "b" + "c" * 50, "a" * 50 + "d" + "c" * 50])[1]
    '2: aaaaaaaaaaaaaaaaaaa…ccccccccccccccccccc'
    """
    shown = [elided(name) for name in names]
    same = len(set(shown)) < len(set(names))
    return [plain(f"{number}: {name}" if same else name) for number, name in enumerate(shown, 1)]


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise ImportError(
            "Pictures need matplotlib, which is not installed; `pip install 'kernelweave[plots]'` adds it."
        ) from error
    return pyplot
