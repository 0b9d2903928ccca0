"""Motifs with wildcards: means over all l-mers that fit, both strands as one, planted motifs found."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.interpret import top_motifs
from kernelweave.interpret.motifs import marginals, needs_motifs, turned
from oracles.lmers import reverse_complement


def planted(kernel, motif="TGTA.ATA", n=60, both=False, **options):
    """Return a model of random rows, half of which have a motif, on either strand if `both`."""
    rng = np.random.default_rng(3)
    texts = []
    for i in range(n):
        row = "".join(rng.choice(list("ACGT"), 30))
        if i % 2:
            site = "".join(rng.choice(list("ACGT")) if letter == "." else letter for letter in motif)
            row = row[:11] + (reverse_complement(site) if both and i % 4 == 1 else site) + row[11 + len(site) :]
        texts.append(row)
    X = kw.Sequences.from_strings(texts, alphabet="dna")
    return kw.KernelClassifier(kernel, **options).fit(X, np.arange(n) % 2)


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (kw.GappedKmer(8, 6), {}),
        (kw.GappedKmer(10, 6), {"normalize": "cosine"}),
        (kw.LSGKM(9, 6, None, reverse_complement=False), {"normalize": "cosine"}),
        (kw.Mismatch(8, 1), {"normalize": "trace"}),
    ],
    ids=repr,
)
def test_a_planted_motif_is_found(kernel, options):
    best = top_motifs(planted(kernel, **options), 3, letters=7)
    assert best[0].ngram == "TGTA.ATA"
    assert best[0].weight > 0
    assert best[0].rows >= 25


def test_both_strands_are_one():
    best = top_motifs(planted(kw.GappedKmer(8, 6, reverse_complement=True), both=True), 40, letters=7)
    names = [motif.ngram for motif in best]
    assert names[0] in ("TGTA.ATA", "TAT.TACA")
    alphabet = kw.Alphabet.named("dna")
    assert not any(turned(name, alphabet) in names for name in names if turned(name, alphabet) != name)


def test_motifs_are_told_once_where_repeats_are_not_wanted():
    X, y = kw.datasets.make_enhancers(500, length=100, random_state=0)
    model = kw.KernelClassifier(kw.LSGKM(9, 6, 3), normalize="cosine").fit(X, y)
    best = [motif.ngram for motif in top_motifs(model, 12)]
    told = [motif.ngram for motif in top_motifs(model, 12, repeats=False)]
    assert told[0] == best[0]
    assert len(told) == 12
    words = ["TGACTCA", "CACGTG", "GGAA.TTCC"]
    assert sorted(next(k for k, word in enumerate(words) if fits(motif, word)) for motif in told[:3]) == [0, 1, 2]
    assert len({k for motif in best[:3] for k, word in enumerate(words) if fits(motif, word)}) < 3


def fits(motif, word):
    """Tell whether a motif, on either strand, lies on a word without contradiction, over its ends perhaps."""
    whole = "." * len(motif) + word + "." * len(motif)
    for strand in (motif, turned(motif, kw.Alphabet.named("dna"))):
        for start in range(len(whole) - len(strand)):
            pairs = list(zip(strand, whole[start:]))
            if all("." in pair or len(set(pair)) == 1 for pair in pairs) and sum("." not in p for p in pairs) >= 4:
                return True
    return False


@pytest.mark.parametrize("normalize", [None, "cosine"])
@pytest.mark.parametrize("both", [False, True])
def test_weights_are_means_of_the_decision_values_of_lmers(both, normalize):
    model = planted(kw.LSGKM(4, 2, None, reverse_complement=both), "TG.A", normalize=normalize)
    words = ["".join(word) for word in product("ACGT", repeat=4)]
    X = kw.Sequences.from_strings(words, alphabet="dna")
    inner = next(model.kernel_.leaves()).kernel
    scores = model.decision_function(X) - model.intercept_[0]
    if normalize == "cosine":
        usual = np.sqrt(np.mean(inner.diag(model.reference_)))
        scores = scores * np.sqrt(inner.diag(X)) / usual
    for motif in top_motifs(model, 6, letters=3):
        fits = [_fits(motif.ngram, word) for word in words]
        alone = [scores[place].mean() - scores.mean() for place in np.array(fits).T if place.any()]
        assert min(abs(value - motif.weight) for value in alone) < 1e-10


def _fits(motif, word):
    """Tell, for each place at which the motif fits into the word, whether the word has it there."""
    starts = range(len(word) - 3) if len(motif) == 4 else range(len(word) - len(motif) + 1)
    return [all(a in (".", b) for a, b in zip(motif, word[start:])) for start in starts]


def test_marginals_are_means_over_the_other_places():
    table = np.random.default_rng(0).normal(size=4**5)
    found = dict(marginals(table, 5, 2))
    assert len(found) == 10
    cube = table.reshape((4,) * 5)
    for places, means in found.items():
        np.testing.assert_allclose(means, cube.mean(axis=tuple(set(range(5)) - set(places))))


def test_all_letters_fixed_are_plain_lmers():
    best = top_motifs(planted(kw.GappedKmer(5, 4), "TGTAA"), 2, letters=5)
    assert best[0].ngram == "TGTAA"


def test_models_without_lmers_say_so():
    model = planted(kw.Spectrum(3))
    assert not needs_motifs(model)
    assert not needs_motifs(planted(kw.GappedKmer(4, 3)))
    assert needs_motifs(planted(kw.LSGKM(4, 3, None)))
    with pytest.raises(ValueError, match="gives no weight to l-mers of dna or rna"):
        top_motifs(model)
    with pytest.raises(ValueError, match="letters=6 is not valid"):
        top_motifs(planted(kw.GappedKmer(5, 4)), letters=6)
