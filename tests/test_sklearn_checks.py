"""scikit-learn's own checks on every estimator, none of them expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

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
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_the_checks_are_not_a_shadow():
    with pytest.raises(ValueError, match="classes"):
        kw.KernelClassifier().fit([[0.0], [1.0]], [1, 1])
