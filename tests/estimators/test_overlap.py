"""Models that cannot tell rows apart say so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kernelweave as kw

rng = np.random.default_rng(0)
LETTERS = "ACDEFGHIKLMNPQRSTVWY"
APART = kw.Sequences.from_strings([letter * 6 for letter in LETTERS], "protein")
SHORT = kw.Sequences.from_strings(["".join(rng.choice(list("ACGT"), 5)) for _ in range(30)], "dna")
LONG = kw.Sequences.from_strings(["".join(rng.choice(list("ACGT"), 40)) for _ in range(60)], "dna")
NOTHING, TOO_SHORT = "No two training rows share anything", "No training row is long enough"


def labels(X):
    return np.arange(len(X)) % 2


@pytest.mark.parametrize(
    ("model", "X", "sentence"),
    [
        (kw.KernelClassifier(kw.Spectrum(9)), SHORT, TOO_SHORT),
        (kw.KernelClassifier(kw.GappedKmer(8, 4), normalize="cosine"), SHORT, TOO_SHORT),
        (kw.KernelClassifier(kw.Spectrum(16)), LONG, NOTHING),
        (kw.KernelClassifier(kw.Mismatch(14, 0)), LONG, NOTHING),
        (kw.KernelClassifier(kw.WeightedDegree(3)), APART, NOTHING),
        (kw.KernelClassifier(kw.WeightedDegree(12, only=12)), LONG, NOTHING),
        (kw.MKLClassifier([kw.Spectrum(16), kw.Spectrum(17)]), LONG, NOTHING),
        (kw.CGBoostClassifier([kw.Spectrum(16)]), LONG, NOTHING),
    ],
    ids=str,
)
def test_a_null_model_is_told_in_one_sentence(model, X, sentence):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, labels(X))
    said = [str(one.message) for one in caught if sentence in str(one.message)]
    assert len(said) == 1
    assert "take shorter k-mers" in said[0]


@pytest.mark.parametrize(
    ("model", "X"),
    [
        (kw.KernelClassifier(kw.Spectrum(3)), LONG),
        (kw.KernelClassifier(kw.WeightedDegree(3)), LONG),
        (kw.KernelClassifier(kw.WeightedDegree(4, shift=1)), SHORT),
        (kw.MKLClassifier([kw.Spectrum(16), kw.Spectrum(2)]), LONG),
        (kw.KernelClassifier(kw.RBF(width=1e-9)), rng.normal(size=(20, 2))),
    ],
    ids=str,
)
def test_others_say_nothing(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, labels(X))


def test_one_pair_that_the_sample_misses_is_found():
    rows = ["".join(rng.choice(list("ACGT"), 40)) for _ in range(500)]
    rows[333] = rows[332][:20] + rows[333][20:]
    X = kw.Sequences.from_strings(rows, "dna")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kw.KernelClassifier(kw.Spectrum(16)).fit(X, labels(X))
