"""What a weighted-degree model has learned: cells, k-mers and positional oligomer importance."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.data import Alphabet
from kernelweave.interpret import (
    cell_weights,
    poim,
    poim_lengths,
    top_kmers,
    weights_by_degree,
    weights_by_position,
)
from oracles import positional as oracle

ABC = Alphabet("abc", "ABC")
LENGTH, DEGREE = 5, 4
SHIFTS = {"none": (1.0,), "two": (1.0, 0.5, 0.25)}


def strings(n, length=LENGTH, alphabet=ABC, seed=0, masked=0.0):
    rng = np.random.default_rng(seed)
    letters = np.array([*alphabet.letters, alphabet.mask_letter])
    drawn = rng.integers(0, alphabet.size, (n, length))
    drawn[rng.random(drawn.shape) < masked] = alphabet.size
    X = kw.Sequences.from_strings(["".join(letters[row]) for row in drawn], alphabet, unknown="mask")
    y = np.where((drawn == 1).sum(axis=1) + rng.random(n) > length / 3, 1, -1)
    return X, y


def fitted(shifts=(1.0,), seed=0, masked=0.0, **options):
    kernel = oracle.Cells(oracle.cells(np.random.default_rng(seed), LENGTH, DEGREE), shifts)
    return kw.KernelClassifier(kernel, **options).fit(*strings(30, seed=seed, masked=masked))


def all_kmers(model):
    return top_kmers(model, 10**6, by="weight")


@pytest.mark.parametrize("masked", [0.0, 0.2])
@pytest.mark.parametrize("shifts", SHIFTS.values(), ids=SHIFTS)
def test_kmers_have_the_weights_of_the_slow_twin(shifts, masked):
    model = fitted(shifts, seed=1, masked=masked)
    found = all_kmers(model)
    assert len({(best.kmer, best.position) for best in found}) == len(found) > 50
    for best in found:
        assert best.weight == pytest.approx(oracle.weight(model, best.kmer, best.position), abs=1e-12)


@pytest.mark.parametrize(
    "options",
    [{}, {"normalize": "trace"}, {"normalize": "cosine"}, {"normalize": "variance", "fit_intercept": False}],
    ids=["plain", "trace", "cosine", "centred"],
)
def test_the_kmers_of_a_row_add_up_to_its_decision_value(options):
    model = fitted(seed=2, **options)
    weights = {(best.kmer, best.position): best.weight for best in all_kmers(model)}
    X, _ = strings(40, seed=3)
    spans = [(i, i + k) for i in range(LENGTH) for k in range(1, DEGREE + 1) if i + k <= LENGTH]
    sums = [sum(weights.get((row[start:stop], start), 0.0) for start, stop in spans) for row in X]
    values = model.decision_function(X) - sums
    np.testing.assert_allclose(values - values[0], 0.0, atol=1e-10)


def test_a_model_of_several_kernels_adds_up_what_each_contributes():
    rng = np.random.default_rng(4)
    kernels = [oracle.Cells(oracle.cells(rng, LENGTH, d), s) for d, s in ((1, (1.0,)), (3, (1.0, 0.3)), (4, (1.0,)))]
    X, y = strings(40, seed=4)
    model = kw.MKLClassifier([*kernels, kw.Identity()], norm=2).fit(X, y)
    p = np.array([0.2, 0.5, 0.3])
    np.testing.assert_allclose(
        poim(model, 2, p).values, oracle.importance(model.decision_function, ABC, LENGTH, 2, p), atol=1e-10
    )
    expected = sum(
        w * kernel.factor * np.pad(kernel.kernel.cells(0), ((0, 0), (0, 4 - kernel.kernel.cells(0).shape[1])))
        for w, kernel in zip(model.kernel_weights_[:3], model.kernels_)
    )
    np.testing.assert_allclose(cell_weights(model), expected, rtol=1e-12)
    shares = weights_by_degree(model)
    assert shares.weights.sum() + shares.other == pytest.approx(1.0)
    assert shares.other > 0.01
    assert "other" in str(shares)


@pytest.mark.parametrize("k", range(1, LENGTH + 1))
@pytest.mark.parametrize("shifts", SHIFTS.values(), ids=SHIFTS)
@pytest.mark.parametrize("p", [None, {"A": 0.6, "B": 0.1, "C": 0.3}], ids=["uniform", "letters"])
def test_importance_is_what_all_strings_say(shifts, p, k):
    model = fitted(shifts, seed=5)
    found = poim(model, k, p)
    background = [1 / 3] * 3 if p is None else [p[letter] for letter in "ABC"]
    expected = oracle.importance(model.decision_function, ABC, LENGTH, k, background)
    np.testing.assert_allclose(found.values, expected, atol=1e-10)
    assert found.kmers == ["".join(z) for z in itertools.product("ABC", repeat=k)]


def test_importance_of_dna_with_a_degree_beyond_the_row():
    X, y = strings(30, 4, Alphabet.named("dna"), seed=6)
    model = kw.KernelClassifier(kw.WeightedDegree(6)).fit(X, y)
    expected = oracle.importance(model.decision_function, X.alphabet, 4, 3, [0.25] * 4)
    np.testing.assert_allclose(poim(model, 3).values, expected, atol=1e-10)


def test_the_background_can_be_counted():
    model = fitted(seed=7)
    counted = np.bincount(model.reference_.codes, minlength=3) / model.reference_.codes.size
    np.testing.assert_allclose(poim(model, 2, "support").background, counted)
    np.testing.assert_allclose(poim(model, 2, model.reference_).values, poim(model, 2, counted).values)
    np.testing.assert_allclose(poim(model, 2, 5 * counted).values, poim(model, 2, counted).values)


def test_most_important_and_the_curve_are_read_off_the_values():
    found = poim(fitted(seed=8), 2)
    best = found.most_important(4)
    sizes = np.sort(np.abs(found.values).ravel())[::-1]
    np.testing.assert_allclose([abs(b.weight) for b in best], sizes[:4])
    for b in best:
        assert found.values[found.kmers.index(b.kmer), b.position] == b.weight
    np.testing.assert_allclose(found.by_position, np.abs(found.values).max(axis=0))
    assert len(found.most_important(10**6)) == found.values.size


def test_lengths_side_by_side_and_what_each_adds():
    model = fitted(seed=9)
    found = poim_lengths(model, (1, 3))
    np.testing.assert_allclose(found.values[0], poim(model, 1).by_position)
    np.testing.assert_allclose(found.gains[0], found.values[0])
    assert np.isnan(found.values[1, 3:]).all()
    two, three = poim(model, 2), poim(model, 3)
    at = dict(zip(two.kmers, np.abs(two.values)))
    gains = [np.abs(line) - np.maximum(at[z[:2]][:-1], at[z[1:]][1:]) for z, line in zip(three.kmers, three.values)]
    np.testing.assert_allclose(found.gains[1, :3], np.max(gains, axis=0))


def test_ranking_by_spread_and_by_weight():
    model = fitted(seed=10)
    rows = model.reference_.to_strings()

    def spread(best):
        q = np.mean([row[best.position :].startswith(best.kmer) for row in rows])
        return abs(best.weight) * np.sqrt(q * (1 - q))

    everything = all_kmers(model)
    assert [abs(best.weight) for best in everything] == sorted((abs(b.weight) for b in everything), reverse=True)
    found = [spread(best) for best in top_kmers(model, 12)]
    np.testing.assert_allclose(found, sorted(map(spread, everything), reverse=True)[:12])
    assert {len(best.kmer) for best in top_kmers(model, 6, k=2)} == {2}
    assert top_kmers(model, 5, target=1) == top_kmers(model, 5)
    assert [-best.weight for best in top_kmers(model, 5, target=-1)] == [best.weight for best in top_kmers(model, 5)]


def test_each_class_of_several_has_its_own_kmers():
    X, _ = strings(45, seed=11)
    y = np.array(["x", "y", "z"])[np.arange(45) % 3]
    one = kw.KernelClassifier(oracle.Cells(oracle.cells(np.random.default_rng(0), LENGTH, 2))).fit(X, y)
    many = kw.MKLClassifier([one.kernel, oracle.Cells(oracle.cells(np.random.default_rng(1), LENGTH, 3))], norm=2)
    for model in (one, many.fit(X, y)):
        values = poim(model, 1, target="y").values
        expected = oracle.importance(lambda rows, m=model: m.decision_function(rows)[:, 1], ABC, LENGTH, 1, [1 / 3] * 3)
        np.testing.assert_allclose(values, expected, atol=1e-10)
        with pytest.raises(ValueError, match="each of its 3 classes; name one with target=, for example target='x'"):
            top_kmers(model)
    assert weights_by_degree(one).other == 0
    with pytest.raises(ValueError, match="name one with target="):
        weights_by_degree(many)
    assert weights_by_degree(many, target="z").weights.sum() == pytest.approx(1.0)


def windows(model, length):
    found = weights_by_position(model)
    assert found.starts[0] == 0
    assert found.stops[-1] == length
    np.testing.assert_array_equal(found.starts[1:], found.stops[:-1])
    return found


def test_windows_are_those_of_the_kernels():
    full = np.array(oracle.cells(np.random.default_rng(12), LENGTH, 3)) + 0.1
    full[4, 1:], full[3, 2:] = 0, 0
    parts = []
    for start, stop in ((0, 2), (2, 3), (3, 5)):
        part = np.zeros_like(full)
        part[start:stop] = full[start:stop]
        parts.append(oracle.Cells(part.tolist()))
    X, y = strings(40, seed=12)
    model = kw.MKLClassifier(parts, norm=2).fit(X, y)
    found = windows(model, LENGTH)
    assert found.names == ["0..1", "2", "3..4"]
    np.testing.assert_allclose(found.weights, model.kernel_weights_ / model.kernel_weights_.sum(), rtol=1e-10)
    np.testing.assert_allclose(found.per_position.sum(), 1.0)
    assert str(found).splitlines()[0].split() == ["position", "share"]
    only_middle = kw.KernelClassifier(parts[1]).fit(X, y)
    assert windows(only_middle, LENGTH).names == ["0..1", "2", "3..4"]
    np.testing.assert_allclose(windows(only_middle, LENGTH).weights, [0, 1, 0])


def test_learned_degrees_are_the_kernel_weights():
    X, y = kw.datasets.make_splice(150, length=70, random_state=1)
    model = kw.MKLClassifier([kw.WeightedDegree(5, only=k) for k in range(1, 6)]).fit(X, y)
    found = weights_by_degree(model)
    np.testing.assert_allclose(found.weights, model.kernel_weights_, rtol=1e-9)
    assert found.names == ["1", "2", "3", "4", "5"]
    assert windows(model, 70).names == ["0..69"]


def test_planted_signals_are_found():
    X, y = kw.datasets.make_splice(600, random_state=2)
    model = kw.KernelClassifier(kw.WeightedDegree(8), class_weight="balanced").fit(X, y)
    best = top_kmers(model, 5, k=1)
    assert {59, 62} <= {kmer.position for kmer in best}
    assert {(kmer.kmer, kmer.weight > 0) for kmer in best if kmer.position == 59 and kmer.kmer == "C"} == {("C", True)}
    curve = poim(model, 3).by_position
    assert curve[45:63].mean() > 2 * curve[:20].mean()


def test_bad_input_is_told_in_one_sentence():
    model = fitted(seed=13)
    X, y = strings(30, seed=13)
    with pytest.raises(ValueError, match="gives no weight to k-mers at positions"):
        top_kmers(kw.KernelClassifier(kw.Spectrum(2)).fit(X, y))
    with pytest.raises(ValueError, match="gives no weight to k-mers at positions"):
        cell_weights(kw.KernelClassifier(kw.Spectrum(2)).fit(X, y))
    for k in (0, 6, 1.5):
        with pytest.raises(ValueError, match="expected a whole number from 1 to 5"):
            poim(model, k)
    for background, said in (
        ("letters", "is unknown"),
        ([0.5, 0.5], "must be 3 non-negative frequencies"),
        ({"D": 1.0}, "not a letter of the abc alphabet"),
        (kw.Sequences.from_strings(["ACGT"]), "but the model over"),
    ):
        with pytest.raises(ValueError, match=said):
            poim(model, 2, background)
    with pytest.raises(ValueError, match="k-mers of 1 to 4 letters"):
        top_kmers(model, k=5)
    with pytest.raises(ValueError, match="choose one of spread, weight"):
        top_kmers(model, by="size")
    with pytest.raises(ValueError, match="at least one k-mer"):
        top_kmers(model, 0)
    with pytest.raises(ValueError, match="target=7 is not a class of the model, which has -1, 1"):
        top_kmers(model, target=7)
