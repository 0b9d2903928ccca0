"""Variants: single letters of a simulated genome under models of gapped k-mers and of k-mers with a place.

    python benchmarks/variants_speed.py                          # 1,000,000 variants with each model
    python benchmarks/variants_speed.py --variants 20000 --models gkm wd

The genome is random, variants stand at random places of two chromosomes, sorted, as in a VCF file.

    gkm      LSGKM (l = 11, k = 7, d = 3), normalised, 2,000 enhancers of 200 letters: the window around each variant
    wd       WeightedDegree(20) on 5,000 simulated sites of 141 letters: all 141 windows with the variant, and of them
             the one that changes most
    wd-both  the same on both strands: 282 windows

Time counts reading of the VCF file and of the genome, scores against shuffled backgrounds, and writing of a table; the
training and compilation do not count.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import kernelweave as kw
from common import RESULTS, Row, conditions, peak_memory, show, timed, write_csv, write_picture
from kernelweave.plots.style import BLUE, figure, quiet

AIM = 600.0
"""Seconds of wall time that a million variants may take on two cores."""
SIZE = 5_000_000
"""Letters of each chromosome."""
MEASURED = ("wall_s", "cpu_s", "cpu_us_each", "peak_GB")


def genome(folder: Path, rng: np.random.Generator) -> tuple[Path, dict[str, np.ndarray]]:
    """Write a genome and return its path and letters."""
    letters = {f"chr{i}": rng.integers(0, 4, SIZE, dtype=np.uint8) for i in (1, 2)}
    with open(folder / "genome.fa", "wb") as file:
        for name, codes in letters.items():
            lines = np.frombuffer(b"ACGT", np.uint8)[codes].reshape(-1, 100)
            file.write(f">{name}\n".encode())
            file.write(np.concatenate([lines, np.full((len(lines), 1), 10, np.uint8)], axis=1).tobytes())
    return folder / "genome.fa", letters


def calls(folder: Path, letters: dict[str, np.ndarray], n: int, rng: np.random.Generator) -> Path:
    """Write n single changes of letters as a VCF file."""
    with open(folder / f"{n}.vcf", "w") as file:
        file.write("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n")
        for name, codes in letters.items():
            places = np.sort(rng.choice(SIZE, n // 2, replace=False))
            others = (codes[places] + rng.integers(1, 4, len(places))) % 4
            for place, ref, alt in zip(places.tolist(), codes[places].tolist(), others.tolist()):
                file.write(f"{name}\t{place + 1}\t.\t{'ACGT'[ref]}\t{'ACGT'[alt]}\t.\t.\t.\n")
    return folder / f"{n}.vcf"


def models() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return fitted models, and how variants are judged."""
    X, y = kw.datasets.make_enhancers(2000, random_state=0)
    gkm = kw.KernelClassifier(kw.LSGKM(), normalize="cosine").fit(X, y)
    X, y = kw.datasets.make_splice(5000, random_state=0)
    wd = kw.KernelClassifier("wd:20", normalize="trace").fit(X, y)
    return {"gkm": (gkm, {}), "wd": (wd, {}), "wd-both": (wd, {"both_strands": True})}


def scored(model: Any, vcf: Path, fasta: Path, out: Path, how: dict[str, Any]) -> int:
    """Score all variants and write a table; return how many there were."""
    stream = kw.variants(model, vcf, fasta, **how)
    with open(out, "w") as file:
        for batch in stream.batches():
            file.writelines("\t".join(map(str, one)) + "\n" for one in batch)
    return stream.n_variants


def main() -> None:
    """Time all models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", type=int, default=1_000_000)
    parser.add_argument("--models", nargs="+", default=["gkm", "wd", "wd-both"])
    given = parser.parse_args()
    print(conditions())
    rng, lines = np.random.default_rng(0), list[Row]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fasta, letters = genome(folder, rng)
        few, many = calls(folder, letters, 400, rng), calls(folder, letters, given.variants, rng)
        for label, (model, how) in models().items():
            if label not in given.models:
                continue
            scored(model, few, fasta, folder / "few.tsv", how)  # compiles
            timing = timed(lambda m=model, h=how: scored(m, many, fasta, folder / "many.tsv", h))  # type: ignore[misc]
            line = {"model": label, "variants": timing.result, "wall_s": timing.wall, "cpu_s": timing.cpu}
            lines.append(line | {"cpu_us_each": 1e6 * timing.cpu / timing.result, "peak_GB": peak_memory() / 1e9})
            print(show(lines[-1:]), flush=True)
    print(show(lines))
    print(f"aim: 1,000,000 within {AIM:.0f} s of wall time on two cores")
    lines += former({str(line["model"]) for line in lines})
    print(write_csv("variants_speed", lines), write_picture("variants_speed", picture(lines)))


def former(models: set[str]) -> list[Row]:
    """Return the results of former runs with other models."""
    path = RESULTS / "variants_speed.csv"
    if not path.exists():
        return []
    with open(path, newline="") as file:
        found = [line for line in csv.DictReader(file) if line["model"] not in models]
    return [line | {name: float(line[name]) for name in MEASURED} for line in found]


def picture(lines: list[Row]) -> object:
    """Draw CPU microseconds a variant."""
    drawn, axes = figure(1, 1, (6.0, 2.2))
    axes.barh([line["model"] for line in lines][::-1], [line["cpu_us_each"] for line in lines][::-1], color=BLUE)
    axes.set_xlabel("CPU microseconds a variant")
    quiet(axes)
    return drawn


if __name__ == "__main__":
    main()
