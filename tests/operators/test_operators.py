"""Which representation is chosen and why, memory in words, and which columns stay in the cache."""

import numpy as np
import pytest

from kernelweave.engines import Serial
from kernelweave.kernels import RBF
from kernelweave.kernels.base import Kernel
from kernelweave.operators import CachedColumns, DenseGram, bind, choose
from kernelweave.operators.memory import free_memory, memory_budget, show_bytes
from oracles.planning import Sizes, first_fitting

rng = np.random.default_rng(0)
TABLE = rng.normal(size=(40, 3))


class Counting(RBF):
    """An RBF that remembers the size of every block it filled."""

    sizes: list[tuple[int, int]] = []  # noqa: RUF012

    def block(self, A, B, dtype=np.float64):
        out = super().block(A, B, dtype)
        self.sizes.append(out.shape)
        return out


def cache(capacity, kernel: Kernel | None = None):
    kernel = kernel or RBF(gamma=0.5)
    return CachedColumns(kernel, kernel.prepare(TABLE), Serial(), capacity, np.float64)


def ask(operator, *rows):
    """Ask for columns; return how many had to be computed."""
    before = operator.computed
    columns = operator.columns(np.array(rows))
    np.testing.assert_allclose(columns, RBF(gamma=0.5).gram(TABLE)[:, rows], atol=1e-12)
    return operator.computed - before


def test_a_column_is_computed_once():
    operator = cache(10)
    assert ask(operator, 3, 4, 5) == 3
    assert ask(operator, 5, 3) == 0
    assert ask(operator, 3, 3, 6, 6) == 1


def test_the_column_unused_for_longest_leaves():
    operator = cache(3)
    ask(operator, 0)
    ask(operator, 1)
    ask(operator, 2)
    assert ask(operator, 0) == 0
    assert ask(operator, 7) == 1  # takes the place of 1
    assert ask(operator, 2) == 0
    assert ask(operator, 0) == 0
    assert ask(operator, 1) == 1  # takes the place of 7
    assert ask(operator, 0, 2) == 0
    assert ask(operator, 7) == 1


def test_columns_of_one_request_do_not_push_each_other_out():
    operator = cache(4)
    ask(operator, 0, 1, 2, 3)
    assert ask(operator, 3, 9, 2) == 1
    assert ask(operator, 9, 3, 2) == 0


def test_more_columns_than_fit_still_come():
    operator = cache(4)
    assert ask(operator, *range(20)) == 20
    out = np.zeros(40)
    operator.add_to(out, np.arange(40), np.ones(40))
    np.testing.assert_allclose(out, RBF(gamma=0.5).gram(TABLE).sum(axis=1))


def test_the_buffer_is_never_larger_than_the_matrix():
    assert cache(10_000).capacity == 40


def test_only_missing_columns_are_evaluated():
    kernel = Counting(gamma=0.5)
    operator = cache(8, kernel)
    operator.columns(np.array([1, 2]))
    Counting.sizes.clear()
    operator.columns(np.array([2, 5, 1]))
    assert sum(a * b for a, b in Counting.sizes) == 40


def test_half_of_a_dense_gram_is_computed_and_mirrored(monkeypatch):
    from kernelweave.operators.gram import dense

    monkeypatch.setattr(dense, "TILE", 10)
    kernel = Counting(gamma=0.5)
    Counting.sizes.clear()
    gram = DenseGram(kernel, kernel.prepare(TABLE), Serial()).gram
    assert sum(a * b for a, b in Counting.sizes) == 10 * 100  # of 16 tiles, 10 are on or above the diagonal
    np.testing.assert_array_equal(gram, gram.T)


@pytest.mark.parametrize(
    ("n", "limit", "tol", "kind", "dtype"),
    [
        (1000, "1GB", 1e-3, "dense", np.float64),
        (10_000, "1GB", 1e-3, "dense", np.float32),
        (10_000, "1GB", 1e-8, "dense", np.float64),
        (10_000, "500MB", 1e-8, "dense", np.float32),
        (100_000, "1GB", 1e-3, "cached", np.float32),
        (2, 1000, 1e-3, "dense", np.float64),
    ],
)
def test_the_plan_follows_size_limit_and_tolerance(n, limit, tol, kind, dtype):
    candidate, chosen = first_fitting(Sizes(n, limit=limit, tol=tol))
    assert (chosen.kind, getattr(candidate, "dtype", np.float32)) == (kind, dtype)
    assert chosen.bytes <= memory_budget(limit)


def test_a_plan_says_why():
    small, large = (first_fitting(Sizes(n, limit="1GB"))[1] for n in (1000, 100_000))
    assert small.why == "the 1000 x 1000 Gram matrix in float64 takes 8 MB"
    assert large.why == ("the Gram matrix would take 40 GB of the 1 GB allowed, so 2500 of 100000 columns are cached")


def test_no_plan_is_refused_with_the_estimate():
    with pytest.raises(MemoryError, match=r"64 kernel columns of 1000000 rows take 256 MB, more than the memory_limit"):
        choose(Sizes(1_000_000, limit="100MB"))
    with pytest.raises(MemoryError, match=r"of 10 B; raise the limit or train on fewer rows\."):
        choose(Sizes(50, limit=10))


def test_bind_follows_the_plan():
    kernel = RBF(gamma=0.5)
    X = rng.normal(size=(200, 3))
    assert isinstance(bind(kernel, X, Serial(), "1GB"), DenseGram)
    small = bind(kernel, X, Serial(), 100 * 200 * 4)
    assert isinstance(small, CachedColumns)
    assert small.capacity == 100
    half = bind(kernel, X, Serial(), 200 * 200 * 4)
    assert isinstance(half, DenseGram)
    assert half.gram.dtype == np.float32


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GB", 4 * 10**9), ("512 MiB", 512 * 2**20), ("1.5gb", 1.5e9), ("100", 100), ("2k", 2000), (12345, 12345),
        (" 1 TB ", 10**12), (1e6, 10**6), (".5G", 5e8),
    ],
)  # fmt: skip
def test_memory_in_words(text, size):
    assert memory_budget(text) == size


@pytest.mark.parametrize("text", ["lots", "4XB", "-1GB", "GB", "", "1 2GB"])
def test_what_is_not_a_size_is_told_so(text):
    with pytest.raises(ValueError, match=r"is not a size; write bytes or a text such as '4GB'\."):
        memory_budget(text)


@pytest.mark.parametrize("size", [0, -5, float("nan"), "0GB"])
def test_a_limit_must_be_positive(size):
    with pytest.raises(ValueError, match="must be positive"):
        memory_budget(size)


def test_auto_takes_a_share_of_what_is_free():
    free = free_memory()
    assert free > 0
    for limit in ("auto", None):
        assert 0 < memory_budget(limit) < free_memory() * 0.8


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1_600_000_000, "1.6 GB"), (4e13, "40 TB")]
)
def test_sizes_that_a_person_can_read(size, text):
    assert show_bytes(size) == text
