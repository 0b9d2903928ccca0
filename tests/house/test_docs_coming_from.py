"""The examples for people who come from other programs run as they stand, and agree with what they compare."""

from __future__ import annotations

import re

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.io import write
from pages import ROOT, examples

PAGES = sorted(path.stem for path in (ROOT / "docs/coming-from").glob("*.md") if path.stem != "index")


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_run_and_are_certified(page):
    names = examples(f"docs/coming-from/{page}.md", 1)
    model = names.get("model", names.get("here"))
    assert model.duality_gap_ <= model.tol


def test_the_support_vector_machine_is_the_same_as_scikit_learns():
    names = examples("docs/coming-from/scikit-learn.md", 1)
    values = [model.decision_function(names["X"]) for model in (names["there"], names["here"])]
    np.testing.assert_allclose(*values, atol=5e-3)


def test_matrices_and_kernels_make_the_same_model():
    names = examples("docs/coming-from/mklpy.md", 1)
    np.testing.assert_allclose(names["scores"], names["same"].decision_function(names["X"][names["test"]]), atol=0.1)


def test_the_commands_of_ls_gkm_have_commands_that_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = kw.datasets.make_splice(60, random_state=0)
    for name, rows in (("pos.fa", X[y > 0]), ("neg.fa", X[y < 0]), ("new.fa", X[:3])):
        write(name, kw.Sequences(rows.codes, rows.offsets, rows.alphabet, [f"{name}{i}" for i in range(len(rows))]))
    text = (ROOT / "docs/coming-from/lsgkm.md").read_text()
    for line in re.findall(r"`kernelweave ((?:train|predict) [^`]*)`", text):
        done = CliRunner().invoke(app, line.replace("lsgkm:11,7", "lsgkm:6,4").split())
        assert done.exit_code == 0, done.output
    assert len((tmp_path / "out.tsv").read_text().splitlines()) == 4
