"""Every member of an expansion scores as the slow sum over its rows, adds up, and comes back from plain data."""

from __future__ import annotations

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.engines import Serial, Threads
from kernelweave.operators.expansion import positional, rows, values, weights
from kernelweave.operators.expansion.base import Share
from kernelweave.operators.expansion.features import FeatureExpansion
from kernelweave.operators.expansion.rows import RowExpansion
from remote import Pickled

rng = np.random.default_rng(0)
N, NEW = 60, 45
TABLE = rng.normal(size=(N + NEW, 4))
DNA = kw.Sequences.from_strings(
    ["".join(rng.choice(list("ACGTN"), 14, p=[0.24, 0.24, 0.24, 0.24, 0.04])) for _ in range(N + NEW)],
    "dna", unknown="mask",
)  # fmt: skip
TEXT = kw.Sequences.from_strings([" ".join(rng.choice(list("abcdef"), 6)) for _ in range(N + NEW)], "words")
VIEWS = kw.Views({"table": TABLE, "dna": DNA})


def centred(kernel, X):
    """A kernel as `normalize="variance"` without a free intercept makes it."""
    from kernelweave.estimators.normalize import normalized

    return normalized(kernel, X[:N], "variance", Serial())


UNIT = (kw.GappedKmer(4, 2, True) + kw.Mismatch(3, 1)).normalized()
CASES = {
    "values": ([kw.RBF(width=2.0), kw.RBF(width=8.0), kw.Laplacian(gamma=0.5)], TABLE, {"values"}),
    "values of products": ([kw.RBF(width=2.0).on(0) * kw.Linear()], TABLE, {"values"}),
    "weights": ([kw.Linear(), 0.5 * kw.Linear().on([0, 2])], TABLE, {"weights"}),
    "quadratic": ([kw.Polynomial(2, coef0=-0.5), 2.0 * kw.Polynomial(2).on([1, 3])], TABLE, {"quadratic"}),
    "codes": ([kw.Spectrum(3), kw.Spectrum(2)], DNA, {"codes"}),
    "unit codes": ([kw.Spectrum(3).normalized()], DNA, {"codes"}),
    "l-mers": ([kw.Mismatch(3, 1), kw.GappedKmer(4, 2), 0.5 * kw.GappedKmer(4, 3).normalized()], DNA, {"l-mers"}),
    "l-mers of both strands": (
        [kw.GappedKmer(6, 4, True), kw.Mismatch(6, 1, True), UNIT],
        DNA,
        {"l-mers"},
    ),
    "l-mers by place": ([kw.LSGKM(6, 4, d=None, center_weight=(9, 3))], DNA, {"l-mers"}),
    "l-mers of views": ([kw.GappedKmer(5, 3).on("dna"), kw.Linear().on("table")], VIEWS, {"l-mers", "weights"}),
    "both strands": ([kw.Spectrum(3, reverse_complement=True)], DNA, {"codes"}),
    "words": ([kw.NGram(2), kw.GappyNGram(2, 0.5), kw.NGram(9)], TEXT, {"codes"}),
    "positions": (
        [kw.WeightedDegree(5), 0.3 * kw.WeightedDegree(3), kw.WeightedDegree(2, shift=1)],
        DNA,
        {"positions"},
    ),
    "views": (
        [kw.WeightedDegree(3).on("dna"), kw.RBF(width=1.0).on("table"), kw.Linear().on("table")],
        VIEWS,
        {"positions", "values", "weights"},
    ),
    "sum": ([kw.Linear() + 0.5 * kw.RBF(width=3.0) + kw.Linear()], TABLE, {"values"}),
    "centred": ([centred(kw.WeightedDegree(3), DNA), centred(kw.Spectrum(2), DNA)], DNA, {"positions", "codes"}),
    "centred l-mers": ([centred(kw.GappedKmer(4, 2), DNA)], DNA, {"l-mers"}),
    "centred table": ([centred(kw.RBF(width=3.0), TABLE), centred(kw.Linear(), TABLE)], TABLE, {"values", "weights"}),
}
OUTPUTS = 2


def slow(kernels, kept, shares, new):
    """The slow twin: one kept row after the other."""
    out = np.zeros((len(kernels), new.shape[0], OUTPUTS))
    for share in shares:
        for place, coef in zip(share.places, share.coef):
            out[share.kernel] += kernels[share.kernel].gram(new, kept[[place]]) * (coef * share.factor)
    return out


def made(case, common):
    """An expansion with common coefficients and a weight for each kernel, or with rows of its own for each kernel."""
    kernels, X, _ = CASES[case]
    kept, m = X[:N], len(kernels)
    if common:
        weights_ = rng.random((OUTPUTS, m)) + 0.1
        return RowExpansion.weighted(kernels, kept, weights_, rng.normal(size=(OUTPUTS, N)))
    shares = [
        Share(k, np.sort(rng.choice(N, 40 + k, replace=False)), rng.normal(size=(40 + k, OUTPUTS))) for k in range(m)
    ]
    return RowExpansion(kernels, kept, shares, OUTPUTS)


@pytest.mark.parametrize("size", [0, 3, NEW])
@pytest.mark.parametrize("common", [True, False], ids=["weights", "own coefficients"])
@pytest.mark.parametrize("case", CASES)
def test_scores_and_contributions_are_the_slow_sums(case, common, size):
    expansion, new = made(case, common), CASES[case][1][N : N + size]
    expected = slow(expansion.kernels, expansion.rows, expansion.shares, new)
    scores, each = expansion.scores(new, Serial()), expansion.contributions(new, Serial())
    np.testing.assert_allclose(each, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(scores, expected.sum(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(each.sum(axis=0), scores, rtol=1e-10, atol=1e-9)
    assert set(expansion.ways.values()) == CASES[case][2]
    assert sorted(expansion.ways) == list(range(len(expansion.kernels)))


@pytest.mark.parametrize("case", CASES)
def test_an_expansion_comes_back_from_plain_data_with_the_same_bits(case, monkeypatch):
    expansion, new = made(case, True), CASES[case][1][N:]
    state = expansion.state()
    copy = RowExpansion(expansion.kernels, expansion.rows, expansion.shares, OUTPUTS)
    copy.restore(state)
    for name in ("coded_weights", "_constant"):
        monkeypatch.setattr(rows, name, lambda *_: pytest.fail("made again"))
    monkeypatch.setattr(weights.DenseWeights, "of", lambda *_: pytest.fail("made again"))
    monkeypatch.setattr(weights.QuadraticForm, "of", lambda *_: pytest.fail("made again"))
    for some in (new[:2], new):
        assert np.array_equal(copy.scores(some, Serial()), expansion.scores(some, Serial()))
        assert np.array_equal(copy.contributions(some, Serial()), expansion.contributions(some, Serial()))
    for mine, theirs in zip(copy.state()["members"], state["members"], strict=True):
        assert mine.keys() == theirs.keys()
        assert all(np.array_equal(mine[name], theirs[name]) for name in mine)


@pytest.mark.parametrize("case", CASES)
def test_engines_give_the_same_bits_and_bytes_are_counted(case, monkeypatch):
    expansion, new = made(case, True), CASES[case][1][N:]
    for module, name in ((values, "NEW_ROWS"), (weights, "FEATURE_ROWS"), (positional, "FEATURE_ROWS")):
        monkeypatch.setattr(module, name, 7)
    one = expansion.scores(new, Serial())
    assert np.array_equal(one, expansion.scores(new, Threads(3)))
    assert np.array_equal(one, expansion.scores(new, Pickled()))
    arrays = [part for state in expansion.state()["members"] for part in state.values() if isinstance(part, np.ndarray)]
    assert expansion.nbytes >= sum(part.nbytes for part in arrays)
    assert expansion.nbytes > 0


def test_no_table_is_made_for_a_few_rows(monkeypatch):
    expansion, new = made("positions", True), DNA[N:]
    whole = expansion.scores(new, Serial())
    monkeypatch.setattr(positional, "Tables", lambda *_: pytest.fail("made a table"))
    again = RowExpansion(expansion.kernels, expansion.rows, expansion.shares, OUTPUTS)
    np.testing.assert_allclose(again.scores(new[:8], Serial()), whole[:8], rtol=1e-11, atol=1e-12)


def test_weights_of_codes_that_are_too_many_to_store_are_made_on_demand(monkeypatch):
    expansion, new = made("codes", True), DNA[N:]
    whole = expansion.scores(new, Serial())
    monkeypatch.setattr(rows, "STORED_BYTES", 1.0)
    monkeypatch.setattr(weights, "FEW_ROWS", 8)
    again = RowExpansion(expansion.kernels, expansion.rows, expansion.shares, OUTPUTS)
    assert set(again.ways.values()) == {"codes on demand"}
    assert again.state() == {"members": [{"way": "codes on demand"}] * 2}
    assert np.array_equal(again.scores(new, Serial()), whole)
    monkeypatch.setattr(weights, "coded_weights", lambda *_: pytest.fail("made a vector"))
    few = RowExpansion(expansion.kernels, expansion.rows, expansion.shares, OUTPUTS)
    np.testing.assert_allclose(few.scores(new[:8], Serial()), whole[:8], rtol=1e-11, atol=1e-12)
    assert few.nbytes > 0


def test_two_views_of_positional_kernels_are_kept_apart():
    other = kw.Sequences.from_strings(["".join(rng.choice(list("ACGT"), 14)) for _ in range(N + NEW)], "dna")
    views = kw.Views({"a": DNA, "b": other})
    kernels = [kw.WeightedDegree(3).on("a"), kw.WeightedDegree(3).on("b")]
    expansion = RowExpansion.weighted(kernels, views[:N], np.ones((1, 2)), rng.normal(size=(1, N)))
    expected = sum(kernel.gram(views[N:], views[:N]) for kernel in kernels) @ expansion.shares[0].coef
    np.testing.assert_allclose(expansion.scores(views[N:], Serial()), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kernels", [[kw.Spectrum(2), kw.Linear()], [kw.NGram(1)]], ids=["mixed", "words"])
def test_weights_of_features_score_as_features_do(kernels):
    X = kw.Views({"table": TABLE, "dna": DNA}) if len(kernels) > 1 else TEXT
    if len(kernels) > 1:
        kernels = [kernels[0].on("dna"), kernels[1].on("table")]
    model = kw.MKLClassifier(kernels, loss="logistic", norm=2.0, solver="svrg").fit(X[:N], np.arange(N) % 2)
    expansion, new = model.expansion_, X[N:]
    assert isinstance(expansion, FeatureExpansion)
    each = expansion.contributions(new, Serial())
    np.testing.assert_allclose(each.sum(axis=0), expansion.scores(new, Serial()), rtol=1e-10, atol=1e-10)
    parts = expansion.parts()
    assert sum(len(part.weights) for part in parts) == model.coef_.shape[1]
    copy = FeatureExpansion(model.kernels_, model.reference_, model.coef_, model.coef_offsets_, model.coef_codes_)
    copy.restore(expansion.state())
    assert np.array_equal(copy.scores(new, Serial()), expansion.scores(new, Serial()))
    assert copy.nbytes > 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda w: w[:, :-1], "codes of .* do not fit"),
        (lambda w: np.full_like(w, np.nan), "are not finite"),
        (lambda w: w[0], "do not have the shape"),
        (lambda w: w.astype(np.float32), "do not have the shape"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(change, sentence):
    expansion = made("codes", True)
    state = expansion.state()
    state["members"][0]["weights"] = change(state["members"][0]["weights"])
    copy = RowExpansion(expansion.kernels, expansion.rows, expansion.shares, OUTPUTS)
    copy.restore(state)
    with pytest.raises(ValueError, match=sentence):
        copy.scores(DNA[N:], Serial())


SPELLED = {
    "spectrum": kw.Spectrum(3),
    "cumulative": kw.Spectrum(3, cumulative=True, weights=[1.0, 0.0, 0.5]),
    "both strands": kw.Spectrum(3, reverse_complement=True),
    "mismatch": kw.Mismatch(3, 1),
    "mismatch on both strands": kw.Mismatch(3, 1, reverse_complement=True),
    "gapped": kw.GappedKmer(4, 2),
    "gapped on both strands": kw.GappedKmer(5, 3, reverse_complement=True),
    "weighted degree": kw.WeightedDegree(4),
    "shifted": 0.5 * kw.WeightedDegree(3, shift=2),
    "normalised": kw.Spectrum(2).normalized(),
    "normalised places": kw.WeightedDegree(3).normalized(),
    "normalised sum": (kw.WeightedDegree(3) + 2.0 * kw.Spectrum(2)).normalized(),
    "centred": centred(kw.WeightedDegree(3), DNA),
    "centred spectrum": centred(kw.Spectrum(2), DNA),
}


def by_row(values, X):
    return np.stack([values[a:b].sum(axis=0) for a, b in zip(X.offsets[:-1], X.offsets[1:])])


@pytest.mark.parametrize("name", SPELLED)
def test_letters_add_up_to_scores(name):
    kernels = [SPELLED[name], kw.Spectrum(1)]
    expansion = RowExpansion.weighted(kernels, DNA[:N], np.array([[1.0, 0.0], [0.5, 2.0]]), rng.normal(size=(2, N)))
    found = expansion.letters(DNA[N:], Serial())
    assert found.shape == (len(DNA[N:].codes), 2)
    np.testing.assert_allclose(by_row(found, DNA[N:]), expansion.scores(DNA[N:], Serial()), rtol=1e-9, atol=1e-9)


def test_letters_of_rows_of_different_lengths_and_of_words():
    for kernel, X in ((kw.NGram(2, cumulative=True), TEXT), (kw.NGram(1).normalized(), TEXT)):
        expansion = RowExpansion.weighted([kernel], X[:N], np.ones((1, 1)), rng.normal(size=(1, N)))
        np.testing.assert_allclose(by_row(expansion.letters(X[N:], Serial()), X[N:]), expansion.scores(X[N:], Serial()))
    rows = kw.Sequences.from_strings(["ACGTACGT", "AC", "ACGA", "A", "GTACC"], "dna")
    expansion = RowExpansion.weighted([kw.Spectrum(2)], rows, np.ones((1, 1)), rng.normal(size=(1, 5)))
    np.testing.assert_allclose(
        by_row(expansion.letters(rows, Serial()), rows), expansion.scores(rows, Serial()), atol=1e-12
    )


def test_the_letters_of_a_kmer_get_what_it_adds():
    kept = kw.Sequences.from_strings(["CAGC"], "dna")
    new = kw.Sequences.from_strings(["TAGT"], "dna")
    for kernel, expected in (
        (kw.WeightedDegree(2, only=2), [0.0, 0.5, 0.5, 0.0]),
        (kw.Spectrum(2), [0.0, 0.5, 0.5, 0.0]),
        (kw.GappedKmer(4, 2), [0.0, 0.5, 0.5, 0.0]),
        (kw.WeightedDegree(1), [0.0, 1.0, 1.0, 0.0]),
    ):
        expansion = RowExpansion.weighted([kernel], kept, np.ones((1, 1)), np.ones((1, 1)))
        values = expansion.letters(new, Serial())[:, 0]
        np.testing.assert_allclose(values / values.max(), np.array(expected) / max(expected), atol=1e-12)


def test_letters_of_weights_of_features():
    model = kw.MKLClassifier([kw.Spectrum(2), kw.Spectrum(3)], loss="logistic", norm=2.0, solver="svrg")
    expansion = model.fit(DNA[:N], np.arange(N) % 2).expansion_
    np.testing.assert_allclose(
        by_row(expansion.letters(DNA[N:], Serial()), DNA[N:]), expansion.scores(DNA[N:], Serial())
    )


@pytest.mark.parametrize(
    ("kernel", "X", "sentence"),
    [
        (kw.Spectrum(2, binary=True), DNA, "cannot be divided among letters"),
        (kw.Spectrum(2) * kw.Spectrum(1), DNA, "cannot be divided among letters"),
        (kw.RBF(width=1.0), TABLE, "cannot be divided among letters"),
        (
            kw.Spectrum(2).on("dna") + kw.Spectrum(2).on("other"),
            kw.Views({"dna": DNA, "other": DNA}),
            "different views",
        ),
    ],
)
def test_what_has_no_letters_says_so(kernel, X, sentence):
    expansion = RowExpansion.weighted([kernel], X[:N], np.ones((1, 1)), np.ones((1, N)))
    with pytest.raises(ValueError, match=sentence):
        expansion.letters(X[N:], Serial())
