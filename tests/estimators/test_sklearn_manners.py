"""What scikit-learn's users expect of an estimator beside its checks: callbacks, HTML, names, routing, tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from kernelweave.data.html import SHOWN
from kernelweave.estimators.callbacks import AVAILABLE

KERNELS = [kw.RBF(width=4.0), kw.Linear()]
BAD = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, "up", "down")


class Recorder:
    """A callback that counts its hooks and stops after so many iterations."""

    def __init__(self, most=10**9):
        self.events, self.models, self.most = [], [], most

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, metadata=None):
        self.events.append(f"begin {context.task_name}")
        self.metadata = metadata

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        self.models.append(fitted_estimator)
        return context.task_id + 1 >= self.most and context.task_name == "iteration"


callbacks = pytest.mark.skipif(not AVAILABLE, reason="this scikit-learn has no callbacks")


@callbacks
@pytest.mark.parametrize("kind", [kw.KernelClassifier, kw.MKLClassifier, kw.CGBoostClassifier])
def test_callbacks_follow_every_iteration(kind, rows):
    X, y = rows
    seen = Recorder()
    model = kind(KERNELS[0] if kind is kw.KernelClassifier else KERNELS).set_callbacks(seen)
    model.fit(X, y, sample_weight=np.ones(len(y)))
    assert seen.events[:2] == ["setup", "begin fit"]
    assert seen.events[-2:] == ["end fit", "teardown"]
    assert seen.events.count("begin iteration") == seen.events.count("end iteration") == model.n_iter_ + 1
    assert list(seen.metadata) == ["sample_weight"]
    assert not [name for name in vars(model) if "callback" in name and name != "_skl_callbacks" and name != "callbacks"]


ITERATED = [
    kw.KernelClassifier(KERNELS[0], solver="chunking", tol=1e-9, solver_params={"chunk_size": 8}),
    kw.MKLClassifier(KERNELS, solver="silp", tol=1e-6),
]


@callbacks
@pytest.mark.parametrize("model", ITERATED)
def test_the_model_after_each_iteration_is_the_one_of_a_fit_that_stops_there(model, rows):
    X, y = rows
    seen = Recorder()
    whole = clone(model).set_callbacks(seen).fit(X, y)
    partial = seen.models[1]
    with pytest.warns(match="duality gap"):
        stopped = clone(model).set_params(callbacks=[lambda progress: progress.iteration == 2]).fit(X, y)
    np.testing.assert_allclose(partial.decision_function(X), stopped.decision_function(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(seen.models[-1].decision_function(X), whole.decision_function(X), rtol=1e-12)


@callbacks
def test_a_callback_stops_a_fit(rows):
    X, y = rows
    with pytest.warns(match="Stopped early"):
        model = kw.KernelClassifier(KERNELS[0], tol=1e-12).set_callbacks(Recorder(most=2)).fit(X, y)
    assert model.n_iter_ == 2


@callbacks
def test_scikit_learns_own_callbacks_go_through_pipelines_and_searches(rows, capsys):
    from sklearn.callback import ProgressBar, ScoringMonitor

    X, y = rows
    monitor = ScoringMonitor(scoring="accuracy")
    model = kw.KernelClassifier(KERNELS[0]).set_callbacks(monitor)
    search = GridSearchCV(make_pipeline(StandardScaler(), model), {"kernelclassifier__C": [0.1, 10.0]}, cv=2)
    search.set_callbacks(ProgressBar(max_propagation_depth=None)).fit(X, y)
    log = monitor.get_logs().data
    scores = {line["task_id_path"]: line["accuracy"] for line in log}
    assert {line["estimator_name"] for line in log} == {"KernelClassifier"}
    assert scores[0, 1, 1] == search.best_estimator_.score(X, y)
    assert len([path for path in scores if len(path) == 4 and path[:2] == (0, 0)]) == 4  # a fit for each C and fold
    assert "KernelClassifier - fit" in capsys.readouterr().out


@callbacks
def test_transformers_are_followed_too(rows):
    X, y = rows
    views, learned = Recorder(), Recorder()
    prepared = kw.ViewTransformer([("all", StandardScaler(), [0, 1, 2])]).set_callbacks(views).fit_transform(X)
    kw.KernelTransformer(kw.MKLClassifier(KERNELS)).set_callbacks(learned).fit_transform(X, y)
    assert prepared["all"].shape == X.shape
    for seen in (views, learned):
        assert seen.events.count("begin fit") == seen.events.count("end fit") == 1


@callbacks
def test_a_search_of_our_own_begins_and_ends_once(rows):
    seen = Recorder()
    kw.MKLClassifierCV(KERNELS, Cs=(1.0,), norms=(1.0,), cv=2).set_callbacks(seen).fit(*rows)
    assert seen.events.count("begin fit") == seen.events.count("end fit") == 1


def test_models_show_their_certificate_and_weights_and_escape_names(rows):
    X, y = rows
    model = kw.MKLClassifier({BAD: KERNELS[0], "plain": KERNELS[1], "third": kw.Identity()}, norm=2.0)
    assert "Certificate" not in model._repr_mimebundle_()["text/html"]
    shown = model.fit(X, y)._repr_mimebundle_()["text/html"]
    assert "no solver could improve the objective" in shown
    assert shown.count("background: #4a6fa5") == 3
    assert BAD not in shown
    assert "&lt;script&gt;alert(1)" in shown
    several = kw.MKLClassifier(KERNELS, norm=2.0).fit(X[:30], np.repeat([BAD, "b", "c"], 10))._repr_html_()
    assert several.count("<caption") == 3
    assert BAD not in several
    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()


def test_rows_show_the_first_of_them_and_escape_letters():
    texts = kw.Sequences.from_strings([f"{BAD}{number}" for number in range(9)], alphabet="text")
    named = kw.Sequences.from_strings(["ACGT" * 50] * 9, alphabet="dna", ids=[BAD] * 9)
    for rows in (texts, named, kw.Lattices.from_sequences(named)):
        shown = rows._repr_html_()
        assert "<script>" not in shown
        assert shown.count("<tr>") == SHOWN + 1
        assert "and 3 more" in shown
    assert "…" in named._repr_html_()
    assert "and " not in named[:2]._repr_html_()
    assert "0 sequences" in named[:0]._repr_html_()


def test_pictures_link_to_the_manual_where_there_is_one(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNELWEAVE_MANUAL", "https://manual.example/")
    assert kw.MKLClassifier()._get_doc_link() == "https://manual.example/api/kernelweave.MKLClassifier.html"
    monkeypatch.delenv("KERNELWEAVE_MANUAL")
    monkeypatch.setattr("kernelweave.estimators.html.__file__", str(tmp_path / "a/b/c/html.py"))
    assert kw.MKLClassifier()._get_doc_link() == ""


def test_weights_are_routed(rows):
    X, y = rows
    with sklearn.config_context(enable_metadata_routing=True):
        model = (
            kw.KernelClassifier(KERNELS[0]).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        )
        weight = np.where(y == "up", 1.0, 1e-6)
        found = cross_validate(model, X, y, params={"sample_weight": weight}, cv=2, return_estimator=True)
    assert (found["test_score"] > 0.9).all()
    assert all((each.predict(X) == "up").mean() > 0.8 for each in found["estimator"])


@pytest.mark.parametrize(
    "form", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix, pd.DataFrame]
)
def test_every_form_of_a_table_gives_the_same_model(form, rows):
    X, y = rows
    wide = np.where(np.abs(X) > 0.5, X, 0.0)
    model, plain = (kw.KernelClassifier(KERNELS[0]).fit(table, y) for table in (form(wide), wide))
    np.testing.assert_allclose(model.decision_function(form(wide)), plain.decision_function(wide), rtol=1e-6, atol=1e-8)


def test_transformers_name_their_columns(rows):
    X, y = rows
    step = kw.KernelTransformer(kw.MKLClassifier(KERNELS)).set_output(transform="pandas")
    values = step.fit_transform(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    assert isinstance(values, pd.DataFrame)
    assert list(values.columns[:2]) == ["row0", "row1"]
    assert values.shape == (len(y), len(y))


def test_polars_goes_in_and_comes_out(rows):
    polars = pytest.importorskip("polars")
    X, y = rows
    frame = polars.DataFrame(X, schema=["a", "b", "c"])
    step = kw.KernelTransformer(kw.MKLClassifier(KERNELS)).set_output(transform="polars")
    assert isinstance(step.fit_transform(frame, y), polars.DataFrame)
    model = kw.KernelClassifier(KERNELS[0]).fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(frame), model.predict(X))
