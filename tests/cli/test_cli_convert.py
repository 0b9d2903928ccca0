"""`kernelweave convert`: from LS-GKM, back, and to tables of l-mers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernelweave.cli.app import app

MODEL = Path(__file__).parents[1] / "estimators" / "lsgkm" / "gkm.model.txt"


def run(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result


def test_there_and_back_again(tmp_path):
    there, back, table = tmp_path / "model.kw", tmp_path / "model.txt", tmp_path / "weights.txt"
    found = json.loads(run("convert", MODEL, there, "--json").stdout)
    assert (found["from"], found["to"], found["support_vectors"]) == ("LS-GKM", "kernelweave", 16)
    assert "none: the model was converted" in run("inspect", there).stdout
    assert "16 support vectors" in run("convert", there, back).stdout
    assert back.read_text().startswith("svm_type c_svc\nkernel_type gkm_esttrunc\nL 6\n")
    assert "2080 l-mers" in run("convert", there, table, "--lmers").stdout
    assert len(table.read_text().splitlines()) == 2080


@pytest.mark.parametrize(
    ("out", "options", "message"),
    [
        ("m.txt", (), "is a model of LS-GKM already; there is nothing to convert"),
        ("m.json", (), "does not say what to write; end it in .kw for a model of kernelweave, .txt for one of LS-GKM"),
        ("m.kw", ("--lmers",), "must end in .txt or .txt.gz"),
    ],
)
def test_what_cannot_be_converted(out, options, message, tmp_path):
    assert message in " ".join(run("convert", MODEL, tmp_path / out, *options, code=1).output.split())
    assert not list(tmp_path.iterdir())


def test_other_files(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nACGTACGTACGT\n")
    assert "is not a kernelweave model file" in run("convert", tmp_path / "a.fa", tmp_path / "m.kw", code=1).output


def test_a_converted_model_shows_its_motifs(tmp_path):
    run("convert", MODEL, tmp_path / "model.kw")
    found = json.loads(run("inspect", tmp_path / "model.kw", "--top", 3, "--length", 5, "--json").stdout)
    assert [len(motif["ngram"].replace(".", "")) for motif in found["motifs"]] == [5, 5, 5]
    assert "motif" in run("inspect", tmp_path / "model.kw", "--plot", tmp_path / "motifs.png").stdout
    assert (tmp_path / "motifs.png").stat().st_size > 0
