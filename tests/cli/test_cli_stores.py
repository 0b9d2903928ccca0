"""Stores on the command line: converted from files and back, and read wherever rows are read."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.data import Lattices, Sequences
from kernelweave.data.stores import Stored
from kernelweave.io import read, write

X, Y = kw.datasets.make_splice(90, random_state=0)
X = Sequences(X.codes, X.offsets, X.alphabet, [f"s{i}" for i in range(90)])


def run(*arguments, code=0):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.stderr


@pytest.mark.parametrize("name", ["rows.fa", "rows.fa.gz", "rows.tsv", "rows.kwseq"])
def test_sequences_become_a_store(name, tmp_path):
    y = None if name == "rows.kwseq" else Y
    write(tmp_path / name, X, y)
    said = run("convert", tmp_path / name, tmp_path / "x.kws")
    assert re.search(r"stored .*x\.kws: 90 sequences over the dna alphabet \(4 letters\), stored in 1 part, 4\.", said)
    S = Stored(tmp_path / "x.kws")
    assert S[:] == X
    assert (S.y is None) == (y is None)
    assert y is None or (np.array_equal(S.y, Y) and S.y.dtype == np.int64)
    data = kw.read(tmp_path / "x.kws")
    assert (data.X, data.format) == (S, "store")
    assert data.ids.tolist() == X.ids.tolist()


def test_labels_of_other_files(tmp_path):
    write(tmp_path / "true.fa", X[Y == 1])
    write(tmp_path / "false.fa", X[Y == -1])
    write(tmp_path / "all.fa", X)
    (tmp_path / "labels.tsv").write_text("".join(f"s{i}\t{'yes' if Y[i] == 1 else 'no'}\n" for i in range(90)))
    run("convert", tmp_path / "true.fa", tmp_path / "x.kws", "--negative", tmp_path / "false.fa")
    S = Stored(tmp_path / "x.kws")
    assert S.y.tolist() == [1] * (Y == 1).sum() + [-1] * (Y == -1).sum()
    assert S[:] == Sequences.concatenate([X[Y == 1], X[Y == -1]])
    found = json.loads(
        run("convert", tmp_path / "all.fa", tmp_path / "y.kws", "--labels", tmp_path / "labels.tsv", "--json")
    )
    assert Stored(tmp_path / "y.kws").y.tolist() == ["yes" if label == 1 else "no" for label in Y]
    assert (found["rows"], sorted(found["labels"]), found["parts"]) == (90, ["no", "yes"], 1)


def test_rows_are_appended(tmp_path):
    write(tmp_path / "a.tsv", X[:50], Y[:50])
    write(tmp_path / "b.fa", X[50:], Y[50:])
    write(tmp_path / "all.fa", X, Y)
    run("convert", tmp_path / "a.tsv", tmp_path / "x.kws")
    run("convert", tmp_path / "b.fa", tmp_path / "x.kws", "--append")
    run("convert", tmp_path / "all.fa", tmp_path / "y.kws")
    assert Stored(tmp_path / "x.kws") == Stored(tmp_path / "y.kws")
    write(tmp_path / "c.fa", Sequences.from_strings(["MKLV"], "protein"), [1])
    said = run("convert", tmp_path / "c.fa", tmp_path / "x.kws", "--append", code=1)
    assert "unknown letter 'M'" in said
    assert Stored(tmp_path / "x.kws")[:] == X


def test_masked_letters_and_files_that_are_wrong(tmp_path):
    (tmp_path / "n.fa").write_text(">a\nACGTACGTACGTACGTACGTACGTN\n>b\nN\n")
    assert "unknown letter 'N'" in run("convert", tmp_path / "n.fa", tmp_path / "x.kws", code=1)
    assert not (tmp_path / "x.kws").exists()
    run("convert", tmp_path / "n.fa", tmp_path / "x.kws", "--unknown", "mask")
    assert Stored(tmp_path / "x.kws")[:].to_strings() == ["ACGTACGTACGTACGTACGTACGTN", "N"]
    (tmp_path / "twice.fa").write_text(">a\nAC\n>a\nGT\n")
    assert "the id 'a' was already used on line 1" in run("convert", tmp_path / "twice.fa", tmp_path / "x.kws", code=1)
    assert Stored(tmp_path / "x.kws")[:].to_strings() == ["ACGTACGTACGTACGTACGTACGTN", "N"]


def test_back_to_files(tmp_path):
    X.to_store(tmp_path / "x.kws", Y)
    for name in ("y.fa.gz", "y.tsv"):
        run("convert", tmp_path / "x.kws", tmp_path / name)
        found = read(tmp_path / name)
        assert found.X == X
        assert np.array_equal(found.y, Y)
    run("convert", tmp_path / "x.kws", tmp_path / "copy.kws")
    assert Stored(tmp_path / "copy.kws") == Stored(tmp_path / "x.kws")


@pytest.mark.parametrize("compress", [True, False])
def test_tables_and_lattices(compress, tmp_path):
    table = np.arange(12.0).reshape(4, 3)
    write(tmp_path / "t.npz", table, [1, 2, 1, 2], compress=compress)
    run("convert", tmp_path / "t.npz", tmp_path / "t.kws")
    S = Stored(tmp_path / "t.kws")
    assert np.array_equal(S[:], table)
    assert S.y.tolist() == [1, 2, 1, 2]
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,u\n3,4,v\n")
    run("convert", tmp_path / "t.csv", tmp_path / "c.kws", "--label", "y")
    found = kw.read(tmp_path / "c.kws")
    assert found.feature_names == ("a", "b")
    assert found.y.tolist() == ["u", "v"]
    rows = Lattices.from_sequences(Sequences.from_tokens([["to", "be"], ["or"]], ids=["a", "b"]))
    write(tmp_path / "l.kwlat", rows)
    run("convert", tmp_path / "l.kwlat", tmp_path / "l.kws")
    assert Stored(tmp_path / "l.kws")[:] == rows
    run("convert", tmp_path / "l.kws", tmp_path / "again.kwlat")
    assert Lattices.open(tmp_path / "again.kwlat") == rows


def test_commands_take_a_store(tmp_path):
    path, fasta, model = tmp_path / "x.kws", tmp_path / "x.fa", tmp_path / "m.kw"
    X.to_store(path, Y)
    write(fasta, X, Y)
    run("train", path, "--out", model)
    assert (
        "their place do best on a sample" in CliRunner().invoke(app, ["train", str(path), "--out", str(model)]).stderr
    )
    assert run("predict", model, path) == run("predict", model, fasta)
    assert run("evaluate", model, path, "--resamples", 10) == run("evaluate", model, fasta, "--resamples", 10)
    assert "confirmed" in run("evaluate", model, path, "--verify")
    assert run("predict", model, path, "--scan", "--window", 141) == run(
        "predict", model, fasta, "--scan", "--window", 141
    )
    table = np.random.default_rng(0).normal(size=(40, 3))
    write(tmp_path / "t.kws", table, np.where(table[:, 0] > 0, 1, -1))
    run("train", tmp_path / "t.kws", "--out", model)
    run("train", tmp_path / "t.kws", "--standardize", "--out", model)
    assert len(run("predict", model, tmp_path / "t.kws").splitlines()) == 41


def test_what_a_store_holds(tmp_path):
    X.to_store(tmp_path / "x.kws", Y, np.ones(90))
    said = run("inspect", tmp_path / "x.kws")
    assert "90 sequences over the dna alphabet (4 letters), stored in 1 part of at most 262144 rows" in said
    assert "labels, weights, ids; classes" in said
    found = json.loads(run("inspect", tmp_path / "x.kws", "--json"))
    assert (found["rows"], found["alphabet"], sorted(found["classes"])) == (90, "dna", [-1, 1])
    assert found["fingerprint"] == Stored(tmp_path / "x.kws").fingerprint


def test_what_makes_no_sense(tmp_path):
    write(tmp_path / "x.fa", X, Y)
    X.to_store(tmp_path / "x.kws")
    cases = [
        (("x.fa", "y.fa"), "does not say what to write; end it in .kw for a model"),
        (("x.fa", "y.kw", "--append"), "--append is about rows, but"),
        (("x.kws", "y.fa", "--append"), "--append adds rows to a store, but"),
        (("x.kws", "y.fa", "--alphabet", "dna"), "--alphabet is for reading files, but"),
        (("x.kws", "x.kws"), "would overwrite the data"),
        (("x.fa", "none.kws", "--append"), "none.kws does not exist"),
        (("x.fa", "x.fa/y.kws"), "Cannot write"),
        (("none.fa", "y.kws"), "none.fa does not exist"),
    ]
    for (source, out, *more), message in cases:
        assert message in run("convert", tmp_path / source, tmp_path / out, *more, code=1)
