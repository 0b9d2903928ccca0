"""Plans: they say what a fit then does, cost no file and no attribute, and warn of rounds that will not help."""

import json
import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kernelweave as kw
from kernelweave.estimators.planning.forecast import ALL_AT_ONCE, USUAL_ROUNDS
from kernelweave.operators.sharded import operator as sharded
from kernelweave.solvers.active import rounds
from kernelweave.solvers.active.pilot import Pilot

rng = np.random.default_rng(0)
TABLE = rng.normal(size=(400, 3))
LABELS = np.where(TABLE[:, 0] + TABLE[:, 1] ** 2 > 0.8, 1, -1)
KERNELS = [kw.RBF(width=1.0), kw.RBF(width=4.0)]
MODELS = {
    "one kernel": kw.KernelClassifier(KERNELS[0]),
    "linear": kw.KernelClassifier("linear", loss="logistic"),
    "numbers": kw.KernelRegressor(KERNELS[0]),
    "novelty": kw.KernelNovelty(KERNELS[0]),
    "many kernels": kw.MKLClassifier(KERNELS),
    "features": kw.MKLClassifier(kw.per_feature(kw.Linear(), 3), loss="logistic", norm=2.0),
    "boosted": kw.CGBoostClassifier(KERNELS, termination="TR3"),
    "by parts": kw.KernelClassifier(KERNELS[0], solver="active_set"),
    "many by parts": kw.MKLClassifier(KERNELS, solver="active_set"),
}


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(sharded, "SMALLEST_PART", 64)
    monkeypatch.setattr(rounds, "PILOT", 64)
    monkeypatch.setattr(rounds, "RETURNED_MORE", 4)


@pytest.mark.parametrize("name", MODELS)
def test_a_plan_says_what_a_fit_then_does(name):
    model = MODELS[name].set_params(memory_limit="1GB")
    found = kw.plan(model, TABLE, LABELS)
    assert not hasattr(model, "memory_plan_")
    fitted = type(model)(**model.get_params(deep=False)).fit(TABLE, LABELS)
    assert (found.rows, found.outputs) == (400, 1)
    assert (found.memory, found.solver, found.solver_why) == (fitted.memory_plan_, fitted.solver_, fitted.solver_why_)
    assert (found.rounds is not None) == ("by parts" in name)
    assert [line.split(maxsplit=1)[0] for line in str(found).splitlines()][:3] == ["rows", "held", "solver"]
    json.dumps(found.record())


def test_a_plan_of_rounds_agrees_with_the_rounds(small_parts):
    model = kw.KernelClassifier(KERNELS[0], C=5.0, solver="active_set", n_jobs=2)
    found = kw.plan(model, TABLE, LABELS).rounds
    fitted = model.fit(TABLE, LABELS)
    assert (found.parts, found.part_rows, found.workers, found.rounds) == (4, 100, 2, USUAL_ROUNDS)
    assert found.pilot.expected == pytest.approx(len(fitted.support_), rel=0.5)
    travelled = 1e6 * fitted.trace_["megabytes"].max()
    assert travelled <= found.round_bytes <= 3 * travelled  # not every part has as many rows to offer as it may
    assert 0 < found.part_seconds < found.round_seconds
    assert found.seconds[0] == pytest.approx(USUAL_ROUNDS[0] * found.round_seconds)
    assert found.worker_bytes > TABLE.nbytes // 4
    assert found.record()["working_set"] == found.pilot.capacity


def test_every_class_has_rounds_of_its_own(small_parts):
    found = kw.plan(kw.KernelClassifier(KERNELS[0], solver="active_set"), TABLE, rng.integers(0, 3, 400))
    assert found.outputs == 3
    assert "for each of 3 outputs" in dict(found.lines())["rounds"]


def test_a_plan_writes_no_checkpoint(tmp_path, small_parts):
    place = tmp_path / "fit.kwc"
    kw.plan(kw.KernelClassifier(KERNELS[0], solver="active_set", checkpoint=str(place)), TABLE, LABELS)
    assert not place.exists()


def test_a_pipeline_is_planned_behind_its_first_steps():
    found = kw.plan(make_pipeline(StandardScaler(), kw.KernelClassifier("linear")), TABLE, LABELS)
    assert found.rows == 400
    with pytest.raises(TypeError, match="SVC is not an estimator of kernelweave"):
        kw.plan(SVC(), TABLE, LABELS)


def test_noise_under_a_small_cost_is_warned_of(small_parts):
    noise, most = rng.choice([-1, 1], 400), {"most": 300}
    model = kw.KernelClassifier(KERNELS[0], C=0.01, solver="active_set", solver_params=most, max_iter=2)
    message = "of the 400 rows are expected to be support .* 300 rows: rounds over parts will not close the gap; raise"
    with pytest.warns(UserWarning, match=message):
        model.fit(TABLE, noise)
    assert "will not close the gap" in kw.plan(model, TABLE, noise).warning
    with pytest.warns(UserWarning, match="support vectors"):
        kw.MKLClassifier(KERNELS, C=0.01, solver="active_set", solver_params=most, max_iter=2).fit(TABLE, noise)


def test_noise_that_fits_is_solved_at_once_without_a_warning(small_parts):
    model, noise = kw.KernelClassifier(KERNELS[0], C=0.01, solver="active_set"), rng.choice([-1, 1], 400)
    found = kw.plan(model, TABLE, noise)
    assert (found.warning, found.rounds.rounds, found.rounds.pilot.capacity) == (None, ALL_AT_ONCE, 400)
    assert "solved at once" in dict(found.lines())["rounds"]


def test_few_support_vectors_are_not_warned_of(small_parts):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kw.KernelClassifier("linear", C=10.0, solver="active_set").fit(TABLE, np.where(TABLE[:, 0] > 0, 1, -1))


def test_a_support_of_most_rows_is_warned_of():
    assert "save little; raise memory_limit" in Pilot(1000, 900, (100, 400), (70, 280), (0.1, 0.4)).warning
    assert Pilot(1000, 1000, (100, 400), (70, 280), (0.1, 0.4)).warning is None
    assert Pilot(1000, 900, (100, 400), (30, 120), (0.1, 0.4)).warning is None
