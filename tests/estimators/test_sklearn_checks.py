"""scikit-learn's own checks on every estimator; where one cannot hold, the reason is named and it has to fail."""

from inspect import signature

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelweave as kw

STRICT = {"xfail_strict": True} if "xfail_strict" in signature(parametrize_with_checks).parameters else {}
"""Older versions of scikit-learn mark an expected failure and do not ask whether it came."""
TIGHT = 1e-10
"""Weights and repeated rows are compared to seven digits, which the 2-norm has at this gap (the 1-norm at any)."""


def cannot_hold(estimator):
    """Name the checks that a setting of parameters contradicts."""
    if "TR3" in getattr(estimator, "termination", ()):
        reason = "which rows judge the rounds is drawn row by row, and a row of weight 2 is one row"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    if getattr(estimator, "loss", None) == "nu_classification" and estimator.fit_intercept is True:
        reason = "each class must have half of nu times all costs, and class weights of 1000 and 0.0001 leave one none"
        return {"check_class_weight_classifiers": reason}
    return {}


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
        kw.CGBoostClassifier(penalty="l2", tol=TIGHT),
        kw.CGBoostClassifier(termination="TR3"),
        kw.CGBoostClassifier(penalty="l2", termination=("TR2", "TR3")),
        kw.CGBoostClassifier(loss="nu_classification", nu=0.1),
        kw.CGBoostClassifier(loss="nu_classification", fit_intercept="regularized"),
        kw.CGBoostClassifier(loss="nu_classification", fit_intercept="regularized", penalty="l2", tol=TIGHT),
        kw.CGBoostRegressor(),
        kw.CGBoostRegressor(penalty="l2", tol=TIGHT),
        kw.CGBoostRegressor(termination="TR3"),
        kw.CGBoostRegressor(loss="nu_regression"),
        kw.CGBoostRegressor(loss="nu_regression", penalty="l2", tol=TIGHT),
        kw.CGBoostRegressor(positive=True, fit_intercept="regularized"),
        kw.CGBoostNovelty(),
        kw.CGBoostNovelty(["linear", "rbf:0.05"], penalty="l2", tol=TIGHT),
    ],
    expected_failed_checks=cannot_hold,
    **STRICT,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_the_checks_are_not_a_shadow():
    with pytest.raises(ValueError, match="classes"):
        kw.KernelClassifier().fit([[0.0], [1.0]], [1, 1])
