"""Which n-grams decide: `top_ngrams` against sums by hand, on texts and lattices, and what `inspect` says of them."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.interpret import readable, top_ngrams
from kernelweave.io import write
from kernelweave.plots import NGramDisplay

TEXTS = ["how far is it", "how are you", "is it far", "you are here", "how is it there", "it is here", "are you there"]
LABELS = np.array([1, 1, 1, -1, 1, -1, -1])
WORDS = kw.Sequences.from_strings(TEXTS, alphabet="words")
ALL = 10_000


def by_hand(model, alpha, order, cosine=False):
    """Return what each n-gram adds on average to the support rows that have it, and the spread, in plain Python."""
    counts = []
    for text in model.reference_.to_strings():
        words = text.split()
        found = Counter(" ".join(words[i : i + order]) for i in range(len(words) - order + 1))
        norm = np.sqrt(sum(v * v for v in found.values())) if cosine else 1.0
        counts.append({u: v / norm for u, v in found.items()})
    grams = {u for row in counts for u in row}
    w = {u: sum(a * row.get(u, 0.0) for a, row in zip(alpha, counts)) for u in grams}
    adds = {u: [w[u] * row.get(u, 0.0) for row in counts] for u in grams}
    return {u: (sum(v) / sum(u in row for row in counts), np.std(v)) for u, v in adds.items()}


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_weights_and_ranks_are_those_of_sums_by_hand(order, cosine):
    model = kw.KernelClassifier(kw.NGram(order), C=2.0, normalize="cosine" if cosine else None).fit(WORDS, LABELS)
    expected = by_hand(model, model.dual_coef_[0], order, cosine)
    for by, column in (("weight", 0), ("spread", 1)):
        found = top_ngrams(model, ALL, by=by)
        for gram in found:
            assert gram.weight == pytest.approx(expected[gram.ngram][0], abs=1e-12)
        ranks = [abs(expected[gram.ngram][column]) for gram in found]
        np.testing.assert_allclose(ranks, sorted(ranks, reverse=True), atol=1e-12)
        assert len(found) == sum(abs(value[column]) > 1e-12 for value in expected.values())
        assert top_ngrams(model, 3, by=by) == found[:3]


@pytest.mark.parametrize("many", [False, True], ids=["one kernel", "learned weights"])
def test_a_centred_kernel_takes_the_mean_of_the_training_rows_off(many):
    options = {"C": 2.0, "normalize": "variance", "fit_intercept": False}
    one = kw.MKLClassifier([kw.NGram(1), kw.NGram(2)], norm=2.0, **options)
    model = (one if many else kw.KernelClassifier(kw.NGram(1), **options)).fit(WORDS, LABELS)
    found = {gram.ngram: gram for gram in top_ngrams(model, ALL, length=1)}
    weight = model.kernel_weights_[0] if many else 1.0
    factor = weight * (model.kernels_[0] if many else model.kernel_).factor
    alpha, kept = model.dual_coef_[0], [text.split() for text in model.reference_.to_strings()]
    for word in {word for text in kept for word in text}:
        mean = np.mean([text.split().count(word) for text in TEXTS])
        w = sum(a * (text.count(word) - mean) for a, text in zip(alpha, kept))
        having = [text.count(word) for text in kept if word in text]
        adds = factor * w * np.mean(having)
        spread = np.std([text.count(word) for text in kept])
        if abs(adds) > 1e-12 and spread > 1e-12:
            assert found[word].weight == pytest.approx(adds, rel=1e-9)
            assert found[word].rows == len(having)
        else:
            assert word not in found or abs(found[word].weight) < 1e-9


@pytest.mark.parametrize("kernel", [kw.Mismatch(3, 1), kw.GappedKmer(4, 2)], ids=repr)
def test_inexact_kmers_are_listed(kernel):
    X, y = kw.datasets.make_splice(60, random_state=0)
    model = kw.KernelClassifier(kernel).fit(X, y)
    table, names = kernel.features(model.reference_).toarray(), kernel.names(np.arange(kernel.n_features(X)))
    w = table.T @ model.dual_coef_[0]
    for gram in top_ngrams(model, 5, kernel.window()[0]):
        column = names.index(gram.ngram)
        having = np.flatnonzero(table[:, column])
        assert gram.rows == len(having)
        assert gram.weight == pytest.approx(w[column] * table[having, column].mean(), rel=1e-9)
    assert top_ngrams(model, 5, 99) == []


def test_lattices_of_one_path_are_texts():
    one = kw.KernelClassifier(kw.NGram(2, cumulative=True), normalize="cosine").fit(WORDS, LABELS)
    two = kw.KernelClassifier(kw.NGram(2, cumulative=True), normalize="cosine")
    two.fit(kw.Lattices.from_sequences(WORDS), LABELS)
    for a, b in zip(top_ngrams(one, ALL), top_ngrams(two, ALL), strict=True):
        assert (a.ngram, a.rows, a.kernel) == (b.ngram, b.rows, b.kernel)
        assert a.weight == pytest.approx(b.weight, rel=1e-9, abs=1e-12)
    assert {len(gram.ngram.split()) for gram in top_ngrams(one, ALL, length=2)} == {2}
    assert len(top_ngrams(one, ALL, length=1)) + len(top_ngrams(one, ALL, length=2)) == len(top_ngrams(one, ALL))


def test_uncertain_words_add_by_their_probability():
    arcs = [(0, 1, "a", 0.75), (0, 1, "b", 0.25)]
    X = kw.Lattices.from_arcs([(arcs, [1]), ([(0, 1, "c", 1.0)], [1])])
    model = kw.KernelClassifier(kw.NGram(1), C=100.0).fit(X, [1, -1])
    found = {gram.ngram: gram.weight for gram in top_ngrams(model)}
    assert found["a"] / found["b"] == pytest.approx(9.0)  # both weight and expected count are three times as large
    assert found["c"] < 0


def test_learned_weights_scale_the_parts():
    kernels = [kw.NGram(1), 0.5 * kw.NGram(2)]
    model = kw.MKLClassifier(kernels, norm=2.0, normalize=None).fit(WORDS, LABELS)
    found = {gram.ngram: gram for gram in top_ngrams(model, ALL)}
    for order, factor in ((1, 1.0), (2, 0.5)):
        expected = by_hand(model, model.dual_coef_[0], order)
        for ngram, (weight, spread) in expected.items():
            if spread > 1e-9:
                beta = model.kernel_weights_[order - 1]
                assert found[ngram].weight == pytest.approx(factor * beta * weight, rel=1e-9)
                assert found[ngram].kernel == f"NGram({order})"


def test_a_normalised_sum_over_views():
    views = kw.Views({"text": WORDS, "lattice": kw.Lattices.from_sequences(WORDS)})
    both = (kw.NGram(1).on("text") + kw.NGram(1).on("lattice")).normalized()
    model = kw.KernelClassifier(both).fit(views, LABELS)
    alone = kw.KernelClassifier(kw.NGram(1), normalize="cosine").fit(WORDS, LABELS)
    found = {(gram.ngram, gram.kernel): gram.weight for gram in top_ngrams(model, ALL)}
    for gram in top_ngrams(alone, ALL):  # the same kernel, half of it from each view
        for view in ("text", "lattice"):
            assert found[gram.ngram, f"NGram(1).on('{view}')"] == pytest.approx(gram.weight / 2, rel=1e-3, abs=1e-4)


DNA = kw.Sequences.from_strings(
    ["".join(row) for row in np.random.default_rng(1).choice(list("ACGT"), (24, 12))], "dna"
)
NEAR = {
    "mismatch": kw.Mismatch(3, 1),
    "gapped": kw.GappedKmer(4, 2),
    "both strands": kw.GappedKmer(4, 2, reverse_complement=True),
    "long": kw.GappedKmer(6, 5),
}


@pytest.mark.parametrize("normalize", [None, "cosine"])
@pytest.mark.parametrize("name", NEAR)
def test_inexact_kmers_are_listed_with_what_they_add(name, normalize):
    kernel, y = NEAR[name], np.arange(24) % 2
    model = kw.KernelClassifier(kernel, normalize=normalize).fit(DNA, y)
    features = kernel.features(model.reference_).toarray()
    if normalize:
        features /= np.linalg.norm(features, axis=1)[:, None]
    adds = features * (model.dual_coef_[0] @ features)
    having = np.flatnonzero((features != 0).any(axis=0))
    weights = adds[:, having].sum(axis=0) / (features[:, having] != 0).sum(axis=0)
    expected = dict(zip(kernel.names(having, "dna"), weights))
    found = top_ngrams(model, ALL, by="weight")
    assert {gram.ngram for gram in found} == {u for u, weight in expected.items() if abs(weight) > 0}
    for gram in found:
        assert gram.weight == pytest.approx(expected[gram.ngram], rel=1e-9, abs=1e-12)
    assert readable(model) == {"strings"}
    assert len(NGramDisplay.from_estimator(model, 5).plot().ngrams) == 5


def test_inspect_lists_and_draws_inexact_kmers(tmp_path):
    for name, kernel in NEAR.items():
        model = kw.KernelClassifier(kernel).fit(DNA, np.arange(24) % 2)
        kw.save(model, tmp_path / "m.kw")
        picture = tmp_path / f"{name.split()[0]}.png"
        found = json.loads(run("inspect", tmp_path / "m.kw", "--top", 3, "--plot", picture, "--json").stdout)
        assert [row["ngram"] for row in found["ngrams"]] == [gram.ngram for gram in top_ngrams(model, 3)]
        assert (found["drawn"], picture.stat().st_size > 1000) == ("ngrams", True)


def test_classes_are_named_and_what_is_not_there_is_told():
    model = kw.KernelClassifier(kw.NGram(1)).fit(WORDS, LABELS)
    for gram, other in zip(top_ngrams(model, ALL, target=1), top_ngrams(model, ALL, target=-1), strict=True):
        assert (gram.ngram, gram.weight) == (other.ngram, -other.weight)
    three = kw.KernelClassifier(kw.NGram(1)).fit(WORDS, np.arange(7) % 3)
    assert top_ngrams(three, 1, target=2)
    with pytest.raises(ValueError, match="name one with target="):
        top_ngrams(three)
    with pytest.raises(ValueError, match="gives no weight to n-grams wherever they stand"):
        top_ngrams(kw.KernelClassifier(kw.RBF()).fit(np.eye(4), [0, 0, 1, 1]))
    with pytest.raises(ValueError, match="by='size' is unknown"):
        top_ngrams(model, by="size")
    with pytest.raises(ValueError, match="at least one n-gram"):
        top_ngrams(model, 0)


def test_the_picture_shows_each_ngram_with_its_weight():
    model = kw.KernelClassifier(kw.NGram(2, cumulative=True)).fit(WORDS, LABELS)
    display = NGramDisplay.from_estimator(model, 5).plot()
    ordered = sorted(top_ngrams(model, 5), key=lambda gram: -gram.weight)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == [f"{g.ngram}  ({g.rows})" for g in ordered]
    points = display.ax_.collections[-1].get_offsets()
    np.testing.assert_allclose(points[:, 0], [gram.weight for gram in ordered])
    with pytest.raises(ValueError, match="There is no n-gram to draw"):
        NGramDisplay([]).plot()


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def test_inspect_lists_the_ngrams(tmp_path):
    model = kw.KernelClassifier(kw.NGram(2, cumulative=True)).fit(WORDS, LABELS)
    kw.save(model, tmp_path / "two.kw")
    listed = json.loads(run("inspect", tmp_path / "two.kw", "--top", 3, "-k", 2, "--json").stdout)["ngrams"]
    assert [row["ngram"] for row in listed] == [gram.ngram for gram in top_ngrams(model, 3, 2)]
    assert top_ngrams(model)[0].ngram in run("inspect", tmp_path / "two.kw").stdout
    drawn = json.loads(run("inspect", tmp_path / "two.kw", "--plot", tmp_path / "p.png", "--json").stdout)
    assert drawn["drawn"] == "ngrams"
    assert (tmp_path / "p.png").stat().st_size > 1000
    wrong = ("inspect", tmp_path / "two.kw", "--plot", tmp_path / "q.png", "--draw", "poim")
    assert "--draw poim is for kernels of k-mers at positions" in run(*wrong, code=1).stderr
    assert not (tmp_path / "q.png").exists()
    many = kw.MKLClassifier([kw.NGram(1), kw.NGram(2)]).fit(WORDS, np.arange(7) % 3)
    kw.save(many, tmp_path / "many.kw")
    assert "ngrams" not in json.loads(run("inspect", tmp_path / "many.kw", "--json").stdout)
    assert "--class" in run("inspect", tmp_path / "many.kw", "--top", 2, code=1).stderr
    named = json.loads(run("inspect", tmp_path / "many.kw", "--class", 1, "--json").stdout)["ngrams"]
    assert named[0]["ngram"] == top_ngrams(many, 1, target=1)[0].ngram


def test_files_of_unknown_words_are_noted(tmp_path):
    kw.save(kw.KernelClassifier(kw.NGram(1)).fit(kw.Lattices.from_sequences(WORDS), LABELS), tmp_path / "m.kw")
    (tmp_path / "numbers.fst.txt").write_text("u1\n0 1 17 0.5\n0 1 18 0.9\n1\n")
    said = run("predict", tmp_path / "m.kw", tmp_path / "numbers.fst.txt").stderr
    assert "100% of the words or letters" in said
    assert "--symbols" in said
    write(tmp_path / "known.fst.txt", kw.Lattices.from_sequences(WORDS))
    assert "new to the model" not in run("predict", tmp_path / "m.kw", tmp_path / "known.fst.txt").stderr
    (tmp_path / "labels").write_text("u1\t1\n")
    data = tmp_path / "numbers.fst.txt", "--labels", tmp_path / "labels"
    assert "new to the model" in run("evaluate", tmp_path / "m.kw", *data, code=1).stderr
