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


def test_windows_are_asked_for_as_they_print(tmp_path):
    X, y = kw.datasets.make_splice(120, random_state=3)
    write(tmp_path / "sites.tsv", X, y)
    windows = kw.WeightedDegree(3).per_position(window=50)
    found = trained(tmp_path / "sites.tsv", "--out", tmp_path / "m.kw", "--kernel", repr(windows), "--norm", 2)
    assert [kernel["name"] for kernel in found["kernel"]] == [repr(one) for one in windows.unrolled(X)]
    assert kw.load(tmp_path / "m.kw").normalize == "trace"


def test_a_norm_asks_for_a_weight_per_view(tmp_path):
    rng = np.random.default_rng(0)
    signal, noise = rng.normal(size=(80, 2)), rng.normal(size=(80, 3))
    np.savez(tmp_path / "views.npz", signal=signal, noise=noise, y=np.where(signal[:, 0] > 0, 1, -1))
    found = trained(tmp_path / "views.npz", "--out", tmp_path / "m.kw", "--norm", 1)
    weights = {kernel["name"]: kernel["weight"] for kernel in found["kernel"]}
    assert len(weights) == 2
    assert max(weights, key=weights.get).endswith("'signal')")


WINDOWS = [f"WeightedDegree(3, positions=({p}, {min(p + 4, 141)}))" for p in range(0, 141, 4)]


@pytest.mark.parametrize(
    ("parts", "kernel", "names"),
    [
        ("degrees", ("--kernel", "wd:3"), [f"WeightedDegree(3, only={k})" for k in (1, 2, 3)]),
        ("degrees", (), [f"WeightedDegree(20, only={k})" for k in range(1, 21)]),
        ("positions", ("--kernel", "wd:3"), WINDOWS),
        ("lengths", ("--kernel", "spectrum:2"), ["Cosine(Spectrum(1))", "Cosine(Spectrum(2))"]),
        ("lengths", (), [f"Cosine(Spectrum({k}, reverse_complement=True))" for k in range(1, 7)]),
    ],
)  # fmt: skip
def test_a_weight_for_each_part(tmp_path, parts, kernel, names):
    X, y = kw.datasets.make_splice(80, random_state=3)
    write(tmp_path / "sites.tsv", X, y)
    found = trained(tmp_path / "sites.tsv", "--out", tmp_path / "m.kw", "--kernels", parts, *kernel, "--norm", 2)
    assert found["estimator"] == "MKLClassifier"
    assert sorted(one["name"] for one in found["kernel"]) == sorted(names)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--kernels", "views"), "--kernels views is for rows of several views, but these rows have one."),
        (("--kernels", "degrees", "--kernel", "rbf"), "divides a weighted-degree kernel such as wd:20, not RBF()."),
        (("--kernels", "lengths", "--kernel", "wd:3"), "divides a kernel such as spectrum:6 or ngram:3, not Weighted"),
        (("--kernels", "degrees", "--kernel", "wd:3", "--kernel", "wd:2"), "one kernel, but --kernel was given 2"),
        (("--kernels", "degrees", "--model", "kernel"), "--kernels degrees learns several weights; leave out --model"),
    ],
)  # fmt: skip
def test_parts_that_cannot_be(tmp_path, arguments, sentence):
    X, y = kw.datasets.make_splice(40, random_state=3)
    write(tmp_path / "sites.tsv", X, y)
    result = CliRunner().invoke(
        app, ["train", str(tmp_path / "sites.tsv"), "--out", str(tmp_path / "m.kw"), *arguments]
    )
    assert result.exit_code != 0
    assert sentence in " ".join(result.output.split())


def test_parts_need_what_they_divide(tmp_path):
    (tmp_path / "ragged.tsv").write_text("1\tACGTACGT\n-1\tACGTA\n" * 5)
    (tmp_path / "t.csv").write_text("a,b,label\n" + "1,2,u\n2,3,v\n" * 5)
    for name, sentence in (("ragged.tsv", "needs sequences of one length"), ("t.csv", "--kernels degrees is for seq")):
        result = CliRunner().invoke(
            app, ["train", str(tmp_path / name), "--out", str(tmp_path / "m.kw"), "--kernels", "degrees"]
        )
        assert sentence in " ".join(result.output.split())


def test_a_weight_for_each_view(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "v.npz", a=rng.normal(size=(40, 2)), b=rng.normal(size=(40, 3)), y=np.arange(40) % 2)
    found = trained(tmp_path / "v.npz", "--out", tmp_path / "m.kw", "--kernels", "views", "--norm", 2)
    assert len(found["kernel"]) == 2
