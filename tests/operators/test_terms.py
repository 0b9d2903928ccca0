"""What the innermost kernels of a model add to its decision value, against kernel values."""

import numpy as np
import pytest

from kernelweave.data import Views
from kernelweave.kernels import RBF, Cosine, Linear, Polynomial
from kernelweave.kernels.centred import Centred
from kernelweave.operators.expansion.terms import terms

rng = np.random.default_rng(1)
X, NEW = Views({"a": rng.normal(size=(9, 3)), "b": rng.normal(size=(9, 2))}), rng.normal(size=(4, 3))
ROWS = Views({"a": NEW, "b": NEW[:, :2]})
COEF = rng.normal(size=9)
SHARE = rng.random(9) / 4.5
SUM = 2.0 * (Linear().on([0, 2]).on("a") + 3.0 * RBF(width=1.0).on("b")) + Linear().on("a")


def added_up(kernel, norms_of_new=1.0):
    """Return the sum of all terms on new rows."""
    total = np.zeros(4)
    for term in terms(kernel, X, COEF):
        coef = term.coef if term.norms is None else term.coef / term.norms
        total += term.factor * term.kernel.gram(term.leaf.select(ROWS), term.rows) @ coef / norms_of_new
    return total


def centred(kernel):
    return Centred(kernel, X, SHARE / SHARE.sum(), 0.7)


@pytest.mark.parametrize("kernel", [SUM, centred(SUM), 2.0 * centred(SUM)], ids=["sum", "centred", "scaled"])
def test_terms_add_up_to_the_scores(kernel):
    values = kernel.gram(ROWS, X) @ COEF - added_up(kernel)
    np.testing.assert_allclose(values - values[0], 0.0, atol=1e-12)  # what is left is the same for every row


@pytest.mark.parametrize("inner", [SUM, centred(SUM)], ids=["sum", "centred"])
def test_normalised_terms_carry_norms(inner):
    norms = np.sqrt(inner.diag(ROWS))
    left = (Cosine(inner).gram(ROWS, X) @ COEF - added_up(Cosine(inner), norms)) * norms
    np.testing.assert_allclose(left - left[0], 0.0, atol=1e-12)


def test_without_coefficients_each_kernel_comes_once():
    found = list(terms(centred(Cosine(SUM)), X))
    assert [(term.kernel, term.factor) for term in found] == [(Linear(), 2.0), (RBF(width=1.0), 6.0), (Linear(), 1.0)]
    assert all(term.coef is None for term in found)
    assert found[0].norms is found[1].norms  # made once


def test_what_is_multiplied_is_left_out():
    assert [term.kernel for term in terms(Linear() * RBF(width=1.0) + Polynomial(2), np.eye(2))] == [Polynomial(2)]
