"""What commands read: columns, standard input, intervals of a genome."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app

RNG = np.random.default_rng(8)


def run(*arguments, code=0, **more):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], **more)
    assert result.exit_code == code, (result.output, result.exception)
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A genome, peaks with a planted word, intervals without one, and a model of them."""
    made = tmp_path_factory.mktemp("inputs")
    letters = RNG.choice(list("ACGT"), 6000)
    for start in range(0, 6000, 100):
        letters[start + 20 : start + 28] = list("TGACTCAT")
    (made / "genome.fa").write_text(">chr1\n" + "".join(letters) + "\n")
    (made / "peaks.bed").write_text("".join(f"chr1\t{start}\t{start + 40}\n" for start in range(0, 6000, 100)))
    (made / "others.bed").write_text("".join(f"chr1\t{start}\t{start + 40}\n" for start in range(50, 6000, 100)))
    run("train", "--bed", made / "peaks.bed", "--genome", made / "genome.fa", "--negative", made / "others.bed",
        "--kernel", "spectrum:4", "--out", made / "m.kw", "-q")  # fmt: skip
    return made


def test_intervals_are_the_rows_that_a_reader_gives(folder):
    data = kw.read(folder / "peaks.bed", negative=folder / "others.bed", genome=folder / "genome.fa")
    same = kw.KernelClassifier("spectrum:4", normalize="cosine").fit(data.X, data.y)
    assert np.array_equal(kw.load(folder / "m.kw").decision_function(data.X), same.decision_function(data.X))
    both = [run("predict", folder / "m.kw", *rows, "--genome", folder / "genome.fa").stdout
            for rows in ([folder / "peaks.bed"], ["--bed", folder / "peaks.bed"])]  # fmt: skip
    assert both[0] == both[1]
    assert both[0].splitlines()[1].startswith("chr1:0-40\t")
    found = run("evaluate", folder / "m.kw", "--bed", folder / "peaks.bed", "--negative", folder / "others.bed",
                "--genome", folder / "genome.fa").stdout  # fmt: skip
    assert "60 x 1 (positive), 60 x -1" in found


def test_standard_input(folder, tmp_path):
    text = "id,promoter\na,TGACTCATGGCA\nb,GGCATTGCAGGA\n"
    (tmp_path / "new.csv").write_text(text)
    piped = run("predict", folder / "m.kw", "-", input=text).stdout
    assert piped == run("predict", folder / "m.kw", tmp_path / "new.csv").stdout
    assert [line.split("\t")[0] for line in piped.splitlines()] == ["id", "a", "b"]


def test_columns_of_a_table(tmp_path):
    rows = "".join(f"{'yes' if i % 2 else 'no'},{'ACGTTGCA' if i % 2 else 'GGCATTCA'},g{i // 2}\n" for i in range(12))
    (tmp_path / "sites.csv").write_text("bound,promoter,gene\n" + rows)
    done = run("train", tmp_path / "sites.csv", "--sequence", "promoter", "--label", "bound", "--group", "gene",
               "--kernel", "spectrum:3", "--out", tmp_path / "m.kw")  # fmt: skip
    assert "labels: 6 x no, 6 x yes" in done.stderr
    (tmp_path / "new.csv").write_text("promoter\nACGTTGCA\n")
    assert run("predict", tmp_path / "m.kw", tmp_path / "new.csv").stdout.endswith("yes\n")


MISTAKES = {
    "no rows": (["train", "--out", "x.kw"], 2, "name a file of rows, or intervals with --bed"),
    "rows twice": (["train", "genome.fa", "--bed", "peaks.bed", "--out", "x.kw"], 1, "both say where the rows are"),
    "no genome": (["train", "peaks.bed", "--out", "x.kw"], 1, "name the FASTA file that they are of: --genome"),
    "a genome for FASTA": (["train", "genome.fa", "--genome", "genome.fa", "--out", "x.kw"], 1,
                           "--genome is for files of intervals (bed), but genome.fa is read as fasta"),
    "no such genome": (["train", "peaks.bed", "--genome", "no.fa", "--out", "x.kw"], 1, "no.fa does not exist"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(folder, monkeypatch, mistake):
    arguments, code, message = MISTAKES[mistake]
    monkeypatch.chdir(folder)
    assert message in " ".join(run(*arguments, code=code).stderr.replace("│", " ").split())


def test_negatives(folder, tmp_path):
    common = ["negatives", folder / "peaks.bed", "--genome", folder / "genome.fa", "--gc", "0.2"]
    said = run(*common, "--out", tmp_path / "n.bed").stdout
    assert "for 60 peaks" in said
    assert "G and C" in said
    run(*common, "--out", tmp_path / "again.bed")
    assert (tmp_path / "n.bed").read_text() == (tmp_path / "again.bed").read_text()
    run(*common, "--out", tmp_path / "n.fa")
    same = kw.read(tmp_path / "n.bed", genome=folder / "genome.fa").X
    assert same == kw.read(tmp_path / "n.fa").X
    run("negatives", folder / "peaks.bed", "--genome", folder / "genome.fa", "--shuffle", "--out", tmp_path / "s.fa")
    assert kw.read(tmp_path / "s.fa").X.shape == (60, 40)


WRONG = {
    "no genome": ([], "name the FASTA file that they are of: --genome"),
    "copies of shuffles": (["--shuffle", "--copies", "2"], "--copies is about places of a genome; --shuffle"),
    "width without a genome": (["--shuffle", "--width", "9"], "--width is about places of a genome"),
    "excluded": (["--shuffle", "--exclude", "peaks.bed"], "--exclude is about places of a genome"),
    "no place": (["--genome", "genome.fa", "--exclude", "all.bed"], "No place of genome.fa is like"),
    "no file": (["--genome", "genome.fa", "--exclude", "no.bed"], "no.bed does not exist"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_about_negatives(folder, monkeypatch, mistake):
    monkeypatch.chdir(folder)
    (folder / "all.bed").write_text("chr1\t0\t6000\n")
    arguments, message = WRONG[mistake]
    assert message in run("negatives", "peaks.bed", *arguments, "--out", "x.bed", code=1).stderr
