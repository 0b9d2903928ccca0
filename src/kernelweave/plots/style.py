"""Drawing is optional: matplotlib is loaded by the first picture.  Colours are safe for colour-blind eyes."""

from __future__ import annotations

from typing import Any

BLUE, GREY = "#0072B2", "#6E6E6E"
"""The blue of the Okabe-Ito palette, and a neutral grey for references."""


def figure(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """Return a new figure and its axes, laid out so that labels never overlap."""
    return _pyplot().subplots(rows, columns, figsize=size, layout="constrained")


def quiet(ax: Any) -> None:
    """Leave the axes only what is read: two spines and a faint grid behind the curves."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#E4E4E4", linewidth=0.7)
    ax.set_axisbelow(True)


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise ImportError(
            "Pictures need matplotlib, which is not installed; `pip install 'kernelweave[plots]'` adds it."
        ) from error
    return pyplot
