"""Block coordinate descent over working sets: what it leaves out may be left out, and every form of the rows agrees."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import kernelweave as kw
from kernelweave._numba.csr import CSR
from kernelweave.engines import Serial
from kernelweave.estimators.mkl.alike import alike_features, alike_pair
from kernelweave.losses import make_loss
from kernelweave.operators import Task, choose
from kernelweave.operators.features.design.columns import TableColumns
from kernelweave.operators.features.design.maps import CodedMap, DenseMap
from kernelweave.operators.features.design.rows import DenseRows
from kernelweave.penalties import LpBall
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.mkl.gradient.blocks import solver as blocks
from kernelweave.solvers.mkl.gradient.blocks.loops import block_length
from kernelweave.solvers.mkl.gradient.blocks.screening import screened
from kernelweave.solvers.mkl.gradient.blocks.solver import BlockCoordinate
from kernelweave.solvers.mkl.problem import MKLProblem

N, M = 40, 60
rng = np.random.default_rng(3)
X = rng.normal(size=(N, M)) + 0.5 * rng.normal(size=(N, 1))
REAL = X[:, 0] - 2 * X[:, 7] + X[:, 20] + 0.1 * rng.normal(size=N)
LABELS = np.where(REAL > 0, 1.0, -1.0)
SINGLE = [kw.Linear().on([j]) for j in range(M)]
PAIRS = [kw.Linear().on([j, j + 1]) for j in range(0, M, 2)]


def problem(loss="squared", p=1.0, kernels=SINGLE, rows=X, C=1.0):
    operators = choose(Task(kernels, rows, Serial(), tol=0.0, need="design"))[0]
    made = make_loss(loss)
    y = LABELS if made.task == "classification" else REAL
    return MKLProblem(operators, made, y[None], np.full(len(y), C), LpBall(p), "free", 0.0)


def solve(shown, tol=1e-9, **params):
    return run(BlockCoordinate(**params), shown, Stop(tol, 500))


@pytest.mark.parametrize("kernels", [SINGLE, PAIRS])
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "huber"])
def test_blocks_that_never_entered_satisfy_their_condition(loss, kernels):
    shown = problem(loss, kernels=kernels, C=0.3)
    solver = BlockCoordinate(first=3)
    result = run(solver, shown, Stop(1e-10, 500))
    assert result.converged
    assert not solver.working.all()
    # the slow twin: the condition of every block, from plain products
    w, b = result.primal.vector[0], float(result.primal.intercept[0])
    size = len(w) // len(kernels)
    alpha = -shown.cost * shown.loss.derivative(X @ w + b, shown.targets[0])
    norms = np.linalg.norm(w.reshape(-1, size), axis=1)
    pulls = np.linalg.norm((X.T @ alpha).reshape(-1, size), axis=1)
    assert np.allclose(pulls[norms > 0], norms.sum(), rtol=1e-3)
    assert np.all(pulls <= norms.sum() * (1 + 1e-3))
    assert 0 < (norms > 0).sum() < len(kernels)
    assert solve(shown, 1e-10).primal.value == pytest.approx(result.primal.value, rel=1e-9)


@pytest.mark.parametrize("kernels", [SINGLE, PAIRS])
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "huber"])
@pytest.mark.parametrize("C", [0.01, 0.3])
def test_no_block_in_use_at_the_optimum_is_ever_screened(C, loss, kernels, monkeypatch):
    shown = problem(loss, kernels=kernels, C=C)
    calls = []
    monkeypatch.setattr(
        blocks, "screened", lambda *given: calls.append(screened(*given)) or np.zeros(len(kernels), bool)
    )
    slow = BlockCoordinate(first=3)  # nothing is left out, but asked for at each point and at the last one
    best = run(slow, shown, Stop(1e-12, 500))
    slow._screen(slow.seen)
    v = X.T @ (-shown.cost * shown.loss.derivative(X @ best.primal.vector[0] + best.primal.intercept, shown.targets[0]))
    pulls = np.linalg.norm(v.reshape(len(kernels), -1), axis=1)
    assert calls[-1].any()
    for left_out in calls:
        assert not np.any(best.primal.beta[left_out] > 0)
        assert np.all(pulls[left_out] < pulls.max())
    monkeypatch.undo()
    assert solve(shown, first=3).primal.value == pytest.approx(best.primal.value, rel=1e-8)


@pytest.mark.parametrize("bend", [0.25, 1.0])
def test_the_sphere_holds_the_dual_optimum(bend):
    # the slow twin: all dual points of the sphere, by chance; a block of the largest length in one of them stays
    features, a = rng.normal(size=(6, 30)) * np.linspace(0.05, 1.0, 30), rng.normal(size=6)
    cost, gap = rng.uniform(0.5, 2.0, 6), 0.01
    out = screened(np.abs(features.T @ a), np.linalg.norm(np.sqrt(cost)[:, None] * features, axis=0), gap, bend)
    assert 0 < out.sum() < 30
    for _ in range(2000):
        step = rng.normal(size=6)
        step *= np.sqrt(2 * gap * bend) / np.linalg.norm(step) * np.sqrt(cost)
        assert not out[np.abs(features.T @ (a + step)).argmax()]


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_a_working_set_smaller_than_the_support_gets_there_too(p, monkeypatch):
    monkeypatch.setattr(blocks, "MOST_COLUMNS", 10)
    shown = problem("logistic", p, C=3.0)
    limited = solve(shown, 1e-5, first=4)
    assert limited.converged
    monkeypatch.undo()
    assert limited.primal.value == pytest.approx(solve(shown).primal.value, rel=2e-5)


def test_a_working_set_stays_within_what_the_memory_limit_leaves():
    shown = problem("logistic", 1.0, C=3.0)
    design = shown.operators.design
    design.room = 2 * 8 * (12 * 12 + N * 12)
    assert design.affordable() == 12
    small = BlockCoordinate()
    limited = run(small, shown, Stop(1e-5, 500))
    assert len(small.chosen) <= 12
    assert limited.primal.value == pytest.approx(solve(problem("logistic", 1.0, C=3.0)).primal.value, rel=2e-5)
    design.room = 8.0
    with pytest.raises(MemoryError, match="more than the memory_limit leaves beside the features; raise the limit"):
        run(BlockCoordinate(), shown, Stop(1e-5, 500))


@pytest.mark.parametrize("p", [1.0, 1.5])
def test_sparse_rows_are_dense_rows(p):
    table = np.where(rng.random((N, M)) < 0.2, X, 0.0)
    dense = problem("logistic", p, rows=table)
    thin = problem("logistic", p, rows=sparse.csr_array(table))
    assert dense.operators.design.dense
    assert not thin.operators.design.dense
    assert solve(thin).primal.value == pytest.approx(solve(dense).primal.value, rel=1e-8)


def test_a_solution_is_a_start_that_needs_no_step():
    shown = problem("logistic", 2.0)
    cold = solve(shown)
    warm = run(BlockCoordinate(), shown, Stop(1e-8, 500), start=cold.primal)
    assert warm.n_iter == 1
    assert warm.trace["passes"][-1] == 1.0


def test_a_loss_that_is_straight_everywhere_at_the_start():
    far = MKLProblem(
        problem().operators, make_loss("huber", delta=1e-3), (REAL + 50 * np.sign(REAL))[None], np.ones(N), LpBall(1.0)
    )
    assert solve(far, 1e-6).converged


@pytest.mark.parametrize(("loss", "norm"), [("squared", 1.0), ("huber", 2.0), ("squared", np.inf)])
@pytest.mark.parametrize("intercept", [True, "regularized", False])
def test_weights_are_repeated_rows_and_the_judge_agrees(loss, norm, intercept):
    times = rng.integers(1, 4, N)
    make = kw.MKLRegressor(
        PAIRS, loss=loss, norm=norm, tol=1e-9, solver="block_coordinate", fit_intercept=intercept, C=0.5
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        weighted = make.fit(X, REAL, sample_weight=times)
        found = weighted.predict(X)
        repeated = make.fit(np.repeat(X, times, axis=0), np.repeat(REAL, times))
    assert np.allclose(found, repeated.predict(X), rtol=1e-4, atol=1e-4)
    assert kw.verify(repeated, np.repeat(X, times, axis=0), np.repeat(REAL, times)).confirmed


@pytest.mark.parametrize("p", [1.0, 1.01, 4 / 3, 2.0, 30.0, np.inf])
def test_the_length_of_a_block_solves_its_equation(p):
    r = LpBall(p).exponent
    for size, bound, others in rng.uniform(0.1, 5.0, (50, 3)):
        t = block_length(size, bound, others, r)
        pull = (others + t**r) ** ((2 - r) / r) * (t ** (r - 1) if t > 0 or r == 1 else 0.0)
        if p == 1.0 and size <= others:
            assert t == 0.0
        elif t > 0:
            assert bound * t + pull == pytest.approx(size, rel=1e-10)


def test_some_rows_of_the_gram_matrix_of_columns():
    weights, some = rng.random(N), np.array([2, 5, 11])
    want = (X.T * weights) @ X
    thin = CSR(np.tile(np.arange(M, dtype=np.uint32), N), X.ravel(), M * np.arange(N + 1))
    for rows in (DenseRows(X), thin):
        assert np.allclose(rows.column_gram(weights, M, some), want[some])
        assert np.allclose(rows.column_gram(weights, M, np.arange(M)), want)
        assert np.allclose(rows.only(some, M).column_gram(weights, 3, np.arange(3)), want[np.ix_(some, some)])


def test_columns_of_a_table_at_once_are_those_of_every_kernel():
    kernels = [kw.Linear().on([3]), 2.0 * kw.Linear().on([5, 1]), 0.5 * kw.Linear(), kw.Linear().on(slice(4, 6))]
    table = TableColumns.of(kernels, X)
    out = np.empty((5, len(table.columns)))
    table.fill(X, slice(2, 7), out)
    each = [DenseMap(kernel, size).columns(X[2:7]) for kernel, size in zip(kernels, table.sizes)]
    assert np.allclose(out, np.hstack(each), rtol=1e-14)
    assert TableColumns.of([*kernels, kw.Polynomial(2)], X) is None


def test_columns_of_a_sparse_table_at_once_are_those_of_every_kernel():
    kernels = [kw.Linear().on([3]), 2.0 * kw.Linear().on([5, 1]), 0.5 * kw.Linear(), kw.Linear().on([7])]
    thin = sparse.csr_array(np.where(np.abs(X) > 1.0, X, 0.0) * (np.arange(M) != 7))
    table = TableColumns.of(kernels, thin).present(thin)
    assert list(table.sizes) == [1, 2, M - 1, 0]
    made = table.rows(thin[2:7], np.float64)
    got = sparse.csr_array((made.values, made.columns.astype(int), made.starts), (5, len(table.columns))).toarray()
    each = []
    for one, kernel in zip(table.maps(kernels, thin), kernels):
        assert isinstance(one, CodedMap)
        assert one.kernel is kernel
        rows = one.columns(thin[2:7])
        codes = rows.columns.ravel().astype(int)
        each.append(sparse.csr_array((rows.values, codes, rows.starts), (5, one.width)).toarray())
    assert np.allclose(got, np.hstack(each), rtol=1e-14)
    assert np.allclose(table.squares(thin, np.full(N, 1 / N)), [kernel.diag(thin).mean() for kernel in kernels])


def test_near_copies_are_found_in_features_as_in_kernel_values():
    table = X.copy()
    table[:, 9] = -1.5 * table[:, 4] + 1e-4 * table[:, 5]
    design = choose(Task(SINGLE, table, Serial(), tol=0.0, need="design"))[0].design
    weights = np.linspace(1.0, 0.5, M)
    assert alike_features(design, weights) == alike_pair(SINGLE, table, weights) == (4, 9)
    assert alike_features(problem().operators.design, weights) is None


def test_rare_features_that_agree_on_a_sample_are_not_alike():
    n, rng = 2000, np.random.default_rng(0)
    rare = sparse.random(n, 40, 0.01, random_state=rng, format="lil")
    rare[0] = 1.0  # the first row is in every sample, and most columns have nothing else there
    rare[:, 7] = 2.0 * rare[:, 3]
    table = sparse.csr_array(rare)
    kernels = [kw.Linear().on([j]) for j in range(40)]
    design = choose(Task(kernels, table, Serial(), tol=0.0, need="design"))[0].design
    weights = np.linspace(1.0, 0.5, 40)
    assert alike_features(design, weights) == (3, 7)
    weights[[3, 7]] = 0.0
    assert alike_features(design, weights) is None


def test_a_table_that_is_the_design_is_neither_copied_nor_changed():
    table = X.copy()
    design = choose(Task(SINGLE, table, Serial(), tol=0.0, need="design"))[0].design
    assert np.shares_memory(design.part(0).values, table)
    turned = choose(Task(SINGLE, np.asfortranarray(table), Serial(), tol=0.0, need="design"))[0].design
    assert np.array_equal(turned.part(0).values, table)
    kw.MKLRegressor(SINGLE, C=0.1, loss="squared", solver="block_coordinate").fit(table, table[:, 0])
    assert np.array_equal(table, X)
    table.flags.writeable = False
    kept = choose(Task(SINGLE, table, Serial(), tol=0.0, need="design"))[0].design
    assert not np.shares_memory(kept.part(0).values, table)
