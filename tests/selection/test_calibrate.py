"""Probabilities and thresholds: as scikit-learn has them, kept in the file, gone with the next fit."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from kernelweave.estimators.calibration import Calibration, fit_calibration

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = np.where(X[:, 0] + 0.8 * RNG.normal(size=400) > 0.5, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * RNG.normal(size=400), [-0.5, 0.5])]
RBF = kw.RBF(width=4.0)
FOLDS = list(KFold(4).split(X))


def test_logistic_loss_has_probabilities_and_others_say_how_to_get_them():
    model = kw.KernelClassifier(RBF, loss="logistic").fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(model.decision_function(X)))
    several = kw.MKLClassifier([RBF, kw.Linear()], loss="logistic", norm=2.0).fit(X, THREE)
    np.testing.assert_allclose(several.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(several.classes_[several.predict_proba(X).argmax(axis=1)], several.predict(X))
    assert not hasattr(kw.KernelClassifier(RBF), "predict_proba")
    with pytest.raises(AttributeError, match=r"has no attribute|kw.calibrate"):
        kw.KernelClassifier(RBF).predict_proba(X)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_two_classes_are_calibrated_as_scikit_learn_does(method):
    model = kw.KernelClassifier(RBF, tol=1e-8)
    theirs = CalibratedClassifierCV(model, method=method, cv=FOLDS, ensemble=False).fit(X, Y)
    ours = kw.calibrate(kw.search(model, X, Y, cv=FOLDS), Y, method)
    near = 0.03 if method == "isotonic" else 2e-3
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=near)


@pytest.mark.parametrize("method", ["sigmoid", "temperature", "isotonic"])
@pytest.mark.parametrize("y", [Y, THREE])
def test_calibrated_models_are_saved_and_are_better_than_their_classes_alone(method, y, tmp_path):
    model = kw.calibrate(kw.search(kw.KernelClassifier(RBF), X[:300], y[:300], cv=4), y[:300], method)
    p = model.predict_proba(X[300:])
    shares = np.array([(y[:300] == label).mean() for label in model.classes_])
    true = y[300:, None] == model.classes_
    assert ((p - true) ** 2).sum() < 0.9 * ((shares - true) ** 2).sum()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    kw.save(model, tmp_path / "m.kw")
    np.testing.assert_array_equal(kw.load(tmp_path / "m.kw").predict_proba(X[300:]), p)
    assert not hasattr(model.fit(X, y), "predict_proba")


def test_a_temperature_undoes_a_factor():
    f = RNG.normal(scale=2.0, size=(4000, 1))
    true = RNG.random((4000, 1)) < expit(f)
    assert fit_calibration("temperature", 5.0 * f, true).x[0][0] == pytest.approx(5.0, rel=0.1)
    found = fit_calibration("sigmoid", 5.0 * f - 3.0, true)
    assert (found.x[0][0], found.y[0][0]) == pytest.approx((0.2, 0.6), abs=0.08)


def test_a_threshold_for_a_precision_is_kept(tmp_path):
    found = kw.search(make_pipeline(StandardScaler(), kw.KernelClassifier(RBF)), X, Y, cv=4)
    model = kw.hold_precision(found, Y, 0.9)
    held = found.out_of_fold_ >= model[-1].threshold_.value
    assert (Y[held] == "yes").mean() >= 0.9
    assert (held & (Y == "yes")).sum() / (Y == "yes").sum() == pytest.approx(model[-1].threshold_.recall)
    kw.save(model, tmp_path / "m.kw")
    again = kw.load(tmp_path / "m.kw")
    np.testing.assert_array_equal(again.predict(X) == "yes", model.decision_function(X) >= model[-1].threshold_.value)
    with pytest.raises(ValueError, match="exactly two classes, not 3"):
        kw.hold_precision(kw.search(kw.KernelClassifier(RBF), X, THREE, cv=3), THREE, 0.9)
    with pytest.raises(ValueError, match="refit=True"):
        kw.calibrate(kw.search(kw.KernelClassifier(RBF), X, Y, cv=3, refit=False), Y)
    with pytest.raises(ValueError, match="is not one of sigmoid, temperature, isotonic"):
        kw.calibrate(found, Y, "beta")


@pytest.mark.parametrize(
    "forged",
    [
        Calibration("sigmoid", [np.array([np.nan])], [np.zeros(1)]),
        Calibration("sigmoid", [np.zeros(1)] * 2, [np.zeros(1)] * 2),
        Calibration("isotonic", [np.array([1.0, 0.0])], [np.array([0.0, 1.0])]),
        Calibration("isotonic", [np.array([0.0, 1.0])], [np.array([0.0, 2.0])]),
        Calibration("temperature", [np.array([-1.0])], [np.zeros(1)]),
        Calibration("magic", [np.ones(1)], [np.ones(1)]),
    ],
)
def test_forged_calibrations_are_refused(forged, tmp_path):
    model = kw.KernelClassifier(RBF).fit(X, Y)
    model.calibration_ = forged
    kw.save(model, tmp_path / "m.kw")
    with pytest.raises(ValueError, match=r"calibration|temperature"):
        kw.load(tmp_path / "m.kw")
