"""The tree of a kernel: what `leaves` says of innermost kernels, and those who ask it."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

import kernelweave as kw
from kernelweave.kernels import RBF, Identity, Linear, Nystrom, Precomputed, Product, Scaled, Spectrum, Sum
from kernelweave.kernels.centred import Centred
from kernelweave.kernels.reference import takes_gram
from kernelweave.kernels.tree import all_leaves

rng = np.random.default_rng(0)
TABLE = rng.normal(size=(24, 3))
SIGNS = np.where(TABLE[:, 0] + 0.2 * rng.normal(size=24) > 0, 1, -1)


def test_factors_multiply_and_selections_come_outermost_first():
    inner = 3.0 * RBF(width=1.0).on([1])
    (leaf,) = (2.0 * inner.on("a").normalized()).leaves()
    assert (leaf.kernel, leaf.factor, leaf.view) == (RBF(width=1.0), 6.0, ("a", [1]))
    assert [type(node).__name__ for node in leaf.path] == ["Scaled", "Cosine", "On", "Scaled", "On"]
    assert leaf.name == "RBF(width=1.0).on([1]).on('a')"
    assert (leaf.additive, leaf.direct, leaf.normalized, leaf.centred) == (True, False, True, False)


def test_products_and_approximations_do_not_add():
    first, second, third = (Linear() * RBF() + Nystrom(Linear().on("a"))).leaves()
    assert not any(leaf.additive for leaf in (first, second, third))
    assert third.view == ("a",)
    (fitted,) = Nystrom(Linear(), n_components=2).fitted(TABLE).leaves()
    assert fitted.kernel.rank_ == 2  # what was learned is a kernel of its own
    assert fitted.additive


def test_a_centred_kernel_is_passed():
    (leaf,) = Centred(Linear(), TABLE, np.full(24, 1 / 24), 0.0).leaves()
    assert leaf.kernel == Linear()
    assert (leaf.centred, leaf.additive, leaf.direct) == (True, True, False)


def test_a_leaf_sees_what_its_kernel_sees():
    views = kw.Views({"a": TABLE, "dna": kw.Sequences.from_strings(["ACGT"] * 24)})
    first, second = all_leaves([Linear().on([0, 2]).on("a"), Spectrum(2).on("dna")])
    np.testing.assert_array_equal(first.select(views), TABLE[:, [0, 2]])
    assert second.select(views).to_strings()[0] == "ACGT"


@pytest.mark.parametrize("kernel", [Scaled("rbf", 2.0), Sum([Linear(), 3])])
def test_what_is_no_kernel_is_named(kernel):
    with pytest.raises(TypeError, match="needs kernels, but got"):
        list(kernel.leaves())


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Precomputed(), True),
        (2.0 * Precomputed() + Identity(), True),
        (Precomputed().normalized(), True),
        (Nystrom(Precomputed()), True),
        (Product([Precomputed(), Precomputed()]), True),
        (Precomputed().on("given"), False),
        (Precomputed().on("given") + Linear().on("a"), False),
        (Linear(), False),
        (Identity(), False),
    ],
)
def test_whether_rows_are_those_of_a_gram_matrix(kernel, expected):
    assert takes_gram(kernel) == expected
    assert kw.KernelClassifier(kernel).__sklearn_tags__().input_tags.pairwise == expected
    assert kw.MKLClassifier([kernel, kernel]).__sklearn_tags__().input_tags.pairwise == expected
    assert kw.CGBoostClassifier([kernel]).__sklearn_tags__().input_tags.pairwise == expected


def test_folds_cut_the_columns_of_a_scaled_gram_matrix():
    K = TABLE @ TABLE.T
    expected = cross_val_score(kw.KernelClassifier(2.0 * Linear()), TABLE, SIGNS, cv=3)
    np.testing.assert_array_equal(cross_val_score(kw.KernelClassifier(2.0 * Precomputed()), K, SIGNS, cv=3), expected)


def test_names_inside_an_approximation_are_those_of_a_table():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(TABLE, columns=["a", "b", "c"])
    kernel = Nystrom(RBF(width=1.0).on(["a", "b"]), n_components=5)
    named = kw.KernelClassifier(kernel).fit(frame, SIGNS)
    numbered = kw.KernelClassifier(Nystrom(RBF(width=1.0).on([0, 1]), n_components=5)).fit(TABLE, SIGNS)
    np.testing.assert_allclose(named.decision_function(frame), numbered.decision_function(TABLE), rtol=1e-9)
