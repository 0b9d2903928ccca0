"""Losses as users write them: spellings, parameters, messages, through estimators of one kernel and of many."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import HuberRegressor

import kernelweave as kw
from kernelweave.losses import LOSSES, Huber, Loss, losses_for
from oracles import svm
from oracles.losses import DELTA

rng = np.random.default_rng(0)
N = 60
X = rng.normal(size=(N, 3))
REAL = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=N)
LABELS = np.where(REAL > 0, 1, -1)
MKL = {"kernels": [kw.RBF(width=4.0), kw.Linear()], "norm": 2.0, "tol": 1e-6}


@pytest.mark.parametrize("loss", losses_for("regression"))
def test_every_regressor_takes_every_loss(loss):
    one = kw.KernelRegressor(kw.RBF(width=4.0), loss=loss, tol=1e-6).fit(X, REAL)
    many = kw.MKLRegressor(loss=loss, **MKL).fit(X, REAL)
    assert one.converged_
    assert many.converged_
    assert one.score(X, REAL) > 0.5
    assert many.score(X, REAL) > 0.5


@pytest.mark.parametrize("loss", losses_for("classification"))
def test_every_classifier_takes_every_loss(loss):
    assert kw.KernelClassifier(kw.RBF(width=4.0), loss=loss, tol=1e-6).fit(X, LABELS).converged_
    assert kw.MKLClassifier(loss=loss, **MKL).fit(X, LABELS).converged_


@pytest.mark.parametrize(
    ("make", "target", "spelled", "given"),
    [
        (kw.KernelClassifier, LABELS, "smooth_hinge:3", {"loss": "smooth_hinge", "sigma": 3.0}),
        (kw.KernelRegressor, REAL, "epsilon_insensitive:0.4", {"loss": "epsilon_insensitive", "epsilon": 0.4}),
        (kw.KernelRegressor, REAL, "squared_epsilon_insensitive:0.4",
         {"loss": "squared_epsilon_insensitive", "epsilon": 0.4}),
    ],
)  # fmt: skip
def test_a_spelling_is_the_parameter_and_has_the_last_word(make, target, spelled, given):
    plain = make("rbf:0.2", **given, tol=1e-6).fit(X, target)
    name = "sigma" if "sigma" in given else "epsilon"
    for value in (0.1, 7.0):
        model = clone(make("rbf:0.2", loss=spelled, tol=1e-6, **{name: value})).fit(X, target)
        assert model.objective_ == plain.objective_


def test_huber_takes_its_parameter_from_the_spelling():
    kernel, target = kw.RBF(width=4.0), REAL + np.where(np.arange(N) % 5, 0.0, 4.0)
    found = {
        text: kw.KernelRegressor(kernel, loss=text, tol=1e-9).fit(X, target).objective_
        for text in ("huber", "huber:1", f"huber:{DELTA}")
    }
    assert found["huber"] == found["huber:1"]
    best = svm.optimum("huber", kernel.gram(X), target, np.ones(N), "free")
    assert found[f"huber:{DELTA}"] == pytest.approx(best, rel=1e-6)
    assert best < 0.9 * found["huber"]


def test_huber_is_not_led_astray_by_outliers():
    truth = X @ [1.0, -2.0, 0.5]
    target = truth + 0.1 * rng.normal(size=N)
    target[::6] += 40.0
    errors = {}
    for loss in ("squared", "huber:0.5"):
        fitted = kw.KernelRegressor(kw.Linear(), C=10.0, loss=loss).fit(X, target)
        errors[loss] = np.abs(fitted.predict(X) - truth).mean()
    theirs = np.abs(HuberRegressor().fit(X, target).predict(X) - truth).mean()
    assert errors["huber:0.5"] < 0.2 < 3.0 < errors["squared"]
    assert errors["huber:0.5"] < 2 * theirs + 0.1


@pytest.mark.parametrize("solver", ["svrg", "ufo", "proximal_gradient", "silp_chunking"])
def test_solvers_choose_losses_by_their_properties(solver):
    norm = 1.0 if solver == "silp_chunking" else 2.0
    tol = 2e-2 if solver == "ufo" else 1e-3
    model = kw.MKLRegressor([kw.Linear(), kw.RBF(width=4.0)], loss="huber:0.3", norm=norm, solver=solver, tol=tol)
    other = kw.MKLRegressor([kw.Linear(), kw.RBF(width=4.0)], loss="huber:0.3", norm=norm, tol=1e-6)
    best = other.fit(X, REAL).objective_
    assert model.fit(X, REAL).objective_ == pytest.approx(best, rel=2 * tol)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (kw.KernelClassifier(loss="log"), f"unknown; choose one of {', '.join(losses_for('classification'))}\\."),
        (kw.MKLRegressor(loss="log"), f"unknown; choose one of {', '.join(losses_for('regression'))}\\."),
        (kw.KernelClassifier(loss="huber"), "'huber' is for regression, not for classification; choose one of hinge"),
        (kw.KernelRegressor(loss="huber:0"), "loss='huber:0': delta must be a positive number, not '0'"),
        (kw.KernelRegressor(loss="huber:1:2"), "loss='huber:1:2' has too many values; write it as 'huber:DELTA'"),
        (kw.KernelRegressor(loss="squared:1"), "loss='squared:1' has too many values; write it as 'squared'"),
        (kw.KernelRegressor(epsilon=-1), "epsilon=-1 must be a non-negative number"),
        (kw.MKLRegressor(loss="squared", solver="ufo"), "is for the losses epsilon_insensitive, huber, not 'squared'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_loss_is_said(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, LABELS if "Classifier" in type(model).__name__ else REAL)


def test_a_new_loss_needs_no_other_edit(monkeypatch):
    class Doubled(Huber):
        """Huber's loss under another name."""

        name = "doubled"

    assert issubclass(Doubled, Loss)
    monkeypatch.setitem(LOSSES, "doubled", Doubled)
    for solver in ("auto", "svrg"):
        model = kw.MKLRegressor(loss="doubled:0.3", solver=solver, **MKL).fit(X, REAL)
        other = kw.MKLRegressor(loss="huber:0.3", solver=solver, **MKL).fit(X, REAL)
        assert model.objective_ == other.objective_
