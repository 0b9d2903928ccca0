"""Estimators take a store on disk wherever they take rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

import kernelweave as kw
from kernelweave.data import Lattices, Sequences
from kernelweave.data.stores import Stored, StoreWriter
from remote import Pickled

SITES, SITE_LABELS = kw.datasets.make_splice(120, random_state=0)
TEXTS = Sequences.from_tokens([["to", "be"], ["or"], ["not", "to"], ["be"]] * 10)
TABLE = np.random.default_rng(0).normal(size=(60, 3))
SIGNS = np.where(np.arange(60) % 3, 1, -1)
CASES = {
    "sequences": (kw.WeightedDegree(4), SITES, SITE_LABELS),
    "words": (kw.NGram(2), TEXTS, np.tile([1, -1, 1, -1], 10)),
    "lattices": (kw.NGram(2), Lattices.from_sequences(TEXTS), np.tile([1, -1, 1, -1], 10)),
    "table": (kw.RBF(width=2.0), TABLE, SIGNS),
    "integers": (kw.Linear(), (TABLE * 9).astype(np.int32), SIGNS),
}
each_case = pytest.mark.parametrize(("kernel", "X", "y"), CASES.values(), ids=CASES.keys())


def stored(path, X, y=None):
    with StoreWriter(path, part_rows=32) as writer:
        writer.add(X, y)
    return Stored(path)


@each_case
def test_a_fit_to_a_store_is_the_fit_to_its_rows(kernel, X, y, tmp_path):
    S = stored(tmp_path / "x.kws", X, y)
    model, other = (kw.KernelClassifier(kernel).fit(rows, S.y) for rows in (X, S))
    assert model.objective_ == other.objective_
    assert kw.verify(model, S, S.y).confirmed
    kw.save(other, tmp_path / "model.kw")
    loaded = kw.load(tmp_path / "model.kw")
    assert np.array_equal(loaded.decision_function(S), other.decision_function(S))


@each_case
@pytest.mark.parametrize("engine", ["serial", "threads", Pickled()], ids=["serial", "threads", "pickled"])
def test_a_store_is_scored_part_by_part(kernel, X, y, engine, tmp_path, monkeypatch):
    S = stored(tmp_path / "x.kws", X, y)
    model = kw.KernelClassifier(kernel, engine=engine, n_jobs=2).fit(X, y)
    taken = []
    take = Stored.take
    monkeypatch.setattr(Stored, "take", lambda self, rows, **more: taken.append(rows) or take(self, rows, **more))
    np.testing.assert_allclose(model.decision_function(S), model.decision_function(X), rtol=1e-12, atol=1e-12)
    assert taken == S.parts
    assert np.array_equal(model.predict(S), model.predict(X))
    both = model.decision_function(S, per_kernel=True), model.decision_function(X, per_kernel=True)
    np.testing.assert_allclose(*both, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        kw.KernelRegressor(kw.WeightedDegree(3)),
        kw.KernelNovelty(kw.WeightedDegree(3)),
        kw.MKLClassifier([kw.WeightedDegree(2), kw.Spectrum(3)]),
        kw.MKLClassifierCV([kw.WeightedDegree(2), kw.Spectrum(3)], Cs=(1.0,), cv=2),
        kw.CGBoostClassifier([kw.WeightedDegree(2)], max_iter=5, tol=0.5),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_estimator_takes_a_store(model, tmp_path):
    S = stored(tmp_path / "x.kws", SITES, SITE_LABELS)
    one, other = (model.fit(rows, SITE_LABELS).predict(rows) for rows in (SITES, S))
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_model_selection(tmp_path):
    S = stored(tmp_path / "x.kws", SITES, SITE_LABELS)
    model = kw.KernelClassifier(kw.WeightedDegree(3))
    assert np.array_equal(cross_val_score(model, S, S.y, cv=3), cross_val_score(model, SITES, SITE_LABELS, cv=3))
    assert GridSearchCV(model, {"C": [0.1, 1.0]}, cv=2).fit(S, S.y).best_score_ > 0.7


def test_windows_of_stored_sequences(tmp_path):
    model = kw.KernelClassifier("wd:2").fit(["AG", "AG", "CT", "TT"], [1, 1, -1, -1])
    X = Sequences.from_strings(["CCAGCTT", "A", "TAGAG"] * 20, ids=[f"s{i}" for i in range(60)])
    found = [list(kw.scan(model, rows, threshold=0.9)) for rows in (X, stored(tmp_path / "x.kws", X))]
    assert [(w.seqid, w.starts.tolist()) for w in found[0]] == [(w.seqid, w.starts.tolist()) for w in found[1]]
    bare = stored(tmp_path / "y.kws", Sequences.from_strings(X.to_strings()))
    assert [w.seqid for w in kw.scan(model, bare)][-1] == "59"


def test_rows_that_do_not_fit(tmp_path):
    S = stored(tmp_path / "x.kws", SITES, SITE_LABELS)
    message = r"The 120 rows of the store .*x\.kws take .* but the memory limit is 1e-06 GB; .*solver=\"active_set\""
    with pytest.raises(MemoryError, match=message):
        kw.KernelClassifier(kw.WeightedDegree(3), solver="smo", memory_limit=1000).fit(S, S.y)


def test_rows_in_memory_count_for_the_plan(tmp_path):
    S = stored(tmp_path / "x.kws", SITES, SITE_LABELS)
    model = kw.KernelClassifier(kw.WeightedDegree(3), memory_limit="1MB").fit(S, S.y)
    assert model._memory_left == 1_000_000 - S.nbytes
    assert model.fit(SITES, SITE_LABELS)._memory_left == "1MB"


def test_what_is_wrong_with_a_store(tmp_path):
    table = TABLE.copy()
    table[40, 1] = np.inf
    S = stored(tmp_path / "x.kws", table)
    model = kw.KernelClassifier("linear").fit(TABLE, SIGNS)
    with pytest.raises(ValueError, match=r"rows 32 to 59, contains NaN or infinity \(first in row 8, column 1\)"):
        model.predict(S)
    with pytest.raises(ValueError, match="row 40, column 1"):
        model.fit(S, SIGNS)
    with pytest.raises(ValueError, match="has 2 columns, but this model was trained on 3"):
        model.predict(stored(tmp_path / "y.kws", TABLE[:, :2]))
    with pytest.raises(TypeError, match="trained on a table, but the input is sequences"):
        model.predict(stored(tmp_path / "z.kws", SITES))
