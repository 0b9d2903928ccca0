"""Expansions over kept rows score as their columns do, by as little work as there is to do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import kernelweave as kw
from kernelweave.engines import Serial, Threads
from kernelweave.kernels.compose import Cosine
from kernelweave.operators.expansion.base import Share
from kernelweave.operators.expansion.rows import RowExpansion

rng = np.random.default_rng(0)
ROWS, NEW = rng.normal(size=(60, 5)), rng.normal(size=(23, 5))
DNA = kw.Sequences.from_strings(["".join(rng.choice(list("ACGT"), 12)) for _ in range(40)], "dna")
WORDS = kw.Lattices.from_arcs(
    [([(0, 1, str(rng.integers(4)), 0.7), (0, 1, "b", 0.3), (1, 2, str(rng.integers(4)), 1.0)], [2]) for _ in range(30)]
)


def shares_of(kernels, n, outputs, sizes):
    """Random columns for each kernel; a size of 0 leaves a kernel without any."""
    found = []
    for k in range(len(kernels)):
        places = np.sort(rng.choice(n, sizes[k % len(sizes)], replace=False))
        if len(places):
            found.append(Share(k, places, rng.normal(size=(len(places), outputs))))
    return found


def column_by_column(kernels, kept, shares, new, outputs):
    """The slow twin: one column after the other."""
    out = np.zeros((len(kernels), new.shape[0], outputs))
    for share in shares:
        for place, coef in zip(share.places, share.coef):
            out[share.kernel] += kernels[share.kernel].gram(new, kept[[place]]) * coef
    return out


def check(kernels, kept, new, outputs=2, sizes=(7, 11, 3), engine=None):
    shares = shares_of(kernels, kept.shape[0], outputs, sizes)
    model = RowExpansion(kernels, kept, shares, outputs)
    expected = column_by_column(kernels, kept, shares, new, outputs)
    engine = engine or Serial()
    np.testing.assert_allclose(model.contributions(new, engine), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.scores(new, engine), expected.sum(axis=0), rtol=1e-9, atol=1e-9)
    assert sorted(model.ways) == [share.kernel for share in shares]
    return model


TABLE_KERNELS = {
    "linear": (kw.Linear(), "weights"),
    "scaled linear": (0.3 * kw.Linear().on([0, 2]), "weights"),
    "cosine of linear": (Cosine(kw.Linear()), "weights"),
    "rbf": (kw.RBF(width=2.0), "values"),
    "laplacian": (kw.Laplacian(gamma=0.3), "values"),
    "sigmoid": (kw.Sigmoid(gamma=0.2, coef0=-0.5), "values"),
    "square": (kw.Polynomial(2, gamma=0.5, coef0=0.7), "quadratic"),
    "square of columns": (2.0 * kw.Polynomial(2, gamma=0.5).on([0]).on([1, 3]), "quadratic"),
    "indefinite square": (kw.Polynomial(2, coef0=-1.5), "quadratic"),
    "cube": (kw.Polynomial(3, gamma=0.4), "values"),
    "cube of one column": (kw.Polynomial(3, gamma=0.4).on(0), "weights"),
    "sum": (kw.Linear() + kw.RBF(width=3.0), "values"),
    "nystrom": (kw.Nystrom(kw.RBF(width=3.0), 6), "weights"),
}


@pytest.mark.parametrize("name", TABLE_KERNELS)
@pytest.mark.parametrize("outputs", [1, 3])
def test_each_kernel_scores_as_its_columns_do(name, outputs):
    kernel, way = TABLE_KERNELS[name]
    assert check([kernel.fitted(ROWS)], ROWS, NEW, outputs, (40,)).ways == {0: way}


def test_all_kernels_together_and_the_same_bits_with_threads():
    kernels = [kernel.fitted(ROWS) for kernel, _ in TABLE_KERNELS.values()]
    check(kernels, ROWS, NEW, 3, (7, 0, 30, 1))
    shares = shares_of(kernels, len(ROWS), 2, (20, 5))
    many = rng.normal(size=(1500, 5))
    one, two = (RowExpansion(kernels, ROWS, shares, 2).scores(many, engine) for engine in (Serial(), Threads(3)))
    assert np.array_equal(one, two)


def test_sparse_tables():
    kept, new = np.where(ROWS > 0.5, ROWS, 0.0), np.where(NEW > 0.5, NEW, 0.0)
    kernels = [kw.Linear(), kw.Polynomial(2), kw.RBF(width=4.0)]
    shares = shares_of(kernels, 60, 2, (30,))
    dense = RowExpansion(kernels, kept, shares, 2).scores(new, Serial())
    thin = RowExpansion(kernels, sparse.csr_array(kept), shares, 2).scores(sparse.csr_array(new), Serial())
    np.testing.assert_allclose(thin, dense, atol=1e-9)


@pytest.mark.parametrize(
    ("kernel", "way"),
    [
        (kw.Spectrum(3), "codes"),
        (kw.Spectrum(3).normalized(), "codes"),
        (kw.WeightedDegree(4), "positions"),
        (0.5 * kw.WeightedDegree(3, shift=1), "positions"),
        (kw.Mismatch(3, 1), "l-mers"),
    ],
)
def test_strings_go_through_their_normal_vector(kernel, way):
    assert check([kernel], DNA[:30], DNA[30:], 2, (12,)).ways == {0: way}


def test_lattices_and_views():
    check([kw.NGram(1), kw.NGram(2), kw.GappyNGram(2)], WORDS[:20], WORDS[20:], 2, (6, 9))
    views = kw.Views({"dna": DNA, "table": rng.normal(size=(40, 3))})
    kernels = [kw.Spectrum(2).on("dna"), kw.Linear().on("table"), kw.Polynomial(2).on("table"), kw.RBF(1.0).on("table")]
    assert set(check(kernels, views[:25], views[25:], 1, (20,)).ways.values()) == {
        "codes", "weights", "quadratic", "values",
    }  # fmt: skip


def test_gaussians_of_many_widths_share_their_distances():
    kernels = [*kw.RBF.grid([0.5, 2.0, 8.0]), kw.Laplacian(gamma=1.0)]
    assert len(check(kernels, ROWS, NEW, 2, (5, 12, 30)).members) == 2


@given(st.integers(1, 6), st.integers(1, 4), st.integers(1, 60), st.booleans())
def test_polynomials_of_any_shape(d, degree, columns, negative):
    kernel = kw.Polynomial(degree, gamma=0.5, coef0=-0.5 if negative else 0.5)
    check([kernel], ROWS[:, [0] * d], NEW[:4, [0] * d], 1, (columns,))


def test_more_columns_make_folding_worth_while():
    rows = rng.normal(size=(60, 50))
    few, many = (
        RowExpansion([kw.Polynomial(2)], rows, [Share(0, np.arange(c), np.ones((c, 1)))], 1).ways[0] for c in (1, 60)
    )
    assert (few, many) == ("values", "quadratic")


def test_members_are_made_once_and_only_when_needed():
    class Counting(RowExpansion):
        made = 0

        def _made(self, stored):
            self.made += 1
            return super()._made(stored)

    model = Counting([kw.Linear()], ROWS, [Share(0, np.array([0]), np.ones((1, 1)))], 1)
    assert model.made == 0
    first = model.members
    assert model.scores(NEW, Serial()).shape == (23, 1)
    assert model.members is first
    assert model.made == 1


@pytest.mark.parametrize("outputs", [1, 3])
def test_exponentials_of_one_number_with_common_coefficients_are_one_curve(outputs):
    kernels = [*kw.RBF.grid(np.geomspace(0.1, 100.0, 9)), 2.0 * kw.RBF(width=3.0), kw.Linear(), kw.RBF(1.0).on([1])]
    weights = rng.uniform(size=(outputs, len(kernels)))
    weights[0, 4] = 0.0
    coef = rng.normal(size=(outputs, len(ROWS)))
    model = RowExpansion.weighted(kernels, ROWS, weights, coef)
    expected = sum(w * (kernel.gram(NEW, ROWS) @ coef.T) for w, kernel in zip(weights.T, kernels))
    np.testing.assert_allclose(model.scores(NEW, Serial()), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.contributions(NEW, Serial()).sum(axis=0), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.scores(NEW[:0], Serial()), np.zeros((0, outputs)))
