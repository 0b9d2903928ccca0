"""The examples of the manual's page on stores run as they stand, in Python and on the command line."""

from __future__ import annotations

import re

import numpy as np
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.io import write
from pages import ROOT, examples


def test_the_examples_run_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = examples("docs/stores.md", 2)
    assert names["model"].converged_
    assert len(names["many"]) == len(names["scores"]) == 3000
    assert ((names["scores"] > 0) == (names["many"].y == 1)).mean() > 0.9


def test_the_commands_run_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = kw.datasets.make_splice(40, random_state=0)
    X = kw.Sequences(X.codes, X.offsets, X.alphabet, [f"s{i}" for i in range(40)])
    write("sites.fa.gz", X, y)
    write("sites.fa", X)
    write("true.fa", X[:20])
    write("false.fa", X[20:])
    write("more.tsv", X[:5], y[:5])
    (tmp_path / "labels.tsv").write_text("".join(f"s{i}\t{y[i]}\n" for i in range(40)))
    (tmp_path / "table.csv").write_text("a,b,outcome\n1,2,0\n3,4,1\n")
    commands = re.findall(r"^    kernelweave (.*)$", (ROOT / "docs/stores.md").read_text(), flags=re.MULTILINE)
    assert len(commands) == 7
    for command in commands:
        done = CliRunner().invoke(app, command.split())
        assert done.exit_code == 0, done.output
    assert kw.read("sites.fa", duplicates="allow").y.tolist() == [*y, *y[:5]]
    assert np.array_equal(kw.read("table.kws").y, [0, 1])
