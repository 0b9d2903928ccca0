"""From peaks to rows: the letters of the intervals of a file, in a genome."""

from __future__ import annotations

import warnings
from functools import lru_cache

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.data.rows import IDS, offsets_of
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.io.collect import Rows, encoded
from kernelweave.io.genome.intervals import Interval
from kernelweave.io.genome.reference import Genome

Array = np.ndarray


@lru_cache(maxsize=2)
def opened(path: str, stamp: float) -> Genome:
    """Return a genome, the same for two files of intervals of it."""
    return Genome(path)


def inside(path: PathLike, intervals: list[Interval], genome: Genome) -> list[Interval]:
    """Return the intervals that lie in the genome; a warning tells how many reach beyond an end of their sequence."""
    kept: list[Interval] = []
    beyond: list[Interval] = []
    for one in intervals:
        genome.check(one.seqid, 0, 0)
        fits = one.start >= 0 and one.end <= genome.lengths[one.seqid]
        (kept if fits else beyond).append(one)
    if not kept:
        raise ValueError(f"No interval of {path} lies in {genome.path}: all reach beyond the ends of its sequences.")
    if beyond:
        first, n = beyond[0], len(beyond)
        reach = "1 interval reaches" if n == 1 else f"{n} intervals reach"
        warnings.warn(
            f"{reach} beyond the ends of the sequences of {genome.path} and {'is' if n == 1 else 'are'} left out, "
            f"first that of {path}:{first.line}, {first.region}.",
            stacklevel=2,
        )
    return kept


def letters_of(
    path: PathLike, intervals: list[Interval], genome: Genome, alphabet: Alphabet, unknown: str
) -> Sequences:
    """Return the letters of intervals as rows, in their order; of the minus strand as their reverse complement.

    Parameters
    ----------
    path : file of the intervals, for messages
    intervals : n of them, inside of the genome
    genome : where the letters are from
    alphabet : of the rows; one with complements where some interval is on the minus strand
    unknown : "error" names the first letter that is not in the alphabet, "mask" makes it match nothing
    """
    texts = [text.encode("utf-8", "backslashreplace") for text in genome.fetch_many(intervals)]
    raw = np.frombuffer(b"".join(texts), np.uint8).copy()
    lines = np.array([one.line for one in intervals])
    ids = np.array([one.region for one in intervals], dtype=IDS)
    offsets = offsets_of(np.array([len(text) for text in texts]))
    X = encoded(raw, Rows(path, offsets, np.diff(lines, prepend=0), ids), alphabet, unknown)
    minus = np.array([one.strand == "-" for one in intervals])
    if not minus.any():
        return X
    both = Sequences.concatenate([X, X[minus].reverse_complement()])
    order = np.arange(len(X))
    order[minus] = len(X) + np.arange(int(minus.sum()))
    return both[order]
