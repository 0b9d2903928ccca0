"""`kernelweave negatives`: what peaks are compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelweave.cli import options as o
from kernelweave.cli.options.groups import DATA, SHOW, option
from kernelweave.cli.paths import check_readable
from kernelweave.cli.show import Output

if TYPE_CHECKING:
    from kernelweave.io.genome import Genome, Interval

MATCH = "Which negatives"
ASKED_FOR = {"width": None, "gc": 0.02, "repeats": 0.02, "copies": 1}
"""Options with a meaning for intervals of a genome only, and what they are by default."""

Source = Annotated[
    str,
    typer.Argument(
        metavar="PEAKS", help="BED or narrowPeak; with --shuffle also FASTA or any sequences.", show_default=False
    ),
]
Out = Annotated[
    str, option(SHOW, "File to write: intervals if it ends in .bed, else letters.", "--out", "-o", metavar="FILE")
]


@o.grouped()
def negatives(
    source: Source,
    out: Out,
    *,
    genome: Annotated[str | None, option(DATA, "The FASTA file that the intervals are of.", metavar="FILE")] = None,
    width: Annotated[
        int | None,
        option(DATA, "First cut the peaks to this width around their summits or middles.", min=1, metavar="N"),
    ] = None,
    gc: Annotated[
        float,
        option(MATCH, "Largest difference in the share of G and C (default 0.02).", "--gc", min=0.0, max=1.0),
    ] = 0.02,
    repeats: Annotated[
        float,
        option(
            MATCH, "Largest difference in the share of repeats, lower-case letters (default 0.02).", min=0.0, max=1.0
        ),
    ] = 0.02,
    copies: Annotated[int, option(MATCH, "Negatives for each peak (default 1).", min=1, metavar="N")] = 1,
    exclude: Annotated[
        list[str] | None,
        option(MATCH, "Intervals that no negative may overlap, beside the peaks; may be repeated.", metavar="FILE"),
    ] = None,
    shuffle: Annotated[
        bool,
        option(MATCH, "Shuffle the letters of the peaks, every count of two neighbours kept, instead.", "--shuffle"),
    ] = False,
    seed: Annotated[int, option(MATCH, "Another seed gives other negatives (default 0).", min=0, metavar="N")] = 0,
    show: o.Show,
) -> None:
    """Make negatives for peaks: places of the genome that are as long and alike in composition, or shuffled letters.

    Matched negatives have the length of their peak and, within --gc and --repeats, its share of G and C and of repeats.
    They hold A, C, G and T only and overlap neither the peaks, nor what --exclude names, nor one another. The same
    seed gives the same negatives.

    \b
    Examples:
      kernelweave negatives peaks.narrowPeak --genome genome.fa --width 200 --out others.bed
      kernelweave negatives peaks.bed --genome genome.fa --copies 2 --out others.fa
      kernelweave negatives peaks.fa --shuffle --out shuffled.fa
    """
    check_readable(source, genome, *(exclude or ()))
    from kernelweave.io import check_writable

    say = Output(show.json, show.quiet)
    check_writable(out)
    if shuffle:
        given = {"width": width, "gc": gc, "repeats": repeats, "copies": copies}
        _shuffled(source, out, genome, given, exclude, seed, say)
        return
    if genome is None:
        from kernelweave.io.genome.intervals import needs_genome

        raise needs_genome(source)
    _matched(source, out, genome, width, (gc, repeats), copies, exclude or [], seed, say)


def _matched(
    source: str, out: str, genome: str, width: int | None, apart: tuple[float, float], copies: int,
    exclude: list[str], seed: int, say: Output,
) -> None:  # fmt: skip
    """Draw intervals and write them, or their letters."""
    from kernelweave.io.genome import Genome, matched, read_intervals
    from kernelweave.io.genome.intervals import windows
    from kernelweave.io.genome.peaks import inside

    whole = Genome(genome)
    peaks = inside(source, windows(read_intervals(source), width), whole)
    others = [one for path in exclude for one in read_intervals(path)]
    found = matched(peaks, whole, copies, *apart, others, seed)
    lacking = len(found.lacking)
    if not found.intervals:
        raise ValueError(f"No place of {genome} is like an interval of {source}; allow more with --gc and --repeats.")
    _write(out, found.intervals, whole)
    means = {"peaks": found.wanted.mean(axis=0), "negatives": found.found.mean(axis=0)}
    values: dict[str, Any] = {"peaks": len(peaks), "negatives": len(found.intervals), "lacking": lacking, "out": out}
    values |= {name: {key: pair[k] for key, pair in means.items()} for k, name in enumerate(("gc", "repeats"))}
    lines = [("negatives", f"{out}: {len(found.intervals)} for {len(peaks)} peaks")]
    lines += [(name, f"{means['negatives'][k]:.1%} on average, peaks {means['peaks'][k]:.1%}")
              for k, name in enumerate(("G and C", "repeats"))]  # fmt: skip
    say.result(values, lines)
    if lacking:
        first = peaks[found.lacking[0]].region
        say.note("note", f"{lacking} peaks, first {first}, have fewer than {copies}; --gc and --repeats allow more")


def _write(out: str, intervals: list[Interval], genome: Genome) -> None:
    from kernelweave.data.strings.alphabet import DNA
    from kernelweave.io import write
    from kernelweave.io.genome.intervals import write_intervals
    from kernelweave.io.genome.peaks import letters_of
    from kernelweave.io.source import unpacked_name

    if unpacked_name(out.lower()).endswith(".bed"):
        write_intervals(out, intervals)
    else:
        write(out, letters_of(out, intervals, genome, DNA, "error"))


def _shuffled(
    source: str, out: str, genome: str | None, given: dict[str, Any], exclude: list[str] | None, seed: int, say: Output
) -> None:
    """Shuffle the letters of rows and write them."""
    from kernelweave.data.kinds import alphabet_of, kind_of
    from kernelweave.data.strings.shuffled import shuffled
    from kernelweave.io import read, write

    width = given["width"] if genome is not None else None
    if extra := [name for name, value in given.items() if value != ASKED_FOR[name] and not (name == "width" and width)]:
        raise ValueError(f"--{extra[0]} is about places of a genome; --shuffle has no use for it.")
    if exclude:
        raise ValueError("--exclude is about places of a genome; --shuffle has no use for it.")
    X = read(source, genome=genome, width=width, unknown=None).X
    if alphabet_of(X) is None or kind_of(X).uncertain:
        raise ValueError(f"{source} holds {kind_of(X).noun}, no sequences to shuffle.")
    write(out, shuffled(X, seed))
    say.result({"rows": len(X), "out": out}, [("shuffled", f"{out}: {len(X)} sequences, pairs of neighbours kept")])
