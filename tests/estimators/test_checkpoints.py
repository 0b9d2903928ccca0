"""Fits that are stopped and go on: the same model as if nothing had happened, and one sentence where that cannot be."""

import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import kernelweave as kw
from disks import no_file_above
from kernelweave.estimators.files.container import CHECKPOINTS
from kernelweave.estimators.fitting import StoppedEarly

X, Y = kw.datasets.make_stars(150, random_state=0)
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
REAL = X[:, 0] + np.sin(X[:, 1])
KERNELS = [kw.Linear(), *kw.RBF.grid([0.3, 3.0])]
MODELS = {
    "classifier": (kw.KernelClassifier(kw.RBF(width=1.0), solver="chunking", solver_params={"chunk_size": 8}), Y),
    "classes": (kw.KernelClassifier(kw.RBF(width=1.0), solver="chunking", solver_params={"chunk_size": 8}), THREE),
    "logistic": (kw.KernelClassifier(kw.RBF(width=1.0), loss="logistic"), Y),
    "regressor": (kw.KernelRegressor(kw.RBF(width=1.0), solver="chunking", solver_params={"chunk_size": 8}), REAL),
    "novelty": (kw.KernelNovelty(kw.RBF(width=1.0), nu=0.2, solver="chunking", solver_params={"chunk_size": 8}), None),
    "mkl": (kw.MKLClassifier(KERNELS, solver="silp"), Y),
    "mkl classes": (kw.MKLClassifier(KERNELS, solver="silp"), THREE),
    "mkl hessian": (kw.MKLClassifier(KERNELS, C=10.0, solver="hessian", tol=1e-6), Y),
    "mkl features": (kw.MKLClassifier(KERNELS, loss="logistic", norm=2.0, solver="svrg"), Y),
    "mkl regressor": (kw.MKLRegressor(KERNELS, solver="silp_chunking"), REAL),
    "mkl novelty": (kw.MKLNovelty(KERNELS, nu=0.3, solver="level", tol=1e-4), None),
    "cv": (kw.MKLClassifierCV(KERNELS, Cs=[1.0, 10.0], norms=[1.0], cv=2, solver="silp"), Y),
    "boost": (kw.CGBoostClassifier(KERNELS, columns_per_round=4), Y),
    "boost classes": (kw.CGBoostClassifier(KERNELS, columns_per_round=4), THREE),
    "boost held out": (kw.CGBoostClassifier(KERNELS, columns_per_round=4, termination="TR3"), Y),
    "boost l2": (kw.CGBoostRegressor(KERNELS, penalty="l2", columns_per_round=4), REAL),
    "boost novelty": (kw.CGBoostNovelty(KERNELS, nu=0.3, columns_per_round=4), None),
}
PROGRAMMES = {"mkl", "mkl classes", "mkl regressor", "mkl novelty", "cv", *(name for name in MODELS if "boost" in name)}
PROGRAMMES -= {"boost l2"}
"""Solved by linear programmes, which round otherwise where they are built again."""
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def copy(name, **params):
    model, y = MODELS[name]
    return model.__class__(**{**model.get_params(deep=False), **params}), y


def fitted(name, path, stop_after=None, **params):
    """Fit with a checkpoint; stopped after so many iterations of all runs, if asked for."""
    model, y = copy(name, checkpoint=(path, 0.0), **params)
    seen = []

    def count(progress):
        seen.append(progress)
        return stop_after is not None and sum(not one.resumed for one in seen) >= stop_after

    model.set_params(callbacks=[count])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoppedEarly)
        model.fit(X, y)
    return model, [one for one in seen if not one.resumed], [one for one in seen if one.resumed]


def same(one, other, bits=True):
    """The same model, or one as close to the optimum."""
    if not bits:
        assert one.converged_ == other.converged_
        assert one.objective_ == pytest.approx(other.objective_, rel=2 * one.tol)
        return
    assert one.objective_ == other.objective_
    assert one.dual_objective_ == other.dual_objective_
    assert one.n_iter_ == other.n_iter_
    assert np.array_equal(one.intercept_, other.intercept_)
    how = "decision_function" if hasattr(one, "decision_function") else "predict"
    assert np.array_equal(getattr(one, how)(X), getattr(other, how)(X))
    assert len(one.trace_) == len(other.trace_)


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_that_was_stopped_goes_on(name, tmp_path):
    model, y = copy(name)
    model.fit(X, y)
    path = tmp_path / "fit.kwc"
    for stop_after in (2, 3):
        fitted(name, path, stop_after)
    again, _, resumed = fitted(name, path)
    assert resumed
    same(again, model, name not in PROGRAMMES)
    third, steps, _ = fitted(name, path)
    assert steps == []
    same(third, again)
    assert [each.name for each in tmp_path.iterdir()] == ["fit.kwc"]


def test_what_is_finished_is_not_solved_again(tmp_path):
    whole, steps, _ = fitted("classes", tmp_path / "whole.kwc")
    first = [step.iteration for step in steps].index(1, 1)
    fitted("classes", tmp_path / "fit.kwc", first + 2)
    again, _, resumed = fitted("classes", tmp_path / "fit.kwc")
    assert [one.iteration for one in resumed] == [first, 2]
    same(again, whole)


def test_a_finer_tolerance_and_more_iterations_go_on(tmp_path):
    path = tmp_path / "fit.kwc"
    coarse, _, _ = fitted("classifier", path, tol=1e-2)
    fine, steps, resumed = fitted("classifier", path, tol=1e-6)
    assert coarse.duality_gap_ <= 1e-2
    assert fine.duality_gap_ <= 1e-6
    assert resumed[0].iteration == coarse.n_iter_
    assert steps[0].iteration == coarse.n_iter_ + 1
    assert fitted("classifier", path, tol=1e-4)[1] == []
    path.unlink()
    few, _, _ = fitted("classifier", path, max_iter=3)
    more, steps, _ = fitted("classifier", path)
    assert (few.n_iter_, steps[0].iteration) == (3, 4)
    model, y = copy("classifier")
    same(more, model.fit(X, y))


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"C": 2.0}, "C was 1.0 and is 2.0"),
        ({"kernel": kw.RBF(width=2.0)}, "kernel was RBF(width=1.0) and is RBF(width=2.0)"),
        ({"class_weight": {-1: 2.0, 1: 1.0}}, "class_weight was None and is {-1: 2.0, 1: 1.0}"),
        ({"loss": "squared_hinge", "C": 3.0}, "C was 1.0 and is 3.0, loss was 'hinge' and is 'squared_hinge'"),
    ],
)
def test_another_parameter_is_refused(params, sentence, tmp_path):
    path = tmp_path / "fit.kwc"
    fitted("classifier", path, 2)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="is the checkpoint of another fit") as caught:
        fitted("classifier", path, **params)
    assert sentence in str(caught.value)
    assert path.read_bytes() == before


def test_other_data_are_refused(tmp_path):
    path = tmp_path / "fit.kwc"
    model, y = copy("classifier", checkpoint=path)
    model.fit(X, y)
    moved = X.copy()
    moved[70, 1] += 1e-12
    for rows, labels, weight, what in [
        (moved, y, None, "the rows changed"),
        (X, np.where(np.arange(150) == 9, -y, y), None, "the targets changed"),
        (X, y, np.linspace(1, 2, 150), "the sample weights changed"),
    ]:
        with pytest.raises(ValueError, match=what):
            model.fit(rows, labels, weight)
    with pytest.raises(ValueError, match="the estimator was 'KernelClassifier' and is 'MKLClassifier'"):
        kw.MKLClassifier(KERNELS, checkpoint=path).fit(X, y)


def test_folds_and_draws_that_differ_are_refused(tmp_path):
    from sklearn.model_selection import KFold

    path = tmp_path / "fit.kwc"
    cv = kw.MKLClassifierCV(KERNELS, Cs=[1.0], norms=[1.0], cv=KFold(2, shuffle=True), checkpoint=path)
    cv.fit(X, Y)
    with pytest.raises(ValueError, match="the folds changed"):
        cv.fit(X, Y)
    path.unlink()
    boost = kw.CGBoostClassifier(KERNELS, validation_fraction=0.2, random_state=None, checkpoint=path)
    boost.fit(X, Y)
    with pytest.raises(ValueError, match="the rows held out and the seed changed"):
        boost.fit(X, Y)


@pytest.mark.parametrize(
    "rows",
    [
        kw.Sequences.from_strings(["ACGT" * 3, "AAAA" * 3, "ACCT" * 3, "ATAA" * 3] * 5, alphabet="dna"),
        {"a": X[:20], "b": X[20:40]},
        ["ab ba", "bb", "aab", "b b"] * 5,
    ],
    ids=["sequences", "views", "texts"],
)
def test_rows_of_every_kind_have_a_digest(rows, tmp_path):
    kernels = [kw.Linear().on("a"), kw.Linear().on("b")] if isinstance(rows, dict) else [kw.Spectrum(2)]
    model = kw.MKLClassifier(kernels, checkpoint=tmp_path / "fit.kwc")
    y = np.arange(20) % 4 < 2
    model.fit(rows, y)
    first = model.objective_
    assert model.fit(rows, y).objective_ == first
    with pytest.raises(ValueError, match="the targets changed"):
        model.fit(rows, ~y)


SCRIPT = """
import sys, time
import kernelweave as kw
X, y = kw.datasets.make_stars(150, random_state=0)
def slow(progress):
    print(progress.iteration, flush=True)
    time.sleep(float(sys.argv[2]))
model = kw.KernelClassifier(kw.RBF(width=1.0), solver="chunking", solver_params={"chunk_size": 8}, tol=1e-6,
                            checkpoint=(sys.argv[1], 0.0), callbacks=[slow]).fit(X, y)
print(model.objective_.hex(), model.n_iter_, model.duality_gap_.hex())
"""


def test_a_killed_process_goes_on_elsewhere(tmp_path):
    path = str(tmp_path / "fit.kwc")
    run = [sys.executable, "-c", SCRIPT]
    whole = subprocess.run([*run, str(tmp_path / "whole.kwc"), "0"], capture_output=True, text=True, check=True)
    process = subprocess.Popen([*run, path, "0.2"], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.strip() == "5":
            break
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    again = subprocess.run([*run, path, "0"], capture_output=True, text=True, check=True)
    assert again.stdout.splitlines()[-1] == whole.stdout.splitlines()[-1]
    assert int(again.stdout.splitlines()[0]) >= 4
    assert len(again.stdout.splitlines()) < len(whole.stdout.splitlines())


def test_an_iteration_that_is_interrupted_keeps_the_last_state(tmp_path, monkeypatch):
    """Ctrl-C within an iteration: what was copied in memory a moment ago is written, though no write was due."""
    from kernelweave.solvers import checkpoint
    from kernelweave.solvers.svm.chunking import Chunking

    monkeypatch.setattr(checkpoint, "HELD", 0.0)
    whole, y = copy("classifier", tol=1e-6)
    whole.fit(X, y)
    path, step = tmp_path / "fit.kwc", Chunking.step

    def interrupted(solver):
        step(solver)
        if solver.steps == 6:
            solver.F[:] = np.nan
            raise KeyboardInterrupt

    model, y = copy("classifier", tol=1e-6, checkpoint=(path, 3600.0))
    with monkeypatch.context() as patch:
        patch.setattr(Chunking, "step", interrupted)
        with pytest.warns(StoppedEarly):
            model.fit(X, y)
    told = []
    model.set_params(callbacks=[told.append]).fit(X, y)
    assert (told[0].resumed, told[0].iteration) == (True, 5)
    same(model, whole)


@pytest.mark.parametrize("damage", ["truncated", "changed", "empty", "foreign", "model", "directory"])
def test_files_that_are_no_checkpoints(damage, tmp_path):
    path = tmp_path / "fit.kwc"
    model, y = copy("classifier", checkpoint=path)
    model.fit(X, y)
    data = path.read_bytes()
    if damage == "model":
        kw.save(model, path)
    elif damage == "directory":
        path.unlink()
        path.mkdir()
    else:
        middle = len(data) - 40
        new = {"truncated": data[:middle], "empty": b"", "foreign": b"x" * 100}
        changed = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        path.write_bytes(new.get(damage, changed))
    if damage == "empty":  # what mktemp leaves is taken for a name
        assert model.fit(X, y).converged_
        return
    with pytest.raises((ValueError, IsADirectoryError), match=r"fit\.kwc") as caught:
        model.fit(X, y)
    assert "\n" not in str(caught.value)


def test_a_checkpoint_is_no_model(tmp_path):
    path = tmp_path / "fit.kwc"
    model, y = copy("classifier", checkpoint=path)
    model.fit(X, y)
    with pytest.raises(ValueError, match="is a checkpoint, not a model"):
        kw.load(path)


@pytest.mark.parametrize("bad", [3, ("a.kwc", -1), ("a.kwc", "soon"), ["a", "b", "c"]])
def test_names_that_are_none(bad):
    with pytest.raises(ValueError, match="must be the name of a file"):
        kw.KernelClassifier("linear", checkpoint=bad).fit(X, Y)


def test_a_folder_that_does_not_exist_is_found_before_the_fit(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        kw.KernelClassifier("linear", checkpoint=tmp_path / "none" / "fit.kwc").fit(X, Y)


def test_a_full_disk_does_not_end_a_fit(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(CHECKPOINTS), "write", full)
    model, y = copy("classifier", checkpoint=(tmp_path / "fit.kwc", 0.0))
    with pytest.warns(UserWarning, match="could not be written") as warned:
        model.fit(X, y)
    assert len([one for one in warned if "could not be written" in str(one.message)]) == 1
    assert model.converged_
    assert os.listdir(tmp_path) == []


def test_a_checkpoint_is_small(tmp_path):
    """No matrix, no paths: numbers in proportion to the rows."""
    path = tmp_path / "fit.kwc"
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 5))
    model = kw.KernelClassifier(kw.RBF(width=5.0), C=1.0, checkpoint=path).fit(rows, rows[:, 0] > 0)
    assert path.stat().st_size < 2000 * 8 * 12
    assert str(tmp_path).encode() not in path.read_bytes()
    assert model.converged_


def test_time_goes_on(tmp_path):
    path = tmp_path / "fit.kwc"
    model, _, _ = fitted("classifier", path, 2)
    before = model.trace_["seconds"][-1]
    time.sleep(0.05)
    model, _, _ = fitted("classifier", path)
    assert np.all(np.diff(model.trace_["seconds"]) >= 0)
    assert model.trace_["seconds"][1] == before


def test_a_full_disk_is_a_warning_and_leaves_nothing(tmp_path):
    model = kw.KernelClassifier(kw.RBF(width=1.0), checkpoint=(tmp_path / "fit.kwc", 0.0))
    told = r"fit\.kwc could not be written \(file too large\); the fit goes on"
    with no_file_above(1000), pytest.warns(UserWarning, match=told):
        assert model.fit(X, Y).converged_
    assert list(tmp_path.iterdir()) == []
