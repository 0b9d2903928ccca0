"""Boosted classifiers of sequences and lattices: the optimum of a general solver over all columns."""

from __future__ import annotations

import numpy as np
import pytest

import kernelweave as kw
from oracles import boost

SITES, SIDES = kw.datasets.make_splice(60, random_state=0)
WORDS = np.random.default_rng(2).choice(list("abcd"), size=(40, 3))
HEARD = kw.Lattices.from_arcs(
    [([(0, 1, w[0], 0.7), (0, 1, "e", 0.3), (1, 2, w[1], 0.6), (1, 2, w[2], 0.4)], [2]) for w in WORDS]
)
STRUCTURED = {
    "sequences": (SITES[:40], SITES[40:], SIDES[:40], [kw.Spectrum(2), kw.WeightedDegree(5)]),
    "lattices": (HEARD[:30], HEARD[30:], np.where(WORDS[:30, 1] < "c", 1, -1), [kw.NGram(1), kw.NGram(2)]),
}


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("name", sorted(STRUCTURED))
def test_the_optimum_over_columns_of_structured_rows(name, penalty):
    rows, new, y, kernels = STRUCTURED[name]
    fitted = kw.CGBoostClassifier(kernels, penalty=penalty, tol=1e-8).fit(rows, y)
    K = np.hstack([kernel.gram(rows) for kernel in fitted.kernels_])
    cost = np.ones(rows.shape[0])
    best = boost.optimum("hinge", K, y.astype(float), cost, penalty, False, "free", 0.0, 0.5)
    assert fitted.objective_ == pytest.approx(best, rel=1e-6)
    assert fitted.converged_
    a = np.zeros((len(kernels), len(y)))
    a[fitted.columns_["kernel"], fitted.columns_["example"]] = fitted.columns_["coefficient"]
    assert np.count_nonzero(a) > 0
    outputs = sum(kernel.gram(new, rows) @ part for kernel, part in zip(fitted.kernels_, a)) + fitted.intercept_[0]
    np.testing.assert_allclose(fitted.decision_function(new), outputs, atol=1e-9)
