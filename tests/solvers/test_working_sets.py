"""Working sets of chunking: values that are kept, the size by the number of rows, rows that are left out."""

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.engines import Serial
from kernelweave.losses import make_loss
from kernelweave.operators import Task, choose
from kernelweave.operators.base import KMER_STORES, Blocks, Linadd, WholeProducts, product
from kernelweave.operators.features import operator as feature_operator
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.svm import chunking
from kernelweave.solvers.svm.chunking import Chunking, default_chunk
from kernelweave.solvers.svm.face import follow_face

N = 2100  # beyond the rows up to which a Gram matrix is taken
X, Y = kw.datasets.make_splice(N, random_state=0)
KERNELS = {"degree": kw.WeightedDegree(6), "shift": kw.WeightedDegree(4, shift=1), "spectrum": kw.Spectrum(4)}


def bound(name, store=None):
    return choose(Task([KERNELS[name]], X, Serial(), need="products", store=store))[0]


def problem(operator):
    return Problem(operator, make_loss("hinge"), np.where(Y > 0, 1.0, -1.0), np.full(N, 0.02))


FORMS = [*((name, None) for name in KERNELS), *(("degree", store) for store in KMER_STORES)]


@pytest.mark.parametrize(("name", "store"), FORMS)
def test_the_values_of_a_working_set_are_those_of_the_kernel(name, store, monkeypatch):
    """Whether they were there before or not, to the bit: a run that is resumed makes them afresh."""
    seen, matrix = [], Chunking._matrix

    def watched(self, former):
        K = matrix(self, former)
        seen.append(len(np.intersect1d(former, self.rows)))
        np.testing.assert_array_equal(K, self.problem.operator.submatrix(self.rows))
        return K

    monkeypatch.setattr(Chunking, "_matrix", watched)
    run(Chunking(64), problem(bound(name, store)), Stop(1e-3, 12))
    assert max(seen) == 32


def test_known_values_are_not_made_again(monkeypatch):
    operator, asked = bound("degree"), []
    assert isinstance(operator, Blocks)
    submatrix = type(operator).submatrix
    monkeypatch.setattr(
        type(operator), "submatrix", lambda self, rows: asked.append(len(rows)) or submatrix(self, rows)
    )
    run(Chunking(64), problem(operator), Stop(1e-6, 6))
    assert asked == [64, 32, 32, 32, 32, 32]


@pytest.mark.parametrize("cost", [0.0, np.inf])
def test_both_ways_to_a_gram_matrix_of_features(cost, monkeypatch):
    monkeypatch.setattr(feature_operator, "LIST_COST", cost)
    rows = np.random.default_rng(0).permutation(N)[:90]
    expected = KERNELS["spectrum"].gram(X[rows])
    np.testing.assert_allclose(bound("spectrum").submatrix(rows), expected, rtol=1e-12)


def test_features_of_some_of_the_rows():
    operator, rows = bound("spectrum"), np.arange(0, N, 7)
    few = operator.narrowed(rows)
    assert isinstance(few, Linadd)
    assert few.n == len(rows)
    np.testing.assert_allclose(few.diag(), operator.diag()[rows])
    steps, out = np.linspace(-1, 1, 5), np.zeros(len(rows))
    few.add_to(out, np.arange(5), steps)
    np.testing.assert_allclose(out, KERNELS["spectrum"].gram(X[rows])[:, :5] @ steps, rtol=1e-9)


@pytest.mark.parametrize(("name", "store"), FORMS)
def test_rows_at_rest_are_left_out_in_every_form(name, store, monkeypatch):
    """Findings P5."""
    monkeypatch.setattr(chunking, "SHRINK_FROM", 1000)
    monkeypatch.setattr(chunking, "EVERY", 3)
    monkeypatch.setattr(chunking, "NARROW", 0.99)
    shown, solver, narrowed = problem(bound(name, store)), Chunking(128), []
    inner = Chunking._narrowed
    monkeypatch.setattr(Chunking, "_narrowed", lambda self, rows: narrowed.append(len(rows)) or inner(self, rows))
    result = run(solver, shown, Stop(1e-3))
    assert result.converged
    assert narrowed
    assert max(narrowed) < N
    whole = run(Chunking(128, shrinking=False), shown, Stop(1e-3))
    assert result.primal.value == pytest.approx(whole.primal.value, rel=2e-3)


def test_the_size_grows_with_the_rows():
    sizes = [default_chunk(n) for n in (100, 50_000, 200_000, 10**6, 10**9)]
    assert sizes == [512, 512, 1024, 2289, 4096]


@pytest.mark.parametrize("name", ["degree", "spectrum"])
def test_sets_of_rows_begin_small_and_the_dual_is_seen_while_they_are_solved(name, monkeypatch):
    monkeypatch.setattr(chunking, "SHRINK_FROM", 1000)
    monkeypatch.setattr(chunking, "FIRST_ROWS", 200)
    seen = []
    result = run(Chunking(64), problem(bound(name)), Stop(1e-3), seen.append)
    rows = [progress.extra["rows"] for progress in seen]
    assert rows[0] == 200
    assert max(rows) == N
    assert result.converged
    duals = [progress.dual for progress in seen[:4]]
    assert duals == sorted(duals)
    assert duals[0] < duals[-1]


@pytest.mark.parametrize("intercept", ["free", "regularized"])
def test_sets_within_sets_keep_what_fixed_rows_add(intercept, monkeypatch):
    """Rows may be left out of rows that others were left out of; those have an alpha that stays."""
    for name, value in {"SHRINK_FROM": 300, "FIRST_ROWS": 200, "EVERY": 2, "NARROW": 0.99, "WIDER": 1.5}.items():
        monkeypatch.setattr(chunking, name, value)
    shown = Problem(bound("spectrum"), make_loss("hinge"), np.where(Y > 0, 1.0, -1.0), np.full(N, 0.5), intercept)
    widen, fixed = Chunking._widen, []

    def watched(self, rows, inner):
        fixed.append(np.count_nonzero(self.alpha) - np.count_nonzero(self.alpha[rows]) if self.known is not None else 0)
        widen(self, rows, inner)
        if self.problem is shown:
            right = self.F[rows] + shown.shift * (self.alpha.sum() - self.alpha[rows].sum())
            np.testing.assert_allclose(inner.F, right, atol=1e-9)

    monkeypatch.setattr(Chunking, "_widen", watched)
    result = run(Chunking(64), shown, Stop(1e-3))
    assert result.converged
    assert max(fixed) > 0


def test_rows_of_a_first_set_are_of_all_targets():
    y = np.where(np.arange(1000) == 617, 1.0, -1.0)
    assert 617 in chunking.evenly_spread(y, 10)
    assert len(np.unique(chunking.evenly_spread(y, 333))) == 333


def solver_at(C, intercept="free", loss="hinge"):
    shown = Problem(bound("spectrum"), make_loss(loss), np.where(Y > 0, 1.0, -1.0), np.full(N, C), intercept)
    solver = Chunking(64, shrinking=False)
    solver.init(shown, None, Stop(1e-3))
    for _ in range(20):
        solver.step()
    return solver


def objective(solver):
    return solver.problem.dual(solver.alpha, float(solver.alpha @ solver.F))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", ["free", "regularized", "none"])
def test_free_variables_follow_their_face(loss, intercept):
    solver = solver_at(1.0, intercept, loss)
    moved = False
    for _ in range(20):  # with other rounding the free variables may be at rest just now
        before, at = objective(solver), solver.alpha.sum()
        moved = follow_face(solver)
        if moved:
            break
        solver.step()
    assert moved
    assert objective(solver) > before
    assert np.all((solver.v >= solver.box.low) & (solver.v <= solver.box.high))
    np.testing.assert_allclose(solver.F, product(solver.problem.operator, solver.alpha), atol=1e-9)
    if intercept == "free":
        assert solver.alpha.sum() == pytest.approx(at, abs=1e-10)


def test_whole_products_need_no_index():
    operator, alpha = bound("degree"), np.random.default_rng(0).normal(size=N) * (np.arange(N) % 3 == 0)
    assert isinstance(operator, WholeProducts)
    swept = operator.whole_product(alpha)
    assert "index" not in vars(operator.rows)
    out, rows = np.zeros(N), np.flatnonzero(alpha)
    operator.add_to(out, rows, alpha[rows])
    np.testing.assert_allclose(swept, out, rtol=1e-10, atol=1e-10)
    assert operator.whole_product(alpha) is None  # steps go on with the index that is there now
