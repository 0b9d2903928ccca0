"""Ctrl-C during training: the exit code tells of it and the model is saved, whatever is trained."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli import show
from kernelweave.cli.app import app
from kernelweave.estimators.fitting import StoppedEarly

RNG = np.random.default_rng(2)
X = RNG.normal(size=(80, 2))
LABELS = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=80), [-0.5, 0.5])


def arguments(folder, method):
    np.savez(folder / "x.npz", X=X, y=LABELS)
    kernels = ["--kernel", "rbf:1"] + ([] if method == "kernel" else ["--kernel", "linear"])
    return ["train", folder / "x.npz", "--model", method, *kernels, "--tol", 1e-9, "--out", folder / "m.kw", "--json"]


def run(*given):
    return CliRunner().invoke(app, list(map(str, given)))


@pytest.mark.parametrize("method", ["kernel", "mkl", "cgboost"])
@pytest.mark.parametrize("which", [1, 2])
def test_an_interruption_in_the_fit_of_any_class(tmp_path, monkeypatch, method, which):
    begun = []

    def stop(self, progress):
        begun.extend([1] if progress.iteration == 1 else [])
        if len(begun) == which:
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(show.ProgressLine, "__call__", stop)
    result = run(*arguments(tmp_path, method))
    assert result.exit_code == 130, result.output
    assert "warning: Stopped early" in result.stderr
    assert json.loads(result.stdout)["interrupted"] is True
    assert kw.load(tmp_path / "m.kw").predict(X).shape == (80,)


def test_a_limit_of_iterations_is_no_interruption(tmp_path):
    result = run(*arguments(tmp_path, "mkl"), "--max-iter", 1)
    assert (result.exit_code, json.loads(result.stdout)["interrupted"]) == (0, False)
    assert "warning: " in result.stderr


def test_a_callback_that_stops_a_fit_gives_a_warning_of_its_own_kind():
    with pytest.warns(StoppedEarly, match="the best model so far is kept"):
        kw.KernelClassifier("rbf:1", tol=1e-9, callbacks=[lambda progress: True]).fit(X, LABELS > 1)
