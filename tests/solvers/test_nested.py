"""A search that starts from fewer rows ends where the search on all rows does, and its certificate is true."""

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.solvers.mkl.weights import nested

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 4))
Y = np.where(np.arange(N) % 5 == 0, 1, -1)
"""Every fifth row, counted from the first, is of one class."""
X[Y > 0, 0] += 1.5
KERNELS = kw.RBF.grid(np.geomspace(0.2, 50.0, 7))
ROOM = 4 * N**2
"""Bytes of one Gram matrix in single precision."""


@pytest.mark.parametrize("norm", [1.0, 4 / 3])
@pytest.mark.parametrize(
    "room", [99 * ROOM, 2.2 * ROOM, 1.2 * ROOM, 0.7 * ROOM], ids=["stored", "shared", "recomputed", "cached"]
)
def test_fewer_rows_lead_to_the_same_optimum(norm, room, monkeypatch):
    def fitted():
        return kw.MKLClassifier(KERNELS, norm=norm, tol=1e-3, memory_limit=room).fit(X, Y)

    plain, starts = fitted(), []
    monkeypatch.setattr(nested, "NESTED", 60)
    solve = nested.run_inside

    def counted(solver, problem, stop):
        starts.append(problem.operators.n)
        assert len(np.unique(problem.targets)) == 2
        return solve(solver, problem, stop)

    monkeypatch.setattr(nested, "run_inside", counted)
    model = fitted()
    assert starts == [80, 16]
    assert model.duality_gap_ <= 1e-3
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-3)
    assert kw.verify(model, X, Y).confirmed


def test_rows_are_chosen_in_the_order_of_their_targets():
    rows = nested.every(Y[None].astype(float), 5)
    assert (Y[rows] > 0).sum() == (Y > 0).sum() / 5
    two = np.stack([np.where(np.arange(N) % 3 == 0, 1.0, -1.0), np.where(np.arange(N) % 3 == 1, 1.0, -1.0)])
    assert {tuple(column) for column in two[:, nested.every(two, 5)].T} == {(1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)}
