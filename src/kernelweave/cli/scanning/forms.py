"""How places with a decision value are written: as a table, or as BED, bedGraph or GFF3.

All but bedGraph write one line for each place, in the order in which places come.  bedGraph allows one value at a
letter: the value of a window stands at its middle, as many letters as lie between two windows, and of two strands the
larger one counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

Row = list[Any]
"""Sequence, start, end, strand ("+" or "-"), decision values."""

SUFFIXES = {".bed": "bed", ".bedgraph": "bedgraph", ".bg": "bedgraph", ".gff3": "gff3", ".gff": "gff3"}
"""Names of outputs that ask for a form."""
FORMS = ("tsv", "bed", "bedgraph", "gff3")
ALLOWED = "".join(map(chr, range(33, 127))).translate(str.maketrans("", "", "%;=&,>"))
"""Signs that GFF3 does not need escaped in the name of a sequence."""


def form_of(out: str | None, asked: str | None) -> str:
    """Return the form that was asked for, or that the name of the output tells.

    >>> form_of("hits.bed.gz", None), form_of(None, "gff3"), form_of("hits.txt", None)
    ('bed', 'gff3', 'tsv')
    """
    if asked is not None:
        return asked
    name = (out or "").lower().removesuffix(".gz")
    return next((form for suffix, form in SUFFIXES.items() if name.endswith(suffix)), "tsv")


@dataclass
class Writer:
    """Turns places into lines.

    Parameters
    ----------
    form : one of `FORMS`
    names : of the decision values
    step : letters from one window to the next, None for places that are no windows
    """

    form: str
    names: list[str]
    step: int | None

    def __post_init__(self) -> None:
        if self.form != "tsv" and len(self.names) > 1:
            raise ValueError(
                f"{self.form} holds one value a place, but the model has {len(self.names)}; write a table."
            )
        self.waiting: Row | None = None

    def header(self) -> Iterator[str]:
        """Yield the lines before all places."""
        if self.form == "tsv":
            yield "\t".join(["seqid", "start", "end", "strand", *self.names]) + "\n"
        if self.form == "gff3":
            yield "##gff-version 3\n"

    def lines(self, rows: Iterable[Row]) -> Iterator[str]:
        """Yield the lines of some places."""
        if self.form == "bedgraph":
            yield from self._graph(rows)
            return
        line = {"tsv": _table, "bed": _bed, "gff3": _gff}[self.form]
        for row in rows:
            yield line(row)

    def finish(self) -> Iterator[str]:
        """Yield what waited for a place that might have followed."""
        if self.waiting is not None:
            yield _graph(self.waiting)
            self.waiting = None

    def _graph(self, rows: Iterable[Row]) -> Iterator[str]:
        for seqid, start, end, strand, value in rows:
            if self.step is not None:  # the middle of the window
                start += (end - start - min(self.step, end - start)) // 2
                end = start + min(self.step, end - start)
            last = self.waiting
            if last is not None and last[0] == seqid and last[1] == start:  # the other strand
                last[4] = max(last[4], value)
                continue
            yield from self.finish()
            self.waiting = [seqid, start, end, strand, value]


def _table(row: Row) -> str:
    return "\t".join(map(str, row)) + "\n"


def _bed(row: Row) -> str:
    """Return a line of BED: the score is the logistic function of the value, times 1000; the value follows as it is."""
    seqid, start, end, strand, value = row
    score = round(1000 * (1 / (1 + math.exp(-value)) if value > 0 else math.exp(value) / (1 + math.exp(value))))
    return f"{seqid}\t{start}\t{end}\t{seqid}:{start}-{end}\t{score}\t{strand}\t{value}\n"


def _graph(row: Row) -> str:
    seqid, start, end, _, value = row
    return f"{seqid}\t{start}\t{end}\t{value}\n"


def _gff(row: Row) -> str:
    """Return a line of GFF3, whose places are counted from 1 and include their end."""
    seqid, start, end, strand, value = row
    cells = (quote(seqid, safe=ALLOWED), "kernelweave", "sequence_feature", start + 1, end, value, strand, ".")
    return "\t".join(map(str, cells)) + f"\tID={quote(seqid, safe=ALLOWED)}:{start}-{end}{strand}\n"
