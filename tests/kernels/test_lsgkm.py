"""The kernels of LS-GKM: its own values, filters by eigenvalues, definiteness, weights by place."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels import LSGKM, InducedRBF, Linear
from kernelweave.kernels.abilities import Features, Hamming
from kernelweave.kernels.strings.inexact.filters import eigenvalues, filtered, with_eigenvalues
from oracles.lsgkm import matrix

PRINTED = 6e-7
"""LS-GKM prints six digits of values below one."""
FILE = Path(__file__).parent / "gkmmatrix.csv"
GKMMATRIX = {tuple(map(int, row[:4])): row[4:] for row in np.loadtxt(FILE, delimiter=",", skiprows=1)}
"""Below the diagonal of what `gkmmatrix -t type -l l -k k -d d -g 2` of LS-GKM 0.1.2 printed for `judged_rows`."""


def judged_rows() -> Sequences:
    """Return six rows of 26 to 40 letters, each second one related to the one before."""
    rng = np.random.default_rng(17)
    texts = []
    for row in rng.integers(0, 4, (3, 40)):
        other = row.copy()
        other[rng.integers(0, 40, 3)] = 0
        for codes in (row[rng.integers(0, 5) :], other[: rng.integers(30, 40)]):
            texts.append("".join("ACGT"[code] for code in codes))
    return Sequences.from_strings(texts, alphabet="dna")


def as_typed(length, letters, most, kind):
    """Return the kernel of LS-GKM's -t."""
    filter = {0: None, 1: "full"}.get(kind, "truncated")
    kernel = LSGKM(length, letters, most, filter, (50, 50.0) if kind in (4, 5) else None).normalized()
    return InducedRBF(kernel, 2.0 / 2) if kind in (3, 5) else kernel


@pytest.mark.parametrize("case", GKMMATRIX, ids=str)
def test_values_are_those_that_gkmmatrix_prints(case):
    found = as_typed(*case).gram(judged_rows())
    np.testing.assert_allclose(found[np.tril_indices(6, -1)], GKMMATRIX[case], atol=PRINTED)


@pytest.mark.parametrize("name", ["full", "truncated"])
@pytest.mark.parametrize(("length", "letters"), [(3, 2), (4, 2), (4, 4), (5, 1)])
def test_filters_are_those_of_the_pseudo_inverse(length, letters, name):
    table = [float(h) for h in filtered(length, letters, 4, name)]
    slow = matrix(length, letters, name, None)[0]
    apart = [sum(code // 4**i % 4 > 0 for i in range(length)) for code in range(4**length)]
    np.testing.assert_allclose(slow, [table[m] for m in apart], atol=1e-12)


def test_eigenvalues_come_back():
    values = [Fraction(j * j - 3) for j in range(6)]
    assert eigenvalues(with_eigenvalues(values, 5, 4), 5, 4) == values


def test_eigenvalues_are_those_of_the_matrix():
    found = {round(float(value), 9) for value in eigenvalues(LSGKM(4, 2, 1).exact(4), 4, 4)}
    slow = {round(value, 9) for value in np.linalg.eigvalsh(matrix(4, 2, "truncated", 1)).tolist()}
    assert {value + 0.0 for value in found} == {value + 0.0 for value in slow}


def test_it_has_the_ability_and_no_features():
    assert isinstance(LSGKM(), Hamming)
    assert not isinstance(LSGKM(), Features)
    assert not isinstance(InducedRBF(Linear()), Features)


def test_a_cut_filter_is_checked_on_the_rows_that_it_is_fitted_to():
    assert LSGKM(d=None).definite
    assert LSGKM(filter=None, d=None).definite
    assert not LSGKM().definite
    X = judged_rows()
    assert LSGKM().fitted(X) == LSGKM(trusted=True)
    assert LSGKM().fitted(X).definite
    assert LSGKM(d=None).fitted(X) == LSGKM(d=None)


def test_a_gram_matrix_with_negative_eigenvalues_is_refused():
    every = [a + b + c for a in "ACGT" for b in "ACGT" for c in "ACGT"]
    X = Sequences.from_strings(every, alphabet="dna")
    with pytest.raises(ValueError, match=r"not positive semi-definite.*with d=None it always is"):
        LSGKM(3, 1, 1, "full", reverse_complement=False).fitted(X)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (LSGKM(5, 6), "k=6 of LSGKM must be at most l=5"),
        (LSGKM(d=-1), "d=-1 of LSGKM must be a positive integer"),
        (LSGKM(filter="half"), "filter='half' of LSGKM is not one of None, 'full', 'truncated'"),
        (LSGKM(center_weight=50), "center_weight=50 of LSGKM must be None or a pair"),
        (LSGKM(center_weight=(300, 50)), "M=300 of center_weight must be at most 255"),
    ],
    ids=repr,
)
def test_parameters_that_make_no_sense(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel.gram(judged_rows())


def test_it_compares_dna():
    with pytest.raises(ValueError, match="LSGKM compares dna or rna, but the rows are over the protein alphabet"):
        LSGKM(3, 2, reverse_complement=False).gram(Sequences.from_strings(["MKV"], alphabet="protein"))
