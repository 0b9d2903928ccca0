"""What `kernelweave predict` costs on ten rows with a saved model: mostly its start.

    python benchmarks/predict_start.py [--repeats 7]

Every run is a process of its own.  CPU seconds are those of the user and of the system, the median of the runs; loops
and bytecode are compiled before: `PYTHONDONTWRITEBYTECODE`, with which every run compiles all sources, is unset.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import kernelweave as kw
from common import Row, conditions, show, write_csv


def models() -> dict[str, tuple[Any, str]]:
    """Return fitted models by name, each with the file of ten rows that it predicts."""
    X, y = kw.datasets.make_splice(800, random_state=0)
    table = np.random.default_rng(0).normal(size=(800, 5))
    found = kw.search(kw.KernelClassifier("spectrum:6"), X, y, {"C": [1.0]}, cv=3)
    return {
        "weighted degree": (kw.KernelClassifier("wd:20", normalize="trace").fit(X, y), "ten.fa"),
        "spectrum": (kw.KernelClassifier("spectrum:6", normalize="cosine").fit(X, y), "ten.fa"),
        "calibrated spectrum": (kw.calibrate(found, y), "ten.fa"),
        "gapped k-mers": (kw.KernelClassifier(kw.GappedKmer(8, 5), normalize="cosine").fit(X, y), "ten.fa"),
        "three kernels": (kw.MKLClassifier([kw.Spectrum(k) for k in (2, 4, 6)]).fit(X, y), "ten.fa"),
        "table, RBF": (kw.KernelClassifier(kw.RBF()).fit(table, table[:, 0] > 0), "ten.csv"),
    }


def write_rows(folder: Path) -> None:
    """Write ten sequences and ten rows of a table."""
    X = kw.datasets.make_splice(10, random_state=1)[0]
    (folder / "ten.fa").write_text("".join(f">s{i}\n{text}\n" for i, text in enumerate(X.to_strings())))
    table = np.random.default_rng(1).normal(size=(10, 5))
    np.savetxt(folder / "ten.csv", table, delimiter=",", header="a,b,c,d,e", comments="")


def spent(command: list[str], folder: Path, repeats: int) -> tuple[float, float]:
    """Return the median CPU and wall seconds of a command, after one run that is not counted."""
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    cpu, wall = [], []
    for _ in range(repeats + 1):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, cwd=folder, env=known, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall.append(time.perf_counter() - began)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(cpu[1:]), median(wall[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    table: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder)
        for kind, (model, rows) in models().items():
            kw.save(model, folder / "model.kw")
            command = [sys.executable, "-m", "kernelweave", "predict", "model.kw", rows]
            cpu, wall = spent(command, folder, given.repeats)
            table.append({"model": kind, "rows": 10, "CPU s": cpu, "wall s": wall})
    print(show(table))
    print(conditions("scikit-learn"))
    print(write_csv("predict_start", table))


if __name__ == "__main__":
    main()
