"""Forms of a scan for browsers, and windows joined into places: what slow readings of the table give."""

from __future__ import annotations

import math

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.io import write

RNG = np.random.default_rng(11)


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("forms")
    rows = ["".join(RNG.choice(list("ACGT"), 12)) for _ in range(40)]
    X = kw.Sequences.from_strings([row[:4] + "TATA" + row[8:] if i % 2 else row for i, row in enumerate(rows)])
    kw.save(kw.KernelClassifier("spectrum:3", normalize="cosine").fit(X, np.arange(40) % 2), made / "m.kw")
    kw.save(kw.KernelClassifier("spectrum:3", normalize="cosine").fit(X, np.arange(40) % 3), made / "three.kw")
    text = ["".join(RNG.choice(list("ACGT"), n)) for n in (300, 200)]
    write(made / "g.fa", kw.Sequences.from_strings(text, ids=["chr1", "chr;2"]))
    return made


def table(text: str) -> list[tuple]:
    lines = [line.split("\t") for line in text.splitlines()[1:]]
    return [(name, int(start), int(end), strand, float(value)) for name, start, end, strand, value in lines]


def scanned(folder, *options):
    return run("predict", folder / "m.kw", folder / "g.fa", "--scan", "-q", *options).stdout


def slow_places(rows: list[tuple]) -> list[tuple]:
    """Twin: letters that some window covers, cut where none does."""
    places = []
    for name in dict.fromkeys(row[0] for row in rows):
        windows = [row for row in rows if row[0] == name]
        linked = {p for _, a, b, *_ in windows for p in range(a, b - 1)}  # p and p + 1 are in one window
        starts = sorted(p for p in linked if p - 1 not in linked)
        for start in starts:
            end = start
            while end in linked:
                end += 1
            inside = [row for row in windows if start <= row[1] and row[2] <= end + 1]
            best = max(inside, key=lambda row: row[4])
            places.append((name, start, end + 1, best[3], best[4]))
    return places


@pytest.mark.parametrize("options", [["--threshold", "0.4"], ["--threshold", "0.2", "--both-strands", "--step", "3"]])
def test_windows_that_overlap_are_joined(folder, options):
    every = table(scanned(folder, *options))
    joined = table(scanned(folder, *options, "--merge"))
    assert joined == slow_places(every)
    assert 1 < len(joined) < len(every)
    best = sorted(joined, key=lambda row: -row[4])[:2]
    assert table(scanned(folder, *options, "--merge", "--top", 2)) == best


def test_bed_and_gff3_hold_the_rows_of_the_table(folder, tmp_path):
    rows = table(scanned(folder, "--both-strands", "--step", 7))
    for name in ("h.bed", "h.gff3"):
        run(
            "predict",
            folder / "m.kw",
            folder / "g.fa",
            "--scan",
            "--both-strands",
            "--step",
            7,
            "--out",
            tmp_path / name,
        )
    bed = [line.split("\t") for line in (tmp_path / "h.bed").read_text().splitlines()]
    assert [(c[0], int(c[1]), int(c[2]), c[5], float(c[6])) for c in bed] == rows
    assert [int(c[4]) for c in bed] == [round(1000 / (1 + math.exp(-row[4]))) for row in rows]
    gff = (tmp_path / "h.gff3").read_text().splitlines()
    assert gff[0] == "##gff-version 3"
    cells = [line.split("\t") for line in gff[1:]]
    found = [(c[0].replace("%3B", ";"), int(c[3]) - 1, int(c[4]), c[6], float(c[5])) for c in cells]
    assert found == rows
    assert len({c[8] for c in cells}) == len(rows)


@pytest.mark.parametrize("step", [1, 5, 40])
def test_bedgraph_gives_each_letter_one_value(folder, step):
    rows = table(scanned(folder, "--both-strands", "--step", step))
    lines = [
        line.split("\t") for line in scanned(folder, "--both-strands", "--step", step, "--as", "bedgraph").splitlines()
    ]
    best = {}
    for name, start, _, _, value in rows:
        best[name, start] = max(value, best.get((name, start), -math.inf))
    width = min(step, 12)
    wanted = [(name, start + (12 - width) // 2, value) for (name, start), value in best.items()]
    assert [(c[0], int(c[1]), float(c[3])) for c in lines] == wanted
    assert all(int(c[2]) - int(c[1]) == width for c in lines)
    ends = {}
    for name, start, end, _ in lines:
        assert int(start) >= ends.get(name, 0)
        ends[name] = int(end)


MISTAKES = {
    "merge without threshold": ("m.kw", ["--scan", "--merge"], "--merge joins the windows that --threshold lets pass"),
    "merge without scan": ("m.kw", ["--merge"], "--merge is about windows; add --scan"),
    "form without scan": ("m.kw", ["--as", "bed"], "--as is about windows; add --scan"),
    "classes": ("three.kw", ["--scan", "--as", "bed"], "bed holds one value a place, but the model has 3"),
    "merged classes": ("three.kw", ["--scan", "--merge", "--threshold", "1"], "--merge need one decision value"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(folder, mistake):
    model, options, message = MISTAKES[mistake]
    assert message in run("predict", folder / model, folder / "g.fa", *options, code=1).stderr


def test_long_sequences_remind_of_windows(folder):
    said = run("predict", folder / "m.kw", folder / "g.fa").stderr
    assert "a sequence has 300 letters, those of training at most 12; --scan scores windows" in said
