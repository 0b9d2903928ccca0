import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise

from kernelweave.kernels import RBF, Elementwise, Laplacian, Linear, Polynomial, Sigmoid
from kernelweave.kernels.vector.table import Dot, Manhattan, SquaredDistance, as_table, products, variance

rng = np.random.default_rng(1)
X = rng.normal(size=(40, 7))
Y = rng.normal(size=(25, 7))
SPARSE = sparse.random(40, 7, density=0.3, random_state=2, format="csr")


@pytest.mark.parametrize(
    ("kernel", "judge"),
    [
        (Linear(), pairwise.linear_kernel),
        (Polynomial(4, 0.3, 2.0), lambda A, B: pairwise.polynomial_kernel(A, B, degree=4, gamma=0.3, coef0=2.0)),
        (RBF("auto"), pairwise.rbf_kernel),
        (RBF(gamma=0.4), lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.4)),
        (RBF(width=4.0), lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.25)),
        (Laplacian("auto"), pairwise.laplacian_kernel),
        (Laplacian(0.2), lambda A, B: pairwise.laplacian_kernel(A, B, gamma=0.2)),
        (Sigmoid(0.1, 0.3), lambda A, B: pairwise.sigmoid_kernel(A, B, gamma=0.1, coef0=0.3)),
        (SquaredDistance(), pairwise.euclidean_distances),
        (Manhattan(), pairwise.manhattan_distances),
        (Linear().normalized(), pairwise.cosine_similarity),
    ],
    ids=lambda value: getattr(value, "__name__", None) or repr(value),
)
def test_scikit_learn_agrees(kernel, judge):
    expected = judge(X, Y) ** 2 if isinstance(kernel, SquaredDistance) else judge(X, Y)
    np.testing.assert_allclose(kernel.gram(X, Y), expected, atol=1e-12)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(), RBF("auto"), RBF(), Sigmoid()], ids=repr)
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.coo_matrix, sparse.csc_array])
def test_sparse_tables_give_what_dense_ones_give(kernel, kind):
    dense, table = SPARSE.toarray(), kind(SPARSE)
    kernel = kernel.fitted(table)
    K = kernel.gram(dense)
    assert np.array_equal(kernel.gram(table), kernel.gram(table).T)
    for left, right in [(table, None), (table, table), (table, dense), (dense, table)]:
        np.testing.assert_allclose(kernel.gram(left, right), K, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(table), np.diag(K), atol=1e-12)


def test_sparse_tables_with_repeated_and_unsorted_entries_are_not_changed():
    table = sparse.csr_matrix((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    assert Linear().gram(table)[0, 0] == 2.0**2 + 4.0**2
    assert table.indices.tolist() == [2, 0, 2]


def test_laplacian_refuses_sparse_tables():
    with pytest.raises(TypeError, match="dense table"):
        Laplacian().gram(SPARSE)


def test_squared_distances_keep_close_points_apart():
    points = 100.0 + np.array([[0.0], [1e-4], [0.0]])
    D = SquaredDistance().gram(points)
    assert np.diag(D).tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(D[0, 1], 1e-8, rtol=1e-2)
    assert D.min() == 0.0


def test_distances_of_rows_to_themselves_are_exactly_zero():
    A = SquaredDistance().prepare(1000.0 + X)
    assert not np.diag(SquaredDistance().block(A, A)).any()
    assert np.diag(RBF(gamma=1e6).gram(1000.0 + X)).tolist() == [1.0] * len(X)


def test_not_a_number_is_not_hidden():
    assert np.isnan(SquaredDistance().gram([[np.nan], [1.0]])[0, 1])


@pytest.mark.parametrize("m", [1, 511, 512, 1300])
def test_absolute_differences_over_several_tiles(m):
    A, B = rng.normal(size=(3, 5)), rng.normal(size=(m, 5))
    np.testing.assert_allclose(Manhattan().gram(A, B), abs(A[:, None] - B[None]).sum(axis=2), atol=1e-13)


def test_one_column_may_be_one_dimensional():
    assert np.array_equal(RBF("auto").gram(X[:, 0]), RBF("auto").gram(X[:, :1]))
    assert RBF().fitted(X[:, 0]) == RBF().fitted(X[:, :1])


def test_integers_lists_and_frames_are_tables():
    pd = pytest.importorskip("pandas")
    values = [[1, 2], [3, 4]]
    expected = Linear().gram(np.array(values, float))
    for table in (values, np.array(values), np.array(values, object), pd.DataFrame(values)):
        assert np.array_equal(Linear().gram(table), expected)


@pytest.mark.parametrize("table", [["1", "2"], [["a"]], 3.0, [[1j]], [[1.0], [1.0, 2.0]], sparse.csr_array([[1j]])])
def test_what_is_no_table_of_numbers_is_refused(table):
    with pytest.raises(TypeError, match="compares rows of numbers"):
        as_table(table)


def test_three_dimensions_are_refused():
    with pytest.raises(ValueError, match=r"2-D table.*\(2, 2, 2\)"):
        as_table(np.zeros((2, 2, 2)))


@pytest.mark.parametrize("kernel", [Linear(), RBF("auto"), Laplacian("auto")], ids=repr)
def test_tables_of_different_width_are_refused(kernel):
    with pytest.raises(ValueError, match="7 columns, the other 6"):
        kernel.gram(X, Y[:, :6])


def test_families_share_their_number():
    first, second = RBF.grid([1, 2])
    assert first.base() == second.base() == SquaredDistance()
    assert Linear().base() == Polynomial(2).base() == Sigmoid().base() == Dot()
    for kernel in (first, Polynomial(3), Linear(), Sigmoid(0.1), Laplacian(0.5)):
        assert isinstance(kernel, Elementwise)
        values = kernel.base().gram(X, Y)
        assert np.array_equal(kernel.finish(values), kernel.gram(X, Y))


def test_finish_needs_a_settled_gamma():
    with pytest.raises(ValueError, match="learns gamma from training data"):
        RBF().finish(np.ones((2, 2)))
    values = RBF().fitted(X).finish(SquaredDistance().gram(X))
    assert np.array_equal(values, RBF().fitted(X).gram(X))
    with pytest.raises(ValueError, match="learns gamma from training data"):
        RBF().gram(X)


def test_gamma_is_settled_by_training_data():
    assert RBF("auto").fitted(X) == RBF(gamma=1 / 7)
    assert RBF(gamma="scale").fitted(X) == RBF().fitted(X)
    assert RBF().fitted(X).gamma == pytest.approx(1 / (7 * X.var()), rel=1e-12)
    assert Laplacian("auto").fitted(X) == Laplacian(gamma=1 / 7)
    assert Laplacian().fitted(X).gamma == pytest.approx(1 / (7 * X.std()), rel=1e-12)
    assert Polynomial(2, "scale").fitted(X).gamma == pytest.approx(1 / (7 * X.var()))
    assert RBF(gamma="scale").fitted(np.ones((3, 2))) == RBF(gamma=1.0)
    kernel = RBF(width=2)
    assert kernel.fitted(X) is kernel


def test_scale_before_training_is_an_error():
    with pytest.raises(ValueError, match=r"RBF\(gamma='scale'\) learns gamma from training data: call fitted"):
        RBF(gamma="scale").gram(X)


@pytest.mark.parametrize("table", [X, SPARSE], ids=["dense", "sparse"])
def test_a_row_of_weight_w_counts_as_w_rows(table):
    times = rng.integers(0, 4, size=40)
    repeated = table[np.repeat(np.arange(40), times)]
    assert variance(as_table(table), times) == pytest.approx(
        as_table(repeated).toarray().var() if table is SPARSE else repeated.var()
    )
    weighted = RBF(gamma="scale").fitted(table, times).gamma
    assert weighted == pytest.approx(RBF(gamma="scale").fitted(repeated).gamma, rel=1e-12)


def test_variance_without_weight_is_an_error():
    with pytest.raises(ValueError, match="positive weight"):
        variance(X, np.zeros(40))


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 8, 11])
def test_powers(degree):
    values = rng.normal(size=(5, 5))
    expected = (values @ values.T * 0.5 + 1.5) ** degree
    np.testing.assert_allclose(Polynomial(degree, 0.5, 1.5).gram(values), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (RBF(gamma=0), "gamma=0 of RBF must be a positive number"),
        (RBF(gamma=-1.0), "gamma=-1.0 of RBF"),
        (RBF(gamma=np.nan), "gamma=nan of RBF"),
        (RBF(gamma="wide"), "gamma='wide' of RBF must be a positive number, 'scale', 'auto' or None"),
        (RBF(width=0.0), "width=0.0 of RBF"),
        (RBF(gamma=1.0, width=1.0), "both gamma and width"),
        (Laplacian(-2), "gamma=-2 of Laplacian"),
        (Sigmoid(1.0, "a"), "coef0='a' of Sigmoid must be a finite number"),
        (Polynomial(0), "degree=0 of Polynomial must be a positive integer"),
        (Polynomial(2.5), "degree=2.5 of Polynomial"),
        (Polynomial(2, gamma=-1), "gamma=-1 of Polynomial"),
        (Polynomial(2, coef0=np.inf), "coef0=inf of Polynomial"),
    ],
    ids=repr,
)
def test_parameters_without_meaning_are_refused_when_evaluated(kernel, sentence):
    for use in (kernel.gram, kernel.diag, kernel.fitted):
        with pytest.raises(ValueError, match=sentence.replace("(", r"\(")):
            use(X)


def test_definiteness_is_told():
    assert RBF().definite
    assert Polynomial(3).definite
    assert not Polynomial(3, coef0=-1.0).definite
    assert not Sigmoid().definite
    assert not SquaredDistance().definite


@pytest.mark.parametrize("n", [60, 333])
def test_products_have_the_same_bits_whether_or_not_both_sides_share_memory(n):
    rows = rng.normal(size=(n, 31))
    apart = products(rows, rows.copy(), same=False)
    assert np.array_equal(products(rows, rows, same=False), apart)
    assert np.array_equal(products(rows, rows[:], same=False), apart)
    half = products(rows, rows[n // 2 :].copy(), same=False)
    assert np.array_equal(products(rows, rows[n // 2 :], same=False), half)
    assert np.array_equal(products(rows, rows, same=True), products(rows, rows, same=True).T)


@pytest.mark.parametrize("scale", [1e-25, 1e-3, 1.0, 1e25])
@pytest.mark.parametrize("offset", [0.0, 2.0, 1e3])
def test_distances_in_single_precision_are_as_close_as_single_precision_allows(scale: float, offset: float) -> None:
    rng = np.random.default_rng(0)
    one, two = scale * (rng.normal(size=(150, 7)) + offset), scale * (rng.normal(size=(90, 7)) + offset)
    kernel = SquaredDistance()
    A, B = kernel.prepare(one), kernel.prepare(two)
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        warnings.simplefilter("error")
        single, same = kernel.block(A, B, np.float32), kernel.block(A, A, np.float32)
    double = kernel.block(A, B)
    assert single.dtype == np.float32
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(single, double.astype(np.float32), rtol=1e-6, atol=1e-5 * min(double.mean(), 1e30))
    np.testing.assert_array_equal(same, same.T)
    assert not same.diagonal().any()


@pytest.mark.parametrize("kernel", [RBF(), Laplacian(), Sigmoid(), Polynomial(2, None)], ids=repr)
def test_the_unit_of_a_table_does_not_matter_by_default(kernel):
    small, large = X - X.mean(), 1e6 * (X - X.mean())
    np.testing.assert_allclose(
        kernel.fitted(large).gram(large), kernel.fitted(small).gram(small), rtol=1e-9, atol=1e-12
    )
