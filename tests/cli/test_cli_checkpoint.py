"""`--checkpoint`: the same command goes on, says so, and refuses what is another fit."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli import show
from kernelweave.cli.app import app

RNG = np.random.default_rng(2)
X = RNG.normal(size=(80, 2))
LABELS = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=80), [-0.5, 0.5])


@pytest.fixture
def folder(tmp_path):
    np.savez(tmp_path / "x.npz", X=X, y=LABELS)
    return tmp_path


def train(folder, *given, checkpoint="fit.kwc"):
    kept = ["--checkpoint", folder / checkpoint] if checkpoint else []
    common = [
        "train",
        folder / "x.npz",
        "--kernel",
        "rbf:1",
        "--solver",
        "smo",
        "--tol",
        1e-9,
        "--out",
        folder / "m.kw",
    ]
    return CliRunner().invoke(app, list(map(str, [*common, "--out", folder / "m.kw", *kept, *given])))


def test_an_interrupted_training_goes_on(folder, monkeypatch):
    whole = train(folder, "--json", checkpoint=None)
    seen = []

    def stop(self, progress):
        seen.append(progress)
        if len(seen) == 6:
            raise KeyboardInterrupt
        return False

    with monkeypatch.context() as patch:
        patch.setattr(show.ProgressLine, "__call__", stop)
        assert train(folder, "--checkpoint-every", 0).exit_code == 130
    shown = CliRunner().invoke(app, ["inspect", str(folder / "fit.kwc")])
    assert "KernelClassifier" in shown.stdout
    assert "iteration" in shown.stdout
    facts = json.loads(CliRunner().invoke(app, ["inspect", str(folder / "fit.kwc"), "--json"]).stdout)
    assert facts["estimator"] == "KernelClassifier"
    again = train(folder, "--json")
    assert again.exit_code == 0, again.output
    assert "resuming" in again.stderr
    assert f"at iteration {facts['iteration']}, gap" in again.stderr
    mine, theirs = json.loads(again.stdout), json.loads(whole.stdout)
    assert mine["objective"] == theirs["objective"]
    assert mine["iterations"] == theirs["iterations"]
    assert kw.load(folder / "m.kw").checkpoint is None
    assert "resuming" in train(folder).stderr


def test_another_fit_is_refused(folder):
    assert train(folder).exit_code == 0
    result = train(folder, "-C", 3)
    assert result.exit_code == 1
    assert "C was 1.0 and is 3.0" in result.stderr
    assert result.stderr.strip().count("\n") <= 3


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--checkpoint", "m.kw"], "are the same file"),
        (["--checkpoint", "x.npz"], "would overwrite the data"),
        (["--checkpoint", "none/fit.kwc"], "does not exist"),
        (["--checkpoint-every", "5"], "give it too"),
    ],
)
def test_names_that_cannot_be(folder, given, sentence):
    given = [str(folder / word) if word.endswith((".kw", ".npz", ".kwc")) else word for word in given]
    result = train(folder, *given, checkpoint=None)
    assert result.exit_code == 1
    assert sentence in result.stderr


def test_a_request_to_end_writes_the_checkpoint(folder):
    rows = RNG.normal(size=(4000, 4))
    np.savez(folder / "x.npz", X=rows, y=(rows[:, 0] + 0.8 * RNG.normal(size=4000) > 0).astype(int))
    command = [
        sys.executable, "-m", "kernelweave", "train", folder / "x.npz", "--kernel", "rbf:1", "-C", "1000", "--solver",
        "chunking", "--tol", "1e-9", "--max-iter", "100000", "--checkpoint", folder / "fit.kwc", "--checkpoint-every",
        "0", "--out", folder / "m.kw",
    ]  # fmt: skip
    process = subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.startswith("training"):
            break
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert (folder / "fit.kwc").stat().st_size > 0
    assert (folder / "m.kw").stat().st_size > 0
