"""`kernelweave variants`: what the variants of a genome change in the decision value of a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from kernelweave.cli import options as o
from kernelweave.cli.options.groups import DATA, option
from kernelweave.cli.paths import check_readable
from kernelweave.cli.show import Output

WHERE = "Windows"
VCF = Annotated[
    str, typer.Argument(metavar="VCF", help="File of variants: VCF, plain or compressed.", show_default=False)
]
COLUMNS = (
    "chrom", "pos", "id", "ref", "alt", "ref_score", "alt_score", "delta", "crosses", "start", "end", "strand",
    "z", "p",
)  # fmt: skip


@dataclass(frozen=True)
class Judging:
    """Which windows judge a variant, and what it is compared with."""

    genome: Annotated[
        str | None, option(DATA, "FASTA file of the genome, of the assembly of the VCF file.", metavar="FILE")
    ] = None
    window: Annotated[
        int | None,
        option(WHERE, "Letters of a window (default: those of the training sequences).", min=1, metavar="N"),
    ] = None
    windows: Annotated[
        Literal["auto", "every", "middle"],
        option(
            WHERE,
            "every: all windows with the variant, the one that changes most is reported; middle: the one in whose "
            "middle it lies; auto (default): every for k-mers at a place, else middle.",
            metavar="WHICH",
        ),
    ] = "auto"
    both_strands: Annotated[bool, option(WHERE, "Try the windows of the other strand, too.", "--both-strands")] = False
    target: Annotated[
        str | None, option(WHERE, "Speak of this class, for a model of several.", "--class", metavar="LABEL")
    ] = None
    background: Annotated[
        int,
        option(WHERE, "Shuffled backgrounds for z and p (default 1000); 0 for none.", min=0, metavar="N"),
    ] = 1000
    seed: Annotated[int, option(WHERE, "Seed of the shuffling (default 0).", min=0, metavar="N")] = 0


@o.grouped()
def variants(
    model: o.Model,
    vcf: VCF,
    *,
    out: o.TableOut = None,
    judging: Judging,
    placing: o.Placing,
    show: o.Show,
) -> None:
    """Tell what variants change: the decision value of a window with the reference and with the alternative.

    Tab-separated: position and alleles as in the VCF file, both decision values, delta = alternative - reference, gain
    or loss where they lie on different sides of 0, the window (counted from 0, half open), and how delta compares with
    shuffled backgrounds. Lines with # at the top say what the signs mean.

    \b
    Examples:
      kernelweave variants gkm.kw calls.vcf.gz --genome genome.fa --out effects.tsv
      kernelweave variants acceptors.kw calls.vcf --genome genome.fa --both-strands
    """
    say = Output(show.json, show.quiet)
    out = None if out == "-" else out
    if judging.genome is None:
        raise ValueError("The letters around the variants are needed; give --genome genome.fa.")
    check_readable(model, vcf, judging.genome)
    placing.chosen()
    from kernelweave.cli.explaining.learned import chosen_class
    from kernelweave.estimators import load
    from kernelweave.interpret.parts import last_step
    from kernelweave.interpret.variants.stream import variants as stream
    from kernelweave.io import check_writable

    if out is not None:
        check_writable(out)
    fitted = placing.apply(load(model))
    target = chosen_class(last_step(fitted), judging.target)
    found = stream(
        fitted, vcf, judging.genome, window=judging.window, windows=judging.windows,
        both_strands=judging.both_strands, target=target, background=judging.background, random_state=judging.seed,
    )  # fmt: skip
    _write(found, last_step(fitted), target, out, say)


def _write(found: Any, core: Any, target: Any, out: str | None, say: Output) -> None:
    """Write the effects as they come, and say what was left out."""
    import sys

    from kernelweave.cli.flow import Pace, writing

    listed = list[dict[str, Any]]()
    as_list = say.as_json and out is None
    hidden = say.quiet or (out is None and sys.stdout.isatty())
    with Pace("scoring", "variants", hidden) as pace, writing(out) as write:
        if not as_list:
            write(_head(found, core, target))
            write(["\t".join(COLUMNS) + "\n"])
        for batch in found.batches():
            if as_list:
                listed += [dict(zip(COLUMNS, _cells(one))) for one in batch]
            else:
                write("\t".join(_text(cell) for cell in _cells(one)) + "\n" for one in batch)
            pace.report(found.n_variants)
    for kind, number in sorted(found.skipped.items()):
        say.note("left out", f"{number} x {kind}")
    facts: dict[str, Any] = {"variants": found.n_variants, "left_out": found.skipped}
    if as_list:
        say.result({**facts, "effects": listed}, [])
    elif out is not None:
        say.result({**facts, "out": out}, [("scored", f"{out}: {found.n_variants} variants")])


def _head(found: Any, core: Any, target: Any) -> Iterator[str]:
    """Say what signs and columns mean."""
    from kernelweave.interpret.explain.rows import output_names

    scorer, label = found.scorer, output_names(core)[0] if target is None else target
    where = "all windows with the variant, the one that changes most" if scorer.every else "the window around it"
    yield f"# delta = alt_score - ref_score; above 0, the alternative speaks for {label}, below 0 against it\n"
    yield "# a score above 0 is a call; crosses: gain or loss of a call\n"
    yield f"# window: {scorer.window} letters, {where}{', on both strands' if scorer.both else ''}\n"
    if found.background:
        yield (
            f"# z, p: against {found.background} variants of this file between shuffled flanks; p is not corrected for "
            "the number of variants\n"
        )


def _cells(one: Any) -> list[Any]:
    values = one._asdict()
    cells = list(values.values())
    return [*cells[:8], one.crosses, *cells[8:]]


def _text(cell: Any) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)
