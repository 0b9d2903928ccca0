"""L-mers compared 64 at once: every pair counted, whatever length, mask, strand and weight."""

from __future__ import annotations

import numpy as np
import pytest

from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels import LSGKM, GappedKmer, Mismatch
from kernelweave.kernels.strings.bitwise.counts import own_counts, pair_counts, suits
from kernelweave.kernels.strings.inexact.hamming import pair_sums
from kernelweave.kernels.strings.inexact.lmers import StringLmers
from oracles.lmers import hamming_gram, ragged

TURN, NONE = np.array([3, 2, 1, 0]), np.empty(0, np.int64)
KERNELS = [
    LSGKM(1, 1, None),
    LSGKM(3, 2, None, reverse_complement=False),
    LSGKM(4, 2, None, "full"),
    LSGKM(6, 3, 1),
    LSGKM(7, 2, None, None),
    LSGKM(9, 6),
    LSGKM(12, 8, 4),
    LSGKM(8, 5, None, center_weight=(9, 3.0)),
    LSGKM(5, 3, None, center_weight=(200, 7.5), reverse_complement=False),
    GappedKmer(9, 7, reverse_complement=True),
    Mismatch(8, 2),
]


def rows_of_words(seed):
    """Return rows whose l-mers take one word, exactly one, two and three, with repeats, masks and short rows."""
    rng = np.random.default_rng(seed)
    texts = ["".join(rng.choice(list("ACGT"), n)) for n in (64, 75, 0, 5, 139)]
    texts += ["A" * 90, "ACG" * 22, texts[1][:40] + "N" + texts[1][40:], "N" * 20]
    return Sequences.from_strings(texts, alphabet="dna", unknown="mask")


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("X", [ragged(9, 3), rows_of_words(1)], ids=["short", "long"])
def test_sums_are_those_over_all_pairs(kernel, X):
    l, table = kernel.window()[0], kernel.coefficients(4)
    weights = [kernel.place_weights(int(n)) for n in X.lengths]
    weights = [] if weights[0] is None else weights
    slow = hamming_gram(kernel, X)
    if kernel.own_features(X) is not None:
        pytest.skip("features of both strands are taken off elsewhere")
    found = pair_counts(X, X, l, table, (weights, weights), True)
    if kernel.reverse_complement:
        turned = [one[::-1] for one in weights]
        found += pair_counts(X, X.reverse_complement(), l, table, (weights, turned), False)
    np.testing.assert_allclose(found, slow, rtol=1e-12, atol=1e-12)
    assert np.array_equal(found, found.T)
    own = own_counts(X, l, table, TURN if kernel.reverse_complement else NONE, weights)
    np.testing.assert_allclose(own, slow.diagonal(), rtol=1e-12, atol=1e-12)


def test_an_alphabet_of_two_letters_with_complements():
    alphabet = Alphabet("pairs", "AT", complement="TA")
    rng = np.random.default_rng(4)
    X = Sequences.from_strings(["".join(rng.choice(list("AT"), n)) for n in (5, 70, 21)], alphabet=alphabet)
    kernel = GappedKmer(7, 5, reverse_complement=True)
    dna = Sequences.from_strings(X.to_strings(), alphabet="dna")
    np.testing.assert_array_equal(kernel.gram(X), kernel.gram(dna))
    np.testing.assert_array_equal(kernel.diag(X), kernel.diag(dna))


def test_two_sides():
    X, Y = ragged(5, 1), rows_of_words(2)
    kernel = GappedKmer(6, 3)
    found = pair_counts(X, Y, 6, kernel.coefficients(4), ([], []), False)
    np.testing.assert_array_equal(found, hamming_gram(kernel, X, Y))


@pytest.mark.parametrize("kernel", [LSGKM(7, 5, None), GappedKmer(7, 5), Mismatch(6, 1)], ids=repr)
def test_large_blocks_by_patterns_agree(kernel):
    """Blocks so large that patterns are cheaper, against the same rows in pieces, which are compared bit by bit."""
    X = ragged(60, 5, longest=120)
    l, table = kernel.window()[0], kernel.coefficients(4)
    whole = pair_counts(X, X, l, table, ([], []), True)
    exact = kernel.exact(4) if hasattr(kernel, "exact") else table
    np.testing.assert_allclose(
        pair_sums(StringLmers(X, l).counts, StringLmers(X, l).counts, l, exact), whole, rtol=1e-10
    )


def plain_sums(X, Y, l, table, complement=None):
    """Return the sums over all pairs of l-mers, letter by letter."""
    mask = X.alphabet.mask

    def lmers(row):
        return [word for word in (row[i : i + l] for i in range(len(row) - l + 1)) if mask not in word]

    left, right = ([Z.codes[a:b].tolist() for a, b in zip(Z.offsets, Z.offsets[1:])] for Z in (X, Y))
    out = np.zeros((len(left), len(right)))
    for i, x in enumerate(left):
        for j, y in enumerate(right):
            for u in lmers(x):
                for v in lmers(y):
                    turned = [] if complement is None else [[complement[letter] for letter in reversed(v)]]
                    for w in [v, *turned]:
                        d = sum(a != b for a, b in zip(u, w))
                        out[i, j] += table[d] if d < len(table) else 0.0
    return out


def other_rows(name, seed, lengths=(64, 75, 0, 5, 139)):
    rng = np.random.default_rng(seed)
    letters = "ACDEFGHIKL" if name == "protein" else "ACGT"
    texts = ["".join(rng.choice(list(letters), n)) for n in lengths]
    texts[1] = texts[1][:30] + "*" + texts[1][31:]
    return Sequences.from_strings(texts, alphabet=name, unknown="mask")


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("protein", GappedKmer(5, 3)),
        ("protein", Mismatch(4, 1)),
        ("protein", Mismatch(8, 2)),
        ("dna", GappedKmer(13, 9)),
        ("dna", GappedKmer(15, 13, reverse_complement=True)),
    ],
    ids=repr,
)
def test_letters_one_after_another(name, kernel):
    X, Y = other_rows(name, 1), other_rows(name, 2, (30, 66))
    l, table = kernel.window()[0], kernel.coefficients(X.alphabet.size)
    np.testing.assert_array_equal(pair_counts(X, Y, l, table, ([], []), False), plain_sums(X, Y, l, table))
    found = pair_counts(X, X, l, table, ([], []), True)
    np.testing.assert_array_equal(found, plain_sums(X, X, l, table))
    turn = TURN if kernel.reverse_complement else NONE
    slow = plain_sums(X, X, l, table, TURN.tolist() if kernel.reverse_complement else None)
    np.testing.assert_array_equal(own_counts(X, l, table, turn, []), slow.diagonal())
    np.testing.assert_array_equal(kernel.gram(X), slow)
    np.testing.assert_array_equal(kernel.diag(X), slow.diagonal())


def test_what_suits():
    assert suits(4, 15)
    assert suits(25, 8)
    assert not suits(4, 16)
    assert not suits(300, 5)
