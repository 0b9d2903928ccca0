"""Models on tables over all l-mers: certified, LIBSVM's optimum, equal to kernel values, saved, explained."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

import kernelweave as kw
from kernelweave.engines import Serial
from kernelweave.operators.mixed import MixedSet
from kernelweave.operators.planner import tables as plan

rng = np.random.default_rng(3)
N = 160


def planted(n):
    """Rows of many lengths, some with masked letters, some shorter than an l-mer; half of them hold a motif."""
    texts, y = [], np.where(np.arange(n) % 2 == 0, 1, -1)
    for label in y:
        letters = list(rng.choice(list("ACGT"), rng.integers(40, 70)))
        if label > 0:
            at = rng.integers(0, len(letters) - 8)
            letters[at : at + 8] = "TGTANATA".replace("N", rng.choice(list("ACGT")))
        texts.append("".join(letters))
    texts[3], texts[4] = "ACG", texts[4][:20] + "N" + texts[4][21:]
    return kw.Sequences.from_strings(texts, alphabet="dna", unknown="mask"), y


X, Y = planted(N)
NEW, _ = planted(40)
KERNELS = [
    kw.GappedKmer(7, 5),
    kw.GappedKmer(7, 5, reverse_complement=True).normalized(),
    kw.GappedKmer(8, 6, reverse_complement=True).normalized(),
    kw.Mismatch(6, 1, reverse_complement=True),
    kw.LSGKM(7, 5, d=None).normalized(),
    kw.LSGKM(7, 5, d=None, center_weight=(20, 10)).normalized(),
    (kw.GappedKmer(7, 5) + 0.5 * kw.GappedKmer(5, 3)).normalized(),
]


@pytest.fixture(autouse=True)
def _tables_for_few_rows(monkeypatch):
    monkeypatch.setattr(plan, "PRODUCTS", 0)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_optimum_is_that_of_libsvm_on_the_gram_matrix(kernel):
    cost = 2.0 / kernel.diag(X).mean()
    model = kw.KernelClassifier(kernel, C=cost, tol=1e-7).fit(X, Y)
    assert model.memory_plan_.kind == "lmer_table"
    assert model.solver_ == "quasi_newton"
    K = kernel.gram(X)
    other = SVC(kernel="precomputed", C=cost, tol=1e-8).fit(K, Y)
    alpha = np.zeros(N)
    alpha[other.support_] = other.dual_coef_[0]
    dual = np.abs(alpha).sum() - 0.5 * alpha @ K @ alpha
    assert model.objective_ == pytest.approx(dual, rel=1e-6)
    assert kw.verify(model, X, Y).confirmed
    found = kernel.gram(NEW, X[model.support_]) @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(NEW), found, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("intercept", [True, False, "regularized"])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "smooth_hinge"])
def test_every_loss_and_intercept_is_certified(loss, intercept):
    kernel = kw.GappedKmer(7, 5, reverse_complement=True).normalized()
    model = kw.KernelClassifier(kernel, C=3.0, loss=loss, fit_intercept=intercept).fit(X, Y)
    assert model.memory_plan_.kind == "lmer_table"
    assert model.converged_
    assert kw.verify(model, X, Y).confirmed


def test_regression_and_novelty():
    kernel, y = kw.GappedKmer(7, 5).normalized(), Y + 0.3 * rng.normal(size=N)
    model = kw.KernelRegressor(kernel, C=2.0, epsilon=0.1, tol=1e-7).fit(X, y)
    assert model.memory_plan_.kind == "lmer_table"
    other = SVR(kernel="precomputed", C=2.0, epsilon=0.1, tol=1e-8).fit(kernel.gram(X), y)
    np.testing.assert_allclose(model.predict(X), other.predict(kernel.gram(X)), atol=1e-3)
    assert kw.verify(model, X, y).confirmed
    novelty = kw.KernelNovelty(kernel, nu=0.2).fit(X)
    assert novelty.memory_plan_.kind == "lmer_table"
    assert kw.verify(novelty, X).confirmed


def test_weights_and_several_classes():
    kernel, y = kw.GappedKmer(7, 5, reverse_complement=True).normalized(), np.arange(N) % 3
    s = rng.random(N)
    model = kw.KernelClassifier(kernel, class_weight="balanced", tol=1e-5).fit(X, y, sample_weight=s)
    assert model.memory_plan_.kind == "lmer_table"
    assert model.decision_function(NEW).shape == (40, 3)
    assert kw.verify(model, X, y, sample_weight=s).confirmed


@pytest.mark.parametrize("norm", [1.0, 2.0])
def test_many_lengths_beside_other_kernels(norm, monkeypatch):
    rows = kw.Sequences.from_strings(["".join(rng.choice(list("ACGT"), 60)) for _ in range(N)], alphabet="dna")
    both = kw.Views({"dna": rows, "table": rng.normal(size=(N, 3)) + 0.5 * Y[:, None]})
    inside = [kw.GappedKmer(7, 5), kw.GappedKmer(7, 6), kw.GappedKmer(6, 4, True), kw.WeightedDegree(4)]
    kernels = [*(kernel.on("dna") for kernel in inside), kw.RBF(width=4.0).on("table")]
    model = kw.MKLClassifier(kernels, norm=norm, C=1.0).fit(both, Y)
    assert model.memory_plan_.kind == "lmer_tables"
    assert "beside 2 kernels" in model.memory_plan_.why
    assert model.converged_
    assert kw.verify(model, both, Y).confirmed
    monkeypatch.setattr(plan, "PRODUCTS", np.inf)
    other = kw.MKLClassifier(kernels, norm=norm, C=1.0).fit(both, Y)
    assert other.memory_plan_.kind != "lmer_tables"
    assert model.objective_ == pytest.approx(other.objective_, rel=2e-3)


def test_a_saved_model_scores_with_the_same_bits(tmp_path):
    model = kw.KernelClassifier(kw.GappedKmer(7, 5, reverse_complement=True).normalized()).fit(X, Y)
    kw.save(model, tmp_path / "model.kw")
    np.testing.assert_array_equal(kw.load(tmp_path / "model.kw").decision_function(NEW), model.decision_function(NEW))


@pytest.mark.parametrize("kernel", KERNELS[:6], ids=repr)
def test_letters_and_tables_add_up_to_scores(kernel):
    model = kw.KernelClassifier(kernel, C=1.0 / kernel.diag(X).mean()).fit(X, Y)
    values = model.decision_function(NEW) - model.intercept_
    letters = model.expansion_.letters(NEW, Serial())[:, 0]
    sums = np.add.reduceat(np.append(letters, 0.0), NEW.offsets[:-1])
    np.testing.assert_allclose(sums, values, rtol=1e-8, atol=1e-8)
    ((number, made),) = model.expansion_.lmer_tables()
    assert number == 0
    table, l = made.weights(NEW.alphabet), made.kernel.window()[0]
    for i, text in enumerate(NEW):
        places = [p for p in range(len(text) - l + 1) if "N" not in text[p : p + l]]
        g = made.kernel.place_weights(len(text))
        words = [int("".join(str("ACGT".index(a)) for a in text[p : p + l]), 4) for p in places]
        found = sum(table[word] * (1.0 if g is None else g[p]) for word, p in zip(words, places))
        norm = np.sqrt(made.kernel.diag(NEW[i : i + 1])[0]) if made.leaf.normalized else 1.0
        assert found == pytest.approx(values[i] * norm, rel=1e-8, abs=1e-8)


def test_a_small_memory_limit_keeps_to_other_forms():
    model = kw.KernelClassifier(kw.GappedKmer(9, 6).normalized(), memory_limit="1.5MB").fit(X, Y)
    assert model.memory_plan_.kind != "lmer_table"
    assert any("4^9" in reason for _, reason in model.memory_plan_.passed_over)


def test_the_log_says_which_table_is_made(caplog):
    with caplog.at_level("INFO", logger="kernelweave"):
        kw.KernelClassifier(kw.GappedKmer(7, 5), verbose=1, C=0.01).fit(X, Y)
    assert "held as lmer_table" in caplog.text
    assert "a table over all 4^7 l-mers (131 kB)" in caplog.text


def test_a_mixed_set_tells_that_some_of_its_values_are_rounded():
    class Some:
        n, rounded = 5, True

    class Exact:
        n = 5

    assert MixedSet([Exact(), Some()], [np.arange(2), np.array([2])]).rounded
    assert not MixedSet([Exact(), Exact()], [np.arange(2), np.array([2])]).rounded
