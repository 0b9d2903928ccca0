"""`kernelweave evaluate --verify`: certificates recomputed from a model file and a file of rows."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.io import write

SITES, SITE_LABELS = kw.datasets.make_splice(160, random_state=3)


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def answer(*arguments, code=0):
    return json.loads(run(*arguments, "--json", code=code).stdout)


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """A folder with training and test lines, and a model trained by the command line."""
    folder = tmp_path_factory.mktemp("sites")
    write(folder / "train.tsv", SITES[:120], SITE_LABELS[:120])
    write(folder / "test.tsv", SITES[120:], SITE_LABELS[120:])
    run("train", folder / "train.tsv", "--out", folder / "model.kw", "--kernel", "wd:5", "-q")
    return folder


def test_evaluate_verifies_a_certificate_from_the_training_rows(sites, tmp_path):
    found = answer("evaluate", sites / "model.kw", sites / "train.tsv", "--verify")
    assert found["confirmed"]
    assert found["dual"] <= found["primal"]
    assert found["gap"] <= found["reported_gap"] + 1e-9
    assert "one kernel" in found["problem"]
    assert "confirmed" in run("evaluate", sites / "model.kw", sites / "train.tsv", "--verify").stdout
    write(tmp_path / "swapped.tsv", SITES[:120], -SITE_LABELS[:120])
    assert not answer("evaluate", sites / "model.kw", tmp_path / "swapped.tsv", "--verify", code=1)["confirmed"]
    shorter = run("evaluate", sites / "model.kw", sites / "test.tsv", "--verify", code=1)
    assert "has 40 rows, but the model was fitted to 120" in shorter.output


def test_a_detector_is_verified_without_labels(tmp_path):
    table, path = np.random.default_rng(5).normal(size=(90, 1)), tmp_path / "x.csv"
    path.write_text("\n".join(["a", *map(repr, table[:, 0].tolist())]) + "\n")
    model = kw.KernelNovelty(kw.RBF(width=1.0), nu=0.2).fit(table)
    kw.save(model, tmp_path / "m.kw")
    assert answer("evaluate", tmp_path / "m.kw", path, "--verify")["confirmed"]
