"""What a part of a page is, and what all of them are given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kernelweave.report.html import Markup, figure, join
from kernelweave.report.subject import Subject


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Attributes
    ----------
    key : the end of its address
    title : as the table of contents has it
    body : elements
    """

    key: str
    title: str
    body: Markup


@dataclass(frozen=True)
class Headline:
    """A number of the overview: its name, the number, and what stands below it."""

    name: str
    value: str
    below: str = ""


@dataclass
class Writing:
    """What parts are made of, and what they leave for one another.

    Attributes
    ----------
    subject : model and rows
    origin : the position that is shown as 0
    resamples : test sets of the bootstrap
    stability : of kernel weights, None where it was not asked for
    refits, training : models of samples of the training rows, and these with their targets, for intervals of what
        places add; None where that was not asked for
    sources : what the page says of files and commands, pairs of name and text
    headlines : numbers of the overview, as parts find them
    figures : how many there are so far
    """

    subject: Subject
    origin: int = 0
    resamples: int = 1000
    stability: Any = None
    refits: int = 0
    training: tuple[Any, Any] | None = None
    sources: list[tuple[str, str]] = field(default_factory=list)
    headlines: list[Headline] = field(default_factory=list)
    figures: int = 0

    def figure(self, drawing: Any, caption: str) -> Markup:
        """Return a picture with the next number."""
        self.figures += 1
        return figure(f"Figure {self.figures}", drawing, caption)


def section(key: str, title: str, parts: Iterable[Any]) -> Section:
    """Return a part of a page."""
    return Section(key, title, join(parts))
