"""`kernelweave predict --scan`: decision values of the windows of long sequences."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import typer

from kernelweave.cli.flow import Pace, stream_options, streamed, writing
from kernelweave.cli.options import Reading, Scanning
from kernelweave.cli.show import INTERRUPTED, Output

if TYPE_CHECKING:
    from kernelweave.estimators.scanning import Scanner, Windows
    from kernelweave.io.stream import Block

STRANGE = 0.1
"""Share of letters outside the alphabet that is worth a note."""


class Best:
    """The best windows so far; of two equally good ones the earlier."""

    def __init__(self, size: int):
        self.size, self.order = size, count(0, -1)
        self.heap: list[tuple[Any, ...]] = []

    def add(self, windows: Windows) -> None:
        """Look at some more windows."""
        scores = windows.scores
        least = self.heap[0][0] if len(self.heap) == self.size else None
        chosen = range(scores.size) if least is None else (scores > least).nonzero()[0].tolist()
        for i in chosen:
            entry = (float(scores[i]), next(self.order), windows.seqid, int(windows.starts[i]), int(windows.strands[i]))
            if len(self.heap) < self.size:
                heapq.heappush(self.heap, entry)
            else:
                heapq.heappushpop(self.heap, entry)

    def rows(self) -> list[list[Any]]:
        """Return seqid, start, strand and score, best first."""
        return [[name, start, strand, score] for score, _, name, start, strand in sorted(self.heap, reverse=True)]


def scan(model: Any, names: dict[str, str | None], how: Scanning, reading: Reading, say: Output) -> None:
    """Slide a model along the sequences of a file and write the windows as they are scored.

    `names` holds the names of the files: model, data and out, None for standard output.
    """
    from kernelweave.cli.predict import value_names

    out, columns = names["out"], value_names(model)
    scanner = _scanner(model, how, len(columns))
    blocks = _blocks(str(names["data"]), model, reading, scanner)
    listed: list[dict[str, Any]] | None = [] if say.as_json and out is None else None
    header = ["seqid", "start", "end", "strand", *columns]
    at_once = out is None and listed is None
    n_reported = 0
    with Pace("scanning", "letters", say.quiet or (at_once and sys.stdout.isatty())) as pace, writing(out) as write:
        if listed is None:
            write(["\t".join(header) + "\n"])
        try:
            for rows in _reported(scanner, blocks, how.top, pace):
                n_reported += len(rows)
                if listed is None:
                    write("\t".join(map(str, row)) + "\n" for row in rows)
                else:
                    listed += [dict(zip(header, row)) for row in rows]
        except KeyboardInterrupt:
            if not at_once or how.top is not None:
                raise
            typer.echo("interrupted: the output holds only a part of the scan", err=True)
            raise typer.Exit(INTERRUPTED) from None
    _summary(names, scanner, n_reported, listed, pace.seconds, say)


def _scanner(model: Any, how: Scanning, n_values: int) -> Scanner:
    from kernelweave.estimators.scanning import Scanner

    if n_values > 1 and (how.top is not None or how.threshold is not None):
        raise ValueError(f"--threshold and --top need one decision value a window, but the model has {n_values}.")
    anchors, step = how.anchor or (), how.step or 1
    return Scanner(model, how.window, step, how.both_strands, anchors, how.skip_masked, how.threshold)


def _blocks(path: str, model: Any, reading: Reading, scanner: Scanner) -> Iterator[Block]:
    """Return the sequences in pieces where the format allows it; letters outside the alphabet are masked."""
    from kernelweave.cli.rows import read_new
    from kernelweave.estimators.scanning import in_blocks

    options = stream_options(path, model, reading)
    if options is None or scanner.alphabet.byte_codes is None:
        return in_blocks(read_new(path, model, reading).X)
    options |= {"unknown": reading.unknown or "mask", "overlap": scanner.window - 1}
    return streamed(path, model, reading, options)


def _reported(scanner: Scanner, blocks: Iterator[Block], top: int | None, pace: Pace) -> Iterator[list[list[Any]]]:
    """Yield lists of rows to write: seqid, start, end, strand, values."""
    best = None if top is None else Best(top)
    for block in blocks:
        for scored in scanner.windows(block):
            for windows in scored:
                if best is not None:
                    best.add(windows)
                    continue
                values = windows.scores.reshape(windows.starts.size, -1).tolist()
                rows = zip(windows.starts.tolist(), windows.strands.tolist(), values)
                yield [_row(windows.seqid, start, strand, row, scanner) for start, strand, row in rows]
            pace.report(scanner.n_letters, f"  {scanner.n_windows} windows")
    if best is not None:
        yield [_row(seqid, start, strand, [score], scanner) for seqid, start, strand, score in best.rows()]


def _row(seqid: str, start: int, strand: int, values: list[float], scanner: Scanner) -> list[Any]:
    return [seqid, start, start + scanner.window, "+" if strand > 0 else "-", *values]


def _summary(
    names: dict[str, str | None],
    scanner: Scanner,
    n_reported: int,
    listed: list[dict[str, Any]] | None,
    seconds: float,
    say: Output,
) -> None:
    values: dict[str, Any] = {key: value for key, value in names.items() if value is not None}
    values |= {"window": scanner.window, "letters": scanner.n_letters, "masked_letters": scanner.n_masked}
    values |= {"windows": scanner.n_windows, "reported": n_reported, "seconds": seconds}
    if listed is not None:
        values["predictions"] = listed
    if not scanner.n_windows:
        say.note("note", f"there was no window of {scanner.window} letters to score")
    if (share := scanner.n_masked / max(scanner.n_letters, 1)) > STRANGE:
        kind = f"letters are outside the {scanner.alphabet.name} alphabet and match nothing"
        say.note("note", f"{share:.0%} of the {kind}")
    if say.as_json:
        say.result(values, [])
        return
    where = "" if names["out"] is None else f"{names['out']}: "
    rate = scanner.n_letters / max(seconds, 1e-9)
    say.note(
        "scanned",
        f"{where}{n_reported} of {scanner.n_windows} windows, {scanner.n_letters} letters, {seconds:.1f} s, "
        f"{rate:.3g} letters/s",
    )
