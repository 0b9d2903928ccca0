"""Mixtures of kernels from the command line: train, predict, evaluate, inspect."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.interpret import top_kmers, weights_by_degree
from kernelweave.io import write
from kernelweave.plots import RoundsDisplay

KERNELS = ("--kernel", "linear", "--kernel", "rbf:1")


def run(*arguments, code=0):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, (result.output, result.exception)
    return result


@pytest.fixture(scope="module", name="table")
def table_file(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    path = tmp_path_factory.mktemp("data") / "table.csv"
    for name, kind in ((path, lambda value: "in" if value < 0.7 else "out"), (path.with_name("sizes.csv"), str)):
        lines = [f"{a:.4f},{b:.4f},{kind(a + b * b)}" for a, b in X]
        name.write_text("a,b,y\n" + "\n".join(lines) + "\n")
    return path


def test_a_mixture_from_training_to_inspection(table, tmp_path):
    model, kernels = tmp_path / "m.kw", ("--kernel", "linear", "--kernel", "rbf:1")
    trained = run("train", table, "--label", "y", "--model", "cgboost", *kernels, "--out", model, "--json", "--C", 10)
    found = json.loads(trained.stdout)
    assert (found["estimator"], found["scanned"], found["stopped_by"]) == ("CGBoostClassifier", "all", ["TR2"])
    assert sum(kernel["columns"] for kernel in found["kernel"]) == found["columns"] < 120
    predicted = run("predict", model, table, "--label", "y").stdout.splitlines()
    assert predicted[0].split("\t") == ["id", "decision", "label"]
    assert len(predicted) == 121
    assert json.loads(run("evaluate", model, table, "--label", "y", "--json").stdout)["accuracy"]["value"] > 0.9
    shown = run("inspect", model).stdout
    assert "columns: " in shown
    assert "penalty='l1'" in shown
    assert "rows and 2 kernels" in shown
    refused = run("inspect", model, "--top", 3, code=1)
    assert "has one coefficient for each kernel and row" in refused.output


def test_rules_of_ending_and_other_tasks(table, tmp_path):
    asked = ("--model", "cgboost", "--out", tmp_path / "m.kw", "--label", "y")
    regress = ("train", table.with_name("sizes.csv"), *asked, "--task", "regress")
    ended = run(*regress, "--termination", "TR4", "--max-iter", 2)
    assert "NOT reached, ended by TR4" in ended.output
    assert "Linear(), RBF()" in ended.output
    stopped = run(*regress, "--termination", "TR3, TR4", "--max-iter", 2)
    assert "NOT reached: the best round on held-out rows is kept" in stopped.output
    found = json.loads(run(*regress, "--penalty", "l2", "--json").stdout)
    assert found["estimator"] == "CGBoostRegressor"
    assert found["parameters"]["penalty"] == "l2"
    held = ("--loss", "nu_classification", "--nu", 0.2, "--validation-fraction", 0.3)
    run("train", table, *asked, *held)
    assert np.isfinite(kw.load(tmp_path / "m.kw").trace_["validation_error"]).all()
    run("train", table, *asked, "--task", "novelty", "--nu", 0.1)
    assert isinstance(kw.load(tmp_path / "m.kw"), kw.CGBoostNovelty)


def test_what_held_out_rows_say_of_a_model(table, tmp_path):
    kernels = ("--kernel", "linear", "--kernel", "rbf:1")
    asked = ("--label", "y", "--model", "cgboost", *kernels, "--out", tmp_path / "m.kw")
    early = ("train", table, *asked, "--termination", "TR3", "--C", 100)
    said = run(*early).output
    model = kw.load(tmp_path / "m.kw")
    errors = model.trace_["validation_error"]
    words = f"error on held-out rows {errors.min():.3g}, at round {errors.argmin() + 1} of {model.n_iter_}"
    assert words in said
    assert words in run("inspect", tmp_path / "m.kw").output
    assert json.loads(run(*early, "--json").stdout)["held_out_error"] == [errors.min()]
    assert "held-out" not in run("train", table, *asked).output
    several = table.with_name("three.csv")
    rows = [row.rsplit(",", 1)[0] for row in table.read_text().splitlines()[1:]]
    several.write_text("a,b,y\n" + "\n".join(f"{row},{'klm'[i % 3]}" for i, row in enumerate(rows)))
    assert "mean error of the classes on held-out rows" in run("train", several, *asked, "--termination", "TR3").output


def test_what_a_model_is_made_of_is_said_in_words(table, tmp_path):
    asked = ("train", table, "--label", "y", "--model", "cgboost", "--kernel", "linear", "--out", tmp_path / "m.kw")
    assert "no columns of 120 rows and 1 kernel: it says the same of every row" in run(*asked, "--C", 1e-6).output
    assert "no columns" in run("inspect", tmp_path / "m.kw").output
    one = run(*asked, "--C", 0.05)
    assert "1 column, of 1 of 120 rows and 1 kernel;" in one.output
    assert "1 column: 1 of Linear()" in run("inspect", tmp_path / "m.kw").output
    full = run(*asked, "--kernel", "rbf:1", "--penalty", "l2", "--memory-limit", "200KB", "--C", 100)
    assert "NOT reached, ended by the memory limit" in full.output


@pytest.fixture(scope="module", name="three")
def three_classes(table):
    model = table.with_name("three.kw")
    lines = table.with_name("sizes.csv").read_text().splitlines()[1:]
    kinds = ["klm"[np.digitize(float(line.rsplit(",", 1)[1]), [0.3, 1.0])] for line in lines]
    rows = [f"{line.rsplit(',', 1)[0]},{kind}" for line, kind in zip(lines, kinds)]
    table.with_name("kinds.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")
    run("train", table.with_name("kinds.csv"), "--label", "y", "--model", "cgboost", *KERNELS, "--out", model)
    return model


@pytest.mark.parametrize(("options", "target"), [((), None), (("--class", "l"), "l")])
def test_rounds_are_drawn(three, tmp_path, monkeypatch, options, target):
    drawn, plot = [], RoundsDisplay.plot
    monkeypatch.setattr(RoundsDisplay, "plot", lambda self: (drawn.append(self), plot(self))[1])
    picture = tmp_path / "rounds.png"
    found = json.loads(run("inspect", three, "--plot", picture, "--json", *options).stdout)
    assert (found["drawn"], found["plot"]) == ("rounds", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")
    asked = RoundsDisplay.from_estimator(kw.load(three), target=target)
    np.testing.assert_array_equal(drawn[0].train_error, asked.train_error)
    np.testing.assert_array_equal(drawn[0].columns, asked.columns)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--top", 3), "--top, --length, --draw and --origin are for models with one weight for each kernel"),
        (("--plot", "r.png", "--length", 2), "has one coefficient for each kernel and row"),
        (("--plot", "r.png", "--draw", "poim"), "has one coefficient for each kernel and row"),
        (("--origin", 1), "has one coefficient for each kernel and row"),
        (("--class", "l"), "name the file of the picture with --plot"),
        (("--plot", "r.png", "--class", "x"), "--class x is not a class of the model, which has k, l, m"),
        (("--plot", "r.doc"), "is not a known kind of picture"),
    ],
)
def test_pictures_that_a_mixture_has_not(three, options, sentence):
    assert sentence in " ".join(run("inspect", three, *options, code=1).output.split())


def test_two_classes_have_one_course(table, tmp_path):
    model = tmp_path / "m.kw"
    run("train", table, "--label", "y", "--model", "cgboost", "--out", model)
    refused = run("inspect", model, "--plot", tmp_path / "r.png", "--class", "in", code=1)
    assert "--class is for models of more than two classes" in refused.output
    assert "picture" in run("inspect", model, "--plot", tmp_path / "r.png").output


def test_patience_order_and_signs_reach_the_estimator(table, tmp_path):
    model = tmp_path / "m.kw"
    asked = ("train", table, "--label", "y", "--model", "cgboost", "--kernel", "rbf:1", "--kernel", "linear")
    early = (*asked, "--out", model, "--C", 100, "--termination", "TR3")
    run(*early, "--patience", 2)
    short = kw.load(model)
    assert short.n_iter_ == len(short.stages_[0]) + 2
    run(*early, "--kernel-order", "cost")
    assert kw.load(model).stages_[0].kernels[0] == 1
    run(*early, "--kernel-order", "given")
    assert kw.load(model).stages_[0].kernels[0] == 0
    run(*asked, "--out", model)
    assert (kw.load(model).columns_["coefficient"] < 0).any()
    run(*asked, "--out", model, "--positive")
    assert (kw.load(model).columns_["coefficient"] > 0).all()
    assert "positive=True" in run("inspect", model).stdout


def test_sequences(tmp_path):
    X, y = kw.datasets.make_splice(80, random_state=3)
    write(tmp_path / "sites.tsv", X, y)
    kernels = ("--kernel", "spectrum:2", "--kernel", "wd:5")
    run("train", tmp_path / "sites.tsv", "--model", "cgboost", *kernels, "--out", tmp_path / "m.kw")
    assert "sequences over the dna alphabet" in run("inspect", tmp_path / "m.kw").stdout
    assert len(run("predict", tmp_path / "m.kw", tmp_path / "sites.tsv").stdout.splitlines()) == 81
    model = kw.load(tmp_path / "m.kw")
    with pytest.raises(TypeError, match="its columns_ hold them"):
        weights_by_degree(model)
    weights = {(kmer.kmer, kmer.position): kmer.weight for kmer in top_kmers(model, 100_000, by="weight")}
    row = X[0]
    total = sum(weights.get((row[i : i + k], i), 0.0) for k in range(1, 6) for i in range(len(row) - k + 1))
    assert total == pytest.approx(model.decision_function(X[:1], per_kernel=True)[0, 1], abs=1e-8)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--model", "cgboost", "--norm", 2), "--norm has no meaning for --task classify with --model cgboost"),
        (("--penalty", "l2"), "--penalty has no meaning for --task classify"),
        (("--patience", 3), "--patience has no meaning for --task classify"),
        (("--kernel-order", "cost", "--norm", 2), "--kernel-order has no meaning for --task classify with --model mkl"),
        (("--positive",), "--positive has no meaning for --task classify"),
        (("--model", "cgboost", "--patience", 3), "ask for it with --termination TR3"),
        (("--model", "cgboost", "--termination", "TR7"), "name one or several of TR1, TR2, TR3, TR4"),
        (("--model", "kernel", "--kernel", "linear", "--kernel", "rbf"), "but --kernel was given 2 times"),
    ],
)
def test_options_that_do_not_fit(table, tmp_path, arguments, sentence):
    refused = run("train", table, "--label", "y", "--out", tmp_path / "m.kw", *arguments, code=1)
    assert sentence in " ".join(refused.output.split())
