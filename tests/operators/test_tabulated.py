"""Tables of curves against every Gram matrix in double precision."""

import numpy as np
import pytest

from kernelweave.engines import Serial
from kernelweave.engines.local import Threads
from kernelweave.kernels import RBF, Laplacian, Linear, Polynomial
from kernelweave.operators import Task, choose
from kernelweave.operators.gram.family import SharedSet, StoredSet
from kernelweave.operators.gram.mixture import Family
from kernelweave.operators.gram.rank_one import RankOneSet
from kernelweave.operators.gram.tabulated import NotSmooth, TabulatedSet

N = 300
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 6))
WIDTHS = np.geomspace(1e-4, 1e4, 9)
KERNELS = [
    *(RBF(width=width).on(columns) for columns in (0, [1, 2], [0, 3, 4, 5]) for width in WIDTHS),
    *(0.3 * Laplacian(gamma=gamma).on([1, 5]) for gamma in (0.01, 3.0)),
    *(Polynomial(degree).on([0, 1]) for degree in (1, 2, 3, 7)),
    2.0 * Linear().on([2, 3]),
]


def bound(make, kernels=KERNELS, engine=None, rows=X, **more):
    family = Family(kernels)
    return make(family, family.prepare(rows), len(rows), engine or Serial(), **more)


@pytest.fixture(scope="module")
def pair():
    return bound(TabulatedSet), bound(StoredSet, dtype=np.float64)


def alpha(seed=1):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(N) < 0.4, 0.0, rng.normal(size=N))


def test_energies_and_sums_agree_to_rounding(pair):
    fast, slow = pair
    a, weights = alpha(), np.random.default_rng(2).random(len(KERNELS))
    np.testing.assert_allclose(fast.energies(a), slow.energies(a), rtol=1e-10)
    right = slow.combined(weights).gram
    gram = fast.combined(weights).gram
    np.testing.assert_allclose(gram, right, atol=1e-12 * right.max())
    assert np.array_equal(gram, gram.T)
    rows = np.flatnonzero(a)
    np.testing.assert_allclose(fast.combined_submatrix(weights, rows), right[np.ix_(rows, rows)], atol=1e-9)
    np.testing.assert_allclose(fast.each_inside(rows, a[rows]), slow.each_inside(rows, a[rows]), atol=1e-9)


def test_bits_do_not_depend_on_threads(pair):
    a, weights = alpha(), np.ones(len(KERNELS))
    other = bound(TabulatedSet, engine=Threads(2))
    assert np.array_equal(pair[0].energies(a), other.energies(a))
    assert np.array_equal(pair[0].combined(weights).gram, other.combined(weights).gram)


def test_a_curve_that_polynomials_do_not_follow_is_refused():
    with pytest.raises(NotSmooth, match="not smooth enough"):
        bound(TabulatedSet, [Polynomial(200).on([0, 1])])


def test_equal_rows_and_a_constant_column():
    rows = np.ones((5, 2))
    made = bound(TabulatedSet, [RBF(width=1.0).on(0), RBF(width=2.0).on(0), Polynomial(2).on(1)], rows=rows)
    np.testing.assert_allclose(made.energies(np.ones(5)), [25.0, 25.0, 100.0], rtol=1e-12)


@pytest.mark.parametrize(
    "made",
    [
        bound(StoredSet, dtype=np.float64),
        bound(SharedSet, stored=True),
        bound(TabulatedSet),
        RankOneSet(X.T.copy(), Serial()),
    ],
    ids=lambda made: type(made).__name__,
)
def test_some_kernels_are_what_they_are_among_all(made):
    chosen, a = np.array([1, 3, 4]), alpha()
    some = made.selected(chosen)
    assert (some.m, some.n) == (3, N)
    np.testing.assert_allclose(some.energies(a), made.energies(a)[chosen], rtol=1e-5)
    weights = np.zeros(made.m)
    weights[chosen] = [0.2, 0.3, 0.5]
    left, right = some.combined(weights[chosen]).gram, made.combined(weights).gram
    np.testing.assert_allclose(left, right, atol=1e-5)


def test_many_curves_over_many_numbers_are_tabulated():
    kernels = [RBF(width=width).on([i, j]) for i in range(6) for j in range(6) if i != j for width in WIDTHS[:4]]
    kernels += [RBF(width=width).on(i) for i in range(6) for width in WIDTHS[:4]]
    task = Task(kernels, X, Serial(), "60MB", 1e-3, "parts")
    operators, plan = choose(task)
    assert isinstance(operators, TabulatedSet)
    assert plan.kind == "tabulated"
    assert "curves of 36 numbers" in plan.why
