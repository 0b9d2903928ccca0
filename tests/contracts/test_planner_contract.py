"""Every way to hold kernels: what is built takes no more than was estimated, and nothing beyond the limit is built."""

import gc
import tracemalloc
import warnings

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.engines import Serial
from kernelweave.operators import Plan, Task, choose
from kernelweave.operators.base import KMER_STORES
from kernelweave.operators.columns.pool import ColumnPool
from kernelweave.operators.kmers.stores import STORES
from kernelweave.operators.planner import kmers as plan_kmers
from kernelweave.operators.planner import task as task_module
from kernelweave.operators.planner.choose import CANDIDATES, weigh
from kernelweave.operators.planner.columns import ColumnTask
from kernelweave.operators.planner.task import NEEDS

N = 320
SMALL = 80_000
"""Bytes of Python objects and of vectors over the rows, which no estimate counts."""
rng = np.random.default_rng(0)
TABLE = rng.normal(size=(N, 6))
DNA = kw.Sequences.from_strings(["".join(rng.choice(list("ACGT"), 80)) for _ in range(N)])
MASKED = kw.Sequences.from_strings(["".join(rng.choice(list("ACGTN"), 80)) for _ in range(N)], unknown="mask")
AMINO = list("ACDEFGHIKLMNPQRSTVWY")
PROTEIN = kw.Sequences.from_strings(["".join(rng.choice(AMINO, 80)) for _ in range(N)], alphabet="protein")
WIDTHS = kw.RBF.grid([0.5, 1.0, 2.0, 4.0])
ONE = kw.Polynomial(3)
LINEAR = kw.per_feature(kw.Linear(), 6)
DEGREES = kw.WeightedDegree(12).per_degree()
CURVES = [kw.RBF(width=width).on([i, j]) for i in range(6) for j in range(6) for width in (0.5, 1.0, 2.0)]
COUNTS = [kw.Spectrum(3), kw.Spectrum(5)]


def one(kernel, X, **how):
    return lambda limit: Task([kernel], X, Serial(), limit, **how)


def many(kernels, X, **how):
    return lambda limit: Task(kernels, X, Serial(), limit, need="parts", **how)


def design(kernels, X, **how):
    return lambda limit: Task(kernels, X, Serial(), limit, need="design", **how)


def columns(kernels, X, need):
    def made(limit):
        pool = ColumnPool(kernels, X, Serial(), "1GB")
        rows = pool.prepared(0) if need == "columns" else None
        return ColumnTask(
            kernels, X, Serial(), limit, need=need, members=list(range(len(kernels))), rows=rows, made=pool.made,
            pool_family=pool.family,
        )  # fmt: skip

    return made


CASES = {
    "positional": [one(kw.WeightedDegree(12), DNA), one(kw.WeightedDegree(12), MASKED, need="products"),
                   one(kw.WeightedDegree(8, shift=2), DNA), one(kw.WeightedDegree(20), DNA, need="features"),
                   many(DEGREES, DNA), many(kw.WeightedDegree(12).per_position(window=8).unrolled(DNA), DNA)],
    "lmer_table": [one(kw.GappedKmer(8, 5), DNA), one(kw.GappedKmer(7, 5, True).normalized(), MASKED, need="whole"),
                   one(kw.GappedKmer(8, 6, True) + kw.Mismatch(6, 1), DNA)],
    "lmer_tables": [many([kw.GappedKmer(8, 5), kw.GappedKmer(7, 5, True).normalized()], DNA),
                    many([kw.GappedKmer(8, 5), kw.GappedKmer(8, 6), kw.Spectrum(3)], DNA)],
    "patterns": [one(kw.Mismatch(6, 1).normalized(), PROTEIN, need="features"), one(kw.Mismatch(8, 1), PROTEIN),
                 one(kw.GappedKmer(16, 13), DNA)],
    "features": [one(kw.Spectrum(4), DNA), one(kw.Spectrum(4).normalized(), DNA, need="features"),
                 one(kw.GappedKmer(5, 3), DNA), many(COUNTS, DNA)],
    "dense": [one(ONE, TABLE), one(ONE, TABLE, need="values", tol=1e-9), one(kw.Spectrum(4), DNA, need="values"),
              one(kw.Nystrom(kw.RBF(width=1.0), 40).fitted(TABLE), TABLE)],
    "sorted": [one(kw.WeightedDegree(12), DNA, need="products", store="sorted")],
    "trie": [one(kw.WeightedDegree(12), DNA, need="products", store="trie"),
             one(kw.WeightedDegree(8, shift=2), MASKED, need="products", store="trie")],
    "map": [one(kw.WeightedDegree(12), DNA, need="products", store="map"),
            one(kw.WeightedDegree(4), DNA, need="products", store="map")],
    "automata": [one(kw.NGram(3), DNA, need="automata", store="trie"),
                 one(kw.NGram(2).normalized(), MASKED, need="automata", store="minimal")],
    "cached": [one(ONE, TABLE), one(kw.Spectrum(4), DNA, need="values"), many(WIDTHS, TABLE)],
    "rank_one": [many(LINEAR, TABLE)],
    "stored": [many(WIDTHS, TABLE), many([ONE, *WIDTHS], TABLE)],
    "shared": [many(WIDTHS, TABLE)],
    "recomputed": [many(WIDTHS, TABLE)],
    "tabulated": [many(CURVES, TABLE)],
    "design": [design([kw.Linear(), kw.Polynomial(2)], TABLE), design(COUNTS, DNA),
                 design([kw.Linear()], TABLE, tol=1e-9)],
    "streamed": [design([kw.Linear(), kw.Polynomial(2)], TABLE), design(COUNTS, DNA)],
    "dense_features": [columns([kw.Polynomial(2)], TABLE, "scores")],
    "sparse_features": [columns([kw.Spectrum(4)], DNA, "scores"), columns([kw.WeightedDegree(12)], DNA, "scores")],
    "stored_columns": [columns(WIDTHS, TABLE, "columns")],
    "recomputed_columns": [columns(WIDTHS, TABLE, "columns")],
    "sharded": [one(kw.WeightedDegree(12), DNA, need="shards"), one(kw.Spectrum(4), DNA, need="shards"),
                lambda limit: Task(DEGREES, DNA, Serial(), limit, need="shard_parts")],
}  # fmt: skip
EACH = [
    pytest.param(candidate, make, id=f"{candidate.kind} {i} for {candidate.needs[0]} {j}")
    for i, candidate in enumerate(CANDIDATES)
    for j, make in enumerate(CASES[candidate.kind])
    if make("1GB").need in candidate.needs
]
LIMITS = [20_000, 60_000, 200_000, 500_000, 2_000_000, 10_000_000, 10**9]


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch):
    monkeypatch.setattr(task_module, "GRAM_UP_TO", 100)


@pytest.fixture(scope="module", autouse=True)
def collections_pass_over_what_is_there():
    """A collection over all tests and modules takes half a second, and each measurement needs two."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def used(built, need):
    """Do what a solver does, so that what is made at the first use is there; return what it made."""
    rows, steps = np.arange(0, N, 3), np.linspace(-1, 1, len(range(0, N, 3)))
    if hasattr(built, "design"):
        return built.design.outputs(np.zeros(built.design.width))
    if hasattr(built, "combined"):
        out = np.zeros((built.m, N))
        built.each_add_to(out, rows, steps)
        total = built.combined(np.ones(built.m))
        total.add_to(out[0], rows, steps)
        return total
    if hasattr(built, "scores"):
        kernels = list(getattr(built, "place", {0: 0}))
        return built.scores(kernels, np.ones(N), np.arange(N), np.arange(N))
    if hasattr(built, "descent") and need == "features":
        made = built.descent(None, np.float32)
        made.start(np.ones(N))
        return made
    out = np.zeros(N)
    built.add_to(out, rows, steps)
    return out


def measured(make, need):
    """Return what is made and the bytes that it has taken once it was used."""
    used(make(), need)  # compiled
    gc.collect()
    tracemalloc.start()
    try:
        built = make()
        kept = used(built, need)
        gc.collect()
        return (built, kept), tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("candidate", "make"), EACH)
def test_what_is_built_takes_no_more_than_estimated(candidate, make):
    task = make("1GB")
    if candidate.fits(task) is not None:
        pytest.skip(candidate.fits(task))
    assert isinstance(candidate.why(task), str)
    assert candidate.cost(task) > 0
    _, taken = measured(lambda: candidate.build(make("1GB")), task.need)
    assert taken <= candidate.bytes(task) + SMALL


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.filterwarnings("ignore:The memory_limit")
def test_nothing_beyond_the_limit_is_built(kind):
    """Whatever is chosen keeps the limit and tells its reasons; enough memory is enough for every task."""
    make, kinds = CASES[kind][0], []
    for limit in LIMITS:
        try:
            plan = choose(make(limit)).plan
        except MemoryError:
            assert not kinds  # what fits a limit fits a larger one
            continue
        kinds.append(plan.kind)
        assert plan.bytes <= limit
        assert plan.why
        assert all(isinstance(name, str) and reason for name, reason in plan.passed_over)
        _, taken = measured(lambda limit=limit: choose(make(limit)).operator, make(limit).need)
        assert taken <= limit + SMALL
    assert kinds


def test_a_task_that_cannot_be_held_is_refused_with_the_estimate():
    for cases in CASES.values():
        if cases[0](1).need != "columns":
            with pytest.raises(MemoryError, match="more than the memory_limit of 1 B; raise the limit or t"):
                choose(cases[0](1))


def test_every_candidate_has_cases_and_known_needs():
    assert set(CASES) == {candidate.kind for candidate in CANDIDATES}
    assert {need for candidate in CANDIDATES for need in candidate.needs} == set(NEEDS)
    assert all(any(p.values[0] is candidate for p in EACH) for candidate in CANDIDATES)


def test_stores_are_known_to_solvers():
    assert sorted(KMER_STORES) == sorted(STORES)
    assert all(any(candidate.kind == store for candidate in CANDIDATES) for store in KMER_STORES)


def test_a_slow_form_is_warned_of_and_a_quick_one_is_not():
    wide = rng.normal(size=(600, 400))
    with pytest.warns(UserWarning, match=r"memory_limit of 500 kB leaves a form .* times as slow as another: .*cached"):
        choose(Task([kw.RBF(width=1.0)], wide, Serial(), "500kB"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        choose(Task([kw.RBF(width=1.0)], wide, Serial(), "2MB"))


def test_what_was_passed_over_is_told_in_order(monkeypatch):
    monkeypatch.setattr(plan_kmers, "WORKING_SET", 20)
    rows = kw.Sequences.from_strings(["".join(rng.choice(list("ACGT"), 80)) for _ in range(1500)])
    found = weigh(Task([kw.WeightedDegree(12)], rows, Serial(), "900kB", need="products"))
    assert found.choice.plan.kind == "sorted"
    assert [kind for kind, _ in found.passed_over] == ["positional", "patterns", "features", "dense", "dense"]
    assert found.passed_over[0][1].startswith("the sorted k-mers of 1500 sequences take ")
    assert str(found.choice.plan).startswith("sorted, ")


def test_former_records_of_a_plan_are_read():
    former = {"kind": "dense", "dtype": np.float64, "columns": 3, "size": 72, "reason": "small"}
    assert Plan.from_record(**former) == Plan("dense", 72, "small")
    now = Plan("dense", 72, "small", (("positional", "no k-mers"),))
    assert Plan.from_record(**vars(now)) == now
