"""Columns as named views, named kernels, learned kernels elsewhere, and what a view is worth."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kernelweave as kw
from kernelweave.interpret import view_importance

RNG = np.random.default_rng(0)
N = 80
Y = np.arange(N) % 2
FRAME = pd.DataFrame(
    {
        "age": 1000.0 * (Y + RNG.normal(size=N)),
        "dose": RNG.normal(size=N),
        "note": [f"{'fever' if y else 'cough'} on day {i}, {'rash' if i % 3 else 'tired'}" for i, y in enumerate(Y)],
        "site": ["".join(row) for row in np.array(list("ACGT"))[RNG.integers(0, 4, size=(N, 30))]],
    },
    index=[f"p{i}" for i in range(N)],
)
KERNELS = {
    "clinic": kw.RBF().on("clinic"),
    "note": kw.Linear().on("note"),
    "words": kw.TfIdf(kw.NGram(2)).on("words"),
    "site": kw.Spectrum(3).on("site"),
}


def views():
    return kw.ViewTransformer(
        [
            ("clinic", StandardScaler(), ["age", "dose"]),
            ("note", TfidfVectorizer(), "note"),
            ("words", "passthrough", "note"),
            ("site", None, "site"),
        ]
    )


def pipeline(**params):
    return make_pipeline(views(), kw.MKLClassifier(KERNELS, norm=2.0, **params))


def test_each_view_is_prepared_in_its_own_way():
    made = views().fit(FRAME[:60])
    X = made.transform(FRAME[60:])
    scaler, vectorizer = StandardScaler().fit(FRAME[["age", "dose"]][:60]), TfidfVectorizer().fit(FRAME["note"][:60])
    np.testing.assert_array_equal(X["clinic"], scaler.transform(FRAME[["age", "dose"]][60:]))
    np.testing.assert_array_equal(X["note"].toarray(), vectorizer.transform(FRAME["note"][60:]).toarray())
    assert X["site"].to_strings() == FRAME["site"][60:].tolist()
    assert X["site"].alphabet.name == "dna"
    assert X["words"].alphabet == made.views_["words"].content
    assert made.get_feature_names_out().tolist() == ["clinic", "note", "words", "site"]


def test_a_frame_is_fitted_searched_predicted_and_named(tmp_path):
    search = GridSearchCV(pipeline(), {"mklclassifier__C": [0.1, 1.0], "viewtransformer__note__min_df": [1, 2]}, cv=2)
    search.fit(FRAME, Y)
    assert search.best_score_ > 0.9
    model = search.best_estimator_[-1]
    assert model.kernel_names_.tolist() == list(KERNELS)
    assert model.kernel_weights_.argmax() in (1, 2)
    assert (search.predict(FRAME) == Y).mean() > 0.9


def test_arrays_and_dicts_have_columns_too():
    table = FRAME[["age", "dose"]].to_numpy()
    made = kw.ViewTransformer([("a", StandardScaler(), [0]), ("b", "passthrough", 1)]).fit(table)
    assert made.transform(table[:3])["b"].tolist() == table[:3, 1:].tolist()
    same = kw.ViewTransformer([("a", StandardScaler(), ["x"]), ("b", "passthrough", "y")])
    assert same.fit_transform({"x": table[:, 0], "y": table[:, 1]}) == made.transform(table)


def test_it_is_cloned_with_its_parameters():
    step = views().set_params(note__min_df=3, clinic__with_mean=False)
    again = clone(step)
    assert again.get_params()["note__min_df"] == 3
    assert not again.get_params()["clinic__with_mean"]
    assert "transformers_" not in vars(again)


def test_faults_name_the_view():
    with pytest.raises(ValueError, match=r"The view 'a' needs the column 'weight'; there are \['age'"):
        kw.ViewTransformer([("a", None, "weight")]).fit(FRAME)
    with pytest.raises(ValueError, match="transformers need different names, one at least, but got"):
        kw.ViewTransformer([("a", None, "age"), ("a", None, "dose")]).fit(FRAME)
    with pytest.raises(ValueError, match="transformer of the view 'a' is 'drop'; expected 'passthrough'"):
        kw.ViewTransformer([("a", "drop", "age")]).fit(FRAME)
    model = make_pipeline(views(), kw.MKLClassifier(KERNELS)).fit(FRAME, Y)
    with pytest.raises(ValueError, match="The view 'site' needs the column 'site'"):
        model.predict(FRAME.drop(columns="site"))
    holes = FRAME.assign(age=np.where(Y == 1, np.nan, FRAME["age"]))
    with pytest.raises(ValueError, match=r"The view 'clinic' contains NaN"):
        model.predict(holes)
    filled = ("clinic", make_pipeline(SimpleImputer(), StandardScaler()), ["age", "dose"])
    make_pipeline(kw.ViewTransformer([filled]), kw.KernelClassifier(kw.RBF().on("clinic"))).fit(holes, Y)


def test_names_of_kernels_outlive_files_windows_and_boosting(tmp_path):
    X, y = kw.datasets.make_splice(60, random_state=0)
    named = {"all": kw.Spectrum(3), "where": kw.WeightedDegree(3).per_position(window=50)}
    model = kw.MKLClassifier(named, norm=2.0).fit(X, y)
    assert model.kernel_names_.tolist() == ["all", "where 1", "where 2", "where 3"]
    kw.save(model, tmp_path / "m.kw")
    loaded = kw.load(tmp_path / "m.kw")
    assert loaded.kernel_names_.tolist() == model.kernel_names_.tolist()
    assert clone(model).fit(X, y).kernel_names_.tolist() == model.kernel_names_.tolist()
    boosted = kw.CGBoostClassifier({"flat": kw.Linear(), "round": kw.RBF()}).fit(FRAME[["age", "dose"]], Y)
    assert boosted.kernel_names_.tolist() == ["flat", "round"]


def test_the_learned_kernel_is_the_weighted_sum():
    X = {"a": FRAME[["dose"]].to_numpy(), "site": FRAME["site"].tolist()}
    model = kw.MKLClassifier([kw.RBF().on("a"), kw.Spectrum(2).on("site")], norm=2.0).fit(X, Y)
    kernel, rows = kw.learned_kernel(model), kw.Views({**X, "site": kw.Sequences.from_strings(X["site"])})
    expected = sum(w * k.gram(rows) for w, k in zip(model.kernel_weights_, model.kernels_))
    np.testing.assert_allclose(kernel.gram(rows), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel(rows, rows[:3]), expected[:, :3], rtol=1e-12)
    with pytest.raises(ValueError, match=r"output=1 does not exist; the model has 1 sets of kernel weights\."):
        kw.learned_kernel(model, 1)


def test_the_learned_kernel_is_a_step_and_a_function():
    table = FRAME[["age", "dose"]].to_numpy() / 1000
    step = kw.KernelTransformer(kw.MKLClassifier([kw.RBF(), kw.Linear()], norm=2.0))
    chain = make_pipeline(step, SVC(kernel="precomputed")).fit(table, Y)
    function = SVC(kernel=kw.learned_kernel(step.fit(table, Y).estimator_)).fit(table, Y)
    np.testing.assert_allclose(chain.decision_function(table), function.decision_function(table), atol=1e-6)
    assert step.transform(table[:5]).shape == (5, N)
    sites = kw.KernelTransformer(kw.MKLClassifier([kw.Spectrum(2), kw.Spectrum(3)])).fit(FRAME["site"].tolist(), Y)
    assert sites.transform(FRAME["site"].tolist()[:4]).shape == (4, N)


def test_a_view_is_worth_what_shuffling_it_loses():
    model = pipeline().fit(FRAME[:50], Y[:50])
    found = view_importance(model, FRAME[50:], Y[50:], n_repeats=4, random_state=0)
    again = view_importance(model, FRAME[50:], Y[50:], n_repeats=4, random_state=0)
    assert found.views == ("clinic", "note", "words", "site")
    assert found.score == model.score(FRAME[50:], Y[50:])
    np.testing.assert_array_equal(found.lost, again.lost)
    assert found.lost.shape == (4, 4)
    assert found.std.shape == (4,)
    assert found.mean[1] + found.mean[2] > abs(found.mean[3])
    with pytest.raises(TypeError, match="view_importance needs rows of several views, but got"):
        view_importance(kw.KernelClassifier().fit(np.eye(4), [0, 1, 0, 1]), np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="n_repeats=0 must be a positive integer"):
        view_importance(model, FRAME, Y, n_repeats=0)
