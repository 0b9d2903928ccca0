"""Limits, stalls, and what the warnings say."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import kernelweave as kw
from kernelweave.solvers.certificate import DualPoint, PrimalPoint
from kernelweave.solvers.loop import Limits, Stop, limits_of, run
from kernelweave.solvers.mkl import MKL_SOLVERS
from kernelweave.solvers.svm import SVM_SOLVERS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = RNG.integers(0, 2, size=60)


class Toy:
    """Bounds that follow a script."""

    limits = Limits(100, rows=5, inside=1000, idle=200, patience=10)

    def __init__(self, primal, effort=0):
        self.primal, self.effort, self.at, self.spent = primal, effort, 0, 0

    def init(self, problem, start, stop):
        self.most = stop.max_iter

    def step(self):
        self.at += 1
        self.spent += self.effort

    def certify(self, ledger):
        ledger.offer(PrimalPoint(np.zeros(1), 0.0, self.primal(self.at)), DualPoint(np.zeros(1), 0.0))
        return {}

    def fallback(self):
        return PrimalPoint(np.zeros(1), 0.0, np.inf)


class Nothing:
    smallest_scale = 1e-12
    y = np.zeros(50)


@pytest.mark.parametrize(
    ("primal", "ended", "iterations"),
    [
        (lambda t: 1.0, "stalled", 12),
        (lambda t: 1.0 if t < 8 else 0.5, "stalled", 19),
        (lambda t: 1.0 if t < 20 else 0.5, "stalled", 12),
        (lambda t: 0.95**t, "limit", 110),
        (lambda t: max(0.0, 1.0 - 0.1 * t), "tol", 10),
    ],
)
def test_how_a_run_ends(primal, ended, iterations):
    result = run(Toy(primal), Nothing(), Stop(1e-6))
    assert (result.ended, result.n_iter) == (ended, iterations)


@pytest.mark.parametrize(
    ("primal", "effort", "ended", "iterations"),
    [(lambda t: 0.95**t, 50, "effort", 20), (lambda t: 1.0, 100, "stalled", 4), (lambda t: 1.0, 10, "stalled", 12)],
)
def test_effort_inside_ends_a_run(primal, effort, ended, iterations):
    result = run(Toy(primal, effort), Nothing(), Stop(1e-6))
    assert (result.ended, result.n_iter) == (ended, iterations)


def test_a_solver_that_spends_too_much_inside_ends():
    toy = Toy(lambda t: 0.99**t)
    toy.step = lambda: setattr(toy, "at", toy.at + 1) or setattr(toy, "spent", 300 * toy.at)
    assert run(toy, Nothing(), Stop(1e-6)).n_iter == 4


@pytest.mark.parametrize("name", [*SVM_SOLVERS, *MKL_SOLVERS])
def test_every_solver_declares_limits(name):
    make = SVM_SOLVERS[name] if name in SVM_SOLVERS else MKL_SOLVERS[name].make
    assert "limits" in dir(make)
    known = {**SVM_SOLVERS, **MKL_SOLVERS}
    assert all(other in known for other in limits_of(make).instead)


def warning_of(model, rows, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows, y)
    assert kw.verify(model, rows, y).confirmed
    return next(str(one.message) for one in caught if issubclass(one.category, ConvergenceWarning))


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_rows_of_huge_scale_end_and_the_warning_names_the_scale(loss):
    text = warning_of(kw.KernelClassifier(kw.Linear(), loss=loss, max_iter=300), 1e8 * X, Y)
    assert "scale the columns" in text


def test_a_limit_while_the_gap_falls_comes_with_an_estimate():
    model = kw.MKLClassifier([kw.Linear(), kw.Polynomial(2)], norm=2.0, solver="ufo", C=10.0, max_iter=200)
    text = warning_of(model, X, Y)
    assert "raise max_iter (at this rate to about" in text
    assert "try solver='lp'" in text


def test_a_solver_at_its_own_limit_is_not_told_to_raise_it():
    text = warning_of(kw.MKLClassifier(kw.RBF.grid([0.1, 1.0]), loss="squared_hinge", solver="svrg", C=1e5), X, Y)
    assert "the limit of solver='svrg'" in text or "no longer falls" in text
    assert "solver='lp'" in text


def test_another_solver_suits_the_problem():
    text = warning_of(kw.MKLClassifier(kw.RBF.grid([0.1, 1.0]), solver="reduced_gradient", tol=1e-9, max_iter=1), X, Y)
    assert "try solver='level'" in text
