"""Explanations add up to decision values for every kernel, loss and class; letters are those of the slow twin."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.interpret.explain.files import bedgraph_rows, table_header, table_rows, write_arrays
from kernelweave.kernels.registry import KERNELS
from oracles.letters import masked_shares

rng = np.random.default_rng(3)
N, NEW = 40, 24
TABLE = rng.normal(size=(N + NEW, 4))
DNA = kw.Sequences.from_strings(
    ["".join(rng.choice(list("ACGTN"), 14, p=[0.24, 0.24, 0.24, 0.24, 0.04])) for _ in range(N + NEW)],
    "dna", unknown="mask",
)  # fmt: skip
RAGGED = kw.Sequences.from_strings(["".join(rng.choice(list("ACGT"), rng.integers(6, 19))) for _ in range(N + NEW)])
TEXT = kw.Sequences.from_strings([" ".join(rng.choice(list("abcdef"), 6)) for _ in range(N + NEW)], "words")
VIEWS = kw.Views({"table": TABLE, "dna": DNA})


def _lattice() -> tuple[list[tuple[int, int, str, float]], list[int]]:
    arcs = [(i, i + 1, w, float(rng.random()) + 0.1) for i in range(5) for w in rng.choice(list("abcd"), 2, False)]
    return [*arcs, (1, 3, "e", 0.5), (2, 4, "", 0.25)], [5]


LATTICES = kw.Lattices.from_arcs([_lattice() for _ in range(N + NEW)]).normalized()
Y2, Y3 = np.arange(N) % 2, np.arange(N) % 3

CASES = {
    "spectrum": (kw.Spectrum(3), DNA),
    "binary": (kw.Spectrum(3, binary=True), DNA),
    "wd": (kw.WeightedDegree(6), DNA),
    "wd with shifts": (kw.WeightedDegree(4, shift=2), DNA),
    "gapped": (kw.GappedKmer(6, 4, reverse_complement=True), RAGGED),
    "lsgkm": (kw.LSGKM(6, 4, 2), RAGGED),
    "lsgkm by place": (kw.LSGKM(6, 4, d=None, center_weight=(9, 3)), DNA),
    "mismatch": (kw.Mismatch(4, 1), RAGGED),
    "product": (kw.Spectrum(2) * kw.Spectrum(3), DNA),
    "n-grams": (kw.NGram(2, cumulative=True), TEXT),
    "gaps": (kw.GappyNGram(3, 0.5, cumulative=True), TEXT),
    "few gaps": (kw.GappyNGram(2, 0.5, max_gap=1), TEXT),
    "n-grams of lattices": (kw.NGram(3, cumulative=True, weights=[1.0, 0.5, 2.0]), LATTICES),
    "gaps of lattices": (kw.GappyNGram(2, 0.5), LATTICES),
    "n-grams by rarity": (kw.TfIdf(kw.NGram(2, cumulative=True)), TEXT),
    "linear": (kw.Linear(), TABLE),
    "rbf": (kw.RBF(width=4.0), TABLE),
    "columns": (kw.RBF(width=1.0).on(2) + 0.5 * kw.Linear().on([0, 3]), TABLE),
    "views": (kw.WeightedDegree(3).on("dna") + kw.Linear().on("table") + kw.RBF(width=2.0).on("table"), VIEWS),
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("normalize", [None, "cosine", "variance"])
@pytest.mark.parametrize("case", CASES)
def test_places_add_up_to_decision_values(case, normalize, classes):
    kernel, X = CASES[case]
    model = kw.KernelClassifier(kernel, normalize=normalize, fit_intercept=classes == 2, tol=0.1)
    model.fit(X[:N], Y2 if classes == 2 else Y3)
    told = kw.explain(model, X[N:])
    np.testing.assert_allclose(told.decision, model.decision_function(X[N:]), rtol=1e-9, atol=1e-9)
    assert len(told) == NEW
    assert len(told.outputs) == model.expansion_.outputs


WRITTEN = ("wd", "gapped", "n-grams", "n-grams of lattices", "linear", "columns", "rbf", "views")


@pytest.mark.filterwarnings("ignore:.*nearly the same kernel")
@pytest.mark.parametrize("by_kernel", [False, True])
@pytest.mark.parametrize("case", WRITTEN)
def test_what_is_written_adds_up_for_every_class(case, by_kernel, tmp_path):
    kernel, X = CASES[case]
    kernels = [kernel, 0.5 * kernel] if by_kernel else [kernel]
    model = kw.MKLClassifier(kernels, norm=2.0, tol=0.1).fit(X[:N], Y3)
    told, expected = kw.explain(model, X[N:], by_kernel=by_kernel), model.decision_function(X[N:])
    header, lines = table_header(told), ["\t".join(map(str, line)) for line in table_rows(told)]
    assert header[-3:] == ["adds_to_0", "adds_to_1", "adds_to_2"]
    assert ("kernel" in header) == (by_kernel and bool(told.tracks))
    sums = {name: np.zeros(3) for name in told.ids}
    for text in lines:
        fields = text.split("\t")
        assert len(fields) == len(header)
        sums[fields[0]] += np.array(fields[-3:], float)
    np.testing.assert_allclose([sums[name] for name in told.ids], expected, rtol=1e-9, atol=1e-9)
    write_arrays(tmp_path / "told.npz", told)
    with np.load(tmp_path / "told.npz") as found:
        total = found["base"] + found["rest"].sum(axis=1)
        for number in range(len(found["tracks"])):
            values, offsets = found[f"values_{number}"], found[f"offsets_{number}"]
            total = total + np.stack([values[a:b].sum(axis=0) for a, b in pairwise(offsets)])
        np.testing.assert_allclose(total, expected, rtol=1e-9, atol=1e-9)
        assert found["outputs"].tolist() == ["0", "1", "2"]


def test_letters_of_a_class_are_written_as_bedgraph():
    model = kw.KernelClassifier(kw.WeightedDegree(3)).fit(DNA[:N], Y3)
    told = kw.explain(model, DNA[N:])
    for output in range(3):
        values = np.array([float(line[3]) for line in bedgraph_rows(told, output)])
        np.testing.assert_allclose(values, told.tracks[0].values[:, output], rtol=1e-4, atol=1e-6)


def test_every_registered_kernel_has_a_case_or_is_undivided():
    undivided = {"RBF", "Laplacian", "Polynomial", "Sigmoid", "Identity", "Precomputed", "InducedRBF", "Rational"}
    approximate = {"Nystrom", "Fourier", "IncompleteCholesky"}
    covered = {type(leaf.kernel).__name__ for kernel, _ in CASES.values() for leaf in kernel.leaves()}
    names = {cls.__name__ for cls in KERNELS.values()}
    assert names - covered - undivided - approximate - {"Sum", "Product", "Scaled", "On", "Cosine", "Centred"} == set()


UNDIVIDED = {
    "approximate": (kw.Nystrom(kw.RBF(width=4.0), 10), TABLE),
    "landmarks": (kw.IncompleteCholesky(kw.Spectrum(3), 0.1), DNA),
    "polynomial": (kw.Polynomial(2), TABLE),
}


@pytest.mark.parametrize("case", UNDIVIDED)
def test_what_cannot_be_divided_comes_by_kernel(case):
    kernel, X = UNDIVIDED[case]
    model = kw.KernelClassifier(kernel).fit(X[:N], Y2)
    told = kw.explain(model, X[N:])
    assert told.tracks == ()
    assert told.rest_names == (repr(model.expansion_.kernels[0]),)
    np.testing.assert_allclose(told.decision, model.decision_function(X[N:]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("kernels", "X"),
    [
        ([kw.WeightedDegree(2), kw.WeightedDegree(4), kw.Spectrum(3), kw.GappedKmer(5, 3)], DNA),
        ([kw.RBF(width=1.0).on(0), kw.RBF(width=1.0).on(1), kw.RBF(width=4.0), kw.Linear()], TABLE),
        ([kw.WeightedDegree(2).on("dna"), kw.Spectrum(2).on("dna"), kw.Linear().on("table")], VIEWS),
    ],
)
@pytest.mark.parametrize(
    "estimator",
    [
        lambda kernels: kw.MKLClassifier(kernels, norm=2.0),
        lambda kernels: kw.CGBoostClassifier(kernels, C=10.0),
        lambda kernels: kw.MKLRegressor(kernels, norm=2.0),
        lambda kernels: kw.MKLNovelty(kernels, norm=2.0, nu=0.3),
    ],
)
def test_many_kernels_add_up_together_and_one_by_one(estimator, kernels, X):
    model = estimator(kernels)
    model.fit(X[:N]) if isinstance(model, kw.MKLNovelty) else model.fit(X[:N], Y2)
    expected = model.decision_function(X[N:]) if hasattr(model, "decision_function") else model.predict(X[N:])
    for by_kernel in (False, True):
        told = kw.explain(model, X[N:], by_kernel=by_kernel)
        np.testing.assert_allclose(told.decision, expected, rtol=1e-9, atol=1e-9)
        assert all((track.kernel is not None) == by_kernel for track in told.tracks)
    each = np.moveaxis(model.expansion_.contributions(model._new(X[N:]), model._engine()), 0, 1)
    for track in told.tracks:  # by kernel
        number = list(map(str, model.kernel_names_)).index(track.kernel)
        np.testing.assert_allclose(track.sums(), each[:, number], rtol=1e-9, atol=1e-9)


def test_weights_that_a_solver_found_add_up():
    for kernels, X in (([kw.Spectrum(2), kw.Spectrum(3)], DNA), ([kw.NGram(2)], LATTICES), ([kw.Linear()], TABLE)):
        model = kw.MKLClassifier(kernels, loss="logistic", norm=2.0, solver="svrg").fit(X[:N], Y2)
        told = kw.explain(model, X[N:])
        np.testing.assert_allclose(told.decision, model.decision_function(X[N:]), rtol=1e-9, atol=1e-9)
        assert told.rest_names == ()


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (kw.WeightedDegree(4), DNA),
        (kw.WeightedDegree(3, shift=1), DNA),
        (kw.NGram(3), TEXT),
        (kw.Spectrum(3, reverse_complement=True), RAGGED),
        (kw.GappyNGram(2, 0.5), TEXT),
        (kw.NGram(2), LATTICES),
    ],
)
def test_letters_are_those_of_the_slow_twin(kernel, X):
    model = kw.KernelClassifier(kernel, normalize="trace").fit(X[:N], Y2)
    told = kw.explain(model, X[N:])
    for row in range(3):
        expected = masked_shares(model, X[N + row : N + row + 1])
        np.testing.assert_allclose(told.tracks[0].of(row)[:, 0], expected, rtol=1e-8, atol=1e-8)


def test_many_rows_and_few_rows_have_the_same_letters():
    model = kw.KernelClassifier(kw.WeightedDegree(12, shift=1), normalize="trace").fit(DNA[:N], Y2)
    whole = kw.explain(model, DNA).matrix()
    np.testing.assert_allclose(kw.explain(model, DNA[:5]).matrix(), whole[:5], rtol=1e-9, atol=1e-12)


def test_a_store_is_explained_part_by_part(tmp_path):
    model = kw.KernelClassifier(kw.Spectrum(3)).fit(RAGGED[:N], Y2)
    told = kw.explain(model, RAGGED.to_store(tmp_path / "rows.kws"))
    np.testing.assert_allclose(told.decision, model.decision_function(RAGGED), rtol=1e-9, atol=1e-9)


def test_a_pipeline_is_explained_by_the_columns_of_its_last_step():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), kw.KernelClassifier(kw.Linear())).fit(TABLE[:N], Y2)
    told = kw.explain(model, TABLE[N:])
    np.testing.assert_allclose(told.decision, model.decision_function(TABLE[N:]), rtol=1e-9, atol=1e-9)
    w = np.asarray(model[-1].expansion_.rows).T @ model[-1].dual_coef_[0]
    np.testing.assert_allclose(told.matrix(), model[0].transform(TABLE[N:]) * w, rtol=1e-9, atol=1e-9)
