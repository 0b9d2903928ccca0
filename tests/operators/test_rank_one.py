"""Kernels of rank one are held as vectors, and give the same numbers as their matrices."""

from __future__ import annotations

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.engines import Serial, Threads
from kernelweave.operators import Operator, Task, choose, product
from kernelweave.operators.base import OperatorSet
from kernelweave.operators.gram.family import StoredSet
from kernelweave.operators.gram.mixture import Family
from kernelweave.operators.gram.rank_one import RankOneSet, rank_one_vectors
from kernelweave.operators.planner import family as plan_family
from kernelweave.operators.planner.family import RankOne
from oracles.planning import Sizes

rng = np.random.default_rng(5)
N, D = 23, 6
X = rng.normal(size=(N, D))
X[:, 4] = 0.0
KERNELS = [kw.Linear().on(0), 2.5 * kw.Linear().on(1), kw.Linear().on([2]), kw.Linear().on(3) * 1e-6,
           kw.Linear().on(4), kw.Polynomial(1, coef0=0.0).on(5)]  # fmt: skip
WEIGHTS = np.array([0.5, 0.0, 0.25, 1e-3, 0.1, 0.2])
ROWS = np.array([3, 0, 22, 3, 7])
STEPS = rng.normal(size=5)


def both(stored=True):
    family = Family(KERNELS)
    slow = StoredSet(family, family.prepare(X), N, Serial(), np.float64)
    fast = RankOneSet(rank_one_vectors(family, family.prepare(X), N), Threads(2), stored)
    return slow, fast


def test_the_set_equals_its_matrices():
    slow, fast = both()
    assert isinstance(fast, OperatorSet)
    alpha = rng.normal(size=N)
    np.testing.assert_allclose(fast.energies(alpha), slow.energies(alpha), rtol=1e-10, atol=1e-16)
    out, wanted = np.ones((len(KERNELS), N)), np.ones((len(KERNELS), N))
    fast.each_add_to(out, ROWS, STEPS)
    slow.each_add_to(wanted, ROWS, STEPS)
    np.testing.assert_allclose(out, wanted, rtol=1e-12)
    np.testing.assert_allclose(fast.diagonals(), slow.diagonals(), atol=1e-15)
    np.testing.assert_allclose(
        fast.combined_submatrix(WEIGHTS, ROWS), slow.combined_submatrix(WEIGHTS, ROWS), atol=1e-14
    )


@pytest.mark.parametrize("stored", [True, False])
def test_the_weighted_sum_is_an_operator(stored):
    slow, fast = both(stored)
    wanted, made = slow.combined(WEIGHTS), fast.combined(WEIGHTS)
    assert isinstance(made, Operator)
    assert hasattr(made, "gram") == stored
    np.testing.assert_allclose(made.diag(), wanted.diag(), atol=1e-14)
    np.testing.assert_allclose(made.columns(ROWS), wanted.columns(ROWS), atol=1e-14)
    np.testing.assert_allclose(made.submatrix(ROWS), wanted.submatrix(ROWS), atol=1e-14)
    alpha = np.where(np.arange(N) % 3, 0.0, 1.5)
    np.testing.assert_allclose(product(made, alpha), product(wanted, alpha), atol=1e-13)


@pytest.mark.parametrize(
    "other", [kw.RBF(width=1.0).on(0), kw.Linear().on([0, 1]), kw.Polynomial(1).on(0), kw.Linear(), kw.Identity()]
)
def test_one_kernel_of_higher_rank_and_all_are_held_as_usual(other):
    _, plan = choose(Task(KERNELS, X, Serial(), need="parts"))
    assert plan.kind == "rank_one"
    _, plan = choose(Task([*KERNELS, other], X, Serial(), need="parts"))
    assert plan.kind == "stored"


def test_the_plan_keeps_the_memory_limit_and_says_so():
    candidate, whole = RankOne(), Sizes(1000, 5000, limit="1GB", need="parts")
    assert candidate.bytes(whole) == 8 * (1000 * 5000 + 1000 * 1000)
    short = Sizes(20_000, 10, limit="1GB", need="parts")
    assert candidate.bytes(short) == 8 * 20_000 * 10
    assert "columns of their weighted sum on demand" in candidate.why(short)
    assert candidate.bytes(Sizes(20_000, 10_000, limit="1GB", need="parts")) > 1e9


@pytest.mark.parametrize("solver", ["hessian", "silp", "level", "smooth", "lp"])
def test_models_learn_the_same_as_from_matrices(solver, monkeypatch):
    X, y = kw.datasets.make_complementary(60, 12, 8, random_state=0)
    params = {"smoothing": 1.0} if solver == "smooth" else None

    def learned(**options):
        model = kw.MKLClassifier(kw.per_feature(kw.Linear(), 12), solver=solver, solver_params=params, tol=1e-5)
        return model.set_params(**options).fit(X, y)

    vectors, on_demand = learned(), learned(memory_limit=8 * 60 * 40)
    monkeypatch.setattr(plan_family, "rank_one_vectors", lambda *_: None)
    matrices = learned()
    assert [m.memory_plan_.kind for m in (vectors, on_demand, matrices)] == ["rank_one", "rank_one", "stored"]
    assert "on demand" in on_demand.memory_plan_.why
    for model in (vectors, on_demand):
        assert model.objective_ == pytest.approx(matrices.objective_, rel=2e-5)
        assert model.duality_gap_ <= 1e-5
        np.testing.assert_allclose(model.decision_function(X), matrices.decision_function(X), atol=0.05)


def test_values_that_overflow_are_still_refused():
    X, y = kw.datasets.make_complementary(20, 3, 3, random_state=0)
    X[4, 1] = 1e200
    with pytest.raises(ValueError, match="row 4"):
        kw.MKLClassifier(kw.per_feature(kw.Linear(), 3), normalize=None).fit(X, y)
