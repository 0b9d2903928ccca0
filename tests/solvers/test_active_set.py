"""Rounds over parts: feasible, certified over all rows, at the optimum; the same bits whoever works on the parts."""

import numpy as np
import pytest

import kernelweave as kw
from contracts.test_checkpoint_contract import check
from kernelweave.engines import Serial, Threads
from kernelweave.losses import LOSSES, make_loss
from kernelweave.operators import Task, choose
from kernelweave.operators.sharded import operator as sharded
from kernelweave.penalties import LpBall
from kernelweave.solvers.active import rounds
from kernelweave.solvers.active.working_set import Targets, expected_support, largest, sample, shares
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.mkl.active_set import ActiveSetMKL
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.svm.active_set import ActiveSet
from kernelweave.solvers.svm.chunking import Chunking
from oracles import mkl, svm
from oracles.losses import PARAMETERS
from remote import Pickled

N = 220
rng = np.random.default_rng(0)
TABLE = rng.normal(size=(N, 4))
LABELS = np.where(TABLE[:, 0] + 0.5 * TABLE[:, 1] ** 2 + 0.3 * rng.normal(size=N) > 0.3, 1.0, -1.0)
REAL = np.sin(2 * TABLE[:, 0]) + 0.2 * rng.normal(size=N)
WEIGHT = rng.uniform(0.3, 2.0, N)
DNA = kw.Sequences.from_strings(["".join(rng.choice(list("ACGT"), 24)) for _ in range(N)])
SITES = np.array([1.0 if "AC" in DNA[i][4:12] else -1.0 for i in range(N)])
KERNELS = {
    "k-mers with a place": (kw.WeightedDegree(5) * 0.05, DNA),
    "shifts": (kw.WeightedDegree(4, shift=2) * 0.02, DNA),
    "spectrum": (kw.Spectrum(3).normalized(), DNA),
    "gapped k-mers": (kw.GappedKmer(4, 3).normalized(), DNA),
    "n-grams": (kw.NGram(2, cumulative=True).normalized(), DNA),
    "linear": (kw.Linear(), TABLE),
    "values": (kw.RBF(width=2.0), TABLE),
}
SPARSE = [name for name, loss in LOSSES.items() if loss().sparse and loss().task != "novelty"]
WEIGHTED = [kw.RBF(width=1.0), kw.RBF(width=8.0), kw.Linear() * 0.25]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(sharded, "SMALLEST_PART", 32)

    monkeypatch.setattr(rounds, "RETURNED_MORE", 4)
    monkeypatch.setattr(rounds, "PILOT", 64)


def held(kernels, X, engine=None, need="shards"):
    return choose(Task(kernels, X, engine or Serial(), "1GB", 1e-9, need)).operator


def problem(loss="hinge", intercept="free", on="values", engine=None):
    kernel, X = KERNELS[on]
    made = make_loss(loss, **PARAMETERS)
    y = REAL if made.task == "regression" else LABELS if X is TABLE else SITES
    return Problem(held([kernel], X, engine), made, y, 3.0 * WEIGHT, intercept)


def certified(p, result, K):
    told = p.loss.name, K, p.y, p.cost, p.intercept, p.total
    assert svm.primal(*told, result.primal.alpha, result.primal.intercept) == pytest.approx(
        result.primal.value, rel=1e-9
    )
    assert svm.dual(*told, result.dual.alpha) == pytest.approx(result.dual.value, rel=1e-9)


@pytest.mark.parametrize("intercept", ["free", "regularized", "none"])
@pytest.mark.parametrize("loss", SPARSE)
def test_every_sparse_loss_is_certified_at_its_optimum(loss, intercept):
    p, K = problem(loss, intercept), KERNELS["values"][0].gram(TABLE)
    result = run(ActiveSet(first=40), p, Stop(1e-6))
    assert result.converged
    certified(p, result, K)
    best = svm.optimum(loss, K, p.y, p.cost, intercept, 0.0)
    assert result.primal.value == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("on", KERNELS)
def test_every_kind_of_kernel_is_certified(on):
    kernel, X = KERNELS[on]
    p = problem(on=on)
    assert len(p.operator.parts) == 4
    result = run(ActiveSet(first=30), p, Stop(1e-5))
    assert result.converged
    certified(p, result, kernel.gram(X))


@pytest.mark.parametrize("first", [10, 200])
def test_a_set_that_is_too_small_is_enlarged(first):
    result = run(ActiveSet(first=first), problem(), Stop(1e-4))
    assert result.converged
    assert result.trace["working_set"][-1] >= np.count_nonzero(result.dual.alpha)


def test_a_set_that_may_not_hold_the_support_stops_with_an_honest_gap():
    p = problem()
    result = run(ActiveSet(most=12), p, Stop(1e-6))
    assert not result.converged
    assert result.gap > 1e-3
    certified(p, result, KERNELS["values"][0].gram(TABLE))


@pytest.mark.parametrize("loss", sorted(set(LOSSES) - set(SPARSE)))
def test_losses_without_a_free_range_are_refused(loss):
    made = make_loss(loss, **PARAMETERS)
    p = Problem(held([kw.Linear()], TABLE), made, LABELS, WEIGHT, "free", 1.0 if made.task == "novelty" else 0.0)
    with pytest.raises(ValueError, match="active_set"):
        run(ActiveSet(), p, Stop())


@pytest.mark.parametrize("on", ["k-mers with a place", "values"])
def test_the_same_bits_with_threads_and_with_pickled_parts(on):
    one, *others = [
        run(ActiveSet(first=40), problem(on=on, engine=e), Stop(1e-5)) for e in (Serial(), Threads(2), Pickled())
    ]
    for other in others:
        assert np.array_equal(one.dual.alpha, other.dual.alpha)
        assert one.primal.value == other.primal.value
        assert np.array_equal(one.trace["gap"], other.trace["gap"])


@pytest.mark.parametrize("iterations", [1, 2])
def test_a_run_goes_on_from_its_checkpoint_with_the_same_bits(iterations):
    check(lambda: ActiveSet(first=20), problem(), Stop(1e-6), iterations)


@pytest.mark.parametrize("iterations", [1, 2])
def test_a_run_with_many_kernels_goes_on(iterations):
    check(lambda: ActiveSetMKL(first=30), many(1.0), Stop(1e-4), iterations)


def many(p):
    operators = held(WEIGHTED, TABLE, need="shard_parts")
    return MKLProblem(operators, make_loss("hinge"), LABELS[None], 3.0 * WEIGHT, LpBall(p))


@pytest.mark.parametrize(
    ("solver", "p", "tol"),
    [("auto", 1.0, 1e-4), ("auto", 2.0, 1e-4), ("silp_chunking", 1.0, 1e-2), ("level", 1.0, 1e-4)],
)
def test_weights_of_many_kernels_are_certified(solver, p, tol):
    shown, grams = many(p), np.stack([kernel.gram(TABLE) for kernel in WEIGHTED])
    result = run(ActiveSetMKL(solver, first=60), shown, Stop(tol))
    assert result.converged
    told = "hinge", grams, shown.targets, shown.cost
    beta, b = result.primal.beta, np.atleast_1d(result.primal.intercept)
    assert mkl.primal(*told, beta, result.primal.alpha, b, "free", 0.0) == pytest.approx(result.primal.value, rel=1e-9)
    assert mkl.dual(*told, result.dual.alpha, p, "free", 0.0) == pytest.approx(result.dual.value, rel=1e-9)


def test_algorithm_4_chunks_over_parts():
    """The workers compute the outputs of their rows; the master chooses and solves chunks."""
    p = problem(on="k-mers with a place", engine=Pickled())
    result = run(Chunking(chunk_size=32), p, Stop(1e-4, 2000))
    assert result.converged
    certified(p, result, KERNELS["k-mers with a place"][0].gram(DNA))
    rounds = run(ActiveSet(first=40), p, Stop(1e-4))
    assert result.primal.value == pytest.approx(rounds.primal.value, rel=2e-4)


@pytest.mark.parametrize("given", [{"first": 0}, {"most": 2.5}, {"first": "all"}])
def test_sizes_that_are_none_are_refused(given):
    with pytest.raises(ValueError, match=f"{next(iter(given))}=.* must be a number of rows"):
        ActiveSet(**given)


def test_a_pilot_tells_the_support_by_its_growth():
    support, power = expected_support((100, 200), (1000, 4000), 16_000)
    assert (round(support), power) == (400, 0.5)
    assert expected_support((1000, 4000), (1000, 4000), 10**6) == (10**6, 1.0)


def test_a_sample_has_both_classes():
    y = np.full(10_000, -1.0)
    y[[17, 9000]] = 1.0
    rows = sample(y, 100, np.random.default_rng(0))
    assert {17, 9000} <= set(rows.tolist())
    assert np.all(np.diff(rows) > 0)


def test_shares_are_losses_and_the_largest_come_back():
    y, cost, alpha = LABELS[:9], WEIGHT[:9], np.array([0.5])
    outputs = np.linspace(-2, 2, 9)
    loss = make_loss("hinge")
    total, energy, violators, rows, values = shares(loss, 0.1, 3, outputs, (y, cost, np.array([4]), alpha))
    each = cost * loss.value(outputs + 0.1, y)
    assert total == pytest.approx(each.sum())
    assert energy == pytest.approx(0.5 * outputs[4])
    each[4] = 0.0
    assert violators == np.count_nonzero(each)
    assert set(rows.tolist()) == set(np.argsort(-each)[:3].tolist())
    np.testing.assert_allclose(values, each[rows], rtol=1e-6)
    found = [(0, 0, 0, rows, values), (0, 0, 0, rows, values)]
    best = largest(found, [slice(0, 9), slice(9, 18)], 2)
    assert set(best.tolist()) == {int(np.argmax(each)), int(np.argmax(each)) + 9}


def test_targets_travel_in_few_bytes():
    small = Targets.of(LABELS, np.full(N, 2.0))
    assert small.y.dtype == np.int8
    assert len(small.cost) == 1
    exact = Targets.of(REAL, WEIGHT)
    assert exact.y is REAL
    assert np.array_equal(exact.part(slice(3, 7))[1], WEIGHT[3:7])
