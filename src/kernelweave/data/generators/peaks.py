"""A small genome with peaks: what a caller of peaks hands on, where the words under the peaks are known."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.data.random import RandomState, check_count, generator

Array = np.ndarray
LINE = 60
"""Letters of a line of FASTA."""
SITES = ("TGACTCAT", "GATAAGA")
"""Words under the peaks: the first near every summit, the second beside it in half of them."""
LETTERS = np.frombuffer(b"ACGT", np.uint8)
TILE = 5000
"""Letters with one share of G and C."""
REPEAT_LENGTH, REPEAT_EVERY = 300, 4000
SPACING = 1000
"""Letters from one possible summit to the next."""
CALL_EVERY = 50
"""Letters of the genome for one single letter that varies."""


class Peaks(NamedTuple):
    """A genome and the peaks in it.

    Parameters
    ----------
    genome : letters by the name of their chromosome; lower case in repeats
    peaks : chromosome, start, end and summit of each peak
    calls : single letters that vary: chromosome, place counted from 0, reference, alternative
    """

    genome: dict[str, str]
    peaks: list[tuple[str, int, int, int]]
    calls: list[tuple[str, int, str, str]]

    def write(self, folder: PathLike) -> None:
        """Write genome.fa, peaks.narrowPeak and calls.vcf into a folder, which is made where it is missing."""
        os.makedirs(folder, exist_ok=True)
        with open_aside(Path(folder) / "genome.fa") as file:
            for name, text in self.genome.items():
                lines = [f">{name}", *(text[start : start + LINE] for start in range(0, len(text), LINE)), ""]
                file.write("\n".join(lines).encode())
        with open_aside(Path(folder) / "peaks.narrowPeak") as file:
            for number, (name, start, end, summit) in enumerate(self.peaks):
                cells = (name, start, end, f"peak{number}", 1000, ".", 10, -1, -1, summit - start)
                file.write(("\t".join(map(str, cells)) + "\n").encode())
        with open_aside(Path(folder) / "calls.vcf") as file:
            file.write(b"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n")
            for name, place, before, after in self.calls:
                file.write(f"{name}\t{place + 1}\t.\t{before}\t{after}\n".encode())


def make_peaks(
    n_peaks: int = 600, n_chromosomes: int = 4, error: float = 0.08, random_state: RandomState = None
) -> Peaks:
    """Simulate chromosomes with peaks.

    Chromosomes have regions of different shares of G and C, and repeats in lower case. Under each summit, within 20
    letters, stands the word TGACTCAT on either strand; in half of the peaks GATAAGA stands 15 to 35 letters beside it.
    One letter in 50, wherever it stands, varies.

    Parameters
    ----------
    n_peaks : how many
    n_chromosomes : over how many chromosomes they are spread; each peak takes a thousand letters
    error : share of letters of the words that are drawn anew
    random_state : seed

    Examples
    --------
    >>> from kernelweave.datasets import make_peaks
    >>> found = make_peaks(8, n_chromosomes=2, random_state=0)
    >>> sorted(found.genome), len(found.peaks), found.peaks[0][0]
    (['chr1', 'chr2'], 8, 'chr1')
    """
    rng = generator(random_state)
    check_count("n_peaks", n_peaks)
    check_count("n_chromosomes", n_chromosomes)
    genome, peaks = {}, []
    for number in range(n_chromosomes):
        n = n_peaks // n_chromosomes + (number < n_peaks % n_chromosomes)
        name, letters = f"chr{number + 1}", _background((2 * n + 2) * SPACING, rng)
        for slot in np.sort(rng.choice(np.arange(1, 2 * n + 1), n, replace=False)):
            summit = int(slot) * SPACING + int(rng.integers(-200, 200))
            _plant(letters, SITES[0], summit + int(rng.integers(-20, 13)), error, rng)
            if rng.random() < 0.5:
                _plant(letters, SITES[1], summit + int(rng.integers(25, 45)), error, rng)
            peaks.append((name, summit - int(rng.integers(80, 150)), summit + int(rng.integers(80, 150)), summit))
        genome[name] = letters.tobytes().decode()
    return Peaks(genome, peaks, [call for name, text in genome.items() for call in _calls(name, text, rng)])


def _calls(name: str, text: str, rng: np.random.Generator) -> Iterator[tuple[str, int, str, str]]:
    """Iterate over letters of a chromosome that vary, in order."""
    for place in np.sort(rng.choice(len(text), len(text) // CALL_EVERY, replace=False)).tolist():
        before = text[place].upper()
        yield name, place, before, "ACGT".replace(before, "")[int(rng.integers(3))]


def _background(n: int, rng: np.random.Generator) -> Array:
    """Return letters of regions with a share of G and C each, with repeats in lower case."""
    strong = np.repeat(rng.uniform(0.35, 0.55, n // TILE + 1), TILE)[:n]
    codes = np.where(rng.random(n) < strong, rng.integers(1, 3, n), 3 * rng.integers(0, 2, n))
    letters = LETTERS[codes].copy()
    element = LETTERS[rng.integers(0, 4, REPEAT_LENGTH)]
    for start in rng.integers(0, n - REPEAT_LENGTH, n // REPEAT_EVERY):
        copy = np.where(rng.random(REPEAT_LENGTH) < 0.1, LETTERS[rng.integers(0, 4, REPEAT_LENGTH)], element)
        letters[start : start + REPEAT_LENGTH] = copy + 32  # lower case
    return letters


def _plant(letters: Array, word: str, start: int, error: float, rng: np.random.Generator) -> None:
    """Write a word, on either strand and with errors, in the case of the letters that it replaces."""
    text = word if rng.random() < 0.5 else word[::-1].translate(str.maketrans("ACGT", "TGCA"))
    new = np.frombuffer(text.encode(), np.uint8)
    new = np.where(rng.random(new.size) < error, LETTERS[rng.integers(0, 4, new.size)], new)
    here = letters[start : start + new.size]
    letters[start : start + new.size] = np.where(here > ord("Z"), new + 32, new)
