import pickle

import numpy as np
import pytest
from scipy import sparse

import kernelweave as kw
from kernelweave.data.views import Views
from kernelweave.kernels import (
    RBF,
    Cosine,
    Elementwise,
    Features,
    Laplacian,
    Linear,
    On,
    Polynomial,
    Product,
    Scaled,
    Sigmoid,
    Spectrum,
    Sum,
)
from kernelweave.kernels.vector.table import SquaredDistance

rng = np.random.default_rng(3)
X = rng.normal(size=(20, 5))


def test_on_selects_columns_and_views():
    expected = RBF(gamma=1.0).gram(X[:, [0, 3]])
    mask = np.array([True, False, False, True, False])
    for columns in ([0, 3], mask, slice(0, 4, 3), np.array([0, 3])):
        np.testing.assert_array_equal(RBF(gamma=1.0).on(columns).gram(X), expected)
    np.testing.assert_allclose(RBF(gamma=1.0).on([0, 3]).gram(sparse.csr_array(X)), expected, atol=1e-12)
    views = Views({"a": X[:, [0, 3]], "b": X})
    np.testing.assert_array_equal(RBF(gamma=1.0).on("a").gram(views), expected)


def test_on_learns_gamma_from_its_columns():
    kernel = RBF(gamma="scale").on([1, 2]).fitted(X)
    assert kernel.columns == [1, 2]
    assert kernel.kernel.gamma == pytest.approx(1 / (2 * X[:, [1, 2]].var()))
    assert RBF().on([1, 2]).fitted(X) == kernel
    assert RBF("auto").on(0).fitted(X) == RBF(gamma=1.0).on(0)


def test_every_composition_learns_gamma():
    for kernel, settled in ((RBF("auto"), RBF(gamma=0.2)), (RBF(), RBF().fitted(X))):
        assert (kernel + Linear()).fitted(X) == settled + Linear()
        assert (kernel * Linear()).fitted(X) == settled * Linear()
        assert (2 * kernel).fitted(X) == 2 * settled
        assert Cosine(kernel).fitted(X) == Cosine(settled)


def test_a_wrapper_is_elementwise_only_while_its_inside_is():
    assert isinstance(RBF().on(0), Elementwise)
    assert isinstance(Scaled(RBF().on(0), 2.0), Elementwise)
    assert not isinstance(Spectrum(3).on("dna"), Elementwise)
    assert not isinstance((RBF() + Linear()).on(0), Elementwise)
    assert not isinstance(Scaled(Spectrum(3), 2.0), Elementwise)
    assert not isinstance(Cosine(RBF()), Elementwise)
    assert not isinstance(RBF(), Features)
    kernel = RBF().on(0)
    assert not isinstance(kernel.set_params(kernel=Spectrum(3)), Elementwise)


def test_widths_on_the_same_columns_share_one_base():
    kernels = [kernel.on([0, 1]) for kernel in RBF.grid([1, 2, 4])]
    assert {kernel.base() for kernel in kernels} == {On(SquaredDistance(), [0, 1])}
    assert RBF().on(0).base() != RBF().on(1).base()
    for kernel in [*kernels, 3 * kernels[0]]:
        np.testing.assert_array_equal(kernel.finish(kernel.base().gram(X)), kernel.gram(X))


def test_arithmetic_builds_flat_compositions():
    a, b, c = Linear(), RBF(), Laplacian()
    assert a + b + c == Sum([a, b, c])
    assert a * b * c == Product([a, b, c])
    assert 2 * a == a * 2.0 == Scaled(a, 2.0)
    with pytest.raises(TypeError):
        a + 1
    with pytest.raises(TypeError):
        a * "2"


def test_definiteness_passes_through():
    assert (RBF() + Linear()).definite
    assert not (RBF() + Sigmoid()).definite
    assert not (RBF() * Sigmoid()).definite
    assert not (2 * Sigmoid()).on(0).definite


def test_cosine_of_an_indefinite_kernel_names_the_row():
    with pytest.raises(ValueError, match="row 1 has the negative norm"):
        Cosine(Sigmoid(1.0, -2.0)).gram([[2.0], [0.0]])


def test_cosine_diagonal_is_exactly_one():
    K = Polynomial(3).normalized().gram(X)
    assert np.diag(K).tolist() == [1.0] * len(X)


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (Scaled(Linear(), 0.0), "factor=0.0 of Scaled must be a positive number"),
        (Scaled(Linear(), -1), "factor=-1 of Scaled"),
        (Sum([]), "Sum needs at least one kernel"),
        (Sum([Linear(), "rbf"]), "Sum needs kernels, but got 'rbf'"),
        (On("rbf", 0), "On needs kernels"),
        (Cosine(None), "Cosine needs kernels, but got None"),
    ],
    ids=["zero", "negative", "empty", "text", "on", "none"],
)
def test_compositions_without_meaning_are_refused(kernel, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        kernel.gram(X)


def test_nested_parameters_are_reached_by_name():
    kernel = Scaled(RBF(gamma=1.0).on(0), 2.0)
    assert kernel.get_params()["kernel__kernel__gamma"] == 1.0
    kernel.set_params(kernel__kernel__gamma=0.5, factor=3.0)
    assert kernel == Scaled(On(RBF(gamma=0.5), 0), 3.0)
    assert set((RBF() + Linear()).get_params()) == {"kernels"}
    with pytest.raises(ValueError, match=r"RBF has no parameter 'sigma'; it has gamma, width\."):
        kernel.set_params(kernel__kernel__sigma=1)
    with pytest.raises(ValueError, match="Linear has no parameter 'gamma'; it has none"):
        Linear().set_params(gamma=1)


def test_per_feature_goes_feature_by_feature():
    kernels = kw.per_feature([RBF(), Linear()], 3)
    assert kernels == [k.on(j) for j in range(3) for k in (RBF(), Linear())]
    assert kw.per_feature(Linear(), 2) == [Linear().on(0), Linear().on(1)]


def test_prints_numpy_parameters_as_plain_ones():
    assert repr(On(RBF(gamma=np.float64(0.5)), [np.int64(1), 2])) == "On(RBF(gamma=0.5), [1, 2])"
    assert repr(On(Linear(), slice(np.int64(1), None))) == "On(Linear(), slice(1, None, None))"
    assert repr(On(Linear(), ("a",))) == "On(Linear(), ('a',))"
    assert On(Linear(), np.arange(2000)) != On(Linear(), np.arange(2000)[::-1])


def test_compositions_pickle():
    kernel = 2 * RBF().on(0) + Linear() * Laplacian()
    assert pickle.loads(pickle.dumps(kernel)) == kernel
