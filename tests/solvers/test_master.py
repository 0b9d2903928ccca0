"""The growing linear programme against a general one, and the proof that its dual variables give."""

import numpy as np
import pytest
from scipy.optimize import linprog

from kernelweave.solvers.lp import master
from kernelweave.solvers.lp.master import Master

M, N = 6, 15
rng = np.random.default_rng(0)
ROOTS = rng.normal(size=(M, N, 4))
GRAMS = ROOTS @ ROOTS.transpose(0, 2, 1)
TARGET = rng.choice([-1.0, 1.0], size=N)


def cut(outputs=1):
    """A cut of the hinge loss: ``d = y'alpha`` and ``q_k = alpha'K_k alpha``, added over the outputs."""
    alpha = TARGET * rng.uniform(0, 1, size=(outputs, N))
    return float((TARGET * alpha).sum()), np.einsum("oi,kij,oj->k", alpha, GRAMS, alpha), alpha


def reference(cuts):
    """The same programme by scipy: weights on the simplex and t above every cut."""
    rows = [np.append(-0.5 * q, -1.0) for _, q, _ in cuts]
    made = linprog(
        np.append(np.zeros(M), 1.0), A_ub=rows, b_ub=[-d for d, _, _ in cuts],
        A_eq=[np.append(np.ones(M), 0.0)], b_eq=[1.0], bounds=[(0, None)] * M + [(None, None)],
    )  # fmt: skip
    assert made.status == 0
    return made.fun


def check_solution(lp, cuts):
    beta, bound, proof = lp.solve()
    assert bound == pytest.approx(reference(cuts), rel=1e-6, abs=1e-7)
    assert np.all(beta >= 0)
    assert beta.sum() == pytest.approx(1.0)
    assert max(d - 0.5 * beta @ q for d, q, _ in cuts) == pytest.approx(bound, rel=1e-6, abs=1e-6)
    assert np.all(proof >= 0)
    assert proof.sum() == pytest.approx(1.0)
    assert len(proof) == len(lp.cuts)
    return beta, bound, proof


@pytest.mark.parametrize("scale", [1e-3, 1.0, 500.0])
def test_every_added_cut_counts(scale):
    lp, cuts = Master(M, scale), []
    for _ in range(25):
        cuts.append(cut())
        lp.add(*cuts[-1])
        check_solution(lp, cuts)


def test_the_bound_rises_with_every_cut():
    lp, bounds = Master(M, 1.0), []
    for _ in range(20):
        lp.add(*cut())
        bounds.append(lp.solve()[1])
    assert np.all(np.diff(bounds) >= -1e-9)


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_combination_of_alphas_certifies_at_least_the_bound(outputs):
    lp, cuts = Master(M, 10.0), []
    for _ in range(30):
        cuts.append(cut(outputs))
        lp.add(*cuts[-1])
        _, bound, proof = check_solution(lp, cuts)
        alpha = lp.combination(proof)
        assert alpha.shape == (outputs, N)
        q = np.einsum("oi,kij,oj->k", alpha, GRAMS, alpha)
        assert (TARGET * alpha).sum() - 0.5 * q.max() >= bound - 1e-6 * max(abs(bound), 1.0)


def test_pruning_keeps_the_optimum(monkeypatch):
    monkeypatch.setattr(master, "PATIENCE", 3)
    lp, cuts = Master(M, 1.0), []
    for _ in range(40):
        cuts.append(cut())
        lp.add(*cuts[-1])
    before = lp.solve()[1]
    for _ in range(4):
        lp.solve()
    lp.prune()
    assert len(lp.cuts) <= M + 1
    assert lp.solve()[1] == pytest.approx(before, rel=1e-9)
    assert before == pytest.approx(reference(cuts), rel=1e-6)
    kept = [(made.d, made.q, made.alpha) for made in lp.cuts]
    for _ in range(15):
        kept.append(cut())
        lp.add(*kept[-1])
        check_solution(lp, kept)


def test_an_active_cut_is_never_dropped(monkeypatch):
    monkeypatch.setattr(master, "PATIENCE", 0)
    lp = Master(M, 1.0)
    strong = cut()
    lp.add(*strong)
    lp.add(strong[0] - 100.0, strong[1], strong[2])
    for _ in range(3):
        lp.solve()
    lp.prune()
    assert [made.d for made in lp.cuts] == [strong[0]]


def test_kernels_without_energy():
    lp = Master(3, 1.0)
    lp.add(2.0, np.zeros(3), np.ones((1, N)))
    beta, bound, proof = lp.solve()
    assert bound == pytest.approx(2.0)
    assert beta.sum() == pytest.approx(1.0)
    assert proof.tolist() == [1.0]
