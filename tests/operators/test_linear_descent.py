"""Coordinate descent for the plain linear kernel: dense tables, sparse ones, and columns of every kind."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import kernelweave as kw
from kernelweave.engines import Serial
from kernelweave.operators.features.operator import FeatureOperator

rng = np.random.default_rng(5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_dense_and_sparse_tables_give_the_same_classifier(loss, tol):
    X = rng.normal(size=(80, 7))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0, 1, -1)
    options = {"C": 0.7, "loss": loss, "fit_intercept": "regularized", "tol": tol, "max_iter": 5000}
    one = kw.KernelClassifier(kw.Linear(), solver="dual_coordinate", **options).fit(X, y)
    other = kw.KernelClassifier(kw.Linear(), solver="dual_coordinate", **options).fit(sparse.csr_array(X), y)
    assert one.converged_
    assert other.converged_
    wanted = kw.KernelClassifier(kw.Linear(), solver="auto", **{**options, "tol": 1e-9}).fit(X, y)
    for model in (one, other):
        assert model.objective_ == pytest.approx(wanted.objective_, rel=tol)
        np.testing.assert_allclose(model.decision_function(X), wanted.decision_function(X), atol=10 * tol**0.5)


def test_a_table_is_swept_by_lines_and_rows_with_gaps_by_columns():
    X = rng.normal(size=(40, 5))
    whole = FeatureOperator(kw.Linear(), X, Serial())
    assert whole.shared.table is not None
    np.testing.assert_array_equal(whole.shared.table[0], X)
    X[3, 2] = 0.0
    gaps = FeatureOperator(kw.Linear(), sparse.csr_array(X), Serial())
    assert gaps.shared.table is None
    alpha = rng.normal(size=40)
    for operator in (whole, gaps):
        out = np.zeros(40)
        operator.add_to(out, np.arange(40), alpha)
        rows = X if operator is gaps else whole.shared.table[0]
        np.testing.assert_allclose(out, rows @ (rows.T @ alpha), rtol=1e-12)


def test_columns_of_one_row_and_numbers_that_need_a_table_of_hashes():
    """Column 3 is of one row only, column 10^9 has a number far above that of the entries."""
    rows, columns = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 3, 0, 1, 1, 10**9])
    X = sparse.csr_array((np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), (rows, columns)), shape=(3, 10**9 + 1))
    filled = np.array([[1.0, 0.0, 2.0, 0.0], [3.0, 4.0, 0.0, 0.0], [0.0, 5.0, 0.0, 6.0]])  # columns 0, 1, 3, 10^9
    for table, seen in ((X, filled), (X[:, :4], filled[:, :3])):
        operator = FeatureOperator(kw.Linear(), table, Serial())
        np.testing.assert_allclose(operator.columns(np.arange(3)), seen @ seen.T)
