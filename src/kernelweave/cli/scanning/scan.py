"""`kernelweave predict --scan`: decision values of the windows of long sequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from kernelweave.cli.entry import INTERRUPTED
from kernelweave.cli.flow import Pace, stream_options, streamed, writing
from kernelweave.cli.options import Reading, Scanning
from kernelweave.cli.scanning.forms import Writer, form_of
from kernelweave.cli.scanning.joined import Best, Joined, Row
from kernelweave.cli.show import Output, on_terminal

if TYPE_CHECKING:
    from kernelweave.estimators.scanning import Scanner, Windows
    from kernelweave.io.stream import Block

STRANGE = 0.1
"""Share of letters outside the alphabet that is worth a note."""


def scan(model: Any, names: dict[str, str | None], how: Scanning, reading: Reading, say: Output) -> None:
    """Slide a model along the sequences of a file and write the windows as they are scored.

    `names` holds the names of the files: model, data and out, None for standard output.
    """
    from kernelweave.cli.predict import value_names

    out, columns = names["out"], value_names(model)
    scanner = _scanner(model, how, len(columns))
    blocks = _blocks(str(names["data"]), model, reading, scanner)
    listed: list[dict[str, Any]] | None = [] if say.as_json and out is None else None
    writer = Writer(form_of(out, how.form), columns, None if how.merge else how.step or 1)
    at_once = out is None and listed is None
    n_reported = 0
    with Pace("scanning", "letters", say.quiet or (at_once and on_terminal())) as pace, writing(out) as write:
        if listed is None:
            write(writer.header())
        try:
            for rows in _reported(scanner, blocks, how, writer.form, str(names["data"]), pace):
                n_reported += len(rows)
                if listed is None:
                    write(writer.lines(rows))
                else:
                    listed += [dict(zip(["seqid", "start", "end", "strand", *columns], row)) for row in rows]
            if listed is None:
                write(writer.finish())
        except KeyboardInterrupt:
            if not at_once or how.top is not None:
                raise
            typer.echo("interrupted: the output holds only a part of the scan", err=True)
            raise typer.Exit(INTERRUPTED) from None
    _summary(names, scanner, how, n_reported, listed, pace.seconds, say)


def _scanner(model: Any, how: Scanning, n_values: int) -> Scanner:
    from kernelweave.estimators.scanning import Scanner

    if n_values > 1 and (how.top is not None or how.threshold is not None or how.merge):
        raise ValueError(
            f"--threshold, --top and --merge need one decision value a window, but the model has {n_values}."
        )
    if how.merge and how.threshold is None:
        raise ValueError(
            "--merge joins the windows that --threshold lets pass; without it all overlap. Add --threshold."
        )
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


def _reported(
    scanner: Scanner, blocks: Iterator[Block], how: Scanning, form: str, path: str, pace: Pace
) -> Iterator[list[Row]]:
    """Yield lists of places to write: seqid, start, end, strand, values."""
    from kernelweave.io.source import share_done

    best, joined = None if how.top is None else Best(how.top), Joined() if how.merge else None
    for block in blocks:
        for scored in scanner.windows(block):
            rows = _rows(scored, scanner, None if best is None or joined is not None else best.least)
            if joined is not None:
                rows = list(joined.add(rows))
            if best is not None:
                best.add(rows)
            elif rows:
                yield rows
            pace.report(scanner.n_letters, f"  {scanner.n_windows} windows", share_done(path, scanner.n_letters))
    rest = list(joined.finish()) if joined is not None else []
    if best is not None:
        best.add(rest)
        rest = best.rows()
    yield sorted(rest) if form == "bedgraph" else rest


def _rows(scored: list[Windows], scanner: Scanner, least: float | None) -> list[Row]:
    """Return windows as places; with `least` only those whose value exceeds it."""
    rows = []
    for seqid, starts, strands, scores in scored:
        if least is not None:
            good = scores > least
            starts, strands, scores = starts[good], strands[good], scores[good]
        values = scores.reshape(starts.size, -1).tolist() if starts.size else []
        for start, strand, row in zip(starts.tolist(), strands.tolist(), values):
            rows.append([seqid, start, start + scanner.window, "+" if strand > 0 else "-", *row])
    return rows


def _summary(
    names: dict[str, str | None], scanner: Scanner, how: Scanning, n_reported: int,
    listed: list[dict[str, Any]] | None, seconds: float, say: Output,
) -> None:  # fmt: skip
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
    places = "places among " if how.merge else "of "
    rate = scanner.n_letters / max(seconds, 1e-9)
    say.note(
        "scanned",
        f"{where}{n_reported} {places}{scanner.n_windows} windows, {scanner.n_letters} letters, {seconds:.1f} s, "
        f"{rate:.3g} letters/s",
    )
