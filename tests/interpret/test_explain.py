"""Explanations, mutagenesis, comparison and stability, beyond what the contract asks."""

from __future__ import annotations

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.interpret.explain import mutate
from kernelweave.interpret.explain.compare import compare
from kernelweave.interpret.explain.explanation import joined
from kernelweave.interpret.explain.mutate import mutagenesis
from kernelweave.interpret.explain.stability import explanation_stability, factor

rng = np.random.default_rng(0)
RAGGED = kw.Sequences.from_strings(["".join(rng.choice(list("ACGT"), rng.integers(9, 20))) for _ in range(40)])
FIXED = kw.Sequences.from_strings(["".join(rng.choice(list("ACGTN"), 12)) for _ in range(40)], "dna", "mask")
Y = np.arange(40) % 2


@pytest.mark.parametrize("normalize", [None, "cosine"])
@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (kw.LSGKM(6, 4, 2), RAGGED),
        (kw.GappedKmer(5, 3, True), RAGGED),
        (kw.WeightedDegree(5, shift=1), FIXED),
        (kw.Spectrum(3, binary=True), RAGGED),
    ],
)
def test_mutagenesis_is_rescoring(kernel, X, normalize, monkeypatch):
    monkeypatch.setattr(mutate, "LETTERS_TOGETHER", 3000)
    model = kw.KernelClassifier(kernel, normalize=normalize).fit(X, Y)
    found = mutagenesis(model, X[:5])
    np.testing.assert_allclose(found.decision[:, 0], model.decision_function(X[:5]), rtol=1e-9, atol=1e-9)
    for row in range(5):
        text = X[row]
        for place in range(len(text)):
            texts = [text[:place] + letter + text[place + 1 :] for letter in "ACGT"]
            changed = kw.Sequences.from_strings(texts, "dna", "mask")
            expected = model.decision_function(changed) - model.decision_function(X[row : row + 1])
            np.testing.assert_allclose(found.of(row)[place], expected, rtol=1e-9, atol=1e-9)


def test_what_has_no_letters_is_not_mutated():
    model = kw.KernelClassifier(kw.Linear()).fit(rng.normal(size=(40, 3)), Y)
    with pytest.raises(TypeError, match="Only letters of sequences"):
        mutagenesis(model, np.zeros((1, 3)))
    words = kw.Sequences.from_strings([f"w{i} w{i + 1} w{i + 2}" for i in range(70)], "words")
    model = kw.KernelClassifier(kw.NGram(1)).fit(words, np.arange(70) % 2)
    with pytest.raises(ValueError, match="too many to try"):
        mutagenesis(model, words[:1])


def test_places_are_named_and_ranked():
    words = kw.Sequences.from_strings(["how far is it", "how are you", "it is far", "you are here"] * 2, "words")
    model = kw.KernelClassifier(kw.NGram(1), C=10.0).fit(words, [1, 1, 0, 0] * 2)
    told = kw.explain(model, words[:2])
    assert told.tracks[0].unit == "word"
    best = told.top(0, 1)[0]
    assert (best.name, best.position, best.value > 0) == ("how", 0, True)
    assert str(best) == f"{best.value:+.4f}  how at 0"


def test_lattices_name_the_words_of_arcs():
    arcs = [(0, 1, "rain", 0.9), (0, 1, "train", 0.1), (1, 2, "today", 1.0)]
    other = [(0, 1, "train", 0.6), (0, 1, "rain", 0.4), (1, 2, "today", 1.0)]
    X = kw.Lattices.from_arcs([(arcs, [2]), (other, [2])] * 5)
    model = kw.KernelClassifier(kw.NGram(1)).fit(X, [1, 0] * 5)
    told = kw.explain(model, X[:1])
    values = dict(zip(told.tracks[0].spelled(0), told.tracks[0].of(0)[:, 0]))
    assert told.tracks[0].unit == "arc"
    assert values["rain"] > 0 > values["train"]


def test_tables_name_columns():
    import pandas as pd

    table = pd.DataFrame(rng.normal(size=(40, 3)), columns=["age", "dose", "noise"])
    y = (table["dose"] > 0).astype(int)
    model = kw.KernelClassifier(kw.Linear(), C=10.0).fit(table, y)
    told = kw.explain(model, table[:5])
    assert told.tracks[0].names == ("age", "dose", "noise")
    assert told.top(0, 1)[0].name == "dose"


def test_parts_are_joined_and_matrices_need_one_length():
    model = kw.KernelClassifier(kw.Spectrum(2)).fit(RAGGED, Y)
    whole = kw.explain(model, RAGGED[:7])
    parts = joined([kw.explain(model, RAGGED[:3]), kw.explain(model, RAGGED[3:7])])
    np.testing.assert_allclose(parts.tracks[0].values, whole.tracks[0].values, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(parts.decision, whole.decision)
    with pytest.raises(ValueError, match="rows of one length"):
        whole.matrix()


def test_models_of_the_same_rows_agree_with_themselves_and_scale_away():
    X, y = kw.datasets.make_splice(200, random_state=0)
    one = kw.explain(kw.KernelClassifier("wd:3", C=1.0).fit(X, y), X[:4])
    same = compare(one, one)
    np.testing.assert_allclose(same.agreement, 1.0)
    assert all(place.value == 0.0 for place, _, _ in same.top(0, 3))
    table = kw.explain(
        kw.KernelClassifier(kw.Linear()).fit(rng.normal(size=(9, 2)), [0, 1] * 4 + [0]), np.zeros((4, 2))
    )
    with pytest.raises(ValueError, match="do not divide"):
        compare(one, table)


def test_the_scale_of_another_explanation_is_that_of_the_first():
    X, y = kw.datasets.make_splice(150, random_state=1)
    told, other = (kw.explain(kw.KernelClassifier("wd:2", C=C).fit(X, y), X[:4]) for C in (1.0, 0.01))
    scale = factor(told, other)
    sizes = [np.sqrt(np.square(one.tracks[0].values).sum()) for one in (told, other)]
    assert scale[0] == pytest.approx(sizes[0] / sizes[1])
    assert factor(told, told).tolist() == [1.0]


def test_intervals_hold_what_is_planted():
    X, y = kw.datasets.make_splice(150, random_state=1)
    found = explanation_stability(kw.KernelClassifier("wd:2"), X, y, X[:2], n_samples=8, random_state=0)
    again = explanation_stability(kw.KernelClassifier("wd:2"), X, y, X[:2], n_samples=8, random_state=0)
    assert np.array_equal(found.lower[0], again.lower[0])
    values = found.explanation.tracks[0].values
    assert found.lower[0].shape == values.shape
    assert ((found.lower[0] <= values) & (values <= found.upper[0])).mean() > 0.75
    assert set(np.unique(found.same_sign[0] * 8)) <= set(range(9))
    numbers = explanation_stability(kw.KernelRegressor("wd:2"), X, rng.normal(size=150), X[:1], n_samples=2)
    assert numbers.n_samples == 2
    with pytest.raises(ValueError, match="level=2"):
        explanation_stability(kw.KernelClassifier("wd:2"), X, y, X[:2], level=2)
