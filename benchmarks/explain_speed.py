"""Explanations of a gapped k-mer model: every letter of 100,000 sequences, beside gkmexplain on the same model.

    python benchmarks/explain_speed.py --lsgkm DIR            # DIR holds gkmtrain and gkmexplain
    python benchmarks/explain_speed.py --rows 10000 --peer-rows 10

gkmtrain trains on human enhancers and background of 200 letters (l = 11, k = 7, d = 3, truncated filter); the model is
converted, so that both sides explain the same function.  gkmexplain (importance scores) explains the first of the held
out rows, ours those and then as many random rows as --rows says; both counted with reading of the model and the making
of tables.  Correlation of the letters on the rows of both, and how far ours are from adding up, are shown as well.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import kernelweave as kw
from common import Row, conditions, peak_memory, show, timed, write_csv, write_picture
from gkm_data import enhancers
from kernelweave.interpret.explain.explanation import Explanation
from kernelweave.interpret.explain.mutate import mutagenesis
from kernelweave.plots.style import BLUE, figure, quiet

LENGTH = 200
AIM = 60.0
"""Seconds of wall time that 100,000 rows may take on two cores."""


def fasta(path: Path, X: kw.Sequences) -> Path:
    """Write rows as a FASTA file."""
    path.write_text("".join(f">r{i}\n{text}\n" for i, text in enumerate(X)))
    return path


def run(command: list[str]) -> tuple[float, float]:
    """Run a program; return its wall and CPU seconds."""
    import resource

    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peer_letters(path: Path) -> list[np.ndarray]:
    """Return what gkmexplain gave to the letters: id, score, one list of four numbers for each letter."""
    found = []
    for line in path.read_text().splitlines():
        cells = line.split("\t")[2].split(";")
        found.append(np.array([sum(map(float, cell.split(","))) for cell in cells if cell]))
    return found


def random_rows(n: int, rng: np.random.Generator) -> kw.Sequences:
    """Return random sequences."""
    alphabet = kw.Alphabet.named("dna")
    codes = rng.integers(0, 4, n * LENGTH, dtype=np.uint8)
    return kw.Sequences(codes, np.arange(n + 1) * LENGTH, alphabet)


def trained(folder: Path, programs: Path | None, size: int) -> tuple[Path, Path | None, kw.Sequences]:
    """Return a model of ours, the one of LS-GKM that it is made of (or None), and held-out rows."""
    rows, rest = enhancers()
    half = [np.flatnonzero(np.asarray(rows.y) == side)[: size // 2] for side in np.unique(rows.y)]
    chosen = np.concatenate(half)
    train, label, held = rows.X[chosen], np.asarray(rows.y)[chosen], rest.X
    if programs is None:
        model = kw.KernelClassifier(kw.LSGKM(), normalize="cosine").fit(train, label)
        kw.save(model, str(folder / "gkm.kw"))
        return folder / "gkm.kw", None, held
    positive, negative = fasta(folder / "p.fa", train[label > 0]), fasta(folder / "n.fa", train[label < 0])
    subprocess.run(
        [str(programs / "gkmtrain"), "-t", "2", "-m", "1000", str(positive), str(negative), str(folder / "gkm")],
        check=True, capture_output=True,
    )  # fmt: skip
    made = folder / "gkm.model.txt"
    command = [sys.executable, "-m", "kernelweave", "convert", str(made), str(folder / "gkm.kw")]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "gkm.kw", made, held


def ours(path: Path, X: kw.Sequences) -> tuple[Explanation, Row]:
    """Explain rows from a model file."""
    timing = timed(lambda: kw.explain(kw.load(str(path)), X))
    model = kw.load(str(path))
    error = float(np.abs(timing.result.decision[:1000] - model.decision_function(X[:1000])).max())
    line = {"side": "kernelweave", "rows": len(X), "wall_s": timing.wall, "cpu_s": timing.cpu, "off_by": error}
    return timing.result, line | {"cpu_us_a_row": 1e6 * timing.cpu / len(X)}


def main() -> None:
    """Time both sides."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lsgkm", type=Path, help="folder of gkmtrain and gkmexplain")
    parser.add_argument("--train", type=int, default=1000, help="training rows")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--peer-rows", type=int, default=20)
    given = parser.parse_args()
    print(conditions())
    lines: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, made, held = trained(folder, given.lsgkm, given.train)
        kw.explain(kw.load(str(path)), held[:2])  # compiles
        few = held[: given.peer_rows]
        told, line = ours(path, few)
        lines.append(line)
        if made is not None:
            rows = fasta(folder / "held.fa", few)
            wall, cpu = run([str(given.lsgkm / "gkmexplain"), str(rows), str(made), str(folder / "told.txt")])
            theirs = peer_letters(folder / "told.txt")
            like = [float(np.corrcoef(a, b)[0, 1]) for a, b in zip(told.matrix(), theirs)]
            line = {"side": "gkmexplain", "rows": len(few), "wall_s": wall, "cpu_s": cpu, "off_by": "-"}
            lines.append(line | {"cpu_us_a_row": 1e6 * cpu / len(few)})
            print(f"correlation of letters with gkmexplain: median {np.median(like):.4f}, least {min(like):.4f}")
        _, line = ours(path, random_rows(given.rows, np.random.default_rng(1)))
        lines.append(line)
        model = kw.load(str(path))
        mutagenesis(model, held[:1])
        timing = timed(lambda: mutagenesis(model, held[:10]))
        line = {"side": "kernelweave, all single changes", "rows": 10, "wall_s": timing.wall, "cpu_s": timing.cpu}
        lines.append(line | {"off_by": "-", "cpu_us_a_row": 1e5 * timing.cpu})
    print(show(lines))
    if made is not None:
        print(f"CPU a row: {lines[1]['cpu_us_a_row'] / lines[2]['cpu_us_a_row']:.0f} times less than gkmexplain")
    print(f"peak memory {peak_memory() / 1e9:.2f} GB; aim: {given.rows} rows within {AIM:.0f} s")
    print(write_csv("explain_speed", lines), write_picture("explain_speed", picture(lines)))


def picture(lines: list[Row]) -> object:
    """Draw CPU microseconds a row of each side."""
    drawn, axes = figure(1, 1, (7.0, 2.6))
    names = [f"{line['side']}, {line['rows']} rows" for line in lines]
    axes.barh(names[::-1], [line["cpu_us_a_row"] for line in lines][::-1], color=BLUE)
    axes.set_xscale("log")
    axes.set_xlabel("CPU microseconds a row of 200 letters")
    quiet(axes)
    return drawn


if __name__ == "__main__":
    main()
