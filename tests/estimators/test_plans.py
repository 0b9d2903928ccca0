"""Every fitted model tells how its kernels were held and which solver ran, and why."""

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.operators import Plan
from kernelweave.operators.planner import kmers as plan_kmers

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
Y, VALUES = np.where(X[:, 0] > 0, "yes", "no"), X[:, 0] + 0.1 * rng.normal(size=80)
KERNELS = [kw.Linear(), kw.RBF(width=2.0)]
SMOOTH = {"loss": "logistic", "norm": 2.0, "solver": "svrg", "tol": 0.1}
MODELS = {
    "one kernel": (kw.KernelClassifier(), Y, "dense", "smo"),
    "one kernel, named": (kw.KernelClassifier(solver="chunking"), Y, "dense", "chunking"),
    "one kernel, smooth": (kw.KernelRegressor(loss="squared"), VALUES, "dense", "newton"),
    "one kernel, novelty": (kw.KernelNovelty(), None, "dense", "smo"),
    "many kernels": (kw.MKLClassifier(KERNELS), Y, "stored", "hessian"),
    "many kernels, p = 2": (kw.MKLRegressor(KERNELS, norm=2.0), VALUES, "stored", "lp"),
    "many kernels, novelty": (kw.MKLNovelty(KERNELS), None, "stored", "hessian"),
    "many kernels, chosen": (kw.MKLClassifierCV(KERNELS, Cs=[1.0], norms=[1.0], cv=2), Y, "stored", "hessian"),
    "features": (kw.MKLClassifier(KERNELS, **SMOOTH), Y, "design", "svrg"),
    "mixture": (kw.CGBoostClassifier(KERNELS), Y, "columns", "simplex"),
    "mixture, 2-norm": (kw.CGBoostRegressor(KERNELS, penalty="l2"), VALUES, "columns", "interior_point"),
    "mixture, novelty": (kw.CGBoostNovelty(KERNELS), None, "columns", "simplex"),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_plan_and_a_solver(name, tmp_path):
    model, y, kind, solver = MODELS[name]
    model.fit(X, y)
    assert isinstance(model.memory_plan_, Plan)
    assert (model.memory_plan_.kind, model.solver_) == (kind, solver)
    assert model.memory_plan_.bytes > 0
    assert model.memory_plan_.why
    named = getattr(model, "solver", "auto") != "auto"
    assert (model.solver_why_ == "as asked") == named
    kw.save(model, tmp_path / "model.kw")
    again = kw.load(tmp_path / "model.kw")
    assert (again.memory_plan_, again.solver_, again.solver_why_) == (
        model.memory_plan_,
        model.solver_,
        model.solver_why_,
    )


def test_a_stream_has_a_plan_for_its_last_block():
    model = kw.MKLClassifier(KERNELS[:1], **SMOOTH)
    for part in np.array_split(np.arange(80), 2):
        model.partial_fit(X[part], Y[part], classes=["no", "yes"])
        assert model.memory_plan_.kind == "design"
        assert (model.solver_, model.solver_why_) == ("svrg", "as asked")


def splice(n):
    return kw.datasets.make_splice(n, random_state=0)


@pytest.mark.parametrize("store", ["trie", "sorted", "map"])
def test_stores_of_k_mers_keep_a_small_limit(store):
    """The store is charged for, not the index that it replaces; what does not fit at once takes turns."""
    rows, y = splice(600)
    given = {"solver": "chunking", "normalize": "trace", "tol": 1e-4}
    small = kw.KernelClassifier(kw.WeightedDegree(20), solver_params={"store": store}, memory_limit="2MB", **given).fit(
        rows, y
    )
    assert small.memory_plan_.kind == store
    assert small.memory_plan_.bytes <= 2e6
    large = kw.KernelClassifier(kw.WeightedDegree(20), **given).fit(rows, y)
    assert small.objective_ == pytest.approx(large.objective_, rel=1e-4)


@pytest.mark.parametrize(("working_set", "kind"), [(512, "cached"), (20, "sorted")])
def test_a_store_takes_over_where_the_index_does_not_fit_and_a_working_set_does(working_set, kind, monkeypatch):
    monkeypatch.setattr(plan_kmers, "WORKING_SET", working_set)
    rows, y = splice(2500)
    model = kw.KernelClassifier(kw.WeightedDegree(20), solver="chunking", normalize="trace", memory_limit="3MB")
    if kind == "cached":
        with pytest.warns(UserWarning, match="memory_limit of 3 MB leaves a form that is about .* columns are cached"):
            model.fit(rows, y)
    else:
        model.fit(rows, y)
    assert model.memory_plan_.kind == kind
    assert dict(model.memory_plan_.passed_over)["positional"].startswith("the sorted k-mers of 2500 sequences take")
    assert model.converged_


@pytest.mark.parametrize(
    ("kernel", "how", "words"),
    [
        ("wd:5", {"solver_params": {"store": "nonsense"}}, r"store='nonsense' is not one of 'map', 'sorted', 'trie'"),
        ("spectrum:3", {"solver_params": {"store": "trie"}}, r"keeps k-mers with a place, .* leave store out"),
        ("wd:5", {"solver_params": {"chunk_size": 2.5}}, r"chunk_size=2\.5 must be an integer of at least 2"),
        ("wd:5", {"solver_params": {"size": 3}}, r"do not fit .*, which takes chunk_size, shrinking, store"),
        ("wd:5", {"solver_params": [3]}, r"solver_params=\[3\] must be a dict of names and values"),
        ("wd:5", {"solver": "auto", "solver_params": {"store": "trie"}}, r"do not fit the solver 'smo' that 'auto'"),
        ("wd:5", {"solver": "magic"}, r"solver='magic' is unknown; choose one of auto, "),
    ],
)  # fmt: skip
def test_wrong_parameters_of_solvers_are_told(kernel, how, words):
    rows, y = splice(60)
    with pytest.raises(ValueError, match=words):
        kw.KernelClassifier(kernel, **{"solver": "chunking", **how}).fit(rows, y)
