"""Probabilities, thresholds and classes on the command line: learned from held-out rows, kept, measured and drawn."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app


def run(*arguments, code=0):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == code, done.output + done.stderr
    return done


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chances")
    X, y = kw.datasets.make_splice(500, random_state=0)
    lines = [f"{label}\t{text}\trow{i}\n" for i, (label, text) in enumerate(zip(y, X.to_strings()))]
    (folder / "train.tsv").write_text("".join(lines[:300]))
    (folder / "test.tsv").write_text("".join(lines[300:]))
    return folder


@pytest.mark.parametrize("command", [["train"], ["cv", "--folds", 3]])
def test_probabilities_and_a_threshold_are_kept_and_used(files, command, tmp_path):
    model, test = tmp_path / "m.kw", files / "test.tsv"
    options = ["--kernel", "wd:8", "-C", 1, "--calibrate", "sigmoid", "--hold-precision", 0.9]
    run(*command, files / "train.tsv", *options, "--out", model)
    fitted = kw.load(model)
    lines = [line.split("\t") for line in run("predict", model, test).stdout.splitlines()]
    assert lines[0] == ["id", "decision", "label", "probability"]
    decision, label, p = np.array([[float(cell) for cell in line[1:]] for line in lines[1:]]).T
    np.testing.assert_array_equal(label == 1, decision >= fitted.threshold_.value)
    np.testing.assert_array_equal(np.argsort(p, kind="stable"), np.argsort(decision, kind="stable"))
    found = json.loads(run("evaluate", model, test, "--plot", tmp_path / "c.png", "--json").stdout)
    assert found["confusion"]["threshold"] == fitted.threshold_.value
    assert found["confusion"]["precision"] > 0.6
    assert 0 < found["brier"]["value"] < 0.16
    assert set(found) >= {"log_loss", "calibration_error", "f1", "mcc", "auroc", "auprc", "accuracy"}
    assert (tmp_path / "c.png").stat().st_size > 10_000
    assert "of the model, for a precision of 0.9" in run("evaluate", model, test).stdout


def test_copies_of_training_rows_and_swapped_labels_get_a_note(files, tmp_path):
    model = tmp_path / "m.kw"
    run("train", files / "train.tsv", "--kernel", "wd:8", "--out", model)
    note = " ".join(run("evaluate", model, files / "train.tsv").stderr.split())
    assert "rows are near copies of training rows" in note
    assert "near copies" not in run("evaluate", model, files / "test.tsv").stderr
    swapped = tmp_path / "swapped.tsv"
    text = (files / "test.tsv").read_text()
    swapped.write_text("".join(f"{-int(a)}\t{b}\n" for a, b, _ in (line.split("\t") for line in text.splitlines())))
    assert "are the labels swapped?" in " ".join(run("evaluate", model, swapped).stderr.split())


def test_several_classes_are_reported_one_by_one(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2))
    kinds = np.array(["low", "mid", "high"])[np.digitize(x[:, 0], [-0.5, 0.5])]
    table = tmp_path / "t.csv"
    table.write_text("a,b,kind\n" + "".join(f"{a},{b},{kind}\n" for (a, b), kind in zip(x, kinds)))
    model = tmp_path / "m.kw"
    run("train", table, "--label", "kind", "--out", model)
    found = json.loads(run("evaluate", model, table, "--plot", tmp_path / "who.png", "--json").stdout)
    counts = np.array(found["confusion"]["counts"])
    by_class = {one["class"]: one for one in found["classes"]}
    assert counts.sum() == 120
    assert by_class["low"]["recall"] == counts[1, 1] / counts[1].sum()
    assert by_class["low"]["precision"] == counts[1, 1] / counts[:, 1].sum()
    assert found["accuracy"]["low"] <= np.trace(counts) / 120 == found["accuracy"]["value"] <= found["accuracy"]["high"]
    assert set(found) >= {"mcc", "f1_macro", "balanced_accuracy"}
    assert (tmp_path / "who.png").stat().st_size > 5_000
    assert "macro F1" in run("evaluate", model, table).stdout


def test_what_cannot_be_kept_gets_one_sentence(files, tmp_path):
    for command in ("train", "cv"):
        done = run(command, files / "train.tsv", "--task", "regress", "--calibrate", "sigmoid", "--out",
                   tmp_path / "m.kw", code=1)  # fmt: skip
        assert "--calibrate is for classifiers, not for --task regress" in " ".join(done.stderr.split())
    done = run("cv", files / "train.tsv", "--hold-precision", 0.9, code=1)
    assert "--hold-precision is kept in the model; name its file with --out" in " ".join(done.stderr.split())
