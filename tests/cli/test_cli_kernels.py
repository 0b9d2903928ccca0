"""Several kernels, and several views, from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.io import write


def trained(*arguments):
    result = CliRunner().invoke(app, ["train", *map(str, arguments), "--json"])
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


def test_several_kernels_get_a_weight_each(tmp_path):
    X, y = kw.datasets.make_splice(120, random_state=3)
    write(tmp_path / "sites.tsv", X, y)
    kernels = ("--kernel", "wd:5", "--kernel", "Spectrum(3)")
    found = trained(tmp_path / "sites.tsv", "--out", tmp_path / "m.kw", *kernels, "--norm", 2)
    assert found["estimator"] == "MKLClassifier"
    assert [kernel["name"] for kernel in found["kernel"]] == ["WeightedDegree(5)", "Spectrum(3)"]
    assert np.linalg.norm([kernel["weight"] for kernel in found["kernel"]]) == pytest.approx(1.0)
    assert kw.load(tmp_path / "m.kw").predict(X).shape == (120,)


def test_a_norm_asks_for_a_weight_per_view(tmp_path):
    rng = np.random.default_rng(0)
    signal, noise = rng.normal(size=(80, 2)), rng.normal(size=(80, 3))
    np.savez(tmp_path / "views.npz", signal=signal, noise=noise, y=np.where(signal[:, 0] > 0, 1, -1))
    found = trained(tmp_path / "views.npz", "--out", tmp_path / "m.kw", "--norm", 1)
    weights = {kernel["name"]: kernel["weight"] for kernel in found["kernel"]}
    assert len(weights) == 2
    assert max(weights, key=weights.get).endswith("'signal')")
