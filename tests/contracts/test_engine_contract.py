"""What everything that uses an engine promises: the same bits where nothing is shared but what is sent."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import kernelweave as kw
from kernelweave.engines import Engine, Serial
from kernelweave.losses import make_loss
from kernelweave.operators import CachedColumns, DenseGram, Task, bind, choose
from kernelweave.operators.base import OperatorSet, PrimalOperator, Rounded
from kernelweave.operators.columns import sources
from kernelweave.operators.columns.pool import ColumnPool
from kernelweave.operators.expansion import cross
from kernelweave.operators.features import operator as features
from kernelweave.operators.features.design import rows
from kernelweave.operators.features.operator import FeatureOperator
from kernelweave.operators.features.set import FeatureSet
from kernelweave.operators.gram import cached, dense, family, rank_one
from kernelweave.operators.gram.family import SharedSet, StoredSet
from kernelweave.operators.gram.mixture import Family
from kernelweave.operators.gram.rank_one import RankOneSet, rank_one_vectors
from kernelweave.operators.gram.tabulated import TabulatedSet
from kernelweave.operators.kmers import paths, positional, tables
from kernelweave.operators.kmers import set as kmer_set
from kernelweave.operators.kmers.set import PositionalSet
from kernelweave.operators.kmers.tables import TableOperator, TableSet
from kernelweave.operators.mixed import MixedSet
from kernelweave.penalties import LpBall
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.mkl import MKL_SOLVERS
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.svm import SVM_SOLVERS
from remote import DaskProcesses, Pickled, Processes

N, NEW = 53, 17
rng = np.random.default_rng(0)
TABLE = rng.normal(size=(N + NEW, 4))
LETTERS = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(N + NEW)]
DNA = kw.Sequences.from_strings(LETTERS, alphabet="dna")
MASKED = kw.Sequences.from_strings([text[:5] + "N" + text[6:] for text in LETTERS], alphabet="dna", unknown="mask")
LABELS = np.where(TABLE[:N, 0] + 0.3 * rng.normal(size=N) > 0, 1.0, -1.0)
ALPHA = np.where(rng.random(N) < 0.6, rng.normal(size=N), 0.0)
SOME = np.array([0, 52, 7, 31, 8, 9, 10, 11, 12, 13, 14, 15, 50, 3, 2])
RBF, LONG = kw.RBF(gamma=0.3), kw.WeightedDegree(9)
FEW_STEPS = Stop(tol=1e-9, max_iter=3)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    """Cut few rows into several parts, as thousands would be; only the caller cuts."""
    cuts = {
        dense: ("TILE", "PART_ROWS", "LINES_TOGETHER"), cached: ("PART_ROWS", "COLUMN_ROWS", "COLUMNS_TOGETHER"),
        cross: ("NEW_ROWS", "KEPT_ROWS"), sources: ("PART_ROWS", "COLUMNS_TOGETHER", "NEW_ROWS", "KEPT_ROWS"),
        positional: ("LOOKUP_ROWS", "LINES_TOGETHER"), features: ("PART_ROWS", "GRAM_LINES"), family: ("TILE",),
        rank_one: ("COLUMNS_TOGETHER",), rows: ("DESIGN_ROWS",), paths: ("PATH_ROWS",), kmer_set: ("PART_ROWS",),
        tables: ("LOOKUP_ROWS",),
    }  # fmt: skip
    for module, names in cuts.items():
        for name in names:
            monkeypatch.setattr(module, name, 20)


OPERATORS = {
    "dense": lambda e: DenseGram(RBF, RBF.prepare(TABLE[:N]), e, np.float64),
    "dense 32": lambda e: DenseGram(RBF, RBF.prepare(TABLE[:N]), e, np.float32),
    "cached": lambda e: CachedColumns(RBF, RBF.prepare(TABLE[:N]), e, 25, np.float64),
    "k-mers": lambda e: bind(LONG, DNA[:N], e, need="features"),
    "masked k-mers": lambda e: bind(LONG, MASKED[:N], e, need="features"),
    "shifted k-mers": lambda e: bind(kw.WeightedDegree(8, shift=2), DNA[:N], e, need="features"),
    "k-mers in tries": lambda e: bind(LONG, DNA[:N], e, need="features").through("trie"),
    "k-mers in a map": lambda e: bind(LONG, DNA[:N], e, need="features").through("map"),
    "sorted k-mers": lambda e: bind(LONG, DNA[:N], e, need="features").through("sorted"),
    "features": lambda e: FeatureOperator(kw.Spectrum(3), DNA[:N], e),
    "rows in parts": lambda e: choose(Task([LONG], DNA[:N], e, need="shards")).operator,
    "l-mers": lambda e: TableOperator.of(kw.GappedKmer(6, 4, True).normalized(), MASKED[:N], e),
}


def prepared(kernels, make):
    made = Family(kernels)
    return make(made, made.prepare(TABLE[:N]))


MIXED = [*kw.RBF.grid([0.5, 2.0]), kw.Linear(), 0.3 * kw.Polynomial(2), kw.RBF(width=1.0).on(2)]
COLUMNS = kw.per_feature(kw.Linear(), 4)
SPECTRA = [kw.Spectrum(2), kw.Spectrum(3), kw.Spectrum(5).normalized()]
GAPPED = [kw.GappedKmer(5, 3), kw.GappedKmer(5, 4), kw.GappedKmer(6, 4, True).normalized()]
SETS = {
    "stored": lambda e: prepared(MIXED, lambda f, P: StoredSet(f, P, N, e, np.float64)),
    "stored 32": lambda e: prepared(MIXED, lambda f, P: StoredSet(f, P, N, e, np.float32)),
    "shared": lambda e: prepared(MIXED, lambda f, P: SharedSet(f, P, N, e, True)),
    "recomputed": lambda e: prepared(MIXED, lambda f, P: SharedSet(f, P, N, e, False)),
    "tabulated": lambda e: prepared(MIXED, lambda f, P: TabulatedSet(f, P, N, e)),
    "cached columns": lambda e: prepared(MIXED, lambda f, P: SharedSet(f, P, N, e, False, 30)),
    "rank one": lambda e: prepared(COLUMNS, lambda f, P: RankOneSet(rank_one_vectors(f, P, N), e)),
    "k-mers by degree": lambda e: PositionalSet(LONG.per_degree(), LONG.prepare(DNA[:N]), e),
    "features": lambda e: FeatureSet.of(SPECTRA, DNA[:N], e),
    "rows in parts": lambda e: choose(Task(LONG.per_degree(), DNA[:N], e, need="shard_parts")).operator,
    "l-mers": lambda e: TableSet(GAPPED, DNA[:N], e),
    "l-mers beside features": lambda e: MixedSet(
        [TableSet(GAPPED, DNA[:N], e), FeatureSet.of(SPECTRA, DNA[:N], e)], [np.array([0, 2, 4]), np.array([1, 3, 5])]
    ),
    "dense design": lambda e: choose(Task([kw.Linear(), kw.Linear().on([0, 2])], TABLE[:N], e, need="design"))[0],
    "sparse design": lambda e: choose(Task(SPECTRA, DNA[:N], e, need="design"))[0],
    "streamed design": lambda e: (
        choose(Task([kw.Linear(), kw.Linear().on([1])], TABLE[:N], e, limit=5000, need="design")).operator
    ),
}
POOLED = [kw.Linear(), kw.RBF(width=1.0), kw.RBF(width=4.0), kw.Polynomial(3).on([0, 1])]


def operator_numbers(make, engine):
    operator, out = make(engine), np.ones(N)
    operator.add_to(out, SOME, ALPHA[SOME])
    made = [out, operator.columns(SOME), operator.submatrix(SOME), operator.diag()]
    if isinstance(operator, Rounded):
        made += [operator.exact_product(ALPHA)]
    if isinstance(operator, PrimalOperator):
        descent = operator.descent(np.arange(3, N), np.float64)
        descent.start(ALPHA[3:])
        made += [descent.outputs(ALPHA[3:]), descent.product(ALPHA[3:]), descent.product(ALPHA[3:], SOME[SOME > 8] - 3)]
    return [one for one in made if one is not None]


def set_numbers(make, engine):
    operators = make(engine)
    assert isinstance(operators, OperatorSet)
    out, weights, combined = np.ones((operators.m, N)), np.linspace(0.0, 1.0, operators.m), np.zeros(N)
    operators.each_add_to(out, SOME, ALPHA[SOME])
    mixture = operators.combined(weights)
    mixture.add_to(combined, SOME, ALPHA[SOME])
    return [
        out, combined, operators.energies(ALPHA), operators.each_inside(SOME, ALPHA[SOME]), operators.diagonals(),
        operators.combined_submatrix(weights, SOME), mixture.columns(SOME), mixture.diag(), mixture.submatrix(SOME),
    ]  # fmt: skip


def pool_numbers(limit, engine):
    pool = ColumnPool(POOLED, TABLE[:N], engine, limit)
    made = [pool.scan(range(4), ALPHA), pool.scan([1, 2], np.where(np.arange(N) < 4, ALPHA, 0.0), SOME[:3])]
    return made + [part.columns(k, SOME) for k in range(4) for part in (pool, pool.against(TABLE[N:]))]


def same(numbers, make, engine):
    first, second = numbers(make, Serial()), numbers(make, engine)
    assert len(first) == len(second)
    for a, b in zip(first, second):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator(name):
    same(operator_numbers, OPERATORS[name], Pickled())


@pytest.mark.parametrize("name", SETS)
def test_a_set_of_operators(name):
    same(set_numbers, SETS[name], Pickled())


@pytest.mark.parametrize("limit", ["1GB", 40_000], ids=["stored", "made"])
def test_a_pool_of_columns(limit):
    same(pool_numbers, limit, Pickled())


OTHER = pytest.mark.parametrize("engine", [Processes(), DaskProcesses()], ids=["processes", "dask"])


@OTHER
@pytest.mark.parametrize("name", ["dense", "cached", "k-mers", "k-mers in tries", "features"])
def test_an_operator_in_other_processes(name, engine):
    same(operator_numbers, OPERATORS[name], engine)


@OTHER
@pytest.mark.parametrize("name", ["stored", "shared", "k-mers by degree", "features", "dense design", "sparse design"])
def test_a_set_of_operators_in_other_processes(name, engine):
    same(set_numbers, SETS[name], engine)


WORKS_ON = {"smo": ["dense"], "dual_coordinate": ["k-mers", "features"], "interior_point": ["features"],
            "active_set": ["rows in parts"]}  # fmt: skip
"""What a solver needs; others work on everything."""


@pytest.mark.parametrize("name", SVM_SOLVERS)
def test_a_solver_of_one_kernel(name):
    loss = make_loss("logistic" if name == "newton" else "hinge")

    def solved(make, engine):
        problem = Problem(make(engine), loss, LABELS, np.full(N, 2.0), "free", 0.0)
        result = run(SVM_SOLVERS[name](), problem, FEW_STEPS)
        return [result.primal.alpha, np.array([result.primal.value, result.primal.intercept])]

    for store in WORKS_ON.get(name, ["cached", "k-mers", "features"]):
        same(solved, OPERATORS[store], Pickled())


@pytest.mark.parametrize("name", MKL_SOLVERS)
def test_a_solver_of_many_kernels(name):
    entry = MKL_SOLVERS[name]
    sets = ["dense design", "sparse design"] if entry.primal else ["recomputed", "k-mers by degree"]
    sets = ["rank one"] if entry.rank_one else ["rows in parts"] if entry.sharded else sets
    loss = make_loss("hinge" if "hinge" in entry.losses else "logistic")

    def solved(make, engine):
        problem = MKLProblem(
            make(engine), loss, LABELS[None], np.full(N, 2.0), LpBall(min(2.0, entry.largest_p)), "free", 0.0
        )
        result = run(entry.make(), problem, FEW_STEPS)
        return [np.asarray(result.primal.beta), np.array([result.primal.value])]

    for one in sets:
        same(solved, SETS[one], Pickled())


MODELS = {
    "one kernel": (kw.KernelClassifier("rbf:1", max_iter=20), TABLE),
    "novelty": (kw.KernelNovelty("rbf:1", nu=0.3, max_iter=20), TABLE),
    "counts": (kw.KernelClassifier(kw.Spectrum(3), max_iter=20), DNA),
    "places": (kw.KernelClassifier(kw.WeightedDegree(5), normalize="variance", fit_intercept=False), DNA),
    "many kernels": (kw.MKLClassifier(MIXED, max_iter=5), TABLE),
    "windows": (kw.MKLClassifier(kw.WeightedDegree(3).per_position(4), max_iter=5), DNA),
    "svrg": (kw.MKLClassifier(SPECTRA, solver="svrg", norm=2.0, loss="logistic", max_iter=5), DNA),
    "mixtures": (kw.CGBoostClassifier(POOLED, max_iter=6), TABLE),
    "mixtures of strings": (kw.CGBoostClassifier([kw.Spectrum(2), kw.WeightedDegree(4)], max_iter=6), DNA),
}


def model_numbers(name, engine):
    model, X = MODELS[name]
    model = model.set_params(engine=engine).fit(X[:N], None if name == "novelty" else LABELS)
    new = X[np.tile(np.arange(N, N + NEW), 5)]  # more rows than are compared one by one
    return [model.decision_function(new), model.decision_function(X[N:]), model.intercept_]


@pytest.mark.parametrize("name", MODELS)
def test_a_model(name):
    same(model_numbers, name, Pickled())


@OTHER
@pytest.mark.parametrize("name", ["counts", "windows", "mixtures"])
def test_a_model_in_other_processes(name, engine):
    same(model_numbers, name, engine)


@pytest.mark.parametrize("name", ["one kernel", "places", "svrg", "mixtures of strings"])
def test_a_model_on_a_cluster(name):
    same(model_numbers, name, DaskProcesses())


@pytest.mark.parametrize("name", ["counts", "places"])
def test_many_rows_train_without_shared_memory(name):
    """Beyond some number of rows products go through features, which once were written into the copies."""
    X, y = kw.datasets.make_splice(2100, random_state=0)
    kernel = kw.Spectrum(4) if name == "counts" else kw.WeightedDegree(8)
    fits = [kw.KernelClassifier(kernel, engine=e, max_iter=3).fit(X, y) for e in (Serial(), Pickled())]
    assert fits[0].objective_ == fits[1].objective_
    np.testing.assert_array_equal(*[fit.decision_function(X[:100]) for fit in fits])


def test_an_engine_that_is_sent_arrives_as_one_that_works_there():
    assert isinstance(Pickled(), Engine)
    (arrived,) = Pickled().map(lambda engine: engine, [Processes()])
    assert type(arrived) is Serial


def test_a_cloned_estimator_works_with_the_same_engine():
    engine = Pickled()
    assert clone(kw.KernelClassifier(engine=engine)).engine is engine
