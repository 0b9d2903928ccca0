"""`kernelweave inspect` on models of k-mers at positions, and `evaluate` at a chosen precision."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.interpret import confusion_at_precision, top_kmers, top_ngrams, weights_by_degree, weights_by_position
from kernelweave.io import write

LENGTH = 70
WINDOWS = [kw.WeightedDegree(3, positions=(a, min(a + 20, LENGTH))) for a in range(0, LENGTH, 20)]
SITES, LABELS = kw.datasets.make_splice(160, length=LENGTH, positive_fraction=0.4, signal_rate=0.7, random_state=3)


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def answer(*arguments):
    return json.loads(run(*arguments, "--json").stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models")
    three = np.array(["x", "y", "z"])[np.arange(120) % 3]
    rows = SITES[:120]
    models = {
        "one": kw.KernelClassifier(kw.WeightedDegree(4), normalize="cosine").fit(rows, LABELS[:120]),
        "windows": kw.MKLClassifier(WINDOWS, norm=2).fit(rows, LABELS[:120]),
        "degrees": kw.MKLClassifier([kw.WeightedDegree(3, only=k) for k in (1, 2, 3)], norm=2).fit(rows, LABELS[:120]),
        "classes": kw.MKLClassifier(WINDOWS, norm=2).fit(rows, three),
        "spectrum": kw.KernelClassifier(kw.Spectrum(3)).fit(rows, LABELS[:120]),
        "both": kw.MKLClassifier([kw.WeightedDegree(3), kw.Spectrum(3)], norm=2).fit(rows, LABELS[:120]),
    }
    for name, model in models.items():
        kw.save(model, path / f"{name}.kw")
    write(path / "test.tsv", SITES[120:], LABELS[120:])
    return path


def records(kmers):
    return [{"kmer": kmer.kmer, "position": kmer.position, "weight": kmer.weight} for kmer in kmers]


def test_the_best_kmers_are_listed(folder):
    model = kw.load(folder / "one.kw")
    found = answer("inspect", folder / "one.kw")
    assert found["kmers"] == records(top_kmers(model, 10, repeats=False))
    assert "weights_by_degree" not in found
    assert answer("inspect", folder / "one.kw", "--top", 3, "-k", 2)["kmers"] == records(
        top_kmers(model, 3, 2, repeats=False)
    )
    best = top_kmers(model, 1)[0]
    lines = run("inspect", folder / "one.kw").stdout.splitlines()
    assert [best.kmer, str(best.position), f"{best.weight:+.4f}"] in [line.split() for line in lines]


def test_positions_are_counted_from_an_origin(folder):
    best = top_kmers(kw.load(folder / "one.kw"), 1)[0]
    shown = run("inspect", folder / "one.kw", "--origin", 60).stdout
    assert [best.kmer, str(best.position - 60), f"{best.weight:+.4f}"] in [line.split() for line in shown.splitlines()]
    assert "in the order of how much what it adds varies over the support vectors" in shown


def test_kernels_with_a_place_and_without_are_both_listed(folder):
    model, found = kw.load(folder / "both.kw"), answer("inspect", folder / "both.kw", "--top", 3)
    assert found["kmers"] == records(top_kmers(model, 3, repeats=False))
    assert [gram["ngram"] for gram in found["ngrams"]] == [gram.ngram for gram in top_ngrams(model, 3)]
    assert "Spectrum(3)" in run("inspect", folder / "both.kw").stdout.split("support vectors with it")[1]


def test_learned_weights_are_told_as_the_kernels_divide_them(folder):
    found = answer("inspect", folder / "windows.kw")
    shares = weights_by_position(kw.load(folder / "windows.kw"))
    assert found["weights_by_position"] == dict(zip(shares.names, shares.weights))
    assert "weights_by_degree" not in found
    heaviest = shares.names[shares.weights.argmax()]
    said = f"by position  window and share of the weight: {heaviest} {shares.weights.max():.3f}, "
    assert said in run("inspect", folder / "windows.kw").stdout
    found = answer("inspect", folder / "degrees.kw")
    shares = weights_by_degree(kw.load(folder / "degrees.kw"))
    assert found["weights_by_degree"] == dict(zip("123", shares.weights))
    assert "weights_by_position" not in found


@pytest.mark.parametrize(
    ("model", "options", "drawn"),
    [
        ("one", (), "poim"),
        ("one", ("--draw", "logo", "--origin", 60), "logo"),
        ("windows", ("--origin", 60), "positions"),
        ("degrees", (), "degrees"),
        ("classes", ("--class", "y", "--draw", "kmers"), "kmers"),
    ],
)
def test_what_was_learned_is_drawn(folder, tmp_path, model, options, drawn):
    found = answer("inspect", folder / f"{model}.kw", "--plot", tmp_path / "p.png", *options)
    assert (found["drawn"], found["plot"]) == (drawn, str(tmp_path / "p.png"))
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_a_class_of_several_is_named(folder):
    assert "kmers" not in answer("inspect", folder / "classes.kw")
    found = answer("inspect", folder / "classes.kw", "--class", "z", "--top", 4)
    assert found["kmers"] == records(top_kmers(kw.load(folder / "classes.kw"), 4, target="z", repeats=False))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("classes.kw", "--top", 3), "name one of them with --class"),
        (("classes.kw", "--plot", "p.png"), "name one of them with --class"),
        (("classes.kw", "--class", "w"), "--class w is not a class of the model, which has x, y, z"),
        (
            ("spectrum.kw", "--plot", "p.png", "--draw", "degrees"),
            "--draw degrees is for kernels of k-mers at positions",
        ),
        (("spectrum.kw", "--origin", 60), "--origin is for k-mers at positions, and this model has none"),
        (("one.kw", "--draw", "poim"), "--draw says how to draw a picture; name its file with --plot"),
        (("one.kw", "--plot", "p.png", "--draw", "ngrams"), "--draw ngrams is for kernels that count n-grams"),
        (("one.kw", "--plot", "p.png", "--draw", "positions"), "has one kernel, whose weights are as given"),
        (("one.kw", "--plot", "p.png", "--draw", "degrees"), "has one kernel, whose weights are as given"),
        (("one.kw", "--draw", "poim"), "name its file with --plot"),
        (("one.kw", "--plot", "p.doc"), "is not a known kind of picture"),
        (("one.kw", "-k", 9), "k-mers of 1 to 4 letters"),
    ],
)
def test_what_cannot_be_shown_is_told(folder, monkeypatch, arguments, said):
    monkeypatch.chdir(folder)
    assert said in run("inspect", *arguments, code=1).stderr
    assert "kmers" not in answer("inspect", "spectrum.kw")


def test_evaluation_counts_calls_at_the_threshold_zero(folder):
    found = answer("evaluate", folder / "one.kw", folder / "test.tsv", "--resamples", 20)
    said = kw.load(folder / "one.kw").predict(SITES[120:])
    table = [[int(((LABELS[120:] == a) & (said == b)).sum()) for b in (-1, 1)] for a in (-1, 1)]
    assert found["confusion"]["counts"] == table
    assert (found["confusion"]["labels"], found["confusion"]["threshold"]) == ([-1, 1], 0)
    assert "recall" not in found


def test_evaluation_at_a_chosen_precision(folder, tmp_path):
    model = kw.load(folder / "one.kw")
    expected = confusion_at_precision(LABELS[120:], model.decision_function(SITES[120:]), 0.9)
    given = ("evaluate", folder / "one.kw", folder / "test.tsv", "--precision", 0.9, "--resamples", 200)
    found = answer(*given, "--plot", tmp_path / "c.png")
    assert found["confusion"]["counts"] == [
        [expected.true_negatives, expected.false_positives],
        [expected.false_negatives, expected.true_positives],
    ]
    assert found["confusion"]["threshold"] == pytest.approx(expected.threshold)
    assert found["confusion"]["precision"] == expected.precision >= 0.9
    assert found["recall"]["low"] <= found["recall"]["value"] == expected.recall <= found["recall"]["high"]
    assert found["recall"]["low"] < found["recall"]["high"]
    assert f"precision {expected.precision:.4f}, recall {expected.recall:.4f}" in run(*given).stdout
    wrong = run("evaluate", folder / "classes.kw", folder / "test.tsv", "--precision", 0.9, code=1)
    assert "--precision needs a model of exactly two classes" in wrong.stderr
