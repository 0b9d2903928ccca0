"""`kernelweave report`: one page on a model and rows that it has not seen."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from typing import Annotated, Any

from kernelweave.cli import options as o
from kernelweave.cli.options.groups import SHOW, option
from kernelweave.cli.paths import STDIN, check_readable, refuse_overwriting, rows_of
from kernelweave.cli.show import Output

PAGE = "The page"
ROWS = 20_000
"""Rows that are scored by default; of more a sample is drawn."""


@dataclass(frozen=True)
class Reporting:
    """What stands on the page."""

    title: Annotated[str | None, option(PAGE, "Title of the page (default: the names of both files).")] = None
    date: Annotated[
        str | None, option(PAGE, "A date to print; without one, the same files give the same bytes.", metavar="TEXT")
    ] = None
    origin: Annotated[int, option(PAGE, "Position that is shown as 0, the splice site for example.")] = 0
    rows: Annotated[
        int, option(PAGE, f"Of more rows, draw this many at random (default {ROWS}).", "--rows", min=1, metavar="N")
    ] = ROWS
    resamples: Annotated[int, option(PAGE, "Test sets drawn for the bootstrap intervals (default 1000).", min=1)] = 1000
    stability: Annotated[
        int | None,
        option(
            PAGE,
            "Intervals of learned kernel weights (of one kernel: of what letters add) from N refits on samples of the "
            "training rows (--training).",
            min=1,
            metavar="N",
        ),
    ] = None
    training: Annotated[
        str | None, option(PAGE, "The file that the model was trained on, for --stability.", metavar="FILE")
    ] = None

    def check(self) -> None:
        """Raise where one option misses another."""
        if (self.stability is None) != (self.training is None):
            raise ValueError("--stability N and --training FILE need each other: give both or none of them.")


PageOut = Annotated[str, option(SHOW, "Page to write (default report.html).", "--out", "-o", metavar="FILE")]


@o.grouped()
def report(
    model: o.Model,
    data: o.Rows = None,
    *,
    out: PageOut = "report.html",
    reporting: Reporting,
    placing: o.Placing,
    reading: o.Reading,
    show: o.Show,
) -> None:
    """Write one page on a model and rows that it was not trained on, for people who were not there.

    Model and certificate in words, scores and curves with intervals, who is taken for whom, calibration, learned
    weights, where the signal is, motifs, ten explained rows, and how to reproduce all of it, in one HTML file that
    needs no network, follows the light or dark scheme of its reader, and prints. Rows without labels are explained,
    not scored.

    \b
    Examples:
      kernelweave report sites.kw held_out.fa --out report.html
      kernelweave report peaks.kw test.bed --genome genome.fa --negative others.bed
      kernelweave report degrees.kw held_out.tsv --stability 20 --training train.tsv
    """
    say, given = Output(show.json, show.quiet), data
    data, reading = rows_of(data, reading)
    check_readable(model, data, reading.labels, reading.negative, reading.symbols, reading.genome, reporting.training)
    placing.chosen()
    reporting.check()
    from kernelweave.estimators import load
    from kernelweave.io import check_writable
    from kernelweave.report import write_report

    check_writable(out)
    refuse_overwriting(out, [model, data, reading.labels, reading.negative, reading.genome, reporting.training])
    fitted = placing.apply(load(model))
    rows, y = _read(data, fitted, reading)
    if y is None:
        say.note("note", f"{data} has no labels: rows are explained, not scored")
    named = {
        "Model file": model, "Rows": "standard input" if given == STDIN else data, "Labels": reading.labels,
        "Negative rows": reading.negative, "Genome": reading.genome, "Training rows": reporting.training,
    }  # fmt: skip
    title = f"{os.path.basename(model)} on {os.path.basename(str(named['Rows']).rstrip('/'))}"
    training = None
    if reporting.training is not None:
        trained, labels = _read(reporting.training, fitted, reading)
        training = trained.X, labels
    write_report(
        fitted, rows.X, y, out, ids=rows.ids, title=reporting.title or title, origin=reporting.origin,
        rows=reporting.rows, n_resamples=reporting.resamples, stability=reporting.stability or 0, training=training,
        sources=list(_sources(reporting.date, named, {"standard input": data})),
    )  # fmt: skip
    total, kept = rows.X.shape[0], min(rows.X.shape[0], reporting.rows)
    values = {"model": model, "data": data, "out": out, "rows": total, "scored": kept, "bytes": os.path.getsize(out)}
    say.result(values, [("report", f"{out}: {kept} rows" + (f" of {total}" if kept < total else ""))])


def _read(path: str, fitted: Any, reading: o.Reading) -> tuple[Any, Any]:
    """Return rows, and their labels in the type of the classes of the model."""
    import numpy as np

    from kernelweave.cli.rows import as_classes, read_new

    rows = read_new(path, fitted, reading)
    if rows.y is None or not hasattr(fitted, "decision_function"):
        return rows, rows.y
    return rows, as_classes(rows.y, getattr(fitted, "classes_", np.array([-1, 1])), path)


def _sources(date: str | None, named: dict[str, str | None], held: dict[str, str]) -> Any:
    """Yield what the page says of the command and of files, with their hashes."""
    from kernelweave.report.sections.reproduce import hash_of

    yield "Command", shlex.join(["kernelweave", *sys.argv[1:]])
    for name, path in named.items():
        if path is not None:
            yield name, f"{path}  SHA-256 {hash_of(held.get(path, path))}"
    if date is not None:
        yield "Date", date
