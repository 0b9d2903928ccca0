"""Options about what a command computes of a model, draws and writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from kernelweave.cli.options.groups import SCAN, SHOW, option

WHAT = "What was learned: n-grams, k-mers, rounds"

ModelOut = Annotated[str | None, option(SHOW, "Model file to write.", "--out", "-o", metavar="MODEL")]
TableOut = Annotated[
    str | None, option(SHOW, "File to write (standard output if not given).", "--out", "-o", metavar="FILE")
]


@dataclass(frozen=True)
class Show:
    """How to report."""

    json: Annotated[bool, option(SHOW, "Write one JSON object to standard output.", "--json")] = False
    quiet: Annotated[bool, option(SHOW, "No progress, no notes.", "--quiet", "-q")] = False
    debug: Annotated[bool, option(SHOW, "Show where an error came from.", "--debug")] = False


@dataclass(frozen=True)
class Measuring:
    """What to measure, and how."""

    precision: Annotated[
        float | None,
        option(
            SHOW,
            "Also count right and wrong calls at the threshold that finds most while this share of its calls is right.",
            metavar="SHARE",
            min=0.0,
            max=1.0,
        ),
    ] = None
    plot: Annotated[
        str | None,
        option(
            SHOW,
            "Draw ROC and precision-recall curves (with probabilities also the calibration; of several classes who is "
            "taken for whom) into a .png, .pdf or .svg.",
            metavar="FILE",
        ),
    ] = None
    verify: Annotated[
        bool,
        option(
            SHOW,
            "Recompute the certificate of the model, in double precision, from the rows that it was trained on.",
            "--verify",
        ),
    ] = False
    resamples: Annotated[int, option(SHOW, "Test sets drawn for the bootstrap intervals (default 1000).", min=1)] = 1000


@dataclass(frozen=True)
class Explaining:
    """What to list and to draw of what was learned."""

    top: Annotated[int | None, option(WHAT, "How many of the best k-mers or n-grams to list (default 10).", min=1)] = (
        None
    )
    length: Annotated[int | None, option(WHAT, "List those of this length only.", "--length", "-k", min=1)] = None
    target: Annotated[
        str | None, option(WHAT, "Speak of this class, for a model of several.", "--class", metavar="LABEL")
    ] = None
    plot: Annotated[
        str | None,
        option(
            WHAT,
            "Draw what the model has learned into a .png, .pdf or .svg; for cgboost, errors and columns by round.",
            metavar="FILE",
        ),
    ] = None
    draw: Annotated[
        Literal["degrees", "positions", "kmers", "poim", "logo", "ngrams"] | None,
        option(
            WHAT,
            "What to draw: the best ngrams; for k-mers at positions learned weight by degrees or positions, the best "
            "kmers, poim, the importance of all short k-mers at each position, or logo, that of each letter; chosen by "
            "the kernels if not given.",
            metavar="NAME",
        ),
    ] = None
    origin: Annotated[int | None, option(WHAT, "Position that is shown as 0, the splice site for example.")] = None


@dataclass(frozen=True)
class Scanning:
    """Whether to score windows, which to score, and which to report."""

    scan: Annotated[bool, option(SCAN, "Score every window of the sequences instead of whole sequences.", "--scan")] = (
        False
    )
    window: Annotated[
        int | None,
        option(SCAN, "Letters of a window (default: the length of the training sequences).", min=1, metavar="N"),
    ] = None
    step: Annotated[
        int | None, option(SCAN, "Letters from one window to the next (default 1).", "--step", min=1, metavar="N")
    ] = None
    both_strands: Annotated[
        bool, option(SCAN, "Score the reverse complement of each window as well.", "--both-strands")
    ] = False
    anchor: Annotated[
        list[str] | None,
        option(
            SCAN,
            "Only windows that have these letters at a place counted from 0: AG@60. Given several times: any of them.",
            metavar="LETTERS@N",
        ),
    ] = None
    threshold: Annotated[
        float | None, option(SCAN, "Only windows with at least this decision value.", "--threshold", metavar="T")
    ] = None
    top: Annotated[int | None, option(SCAN, "Only the N best windows, best first.", "--top", min=1, metavar="N")] = None
    merge: Annotated[
        bool, option(SCAN, "Join windows above --threshold that overlap into places, with the best value.", "--merge")
    ] = False
    form: Annotated[
        Literal["tsv", "bed", "bedgraph", "gff3"] | None,
        option(
            SCAN, "What to write: tsv, bed, bedgraph or gff3; else as the name of --out ends.", "--as", metavar="FORM"
        ),
    ] = None
    skip_masked: Annotated[
        bool, option(SCAN, "Leave out windows with letters outside the alphabet, such as N.", "--skip-masked")
    ] = False

    def given(self) -> list[str]:
        """Return the options about windows that were given."""
        named = {name: value for name, value in vars(self).items() if name != "scan"}
        there = [name for name, value in named.items() if value not in (None, False, [])]
        return ["--as" if name == "form" else f"--{name.replace('_', '-')}" for name in there]
