"""Variants with the letters around them, and the windows that contain a variant under either allele.

A window of w letters that begins at s has the reference letters s .. s + w - 1.  Under the alternative allele it keeps
its w letters: an insertion or deletion moves the shorter of the two flanks, so that what lies on the longer one keeps
its place.  On the other strand a window is the reverse complement of the same letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelweave.data import Alphabet
from kernelweave.data.atomic import PathLike
from kernelweave.io.genome import Genome
from kernelweave.io.vcf import Variant
from kernelweave.kernels.base import Array

SPAN_TOGETHER = 1 << 26
"""Letters of a chromosome that are fetched at once for the variants of a batch, where they lie that close."""
LONGEST_ALLELE = 200
"""Letters of an allele beyond which a variant is no short one."""


@dataclass(frozen=True)
class Context:
    """A variant and the letters around it.

    Attributes
    ----------
    letters : codes of the reference from `first` on
    first : place on the chromosome of the first of them
    start : place of the variant among the letters
    ref, alt : codes of the alleles
    """

    letters: Array
    first: int
    start: int
    ref: Array
    alt: Array

    def windows(self, begins: Array, window: int) -> tuple[Array, Array]:
        """Return the windows that begin at these places among the letters, under both alleles, (n, window) each."""
        if len(begins) == 1:
            begin = int(begins[0])
            return self.letters[None, begin : begin + window], self._alternative(begin, window)[None]
        before = self.letters[begins[:, None] + np.arange(window)]
        return before, np.stack([self._alternative(int(begin), window) for begin in begins])

    def _alternative(self, begin: int, window: int) -> Array:
        letters, at, end = self.letters, self.start, self.start + len(self.ref)
        left, right = at - begin, begin + window - end
        if left >= right:
            head = letters[begin:at]
            tail = letters[end : end + max(0, window - left - len(self.alt))]
            return np.concatenate([head, self.alt, tail])[:window]
        tail = letters[end : end + max(right, 0)]
        missing = window - len(self.alt) - len(tail)
        head = letters[max(at - missing, 0) : at] if missing > 0 else letters[:0]
        return np.concatenate([head, self.alt, tail])[-window:]

    def begins(self, window: int, every: bool) -> Array:
        """Return where windows begin that contain the whole variant: all of them, or the one in whose middle it lies.

        There are none where the chromosome is too short.
        """
        size, added, end = len(self.ref), len(self.alt), self.start + len(self.ref)
        middle = self.start + (size - window) // 2
        if not every and size == added and 0 <= middle <= len(self.letters) - window:
            return np.array([middle])
        begins = np.arange(max(end - window, 0), min(self.start, len(self.letters) - window) + 1)
        left, right = self.start - begins, begins + window - end
        tail, head = np.maximum(window - left - added, 0), np.maximum(window - added - right, 0)
        begins = begins[np.where(left >= right, end + tail <= len(self.letters), head <= self.start)]
        if every or not len(begins):
            return begins
        return begins[[int(np.argmin(np.abs(begins - middle)))]]


def contexts(
    variants: Sequence[Variant], genome: Genome, alphabet: Alphabet, window: int, vcf: PathLike
) -> list[Context | None]:
    """Return variants of one chromosome with their flanks, None for those with longer alleles than are scored.

    A reference allele that is not what the genome has raises: the two files are not of one assembly.
    """
    seqid = variants[0].seqid
    genome.check(seqid, 0, 0)
    size = genome.lengths[seqid]
    flank, codes = window + LONGEST_ALLELE, dict[str, Array]()
    bounds = [(max(v.start - flank, 0), min(v.start + len(v.ref) + flank, size)) for v in variants]
    low, high = min(a for a, _ in bounds), max(b for _, b in bounds)
    together = high - low <= SPAN_TOGETHER
    span = alphabet.encode(genome.fetch(seqid, low, high), "mask") if together and high > low else np.zeros(0)
    found: list[Context | None] = []
    for variant, (a, b) in zip(variants, bounds):
        if variant.start + len(variant.ref) > size:
            raise ValueError(
                f"{vcf}:{variant.line}: {seqid}:{variant.start + 1} lies behind the end of {seqid}, which has {size} "
                f"letters in {genome.path}; are both files of the same assembly?"
            )
        if max(len(variant.ref), len(variant.alt)) > min(LONGEST_ALLELE, window):
            found.append(None)
            continue
        letters = span[a - low : b - low] if together else alphabet.encode(genome.fetch(seqid, a, b), "mask")
        for allele in (variant.ref, variant.alt):
            if allele not in codes:
                codes[allele] = alphabet.encode(allele, "mask")
        ref, alt = codes[variant.ref], codes[variant.alt]
        here = letters[variant.start - a : variant.start - a + len(ref)]
        known = (here < alphabet.size) & (ref < alphabet.size)
        if (here[known] != ref[known]).any():
            raise ValueError(
                f"{vcf}:{variant.line}: the reference allele of {seqid}:{variant.start + 1} is {variant.ref}, but "
                f"{genome.path} has {alphabet.decode(here)} there; are both files of the same assembly?"
            )
        found.append(Context(letters, a, variant.start - a, ref, alt))
    return found
