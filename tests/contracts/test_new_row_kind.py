"""A kind of input that the library does not know: registered from outside, it goes all the way."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from typer.testing import CliRunner

import kernelweave as kw
from contracts import test_kernel_contract as contract
from graphs import EdgeHistogram, Graph, Graphs, edge_histogram, registered, some_graphs
from kernelweave.cli.app import app
from kernelweave.io import read, sniff, write
from kernelweave.kernels import parse
from oracles.kernels import TWINS

X, Y = some_graphs(40)
KERNEL = EdgeHistogram("CNO")
CHECKS = [
    contract.test_agrees_with_the_plain_twin,
    contract.test_is_exactly_symmetric_in_both_precisions,
    contract.test_is_positive_semi_definite_where_it_says_so,
    contract.test_diagonal_is_that_of_the_gram_matrix,
    contract.test_two_inputs_give_what_one_gives,
    contract.test_float32_blocks_are_the_rounded_ones,
    contract.test_block_returns_a_new_array,
    contract.test_prints_as_typed,
    contract.test_clones,
    contract.test_survives_json,
    contract.test_fitting_leaves_the_values_alone,
]


@pytest.fixture(autouse=True)
def entered(monkeypatch):
    """Enter kind, kernel and format, with a slow twin and rows for the contract."""
    some, _ = some_graphs(contract.N, seed=1)
    monkeypatch.setitem(TWINS, "EdgeHistogram", edge_histogram)
    monkeypatch.setitem(contract.INPUTS, "graphs", (some, some.graphs))
    with registered():
        yield


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_kernel_keeps_the_contract(check):
    check(KERNEL, "graphs")


@pytest.mark.parametrize("rows", [np.array([4, 0, 4, 9]), slice(2, 9), np.zeros(0, int)])
def test_the_kernel_takes_rows(rows):
    contract.test_taken_rows_give_the_sub_matrix(KERNEL, "graphs", rows)


def test_fit_predict_and_model_selection():
    model = kw.KernelClassifier(KERNEL).fit(X, Y)
    assert model.duality_gap_ <= 1e-3
    assert (model.predict(X) == Y).mean() > 0.8
    assert np.array_equal(model.decision_function(X.graphs), model.decision_function(X))
    assert cross_val_score(model, X, Y, cv=4).mean() > 0.7
    assert GridSearchCV(model, {"C": [0.1, 1.0]}, cv=3).fit(X, Y).best_score_ > 0.7


@pytest.mark.parametrize(
    "model",
    [
        kw.KernelClassifier(KERNEL, normalize="cosine"),
        kw.KernelNovelty(KERNEL),
        kw.MKLClassifier([KERNEL, EdgeHistogram("ONC").normalized()]),
        kw.MKLClassifier([kw.Nystrom(KERNEL, n_components=5)]),
        kw.CGBoostClassifier([KERNEL]),
    ],
    ids=repr,
)
def test_save_and_load(model, tmp_path):
    fitted = model.fit(X, Y)
    kw.save(fitted, tmp_path / "model.kw")
    loaded = kw.load(tmp_path / "model.kw")
    assert np.array_equal(loaded.decision_function(X), fitted.decision_function(X))
    assert str(loaded._input) == "graphs with vertices C N O"


def test_a_view_of_graphs(tmp_path):
    views = {"graph": X, "size": [len(graph.vertices) for graph in X.graphs], "unused": np.eye(len(X))}
    model = kw.MKLClassifier([KERNEL.on("graph"), kw.RBF(width=2.0).on("size")]).fit(views, Y)
    kw.save(model, tmp_path / "model.kw")
    new = {"size": views["size"][:5], "graph": X.graphs[:5]}
    assert np.array_equal(kw.load(tmp_path / "model.kw").predict(new), model.predict(views)[:5])


def test_files(tmp_path):
    path = tmp_path / "some.graphs"
    write(path, X, Y)
    assert sniff(path) == "graphs"
    found = read(path)
    assert found.X == X
    assert np.array_equal(found.y, Y)
    with pytest.raises(ValueError, match="The format fasta cannot hold a Graphs"):
        write(tmp_path / "some.fa", X, Y, format="fasta")


def test_the_command_line(tmp_path):
    def run(*arguments):
        done = CliRunner().invoke(app, list(map(str, arguments)))
        assert done.exit_code == 0, done.output
        return done.stdout

    write(tmp_path / "some.graphs", X, Y)
    model = tmp_path / "model.kw"
    run("train", tmp_path / "some.graphs", "--kernel", "edges:CNO", "--out", model)
    assert "graphs with vertices C N O" in run("inspect", model)
    assert json.loads(run("inspect", model, "--json"))["input"] == {"kind": "graphs", "vertices": ["C", "N", "O"]}
    assert len(run("predict", model, tmp_path / "some.graphs").splitlines()) == len(X) + 1
    assert parse("edges:CNO") == KERNEL


def test_bad_graphs_get_one_sentence(tmp_path):
    model = kw.KernelClassifier(KERNEL).fit(X, Y)
    for call, sentence in (
        (lambda: model.predict([Graph("CX", ())]), "The input has vertices 'X', which the training graphs lack"),
        (lambda: model.predict([Graph("C", ((0, 3),))]), "Graph 0 of the input has an edge to a vertex"),
        (lambda: model.predict(np.eye(3)), "was trained on graphs, but the input is a table"),
        (lambda: kw.KernelClassifier("rbf:1").fit(X, Y), "rows of numbers, but got Graphs; use a kernel for graphs"),
        (lambda: kw.KernelClassifier("linear").fit(np.eye(2), [0, 1]).predict(X), "a table of numbers, but got Graphs"),
        (lambda: kw.KernelClassifier(KERNEL).fit(Graphs([]), []), "Found no rows"),
    ):
        with pytest.raises((TypeError, ValueError), match=sentence):
            call()
