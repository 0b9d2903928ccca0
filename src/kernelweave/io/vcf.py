"""Variants of a VCF file, plain or compressed, read as a stream: one for each alternative allele."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from kernelweave.data.atomic import PathLike
from kernelweave.io.source import line_blocks

COLUMNS = 5
"""Columns that are read: CHROM, POS, ID, REF, ALT."""
BASES = frozenset("ACGTNacgtn")


class Variant(NamedTuple):
    """One alternative allele.

    Attributes
    ----------
    seqid : name of the chromosome
    start : of the first letter of the reference allele, from 0
    name : what the file calls it, "." where it has no name
    ref, alt : letters of the reference and of the alternative
    line : of the file
    """

    seqid: str
    start: int
    name: str
    ref: str
    alt: str
    line: int


def read_vcf(path: PathLike, skipped: dict[str, int] | None = None) -> Iterator[Variant]:
    """Yield the variants of a VCF file.

    Parameters
    ----------
    path : file with the columns CHROM, POS, ID, REF and ALT, tab-separated; lines with # are comments
    skipped : counts what is no sequence of letters, by its kind: "<DEL>", "*", "breakend"
    """
    skipped = {} if skipped is None else skipped
    for block, first in line_blocks(path):
        for number, line in enumerate(block.decode("utf-8", "replace").split("\n"), first):
            if not line or line.startswith("#") or line.isspace():
                continue
            yield from _alleles(path, number, line.rstrip("\r"), skipped)


def in_batches(variants: Iterator[Variant], size: int) -> Iterator[list[Variant]]:
    """Yield lists of so many variants at most, all of one chromosome."""
    pending: list[Variant] = []
    while True:
        some = list(islice(variants, size))
        if not some:
            break
        for variant in some:
            if pending and (variant.seqid != pending[0].seqid or len(pending) == size):
                yield pending
                pending = []
            pending.append(variant)
    if pending:
        yield pending


def _alleles(path: PathLike, number: int, line: str, skipped: dict[str, int]) -> Iterator[Variant]:
    fields = line.split("\t", COLUMNS)
    if len(fields) < COLUMNS:
        raise ValueError(
            f"{path}:{number}: expected CHROM, POS, ID, REF and ALT with tabs between, but the line has "
            f"{len(fields)} column{'s' * (len(fields) != 1)}."
        )
    seqid, position, name, ref, alternatives = fields[:COLUMNS]
    if not (position.isascii() and position.isdigit()) or position == "0":
        raise ValueError(f"{path}:{number}: POS is {position!r}, expected a whole number of at least 1.")
    if not ref or not set(ref) <= BASES:
        raise ValueError(f"{path}:{number}: REF is {ref!r}, expected letters of ACGTN.")
    for alt in alternatives.split(","):
        if alt and set(alt) <= BASES:
            yield Variant(seqid, int(position) - 1, name, ref.upper(), alt.upper(), number)
        else:
            kind = alt if alt in ("*", ".") or alt.startswith("<") else "breakend" if set(alt) & set("[]") else "other"
            skipped[kind] = skipped.get(kind, 0) + 1
