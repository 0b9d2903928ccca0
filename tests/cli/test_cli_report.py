"""`kernelweave report`: one page, whole or not at all, that names its command and the hashes of its files."""

from __future__ import annotations

import hashlib
import json

import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from webpage import check_closed, read

X, Y = kw.datasets.make_splice(90, length=70, random_state=0)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    kw.save(kw.KernelClassifier("wd:2").fit(X, Y), str(place / "wd.kw"))
    kw.save(kw.MKLClassifier(kw.WeightedDegree(2).per_degree()).fit(X, Y), str(place / "mkl.kw"))
    (place / "rows.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in zip(Y, X.to_strings())))
    (place / "new.fa").write_text(">a<b>\n" + X[0] + "\n>c\n" + X[1] + "\n")
    return place


def run(*arguments: object, code: int = 0, **more):
    result = CliRunner().invoke(app, ["report", *map(str, arguments)], **more)
    assert result.exit_code == code, result.output
    return result


def test_a_page_with_hashes_and_a_date(files, tmp_path):
    out = tmp_path / "r.html"
    asked = ("--date", "today", "--origin", 10, "--resamples", 20)
    said = json.loads(run(files / "wd.kw", files / "rows.tsv", "--out", out, "--json", *asked).stdout)
    assert said["rows"] == said["scored"] == 90
    assert said["bytes"] == out.stat().st_size
    page = read(out)
    check_closed(page)
    for path in (files / "wd.kw", files / "rows.tsv"):
        assert hashlib.sha256(path.read_bytes()).hexdigest() in page.text
    for words in ("wd.kw on rows.tsv", "Command kernelweave", "Date today", "auROC", "−10"):
        assert words in page.text


def test_rows_without_labels_and_rows_of_standard_input(files, tmp_path):
    out = tmp_path / "r.html"
    said = run(files / "wd.kw", files / "new.fa", "--out", out)
    assert "no labels: rows are explained, not scored" in said.stderr
    assert "a<b>" in read(out).text
    run(files / "wd.kw", "-", "--out", out, "--resamples", 20, "--rows", 40, input=(files / "rows.tsv").read_text())
    text = read(out).text
    assert "standard input SHA-256" in text
    assert "40 rows drawn at random from the 90" in text


def test_stability_reads_the_training_rows(files, tmp_path):
    out = tmp_path / "r.html"
    rows = files / "rows.tsv"
    run(files / "mkl.kw", rows, "--out", out, "--resamples", 20, "--stability", 2, "--training", rows)
    assert "2 refits on bootstrap samples" in read(out).text
    said = run(files / "mkl.kw", rows, "--out", out, "--stability", 2, code=1)
    assert "--stability N and --training FILE need each other" in said.stderr


def test_what_is_wrong_is_said_and_nothing_is_written(files, tmp_path):
    (tmp_path / "odd.tsv").write_text(f"5\t{X[0]}\n")
    said = run(files / "wd.kw", tmp_path / "odd.tsv", "--out", tmp_path / "r.html", code=1)
    assert "has the label '5', but the model knows -1, 1" in said.stderr
    said = run(files / "wd.kw", files / "rows.tsv", "--out", files / "wd.kw", code=1)
    assert "would overwrite the data; choose another name" in said.stderr
    run(files / "wd.kw", files / "none.tsv", "--out", tmp_path / "r.html", code=1)
    assert not (tmp_path / "r.html").exists()
