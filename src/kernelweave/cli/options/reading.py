"""Options about files of rows, and how a file is to be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from kernelweave.cli.options.groups import DATA, LATTICES, option

FORMATS = (
    "FASTA/FASTQ, label-TAB-sequence, JSON lines, CSV/TSV, npz, parquet, libsvm or lattices, plain or compressed, "
    "or a store"
)

PLACES = ("sequence", "group", "genome", "width")
"""Options about where sequences stand: in a column, or in a genome."""

Rows = Annotated[
    str | None,
    typer.Argument(metavar="DATA", help=f"File of rows: {FORMATS}; - for standard input.", show_default=False),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model file written by 'train'.", show_default=False)]


@dataclass(frozen=True)
class Reading:
    """How to read a file, as far as the command line says; None where it does not."""

    label: Annotated[
        str | None,
        option(DATA, "The labels: column (name, or number from 0), field, array or FASTA header key.", metavar="NAME"),
    ] = None
    labels: Annotated[
        str | None,
        option(
            DATA, "File with the labels: lines of id TAB label; of a label alone for rows without ids.", metavar="FILE"
        ),
    ] = None
    negative: Annotated[
        str | None, option(DATA, "File with negative rows (label -1); those of DATA are positive (1).", metavar="FILE")
    ] = None
    sequence: Annotated[
        str | None, option(DATA, "Column (name, or number from 0) of a table with the sequences.", metavar="NAME")
    ] = None
    group: Annotated[
        str | None, option(DATA, "Column of a table with what folds keep together, such as a gene.", metavar="NAME")
    ] = None
    bed: Annotated[
        str | None,
        option(DATA, "Intervals (BED, narrowPeak) whose letters are the rows, instead of DATA.", metavar="FILE"),
    ] = None
    genome: Annotated[str | None, option(DATA, "The FASTA file that intervals are of.", metavar="FILE")] = None
    width: Annotated[
        int | None,
        option(DATA, "Letters of each row around the summit or middle of its interval; else all.", min=1, metavar="N"),
    ] = None
    id: Annotated[str | None, option(DATA, "Column or field with the ids of the rows.", "--id", metavar="NAME")] = None
    text: Annotated[
        str | None, option(DATA, "Field of JSON lines with the text; title,body joins two.", metavar="NAME")
    ] = None
    format: Annotated[
        str | None,
        option(
            DATA,
            "fasta, fastq, labelled, columns, bed, jsonl, table, npz, parquet, libsvm, plf, openfst, fst, kaldi, slf, "
            "sequences, lattices or store; found by looking at the file.",
            metavar="NAME",
        ),
    ] = None
    alphabet: Annotated[
        str | None,
        option(
            DATA,
            "dna, rna, protein, bytes, words (cut at blanks), text (without punctuation) or auto.",
            metavar="NAME",
        ),
    ] = None
    unknown: Annotated[
        Literal["error", "mask"] | None,
        option(DATA, "Letters outside the alphabet: error, or mask (kept, but they match nothing).", metavar="HOW"),
    ] = None
    duplicates: Annotated[
        Literal["error", "allow"] | None,
        option(DATA, "Two rows of one id: error, or allow (both kept).", metavar="HOW"),
    ] = None
    symbols: Annotated[
        str | None, option(LATTICES, "Symbol table, where the labels of arcs are numbers.", metavar="FILE")
    ] = None
    scale: Annotated[
        float | None,
        option(LATTICES, "Multiply all scores by this; below 1 flattens the distributions.", metavar="NUMBER"),
    ] = None
    raw_weights: Annotated[
        bool,
        option(
            LATTICES,
            "Keep weights as they are; else each lattice becomes the posterior of its strings.",
            "--raw-weights",
        ),
    ] = False

    def given(self) -> dict[str, Any]:
        """Return the options of the reader that were given."""
        text = self.text.split(",") if self.text else None
        names = ("alphabet", "unknown", "duplicates", "label", "id", "symbols", "scale", *PLACES)
        named = {key: getattr(self, key) for key in names} | {"normalize": False if self.raw_weights else None}
        return {key: value for key, value in {**named, "text": text}.items() if value is not None}
