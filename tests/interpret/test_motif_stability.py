"""Motifs are found again with models of resampled rows, with intervals that are those of the samples."""

from __future__ import annotations

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.interpret.explain.stability import resampled
from kernelweave.interpret.motifs import stability
from kernelweave.interpret.motifs.find import Motif, find_motifs
from kernelweave.interpret.motifs.stability import laid_over, motif_stability

X, Y = kw.datasets.make_enhancers(500, length=60, random_state=1)
MODEL = kw.KernelClassifier(kw.LSGKM(7, 5, 2), normalize="cosine")


def test_planted_motifs_are_found_again():
    found = motif_stability(MODEL, X, Y, X[Y == 1], 2, n_samples=3, random_state=0)
    assert [one.motif.consensus for one in found] == [m.consensus for m in find_motifs(MODEL.fit(X, Y), X[Y == 1], 2)]
    for one in found:
        assert one.found >= 2 / 3
        assert one.n_sites.low <= one.n_sites.high
        assert one.lower.shape == one.motif.frequencies.shape
        assert (one.lower <= one.upper).all()
        assert one.total.low - 0.1 < one.total.value < one.total.high + 0.1
        sure = one.motif.frequencies > 0.8
        assert sure.any()
        assert (one.lower[sure] > 0.5).mean() > 0.7
        assert one.motif.consensus in str(one)
        assert f"of {one.n_samples}" in str(one)


def test_intervals_are_those_of_the_samples(monkeypatch):
    shares = [np.eye(4)[[0, 1, 2, 3]] * scale + 1 for scale in (20, 40, 60)]
    lists = [[Motif("ACGT", counts, np.ones(4), tuple("ACGT"), int(counts[0].sum()), total, ())]
             for counts, total in zip(shares, (1.0, 2.0, 3.0))]  # fmt: skip
    lists.append([Motif("GG", np.eye(4)[[2, 2]] * 30, np.ones(2), tuple("ACGT"), 30, 9.0, ())])
    answers = iter([lists[0], lists[2], lists[3], lists[1]])  # those of all rows are searched last
    monkeypatch.setattr(stability, "motifs_of", lambda *given: next(answers))
    monkeypatch.setattr(stability, "factor", lambda told, again: np.ones(1))
    (found,) = motif_stability(MODEL, X[:40], Y[:40], X[:9], 1, n_samples=3, level=0.5, random_state=0)
    assert found.found == pytest.approx(2 / 3)  # GG is another motif
    assert found.total == (2.0, 1.5, 2.5)
    expected = np.quantile([lists[0][0].frequencies, lists[2][0].frequencies], [0.25, 0.75], axis=0)
    np.testing.assert_allclose([found.lower, found.upper], expected)


def test_what_is_never_found_again_has_no_interval(monkeypatch):
    one = Motif("ACGT", np.eye(4) * 20, np.ones(4), tuple("ACGT"), 20, 1.0, ())
    answers = iter([[], [], [one]])
    monkeypatch.setattr(stability, "motifs_of", lambda *given: next(answers))
    (found,) = motif_stability(MODEL, X[:40], Y[:40], X[:9], 1, n_samples=2, random_state=0)
    assert found.found == 0.0
    assert np.isnan([found.total.low, found.total.high, *found.lower.ravel()]).all()


def test_the_other_strand_is_laid_over():
    rng = np.random.default_rng(0)
    one = rng.dirichlet(np.ones(4) * 0.3, 6)
    turned = np.vstack([np.full((2, 4), 0.25), one[::-1, ::-1]])
    close, moved = laid_over(one, turned, True)
    assert close == pytest.approx(1.0)
    np.testing.assert_allclose(moved, one)
    assert laid_over(one, turned, False)[0] < 0.9


def test_samples_keep_the_classes_and_options_are_checked():
    model = resampled(kw.KernelClassifier("spectrum:2"), X[:60], Y[:60], np.random.default_rng(0))
    assert model.classes_.tolist() == [-1, 1]
    with pytest.raises(ValueError, match="level=1"):
        motif_stability(MODEL, X, Y, X, level=1)
    with pytest.raises(ValueError, match="n_samples"):
        motif_stability(MODEL, X, Y, X, n_samples=1)
