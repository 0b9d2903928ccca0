"""BED, narrowPeak and broadPeak: intervals, whose letters are read from a genome; its chromosomes are the groups."""

from __future__ import annotations

import os

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.letters import check_unknown
from kernelweave.io.collect import check_unique_names
from kernelweave.io.dataset import Dataset, check_options
from kernelweave.io.genome.intervals import BESIDE, looks_like_intervals, needs_genome, read_intervals, windows
from kernelweave.io.genome.peaks import inside, letters_of, opened
from kernelweave.io.registry import BY_LINES, Format, register

CHROMOSOME = b"chr"


def read(
    path: PathLike,
    genome: PathLike | None = None,
    width: int | None = None,
    alphabet: str | Alphabet = "dna",
    unknown: str = "error",
    duplicates: str = "error",
) -> Dataset:
    """Read the letters of the intervals of a file.

    Parameters
    ----------
    path : the file of intervals
    genome : the FASTA file that they are of, plain or compressed
    width : letters of each row, around the summit of its peak where the file has one, else around the middle; None for
        whole intervals
    alphabet : "dna", "rna", "protein", "bytes" or an Alphabet
    unknown : "error" names the first letter that is not in the alphabet, "mask" makes it match nothing
    duplicates : "error" names an interval that two lines share, "allow" reads both

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "genome.fa").write_text(">chr1\\nAACCGGTTAC\\n")
    >>> _ = (folder / "peaks.bed").write_text("chr1\\t1\\t5\\nchr1\\t4\\t8\\t.\\t0\\t-\\n")
    >>> data = read(folder / "peaks.bed", folder / "genome.fa")
    >>> data.X.to_strings(), data.ids.tolist(), data.groups.tolist()
    (['ACCG', 'AACC'], ['chr1:1-5', 'chr1:4-8(-)'], ['chr1', 'chr1'])
    """
    check_unknown(unknown)
    check_options(duplicates=(duplicates, ("error", "allow")))
    intervals = read_intervals(path)
    if genome is None:
        raise needs_genome(path)
    chosen = Alphabet.named("dna" if alphabet == "auto" else alphabet) if isinstance(alphabet, str) else alphabet
    listed = windows(intervals, width)
    if duplicates == "error":
        check_unique_names(path, [one.region for one in listed], np.array([one.line for one in listed]))
    whole = opened(os.fspath(genome), os.path.getmtime(genome) if os.path.exists(genome) else 0.0)
    listed = inside(path, listed, whole)
    X = letters_of(path, listed, whole, chosen, unknown)
    return Dataset(X, None, X.ids, "bed", groups=np.array([one.seqid for one in listed]))


def sniff(start: bytes) -> bool:
    """Tell intervals by sequences that are called chr and something."""
    lines = _lines(start)
    return bool(lines) and all(line.startswith(CHROMOSOME) and looks_like_intervals(line) for line in lines)


def sniff_named(start: bytes) -> bool:
    """Tell intervals in a file whose suffix speaks for them, unless it begins like FASTA, FASTQ or JSON."""
    lines = _lines(start)
    return bool(lines) and b"\0" not in start and not lines[0].startswith((b">", b"@", b"{"))


def _lines(start: bytes) -> list[bytes]:
    """Return the first lines that should hold intervals."""
    lines = [line for line in start.split(b"\n") if line.strip()]
    lines = lines[:-1] if len(lines) > 1 and not start.endswith(b"\n") else lines
    beside = tuple(text.encode() for text in BESIDE)
    return [line for line in lines if not line.startswith(beside)][:20]


register(
    Format(
        "bed",
        ("sequences",),
        (".bed", ".narrowpeak", ".broadpeak"),
        sniff,
        read,
        breadth=BY_LINES + 2,
        sniff_named=sniff_named,
    )
)
