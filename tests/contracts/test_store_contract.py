"""What every store of sparse weights does, whatever it is made of."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.oracles.stores import DictWeights, positional_kernel

from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels.positional.weighted_degree import WeightedDegree
from kernelweave.operators.kmers.stores import STORES, MapStore, SortedArrays, SparseWeights, Trie, map, trie
from kernelweave.operators.kmers.stores import sorted as sorted_arrays

BYTE_MASK, WORD_MASK = 255, 65535
NO_SHIFT = np.ones(1)
ACCURACY = 1e-10
BYTES_FOR_A_KMER = 64  # key, weight and the emptiest table that growth may leave


@pytest.fixture(autouse=True, scope="module")
def small_tiles():
    """Cut the rows of a batch into many parts, so that every seam is crossed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(map, "LOOKUP_ROWS", 5)
        patch.setattr(sorted_arrays, "ROWS_IN_ORDER", 64)
        patch.setattr(trie, "LOOKUP_ROWS", 7)
        yield


@pytest.fixture(params=sorted(STORES))
def make(request):
    return STORES[request.param]


def degree_cells(length: int, weights: np.ndarray) -> np.ndarray:
    inside = np.arange(length)[:, None] + np.arange(len(weights))[None] < length
    return np.where(inside, weights, 0.0)


def looked_up(store, codes: np.ndarray) -> np.ndarray:
    out = np.zeros(len(codes))
    store.batch(codes, out)
    return out


def splice_like(n: int, seed: int = 0, length: int = 141) -> np.ndarray:
    """Random DNA with two fixed letters in the middle and a masked letter here and there."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (n, length)).astype(np.uint8)
    codes[:, length // 2] = 0
    codes[:, length // 2 + 1] = 2
    codes[rng.random(codes.shape) < 0.002] = BYTE_MASK
    return codes


@st.composite
def problems(draw):
    """Return the arguments of a store, a list of (rows, steps) to add, and rows to look up.

    Few of the letters are used, so that k-mers are shared; the last letter of the alphabet is one of them.
    """
    size = draw(st.sampled_from([1, 2, 4, 20, 33, 254, 300]))
    mask, dtype = (BYTE_MASK, np.uint8) if size <= 254 else (WORD_MASK, np.uint16)
    length, degree = draw(st.integers(1, 9)), draw(st.integers(1, 6))
    letters = st.sampled_from(sorted({0, size // 2, size - 1, mask}))
    fraction = st.sampled_from([0.0, 0.25, 1.0, 3.0])
    cells = draw(hnp.arrays(np.float64, (length, degree), elements=fraction))
    cells = np.where(degree_cells(length, np.ones(degree)) > 0, cells, 0.0)
    shifts = np.concatenate([NO_SHIFT, draw(hnp.arrays(np.float64, st.integers(0, 3), elements=fraction))])
    rows = st.integers(0, 6).flatmap(lambda n: hnp.arrays(dtype, (n, length), elements=letters))
    steps = st.sampled_from([-2.0, -0.5, 0.0, 1.0, 1.75])
    adds = [(codes, np.array([draw(steps) for _ in codes])) for codes in draw(st.lists(rows, max_size=3))]
    return (cells, shifts, size, mask), adds, draw(rows)


@settings(max_examples=60)
@given(problems())
def test_agrees_with_the_dict(problem):
    arguments, adds, rows = problem
    oracle, stores = DictWeights(*arguments), [make(*arguments) for make in STORES.values()]
    for codes, steps in adds:
        for store in (oracle, *stores):
            store.add(codes, steps)
    expected = [oracle.look_up(row) for row in rows]
    for store in stores:
        np.testing.assert_allclose(looked_up(store, rows), expected, rtol=ACCURACY, atol=ACCURACY)


@settings(max_examples=20)
@given(problems())
def test_clear_forgets_everything(problem):
    arguments, adds, rows = problem
    for make in STORES.values():
        used, fresh = make(*arguments), make(*arguments)
        for codes, steps in adds:
            used.add(codes, steps)
        used.clear()
        assert not looked_up(used, rows).any()
        for codes, steps in adds:
            used.add(codes, steps)
            fresh.add(codes, steps)
        np.testing.assert_array_equal(looked_up(used, rows), looked_up(fresh, rows))


def test_clear_leaves_nothing_behind_for_other_rows(make):
    arguments = degree_cells(141, np.ones(12)), NO_SHIFT, 4, BYTE_MASK
    used, fresh, codes = make(*arguments), make(*arguments), splice_like(60)
    used.add(splice_like(80, seed=9), np.ones(80))
    used.clear()
    for store in (used, fresh):
        store.add(codes, np.arange(60.0))
    np.testing.assert_array_equal(looked_up(used, codes), looked_up(fresh, codes))


@settings(max_examples=30)
@given(problems())
def test_is_the_formula_of_the_kernel(problem):
    (cells, shifts, size, mask), adds, rows = problem
    expected = np.zeros(len(rows))
    for codes, steps in adds:
        for x, step in zip(codes, steps):
            expected += [step * positional_kernel(x, y, cells, shifts, mask) for y in rows]
    for make in STORES.values():
        store = make(cells, shifts, size, mask)
        for codes, steps in adds:
            store.add(codes, steps)
        np.testing.assert_allclose(looked_up(store, rows), expected, rtol=ACCURACY, atol=ACCURACY)


def test_follows_the_contract(make):
    assert isinstance(make(degree_cells(3, np.ones(2)), NO_SHIFT, 4, BYTE_MASK), SparseWeights)


def test_figure_one(make):
    """AAA, AGA and GAA with weights alpha on one trie: the weights of its nodes, and the sums along its paths."""
    alpha, a, g, none = np.array([2.0, 30.0, 500.0]), 0, 2, BYTE_MASK
    cells = np.zeros((3, 3))
    cells[0] = 1.0
    store = make(cells, NO_SHIFT, 4, BYTE_MASK)
    store.add(np.array([[a, a, a], [a, g, a], [g, a, a]], np.uint8), alpha)

    def path(*letters):
        return store.look_up(np.array([*letters, none, none][:3], np.uint8))

    nodes = {"A": path(a), "AA": path(a, a) - path(a), "AAA": path(a, a, a) - path(a, a)}
    nodes |= {"AG": path(a, g) - path(a), "AGA": path(a, g, a) - path(a, g)}
    nodes |= {"G": path(g), "GA": path(g, a) - path(g), "GAA": path(g, a, a) - path(g, a)}
    assert nodes == {"A": 32, "AA": 2, "AAA": 2, "AG": 30, "AGA": 30, "G": 500, "GA": 500, "GAA": 500}
    assert path(a, a, g) == 32 + 2
    assert path(g, g, a) == 500
    assert path(1, a, a) == 0


def test_figure_one_has_eight_nodes():
    cells = np.zeros((3, 3))
    cells[0] = 1.0
    store = Trie(cells, NO_SHIFT, 4, BYTE_MASK)
    store.add(np.array([[0, 0, 0], [0, 2, 0], [2, 0, 0]], np.uint8), np.ones(3))
    assert store.nodes == 8


def test_agrees_with_the_gram_matrix_of_the_weighted_degree_kernel(make):
    kernel, codes = WeightedDegree(20), splice_like(300)
    letters = np.frombuffer(b"ACGTN", np.uint8)
    rows = letters[np.minimum(codes, 4)]
    X = Sequences.from_strings([row.tobytes().decode() for row in rows], alphabet="dna", unknown="mask")
    prepared = kernel.prepare(X)
    steps = np.random.default_rng(1).normal(size=100)
    store = make(degree_cells(141, kernel.degree_weights()), NO_SHIFT, 4, prepared.alphabet.mask)
    for part in (slice(0, 40), slice(40, 100)):
        store.add(prepared.codes[part], steps[part])
    expected = kernel.block(prepared, prepared)[:, :100] @ steps
    np.testing.assert_allclose(looked_up(store, prepared.codes), expected, rtol=ACCURACY, atol=ACCURACY)


@pytest.fixture(params=[0, 2], ids=["plain", "shifts"])
def filled(make, request):
    shifts = 1.0 / (1.0 + np.arange(request.param + 1))
    store = make(degree_cells(141, WeightedDegree(12).degree_weights()), shifts, 4, BYTE_MASK)
    codes = splice_like(60)
    store.add(codes, np.random.default_rng(2).normal(size=len(codes)))
    return store


def test_a_batch_is_its_rows(filled):
    codes = splice_like(200, seed=3)
    np.testing.assert_array_equal(looked_up(filled, codes), [filled.look_up(row) for row in codes])


def test_a_batch_adds_to_what_is_there(filled):
    codes, before = splice_like(50, seed=4), np.arange(50.0)
    out = before.copy()
    filled.batch(codes, out)
    np.testing.assert_allclose(out, before + looked_up(filled, codes), rtol=ACCURACY)


def test_two_threads_give_the_bits_of_one(filled):
    codes, half = splice_like(5000, seed=5), 2311
    parts, out = [slice(0, half), slice(half, None)], np.zeros(5000)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda part: filled.batch(codes[part], out[part]), parts))
    np.testing.assert_array_equal(out, looked_up(filled, codes))


def test_memory_stays_near_what_was_added_and_is_kept(make):
    arguments = degree_cells(141, np.ones(20)), NO_SHIFT, 4, BYTE_MASK
    codes, counter, store = splice_like(112), Trie(*arguments), make(*arguments)
    counter.add(codes, np.ones(112))
    store.add(codes, np.ones(112))
    held = store.nbytes
    assert 8 * counter.nodes <= held <= BYTES_FOR_A_KMER * counter.nodes
    store.clear()
    assert store.nbytes == held
    store.add(codes, np.ones(112))
    assert store.nbytes == held


def test_rows_of_another_length_are_refused(make):
    store = make(degree_cells(5, np.ones(2)), NO_SHIFT, 4, BYTE_MASK)
    with pytest.raises(ValueError, match="rows of 5 letters"):
        store.look_up(np.zeros(6, np.uint8))
    with pytest.raises(ValueError, match="one step for each of its 3 rows"):
        store.add(np.zeros((3, 5), np.uint8), np.ones(2))


@pytest.mark.parametrize("make", [MapStore, SortedArrays])
def test_long_kmers_without_a_code_name_the_trie(make):
    with pytest.raises(ValueError, match=r'K-mers of 40 letters .* use the store "trie"'):
        make(degree_cells(50, np.ones(40)), NO_SHIFT, 20, BYTE_MASK)


@pytest.mark.parametrize(("size", "mask", "dtype"), [(4, BYTE_MASK, np.uint8), (60_000, WORD_MASK, np.uint16)])
def test_the_trie_takes_any_degree_and_alphabet(size, mask, dtype):
    arguments = degree_cells(70, np.linspace(1.0, 0.1, 64)), NO_SHIFT, size, mask
    rng = np.random.default_rng(6)
    codes = np.array([0, 1, size // 3, size - 1], dtype)[rng.integers(0, 4, (12, 70))]
    codes[6:, :50] = codes[:6, :50]
    oracle, store = DictWeights(*arguments), Trie(*arguments)
    for weights in (oracle, store):
        weights.add(codes[:9], np.arange(1.0, 10.0))
    np.testing.assert_allclose(looked_up(store, codes), [oracle.look_up(row) for row in codes], rtol=ACCURACY)
    assert store.nbytes < BYTES_FOR_A_KMER * len(oracle.weights)
