"""`kw.variants`: what every variant of a VCF file changes in the decision value of a model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.data.random import RandomState, check_count, generator
from kernelweave.estimators.scanning import trained_sequences
from kernelweave.interpret.parts import last_step, output, readable
from kernelweave.interpret.variants.contexts import Context, contexts
from kernelweave.interpret.variants.score import Effects, Scorer, between_shuffled
from kernelweave.io.genome import Genome
from kernelweave.io.vcf import Variant, in_batches, read_vcf
from kernelweave.kernels.base import Array

VARIANTS_TOGETHER = 1 << 14
"""Variants that are scored together."""
WINDOWS = ("auto", "every", "middle")


class VariantEffect(NamedTuple):
    """What a variant changes.

    Attributes
    ----------
    seqid, position, name, ref, alt : as in the VCF file; positions count from 1
    ref_score, alt_score : decision values of the window under both alleles
    delta : alt_score - ref_score: above 0, the alternative speaks for the class
    start, end, strand : the window, counted from 0, half open
    z : delta less the mean of shuffled backgrounds, over their standard deviation
    p : share of shuffled backgrounds that change as much, in either direction
    """

    seqid: str
    position: int
    name: str
    ref: str
    alt: str
    ref_score: float
    alt_score: float
    delta: float
    start: int
    end: int
    strand: str
    z: float
    p: float

    @property
    def crosses(self) -> str:
        """ "gain" or "loss" where the alleles lie on different sides of 0, else ""."""
        if (self.ref_score > 0) == (self.alt_score > 0):
            return ""
        return "gain" if self.alt_score > 0 else "loss"


def variants(
    model: Any,
    vcf: PathLike,
    genome: PathLike | Genome,
    *,
    window: int | None = None,
    windows: str = "auto",
    both_strands: bool = False,
    target: Any = None,
    background: int = 1000,
    random_state: RandomState = 0,
) -> VariantStream:
    """Tell what the variants of a VCF file change in the decision value of a model.

    Parameters
    ----------
    model : fitted on sequences
    vcf : file with the columns CHROM, POS, ID, REF and ALT, plain or compressed; substitutions, insertions and
        deletions of at most 200 letters, each alternative by itself
    genome : FASTA file, or a `Genome`, of the same assembly
    window : letters of a window; None for the length of the training sequences, the median where they differ
    windows : "every" tries all windows that contain the variant and reports the one that changes most; "middle" takes
        the one in whose middle it lies; "auto": every where the model asks for k-mers at a place, else middle
    both_strands : try the windows of the other strand as well
    target : the class whose decision value is meant, for a model of several classes
    background : shuffled backgrounds that z and p are from: the first variants of the file between flanks that are
        shuffled by pairs of neighbours; 0 for none
    random_state : seed of the shuffling, numpy generator or None

    Returns
    -------
    `VariantStream`, an iterator of `VariantEffect`

    Examples
    --------
    >>> import kernelweave as kw, tempfile, pathlib
    >>> place = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (place / "genome.fa").write_text(">chr1\\n" + "ACGTTGCATGACCATTAGCA" * 5 + "\\n")
    >>> _ = (place / "calls.vcf").write_text("#CHROM\\tPOS\\tID\\tREF\\tALT\\nchr1\\t50\\trs1\\tG\\tT\\n")
    >>> rows = ["ACGTGACCAT", "TTGACCGTAA", "TTTTCATTAG", "CATTAGCAAC"]
    >>> model = kw.KernelClassifier(kw.Spectrum(3)).fit(rows, [1, 1, 0, 0])
    >>> (found,) = kw.variants(model, place / "calls.vcf", place / "genome.fa", background=0)
    >>> found.ref, found.alt, found.end - found.start, found.delta < 0
    ('G', 'T', 10, True)
    """
    core = last_step(model)
    rows = trained_sequences(model)
    if windows not in WINDOWS:
        raise ValueError(f"windows={windows!r} is not one of {', '.join(map(repr, WINDOWS))}.")
    if both_strands and rows.alphabet.complement is None:
        raise ValueError(f"There is no other strand: the {rows.alphabet.name} alphabet has no complement.")
    size = int(np.median(rows.lengths)) if window is None else check_count("window", window)
    every = "positions" in readable(core) if windows == "auto" else windows == "every"
    scorer = Scorer(core, rows.alphabet, size, every, both_strands, *output(core, target))
    check_count("background", background, 0)
    opened = Genome(genome) if isinstance(genome, str | os.PathLike) else genome
    return VariantStream(scorer, vcf, opened, background, generator(random_state))


class VariantStream:
    """Effects of variants as they are read.

    Attributes
    ----------
    skipped : how many alternatives were not scored, by what they are
    n_variants : how many were scored
    scorer : the model and its windows
    """

    def __init__(self, scorer: Scorer, vcf: PathLike, genome: Genome, background: int, rng: np.random.Generator):
        self.scorer, self.vcf, self.genome, self.background, self.rng = scorer, vcf, genome, background, rng
        self.skipped: dict[str, int] = {}
        self.n_variants = 0
        self._null: Array | None = None
        self._effects = (effect for batch in self.batches() for effect in batch)

    def __iter__(self) -> Iterator[VariantEffect]:
        return self._effects

    def __next__(self) -> VariantEffect:
        return next(self._effects)

    def batches(self) -> Iterator[list[VariantEffect]]:
        """Yield the effects of the variants that are scored together."""
        scorer = self.scorer
        for batch in in_batches(read_vcf(self.vcf, self.skipped), VARIANTS_TOGETHER):
            some = contexts(batch, self.genome, scorer.alphabet, scorer.window, self.vcf)
            effects = scorer.effects(some)
            if self._null is None:
                self._null = self._of_backgrounds([one for one in some if one is not None])
            self._count("longer alleles", sum(one is None for one in some))
            fits = ~np.isnan(effects.ref)
            self._count("no window fits", int(np.count_nonzero(~fits)) - sum(one is None for one in some))
            self.n_variants += int(np.count_nonzero(fits))
            yield list(self._listed(batch, effects, np.flatnonzero(fits)))

    def _count(self, kind: str, number: int) -> None:
        if number:
            self.skipped[kind] = self.skipped.get(kind, 0) + number

    def _of_backgrounds(self, some: list[Context]) -> Array:
        """Return what variants change between shuffled flanks, sorted by size."""
        if not self.background or not some:
            return np.empty(0)
        chosen = [some[k % len(some)] for k in range(self.background)]
        drawn = between_shuffled(chosen, self.scorer.window, self.rng, self.scorer.alphabet)
        delta = self.scorer.effects(drawn).delta
        return delta[~np.isnan(delta)]

    def _listed(self, batch: list[Variant], effects: Effects, which: Array) -> Iterable[VariantEffect]:
        null, delta, w = self._null, effects.delta, self.scorer.window
        z, p = np.full(len(delta), np.nan), np.full(len(delta), np.nan)
        if null is not None and len(null):
            z = (delta - null.mean()) / (null.std() or np.nan)
            sizes = np.sort(np.abs(null))
            p = (1 + len(sizes) - np.searchsorted(sizes, np.abs(delta))) / (1 + len(sizes))
        for k in which.tolist():
            one, start = batch[k], int(effects.begins[k])
            strand = "+" if effects.strands[k] > 0 else "-"
            ref, alt = float(effects.ref[k]), float(effects.alt[k])
            yield VariantEffect(
                one.seqid, one.start + 1, one.name, one.ref, one.alt, ref, alt, alt - ref, start, start + w, strand,
                float(z[k]), float(p[k]),
            )  # fmt: skip


__all__ = ["VariantEffect", "VariantStream", "variants"]
