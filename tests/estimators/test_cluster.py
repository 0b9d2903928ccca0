"""Estimators with a client or an address as their engine behave like any other in scikit-learn and in files."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
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
