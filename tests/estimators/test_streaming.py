"""Learning from blocks of rows: as good as all rows at once, and the same whether or not it was saved on the way."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import kernelweave as kw
from kernelweave.operators.features.design.grow import moved

N, BLOCKS = 2000, 20
STREAMS = ("svrg", "ufo", "obscure")
SEPARATORS = ("ab", "cde", "ha")

rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4))
REAL = np.sin(2 * X[:, 0]) * X[:, 1] + 0.5 * X[:, 2] + 0.5 * rng.normal(size=N)
LABELS = np.where(REAL > 0.2, "yes", "no")
THREE = np.array(["low", "mid", "top"])[np.digitize(REAL, [-0.5, 0.6])]
WEIGHT = rng.uniform(0.2, 2.0, N)
TEXTS = ["".join(rng.choice(list("abcdefgh"), rng.integers(8, 30))) for _ in range(N)]
COUNTS = np.array([sum(text.count(part) for part in SEPARATORS) for text in TEXTS])
STRINGS = kw.Sequences.from_strings(TEXTS, alphabet="bytes")
KERNELS = [kw.Linear(), *(kw.Fourier(kw.RBF(width=width), 30, random_state=0) for width in (2.0, 20.0))]


def model(solver="svrg", cls=kw.MKLClassifier, kernels=KERNELS, total=N, **options):
    options = {"loss": "logistic" if cls is kw.MKLClassifier else "squared", "norm": 2.0, **options}
    return cls(kernels, solver=solver, solver_params={"total_rows": total} if total else None, **options)


def stream(made, rows, y, passes, blocks=BLOCKS, weight=None, **options):
    """Feed all rows in shuffled blocks, pass after pass."""
    mixer, n = np.random.default_rng(1), rows.shape[0]
    for _ in range(passes):
        for some in np.array_split(mixer.permutation(n), blocks):
            made.partial_fit(rows[some], y[some], sample_weight=None if weight is None else weight[some], **options)
    return made


def batch_objective(made, rows, y, weight=None):
    """The optimum of fit on all rows, with the kernels as the stream scaled them on its first block."""
    twin = clone(made).set_params(kernels=made.kernels_, normalize=None, solver="svrg", tol=1e-5, solver_params=None)
    return twin.fit(rows, y, weight).objective_


@pytest.mark.parametrize("norm", [1.0, 4 / 3, 2.0])
def test_shuffled_blocks_end_near_the_batch_objective(norm):
    made = stream(model(norm=norm), X, LABELS, 5)
    assert made.certify(X, LABELS) < 1e-2
    assert made.objective_ <= 1.001 * batch_objective(made, X, LABELS)


@pytest.mark.parametrize(("solver", "room"), [("ufo", 1.01), ("obscure", 1.02)])
def test_subgradient_streams_end_near_the_batch_objective(solver, room):
    made = stream(model(solver, C=0.2), X, LABELS, 5)
    made.certify(X, LABELS)
    assert made.objective_ <= room * batch_objective(made, X, LABELS)


def test_weighted_rows_and_an_intercept_that_is_pulled():
    made = stream(model(fit_intercept="regularized", C=0.3), X, LABELS, 4, weight=WEIGHT)
    made.certify(X, LABELS, WEIGHT)
    assert made.objective_ <= 1.002 * batch_objective(made, X, LABELS, WEIGHT)


def test_regression_converges_from_pass_to_pass():
    made, values = model(cls=kw.MKLRegressor, C=0.1), []
    for _ in range(3):
        stream(made, X, REAL, 2)
        made.certify(X, REAL)
        values.append(made.objective_)
    best = batch_objective(made, X, REAL)
    assert values[0] > values[1] > values[2] > best * (1 - 1e-4)
    assert values[2] <= 1.002 * best


def test_features_that_come_later_get_weights():
    y = np.where(np.median(COUNTS) < COUNTS, 1, -1)
    made = model(kernels=[kw.NGram(1), kw.NGram(2), kw.NGram(3)])
    made.partial_fit(STRINGS[:20], y[:20], classes=[-1, 1])
    few = np.diff(made.coef_offsets_)
    made.partial_fit(STRINGS[20:500], y[20:500]).partial_fit(STRINGS[500:], y[500:])
    stream(made, STRINGS, y, 5)
    many = np.diff(made.coef_offsets_)
    assert many[2] > 2 * few[2]
    assert made.coef_.shape == (1, many.sum())
    assert [len(codes) for codes in made.coef_codes_] == many.tolist()
    made.certify(STRINGS, y)
    assert made.objective_ <= 1.01 * batch_objective(made, STRINGS, y)


def test_blocks_that_do_not_divide_the_rows_and_one_that_ends_a_pass_in_its_middle():
    made = model()
    order = np.concatenate([np.random.default_rng(seed).permutation(N) for seed in range(6)])
    for some in np.array_split(order, 67):
        made.partial_fit(X[some], LABELS[some], classes=["no", "yes"])
    made.certify(X, LABELS)
    assert made.rows_seen_ == 6 * N
    assert made.objective_ <= 1.002 * batch_objective(made, X, LABELS)


def test_a_block_beyond_the_memory_limit_is_walked_over_part_by_part():
    made = stream(model(memory_limit="1MB"), X, LABELS, 6, blocks=1)
    assert made.memory_plan_.kind == "streamed"
    assert made.n_iter_ > 6
    made.certify(X, LABELS)
    assert made.objective_ <= 1.005 * batch_objective(made, X, LABELS)


def test_without_a_number_of_rows_one_pass_comes_close():
    made = stream(model(total=None), X, LABELS, 1)
    assert made.rows_seen_ == N
    made.certify(X, LABELS)
    assert made.objective_ <= 1.05 * batch_objective(made, X, LABELS)


@pytest.mark.parametrize("solver", STREAMS)
def test_saving_on_the_way_changes_nothing(solver, tmp_path):
    y = np.where(np.median(COUNTS) < COUNTS, 1, -1)
    through, halfway = (model(solver, kernels=[kw.NGram(1), kw.NGram(2)], total=200) for _ in range(2))
    for start in (0, 50, 100, 150, 0, 50):
        block = slice(start, start + 50)
        through.partial_fit(STRINGS[block], y[block])
        if hasattr(halfway, "stream_"):
            kw.save(halfway, tmp_path / "half.kw")
            halfway = kw.load(tmp_path / "half.kw")
        halfway.partial_fit(STRINGS[block], y[block])
    assert np.array_equal(through.coef_, halfway.coef_)
    assert np.array_equal(through.intercept_, halfway.intercept_)
    assert np.array_equal(through.decision_function(STRINGS), halfway.decision_function(STRINGS))


def test_threads_do_not_change_the_bits():
    one, two = (stream(model(n_jobs=jobs), X, LABELS, 1, blocks=3) for jobs in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)


def test_several_classes_each_with_weights_of_their_own():
    made = stream(model(C=0.1), X, THREE, 4)
    assert made.kernel_weights_.shape == (3, 3)
    assert made.certify(X, THREE) < 1e-2
    assert made.certificate_.primal.shape == (3,)
    assert made.predict(X[:5]).shape == (5,)


@cache
def begun():
    return model().partial_fit(X[:100], LABELS[:100], classes=["no", "yes"])


def test_a_stream_does_not_claim_a_certificate():
    made = begun()
    assert made.duality_gap_ == np.inf
    assert not made.converged_
    assert np.isnan(made.objective_)
    assert made.certificate_.alpha.shape == (1, 0)
    assert made.rows_seen_ == 100
    assert len(made.trace_) == 0


def test_certify_says_what_fit_says():
    made = model(total=None, tol=1e-4).fit(X, LABELS)
    objective, gap = made.objective_, made.duality_gap_
    again = made.certify(X, LABELS)
    assert made.objective_ == pytest.approx(objective, rel=1e-9)
    assert gap * (1 - 1e-6) <= again < 10 * gap + 1e-6
    assert made.certify(X[:100], LABELS[:100]) > 1e-2
    assert not made.converged_


def test_certify_counts_features_that_the_model_lacks():
    y = np.where(COUNTS > 0, 1, -1)
    made = model(kernels=[kw.NGram(3)], total=None).fit(STRINGS[:100], y[:100])
    made.certify(STRINGS, y)
    w = made.coef_[0]
    energy = 0.5 * w @ w
    losses = np.log1p(np.exp(-y * made.decision_function(STRINGS))).sum()
    assert made.objective_ == pytest.approx(energy + losses, rel=1e-6)
    K = made.kernels_[0].gram(STRINGS)
    alpha = made.certificate_.alpha[0]
    u = alpha * y
    entropy = -np.sum(u * np.log(u) + (1 - u) * np.log1p(-u))
    assert made.dual_objective_ == pytest.approx(entropy - 0.5 * alpha @ K @ alpha, rel=1e-5)


def test_fit_forgets_the_stream():
    made = stream(model(), X[:200], LABELS[:200], 1, blocks=2)
    made.fit(X[:200], LABELS[:200])
    assert not hasattr(made, "stream_")
    assert not hasattr(made, "rows_seen_")
    made.partial_fit(X[:100], LABELS[:100])
    assert made.rows_seen_ == 100


def test_a_dense_table_may_follow_a_sparse_one_and_the_other_way_round():
    dense, mixed, started_dense = (model(kernels=[kw.Linear()], total=200) for _ in range(3))
    first, second = (X[:100], LABELS[:100]), (X[100:200], LABELS[100:200])
    dense.partial_fit(*first).partial_fit(*second)
    mixed.partial_fit(sparse.csr_array(first[0]), first[1]).partial_fit(*second)
    started_dense.partial_fit(*first).partial_fit(sparse.csr_array(second[0]), second[1])
    assert started_dense.coef_ == pytest.approx(dense.coef_)
    assert mixed.decision_function(X[:5]) == pytest.approx(dense.decision_function(X[:5]), abs=0.1)


REFUSED = [
    (lambda: model("auto"), (X, LABELS), AttributeError, "needs one of the solvers 'svrg', 'ufo', 'obscure', not"),
    (lambda: model("proximal_gradient"), (X, LABELS), AttributeError, "needs one of the solvers"),
    (lambda: kw.MKLClassifierCV(KERNELS, solver="svrg"), (X, LABELS), AttributeError, "chooses C from all rows"),
    (lambda: model("ufo", norm=1.0), (X, LABELS), ValueError, "norm=1 is not"),
    (lambda: model("svrg", loss="hinge"), (X, LABELS), ValueError, "is for the losses"),
    (lambda: model(class_weight="balanced"), (X, LABELS), ValueError, "needs all labels at once"),
    (lambda: model(total=10), (X, LABELS), ValueError, "total_rows=10 is less than the 2000 rows"),
    (lambda: model(total=-1), (X, LABELS), ValueError, "total_rows=-1 must be"),
    (lambda: model(), (X[:5], ["yes"] * 5), ValueError, "at least two classes"),
    (lambda: model().set_params(solver_params={"schedule": "paper"}), (X, LABELS), ValueError, "'adaptive'"),
    (lambda: model().set_params(solver_params={"momentum": True}), (X, LABELS), ValueError, "do not fit partial_fit"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "data", "error", "words"), REFUSED)
def test_what_cannot_be_streamed_gets_one_sentence(made, data, error, words):
    with pytest.raises(error, match=words):
        made().partial_fit(*data)


def test_solvers_without_streams_have_no_partial_fit():
    assert not hasattr(kw.MKLClassifier(KERNELS), "partial_fit")
    assert hasattr(model("ufo"), "partial_fit")


def changed(**params):
    made = clone(begun()).partial_fit(X[:100], LABELS[:100])
    return made.set_params(**params)


LATER = [
    (lambda: changed(kernels=[kw.Linear()]), X, LABELS, "began with kernels="),
    (lambda: changed(C=7.0), X, LABELS, "began with C=1.0, but now C=7.0"),
    (lambda: changed(), X[:, :3], LABELS, "3 features"),
    (lambda: changed(), X, THREE, "Row 0 has the class 'mid'|Row 0 has the class 'low'|Row 0 has the class 'top'"),
]


@pytest.mark.parametrize(("made", "rows", "y", "words"), LATER)
def test_a_later_block_must_fit_the_first(made, rows, y, words):
    with pytest.raises(ValueError, match=words):
        made().partial_fit(rows, y)


def test_certify_is_for_explicit_features():
    with pytest.raises(ValueError, match="certify is for models on explicit features"):
        kw.MKLClassifier(KERNELS).fit(X[:100], LABELS[:100]).certify(X[:100], LABELS[:100])


def test_vectors_follow_their_columns():
    old, new = np.array([0, 2, 2, 5]), np.array([0, 3, 4, 8])
    w = np.arange(1.0, 6.0)
    assert moved(w, old, new).tolist() == [1, 2, 0, 0, 3, 4, 5, 0]
    assert moved(np.stack([w, -w]), old, new).shape == (2, 8)


def test_rows_of_very_different_size_do_not_throw_the_model_off():
    wild = np.random.default_rng(2)
    rows = wild.standard_t(2.5, size=(N, 10))
    y = rows @ wild.normal(size=10) + wild.normal(size=N)
    made, values = model(cls=kw.MKLRegressor, kernels=[kw.Linear()]), []
    for start in [*range(0, N, 100)] * 2:
        made.partial_fit(rows[start : start + 100], y[start : start + 100])
        made.certify(rows, y)
        values.append(made.objective_)
    assert max(values) < 10 * min(values)
    assert values[-1] <= 1.02 * batch_objective(made, rows, y)


def test_targets_far_from_zero_are_no_obstacle():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=1000) + 1e4
    model = kw.MKLRegressor(
        [kw.Fourier(kw.RBF(width=4.0), 20), kw.Linear()], loss="squared", norm=2.0, solver="svrg",
        solver_params={"total_rows": 1000},
    )  # fmt: skip
    for _ in range(3):
        for block in np.array_split(rng.permutation(1000), 5):
            model.partial_fit(X[block], y[block])
    assert model.score(X, y) > 0.6
