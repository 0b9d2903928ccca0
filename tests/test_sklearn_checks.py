"""scikit-learn's own checks on every estimator, none of them expected to fail."""

from contextlib import suppress
from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import kernelweave as kw


@parametrize_with_checks(
    [
        kw.KernelClassifier(),
        kw.KernelClassifier(loss="logistic"),
        kw.KernelRegressor(),
        kw.KernelRegressor(loss="squared"),
        kw.KernelNovelty(),
        kw.MKLClassifier(),
        kw.MKLClassifier(norm=2.0, shared_weights=True),
        kw.MKLClassifierCV(Cs=(1.0,), norms=(1.0,), cv=2),
        kw.MKLRegressor(),
        kw.MKLNovelty(),
        kw.CGBoostClassifier(),
        kw.CGBoostRegressor(),
        kw.CGBoostRegressor(loss="nu_regression"),
        kw.CGBoostRegressor(positive=True, fit_intercept="regularized"),
        kw.CGBoostNovelty(),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_checks_of_boosting_where_a_row_is_more_than_its_weight():
    """With the 2-norm two equal rows have two columns, and rows are held out one by one: no weight stands for that."""
    model = kw.CGBoostClassifier(penalty="l2", termination=("TR2", "TR3"))
    for estimator, check in estimator_checks_generator(model):
        if "sample_weight_equivalence" not in check.func.__name__:
            with suppress(SkipTest):
                check(estimator)


def test_the_checks_are_not_a_shadow():
    with pytest.raises(ValueError, match="classes"):
        kw.KernelClassifier().fit([[0.0], [1.0]], [1, 1])
