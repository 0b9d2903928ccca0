"""Planted motifs come back with their matrices, planted letters add, alignment is that of a slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.interpret.motifs.align import best_alignment, turned_matrices
from kernelweave.interpret.motifs.find import find_motifs, motifs_of
from kernelweave.interpret.motifs.meme import meme_lines

rng = np.random.default_rng(0)
SAME, OTHER = 0.95, 0.6
"""Correlations of matrices: those that were planted come back with 0.99 and more, models of shuffled labels, which find
chance matches, reach 0.94, and two planted matrices have 0.47 in common."""


@pytest.fixture(scope="module")
def planted():
    X, y, truth = kw.datasets.make_enhancers(1600, length=80, random_state=0, return_planted=True)
    model = kw.KernelClassifier(kw.LSGKM(8, 6, 2), normalize="cosine").fit(X[:1200], y[:1200])
    return model, X, y, truth


def test_planted_motifs_are_found_with_their_matrices(planted):
    model, X, y, _ = planted
    found = find_motifs(model, X[y == 1], 6)
    for name, matrix in kw.datasets.enhancer_motifs().items():
        close = sorted(likeness(motif, matrix) for motif in found)
        assert close[-1] > SAME, name
        assert all(value < OTHER for value in close[:-1]), name
    assert all(motif.n_sites >= 100 for motif in found[:3])


def likeness(motif, matrix):
    """Return the best correlation of a planted matrix, on either strand, with a part of one that was found."""
    turns = (matrix[1:-1], matrix[::-1, ::-1][1:-1])
    each = [(part, turn) for part in parts(motif.frequencies, len(matrix) - 2) for turn in turns]
    return max(np.corrcoef(part.ravel(), turn.ravel())[0, 1] for part, turn in each)


def parts(frequencies, width):
    padded = np.pad(frequencies, ((2, 2), (0, 0)), constant_values=0.25)
    return [padded[a : a + width] for a in range(len(padded) - width + 1)]


def test_a_motif_that_is_its_own_other_strand_is_counted_on_both(planted):
    model, X, y, _ = planted
    palindrome = next(motif for motif in find_motifs(model, X[y == 1], 6) if "GAA.TTC" in motif.consensus)
    np.testing.assert_allclose(palindrome.counts, palindrome.counts[::-1, ::-1])
    np.testing.assert_allclose(palindrome.adds, palindrome.adds[::-1])
    assert (palindrome.counts.sum(axis=1) <= palindrome.n_sites).all()


def test_planted_letters_are_those_that_add(planted):
    model, X, y, truth = planted
    held = np.arange(1200, 1600)[y[1200:] == 1]
    adds, sites = kw.explain(model, X[held]).matrix(), truth[held] != 0
    assert roc_auc_score(sites.ravel(), adds.ravel()) > 0.85
    top = [s[np.argsort(-a)[: s.sum()]].mean() for s, a in zip(sites, adds) if s.any()]
    assert np.mean(top) > 3 * sites.mean()


def test_contributions_rank_letters_of_splice_sites_as_they_were_planted():
    X, y = kw.datasets.make_splice(1500, positive_fraction=0.5, random_state=0)
    Z, v = kw.datasets.make_splice(8000, positive_fraction=0.5, random_state=1)
    shares = [[(Z.matrix[v == side] == a).mean(axis=0) + 1e-3 for a in range(4)] for side in (1, -1)]
    odds = np.log(np.array(shares[0]) / np.array(shares[1])).T
    model = kw.KernelClassifier("wd:3", C=0.1, normalize="trace").fit(X, y)
    expected = np.take_along_axis(odds[None], Z[:400].matrix[:, :, None].astype(int), axis=2)[:, :, 0]
    assert spearmanr(kw.explain(model, Z[:400]).matrix().ravel(), expected.ravel())[0] > 0.85


def test_sites_are_where_examples_say(planted):
    model, X, y, _ = planted
    ids = [f"row{i}" for i in range(len(X))]
    named = kw.Sequences.from_strings(X.to_strings(), "dna", ids=ids)[y == 1]
    for motif in find_motifs(model, named, 3):
        assert motif.adds.shape == (len(motif.counts),)
        assert (motif.counts.sum(axis=1) <= motif.n_sites).all()
        for name, start, strand, text in motif.examples:
            row = named[list(named.ids).index(name) : list(named.ids).index(name) + 1]
            inside = row[0][start : start + len(text)]
            assert text == (inside if strand == "+" else kw.Sequences.from_strings([inside]).reverse_complement()[0])


def test_alignment_is_that_of_the_slow_twin():
    some, centre = rng.normal(size=(4, 9, 4)), rng.normal(size=(9, 4))
    close, shifts, strands = best_alignment(some, centre, True)
    for k, matrix in enumerate(some):
        best = -np.inf
        for strand in (1, -1):
            turned = matrix if strand > 0 else matrix[::-1, ::-1]
            for shift in range(-3, 4):
                moved = np.zeros_like(turned)
                for at in range(9):
                    if 0 <= at - shift < 9:
                        moved[at] = turned[at - shift]
                value = (moved * centre).sum() / np.linalg.norm(matrix) / np.linalg.norm(centre)
                if value > best:
                    best, where = value, (shift, strand)
        assert close[k] == pytest.approx(best)
        assert (shifts[k], strands[k]) == where
    assert np.array_equal(turned_matrices(some, np.array([3, 2, 1, 0])), some[:, ::-1, ::-1])


def test_what_speaks_against_is_found_and_nothing_where_nothing_is(planted):
    model, X, y, _ = planted
    assert all(motif.total < 0 for motif in find_motifs(model, X[y == -1][:200], 3, against=True))
    told = kw.explain(model, X[:5])
    assert motifs_of(told, 3) == []
    linear = kw.KernelClassifier(kw.Linear()).fit(rng.normal(size=(8, 2)), [0, 1] * 4)
    with pytest.raises(ValueError, match="letters of one view"):
        find_motifs(linear, np.zeros((1, 2)))


def test_the_command_writes_a_meme_file(planted, tmp_path):
    model, X, y, _ = planted
    kw.save(model, str(tmp_path / "gkm.kw"))
    (tmp_path / "rows.fa").write_text("".join(f">r{i}\n{text}\n" for i, text in enumerate(X[y == 1])))
    given = ["explain", str(tmp_path / "gkm.kw"), str(tmp_path / "rows.fa"), "--motifs", str(tmp_path / "m.meme")]
    result = CliRunner().invoke(app, [*given, "--top", "2"])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "m.meme").read_text()
    assert text.startswith("MEME version 4\n\nALPHABET= ACGT\n\nstrands: + -\n")
    widths = [int(line.split("w= ")[1].split()[0]) for line in text.splitlines() if line.startswith("letter-")]
    numbers = [line for line in text.splitlines() if line.startswith(" ")]
    assert len(widths) == text.count("MOTIF ") <= 2
    assert len(numbers) == sum(widths)
    for line in numbers:
        assert sum(map(float, line.split())) == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(ValueError, match="no motifs"):
        list(meme_lines([]))
