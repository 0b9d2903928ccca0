"""What estimators do where the user says nothing: cores, kernels, scaling."""

import logging

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import kernelweave as kw
from kernelweave.estimators.defaults.aligned import balanced, best, compared, halves, information
from kernelweave.estimators.fitting import make_monitor
from kernelweave.solvers.loop import Progress

LETTERS = np.array(list("ACGT"))
BOTH = kw.GappedKmer(10, 6, reverse_complement=True)


def planted(n, place, motif="TGACGTCA", length=60, seed=0):
    """Return random rows of which every second one has a motif, at `place` or, where this is None, anywhere."""
    rng = np.random.default_rng(seed)
    rows = LETTERS[rng.integers(0, 4, size=(n, length))]
    for row in range(0, n, 2):
        start = rng.integers(0, length - len(motif)) if place is None else place
        rows[row, start : start + len(motif)] = list(motif)
    return ["".join(row) for row in rows], np.arange(n) % 2 == 0


def test_the_log_says_once_that_cores_are_idle(caplog):
    with caplog.at_level(logging.INFO, logger="kernelweave"):
        monitor = make_monitor((), verbose=1, idle=7)
        for seconds in (0.1, 6.0, 7.0):
            monitor(Progress(1, seconds, 2.0, 1.0, 0.5))
    hints = [record.getMessage() for record in caplog.records if "idle" in record.getMessage()]
    assert hints == ["7 more cores are idle: n_jobs=-1 uses them all"]


def test_aligned_sequences_get_kmers_with_a_place():
    X, y = kw.datasets.make_splice(300, random_state=0)
    model = kw.KernelClassifier().fit(X, y)
    same = kw.KernelClassifier(kw.WeightedDegree(8, shift=4), normalize="trace").fit(X, y)
    assert model.kernel_why_.startswith("because k-mers near their place do best on a sample (mean of auROC and auPRC ")
    assert repr(model.kernel_) == repr(same.kernel_)
    assert model.objective_ == same.objective_
    assert same.kernel_why_ == "as given"


def test_on_many_rows_a_place_that_may_move_must_pay_for_its_time(monkeypatch):
    X, y = kw.datasets.make_splice(300, random_state=0)
    monkeypatch.setattr("kernelweave.estimators.defaults.usual.MANY", 299)
    model = kw.KernelClassifier().fit(X, y)
    assert model.kernel_why_.startswith("because k-mers at their place do nearly best on a sample")
    assert "WeightedDegree(20)" in repr(model.kernel_)


def test_equal_length_alone_is_no_alignment():
    X, y = planted(400, None)
    model = kw.KernelClassifier().fit(X, y)
    assert "GappedKmer(10, 6" in repr(model.kernel_)
    assert model.kernel_why_.startswith("because k-mers anywhere")
    np.testing.assert_allclose(model.kernel_.diag(kw.Sequences.from_strings(X[:5])), 1.0)
    assert "WeightedDegree" in repr(kw.KernelClassifier().fit(*planted(400, 20)).kernel_)


def test_numbers_are_compared_by_correlation():
    X, y = kw.datasets.make_splice(200, random_state=0)
    model = kw.KernelRegressor().fit(X, y + 0.1 * np.arange(200) / 200)
    assert "do best on a sample (correlation 0." in model.kernel_why_


def test_without_labels_the_letters_tell():
    same = kw.KernelNovelty().fit(planted(200, 20)[0])
    assert same.kernel_why_ == "because all sequences have one length, and some positions prefer letters"
    assert "WeightedDegree" in repr(same.kernel_)
    loose = kw.KernelNovelty().fit(planted(200, None)[0])
    assert loose.kernel_why_ == "because no position prefers letters, though all sequences have one length"
    assert "GappedKmer" in repr(loose.kernel_)


def test_positions_hold_information_where_a_motif_is():
    bits = information(kw.Sequences.from_strings(planted(2000, 20)[0]))
    assert bits[20:28].min() > 0.1 > np.delete(bits, np.arange(20, 28)).max()


@pytest.mark.parametrize(
    ("rows", "kernel"),
    [
        (["ACGTACG" * 5, "ACGGACG" * 6] * 4, BOTH),
        (["ACGU" * 9, "ACGUU" * 9] * 4, kw.GappedKmer(10, 6)),
        (["MKVLAAGIVGLEE", "PQRSTWYMMKV"] * 4, kw.GappedKmer(5, 3)),
        (["ACG", "ACGT"] * 4, kw.Spectrum(3, reverse_complement=True)),
        (["good and cheap", "bad and dear"] * 4, kw.TfIdf(kw.NGram(1))),
        ([["good", "cheap"], ["bad"]] * 4, kw.TfIdf(kw.NGram(1))),
        (["\u00e4rgerlich", "sch\u00f6n"] * 4, kw.Spectrum(4)),
    ],
    ids=str,
)
def test_other_rows_get_what_is_usual_for_them(rows, kernel):
    model, same = kw.KernelClassifier(), kw.KernelClassifier(kernel, normalize="cosine")
    y = [0, 1] * 4
    assert np.array_equal(model.fit(rows, y).decision_function(rows), same.fit(rows, y).decision_function(rows))


def test_many_kernels_on_sequences_have_places_and_none():
    X, y = kw.datasets.make_splice(200, random_state=0)
    model = kw.MKLClassifier(norm=2).fit(X, y)
    assert model.kernel_names_.tolist() == [
        "WeightedDegree(20)", "Cosine(GappedKmer(10, 6, reverse_complement=True))",
    ]  # fmt: skip
    assert model.kernel_why_.startswith("k-mers at their place and anywhere")


def test_views_are_added_with_length_one_each():
    X = {"size": np.arange(8.0), "text": ["good", "bad"] * 4, "dna": ["ACGTACG" * 5, "ACGGACG" * 6] * 4}
    model = kw.KernelClassifier().fit({**X, "text": [[word] for word in X["text"]]}, [0, 1] * 4)
    leaves = list(model.kernel_.leaves())
    assert {leaf.view[0] for leaf in leaves} == {"size", "text", "dna"}
    assert all(leaf.normalized for leaf in leaves if leaf.view[0] != "size")


def test_a_scaling_that_is_asked_for_is_kept():
    X, y = planted(60, None)
    model = kw.KernelClassifier(normalize="trace").fit(X, y)
    assert "Scaled(" in repr(model.kernel_)
    assert "Cosine(" not in repr(model.kernel_)


def test_samples_hold_every_class_and_halves_divide_each():
    y = np.array([0] * 1000 + [1] * 10 + [2])
    rows = balanced(y, 30)
    assert np.bincount(y[rows]).tolist() == [10, 10, 1]
    half = halves(y[rows], classes=True)
    assert [np.bincount(half[y[rows] == label], minlength=2).tolist() for label in range(3)] == [[5, 5], [5, 5], [1, 0]]


def test_nothing_is_compared_where_nothing_can_be_learned():
    X = kw.Sequences.from_strings(planted(60, None)[0])
    candidates = {"one": (kw.Spectrum(3), "cosine")}
    assert compared(candidates, X, None) is None
    assert compared(candidates, X, np.ones((1, 60))) is None
    assert compared(candidates, X[:10], np.where(np.arange(10) % 2, 1.0, -1.0)[None]) is None
    assert best({"first": 0.9, "second": 0.902}) == "first"


def test_kernels_are_compared_by_both_areas_on_rows_of_the_other_half():
    X, y = planted(120, None)
    X, signs = kw.Sequences.from_strings(X), np.where(np.asarray(y) == np.unique(y)[0], -1.0, 1.0)
    half, areas = halves(signs, classes=True), []
    for side in (0, 1):
        model = kw.KernelClassifier(kw.Spectrum(3), normalize="cosine", tol=0.01)
        scores = model.fit(X[half != side], signs[half != side]).decision_function(X[half == side])
        areas += [area(signs[half == side], scores) for area in (roc_auc_score, average_precision_score)]
    assert areas[0] != areas[1]
    assert compared({"one": (kw.Spectrum(3), "cosine")}, X, signs[None]) == {"one": pytest.approx(np.mean(areas))}
