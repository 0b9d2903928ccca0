"""What a store costs: CPU and peak memory of converting FASTA files of growing size, and the speed of reading it back.

    python benchmarks/cluster_store.py --rows 250000 1000000 4000000

Files hold simulated acceptors with ids and labels in their headers; every conversion is a process of its own, of which
the peak resident memory is reported.  Memory that grows with the file would show as a slope of the last column but one:
8 bytes a row are kept to find an id that is there twice.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from cluster_data import CHUNK, LENGTH, chunk
from common import Row, conditions, show, timed, write_csv
from kernelweave.data.stores import Stored

HEADER = ">s00000000 label=+1\n"
"""Every header has this form and length, so that a chunk of the file is a table of bytes."""
GATHERED = 0.06
"""Share of rows that are gathered in random order: the working set of a solver."""


def write_fasta(path: Path, rows: int, seed: int) -> None:
    """Write simulated sites, a line for each sequence."""
    with open(path, "wb") as file:
        for number, start in enumerate(range(0, rows, CHUNK)):
            X, y = chunk(seed, number, min(CHUNK, rows - start))
            lines = np.empty((len(X), len(HEADER) + LENGTH + 1), np.uint8)
            lines[:, : len(HEADER)] = np.frombuffer(HEADER.encode(), np.uint8)
            for place in range(8):
                lines[:, 9 - place] = 48 + (start + np.arange(len(X))) // 10**place % 10
            lines[y < 0, len(HEADER) - 3] = ord("-")
            lines[:, len(HEADER) : -1] = np.frombuffer(b"ACGT", np.uint8)[X.matrix]
            lines[:, -1] = ord("\n")
            file.write(lines.tobytes())


def convert(source: Path, out: Path) -> tuple[float, float, float]:
    """Convert a file in a process of its own; return its CPU and wall seconds and its peak memory in bytes."""
    command = [sys.executable, "-m", "kernelweave", "convert", str(source), str(out), "--quiet", "--alphabet", "dna"]
    child = timed(lambda: os.wait4(subprocess.Popen(command).pid, 0))
    _, status, used = child.result
    if status:
        raise SystemExit(f"{' '.join(command)} failed.")
    return used.ru_utime + used.ru_stime, child.wall, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure(folder: Path, rows: int, seed: int) -> Row:
    """Write, convert and read back so many rows."""
    source, out = folder / "sites.fa", folder / "sites.kws"
    write_fasta(source, rows, seed)
    cpu, wall, peak = convert(source, out)
    X = Stored(out)
    stored = sum(part.bytes for part in X.manifest.parts)
    X.verify()
    once = timed(lambda: [X.take(part, ids=False).codes.size for part in X.parts])
    chosen = np.random.default_rng(seed).permutation(rows)[: int(GATHERED * rows)]
    gathered = timed(lambda: X.take(chosen, ids=False))
    return {
        "rows": rows, "file_MB": source.stat().st_size / 1e6, "store_MB": stored / 1e6, "convert_cpu_s": cpu,
        "convert_s": wall, "letters_MB_per_cpu_s": rows * LENGTH / 1e6 / once.cpu,
        "gathered_rows": len(chosen), "gather_cpu_s": gathered.cpu, "peak_MB": peak / 1e6,
        "peak_share_of_file": peak / source.stat().st_size,
    }  # fmt: skip


def main() -> None:
    """Measure all sizes and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[250_000, 1_000_000, 4_000_000])
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rows = []
    for n in asked.rows:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(Path(folder), n, asked.seed))
    print(conditions())
    print(show(rows))
    write_csv("cluster_store", rows)


if __name__ == "__main__":
    main()
