"""Estimators with a client or an address as their engine behave like any other in scikit-learn and in files."""

import copy
import os
import pickle
import signal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from kernelweave.engines.dask import Dask
from kernelweave.engines.dask.packing import pack
from kernelweave.interpret import weight_stability
from kernelweave.operators.features.design import rows
from kernelweave.operators.kmers import sweep
from kernelweave.operators.sharded import operator as sharded
from remote import dask_client, dask_cluster

X, Y = kw.datasets.make_stars(60, random_state=0)


@pytest.fixture
def model():
    return kw.KernelClassifier("rbf:1", engine=dask_client(), C=3.0)


def test_a_clone_has_the_same_client(model):
    twin = clone(model)
    assert twin is not model
    assert twin.get_params() == model.get_params()
    assert clone(make_pipeline(StandardScaler(), model))[-1].engine is model.engine
    assert "Client" in repr(model)


def test_a_search_over_a_grid_works_with_the_same_client(model):
    found, plain = (
        GridSearchCV(one, {"C": [0.1, 1.0]}, cv=2).fit(X, Y)
        for one in (model, clone(model).set_params(engine="serial"))
    )
    assert found.best_estimator_.engine is model.engine
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(found.decision_function(X), plain.decision_function(X))


def test_a_pickle_leaves_the_client_behind(model):
    model.fit(X, Y)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert twin.engine is None
        np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(X))
    assert model.engine is dask_client()


@pytest.mark.parametrize("how", ["client", "address", "dask"])
def test_a_model_file_names_no_cluster(model, how, tmp_path):
    engine = {"client": dask_client(), "address": dask_cluster().scheduler_address, "dask": "dask"}[how]
    with dask_client().as_current():
        kw.save(model.set_params(engine=engine).fit(X, Y), tmp_path / "model.kw")
    assert b"tcp://" not in (tmp_path / "model.kw").read_bytes()
    loaded = kw.load(tmp_path / "model.kw")
    assert loaded.engine is None
    assert loaded.C == 3.0
    np.testing.assert_array_equal(loaded.decision_function(X), model.set_params(engine=None).decision_function(X))


class Weighed(Dask):
    """Notes how many bytes each task takes, and how many all large arrays of a round."""

    def _submit(self, common, jobs, parts):
        order = len(pickle.dumps(common.packed))
        sizes = [order + len(pickle.dumps(job)) - filled(part) for job, part in zip(jobs, parts)]
        self.tasks = max([getattr(self, "tasks", 0), *sizes])
        self.rounds = getattr(self, "rounds", 0) + 1
        return super()._submit(common, jobs, parts)


def filled(part):
    """Return the bytes of the arrays that a part fills: they come back as its result."""
    targets = part[1] if isinstance(part, tuple) and isinstance(part[1], list) else []
    return sum(place.nbytes for place, _ in targets if isinstance(place, np.ndarray))


TASK = 64 << 10
"""Bytes that a task may take, whatever the data: what is larger travels once to each worker."""

rng = np.random.default_rng(0)
ROWS = rng.normal(size=(4000, 20))
LABELS = np.where(ROWS[:, 0] + ROWS[:, 1] ** 2 > 1, 1, -1)
SITES, SITE_LABELS = kw.datasets.make_splice(2000, random_state=0)


def weights_of(engine):
    model = kw.MKLClassifier(kw.RBF.grid([0.5, 5.0]), engine=engine, n_jobs=1)
    return weight_stability(model, ROWS[:300], LABELS[:300], n_bootstrap=4).weights


def searched(engine):
    kernels = [kw.Linear(), *kw.RBF.grid([1.0, 10.0])]
    model = kw.MKLClassifierCV(kernels, Cs=[0.1, 1.0], cv=3, engine=engine, n_jobs=1)
    model.fit(ROWS[:300], LABELS[:300])
    return np.concatenate([model.cv_scores_.ravel(), model.path_weights_.ravel(), model.decision_function(ROWS)])


def stochastic(engine):
    kernels = [kw.Spectrum(2), kw.Spectrum(3)]
    model = kw.MKLClassifier(kernels, solver="svrg", norm=2.0, loss="logistic", max_iter=3, engine=engine, n_jobs=1)
    return model.fit(SITES, SITE_LABELS).decision_function(SITES)


def scores(kernel, X, y):
    fitted = kw.KernelClassifier(kernel, n_jobs=1).fit(X[:1000], y[:1000])
    return lambda engine: fitted.set_params(engine=engine).decision_function(X[np.tile(np.arange(len(X)), 3)])


def scanned(engine):
    fitted = kw.KernelClassifier("wd:5", n_jobs=1).fit(SITES[:500], SITE_LABELS[:500]).set_params(engine=engine)
    return np.concatenate([some.scores for some in kw.scan(fitted, LONG)])


LONG = kw.Sequences.from_strings(["".join(rng.choice(list("ACGT"), 60_000))], alphabet="dna")
WORK = {
    "values": scores("rbf:1", ROWS, LABELS), "places": scores("wd:6", SITES, SITE_LABELS), "scan": scanned,
    "counts": scores("spectrum:4", SITES, SITE_LABELS), "svrg": stochastic, "folds": searched, "bootstrap": weights_of,
}  # fmt: skip


@pytest.mark.parametrize("name", WORK)
def test_everything_gives_the_same_bits_in_small_tasks(name, monkeypatch):
    monkeypatch.setattr(rows, "DESIGN_ROWS", 500)
    monkeypatch.setattr(rows, "LEAST_ENTRIES", 1)
    monkeypatch.setattr(sweep, "KEPT_TIMES", 0)
    monkeypatch.setattr(sweep, "SMALLEST_BLOCK", 500)
    engine = Weighed(dask_client())
    np.testing.assert_array_equal(WORK[name]("serial"), WORK[name](engine))
    assert engine.rounds
    assert engine.tasks < TASK


def test_rows_of_a_store_do_not_travel(tmp_path):
    SITES.to_store(tmp_path / "sites.kws", y=SITE_LABELS)
    stored, engine = kw.Sequences.from_store(tmp_path / "sites.kws"), Weighed(dask_client())
    cuts = [slice(0, 700), slice(700, 2000)]
    fitted = kw.KernelClassifier("wd:6", n_jobs=1).fit(SITES[:500], SITE_LABELS[:500])
    found = engine.map(lambda cut: fitted.decision_function(stored[cut]), cuts)
    for cut, outputs in zip(cuts, found):
        np.testing.assert_array_equal(outputs, fitted.decision_function(SITES[cut]))
    assert engine.tasks < TASK
    assert pack(stored).blobs == {}
    assert len(pack(stored).packed.head) < 4000


class Struck(Dask):
    """Kills a worker while it has parts of the second round."""

    struck = 0

    def _submit(self, common, jobs, parts):
        sent = super()._submit(common, jobs, parts)
        self.struck += 1
        if self.struck == 2:
            os.kill(next(iter(self.client.run(os.getpid).values())), signal.SIGKILL)
        return sent


MODELS = {
    "one kernel": kw.KernelClassifier("wd:6", normalize="trace", solver="active_set", n_jobs=1, tol=1e-5),
    "many kernels": kw.MKLClassifier(kw.WeightedDegree(3).per_degree(), solver="active_set", n_jobs=1, tol=1e-4),
}


def by_rounds(name, engine):
    """Return a model that begins with few rows, and so needs several rounds."""
    return clone(MODELS[name]).set_params(engine=engine, solver_params={"first": 60})


@pytest.mark.parametrize("name", MODELS)
def test_rounds_over_parts_keep_their_bits_when_a_worker_is_killed(name, tmp_path, monkeypatch):
    monkeypatch.setattr(sharded, "SMALLEST_PART", 500)
    stored, engine = SITES.to_store(tmp_path / "sites.kws", y=SITE_LABELS), Struck(dask_client())
    here, there = (by_rounds(name, one).fit(stored, SITE_LABELS) for one in ("serial", engine))
    assert engine.struck >= 2
    assert there.converged_
    np.testing.assert_array_equal(here.dual_coef_, there.dual_coef_)
    np.testing.assert_array_equal(here.support_, there.support_)
    np.testing.assert_array_equal(here.trace_["gap"], there.trace_["gap"])
    assert here.objective_ == there.objective_


class Laid(Dask):
    """Counts the bytes of large arrays that are laid down for workers, and of what tasks carry."""

    def __init__(self, client):
        super().__init__(client)
        self.arrays, self.carried, put = 0, 0, self.shelf.put

        def counted(name, blob):
            self.arrays += blob.nbytes
            put(name, blob)

        self.shelf.put = counted

    def _submit(self, common, jobs, parts):
        self.carried = max(self.carried, len(common.packed.head) + sum(len(job.head) for job in jobs))
        return super()._submit(common, jobs, parts)


STEPS = {"one kernel": "chunking", "many kernels": "silp_chunking"}


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_chunks_over_parts_end_where_rounds_do_and_send_rows_once(name, stored, tmp_path, monkeypatch):
    monkeypatch.setattr(sharded, "SMALLEST_PART", 500)
    given, y = SITES[:1000], SITE_LABELS[:1000]
    given = given.to_store(tmp_path / "sites.kws", y=y) if stored else given
    rounds, engine = clone(MODELS[name]).set_params(tol=1e-2).fit(given, y), Laid(dask_client())
    chunks = clone(MODELS[name]).set_params(tol=1e-2, solver=STEPS[name], engine=engine).fit(given, y)
    assert chunks.converged_
    assert (chunks.solver_, chunks.memory_plan_.kind) == (STEPS[name], "sharded")
    assert chunks.objective_ == pytest.approx(rounds.objective_, rel=2e-2)
    assert engine.arrays <= (0 if stored else 1.1 * SITES[:1000].codes.nbytes + 8 * 1001)
    assert engine.carried < 40_000
