"""Motifs with wildcards: what models of gapped k-mers look for, both strands taken as one.

A model with a kernel on l-mers adds T[u] for every l-mer u of a row, a table over all |A|^l of them.  A motif fixes
letters at some of the l places; what it adds is the mean of T over the l-mers that fit it, less the mean over all:

    w(motif) = mean of T[u] over u that fits - mean of T

Means over one place at a time, depth first, give those of all choices of places for little more than reading T once for
each place.  A motif may stand at several places of the l-mer; the best one counts.

Legend: l length of the l-mers, k letters that are fixed, A alphabet, T table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from kernelweave.interpret.grams import NGramWeight
from kernelweave.interpret.parts import check_ranking, last_step, learned_parts
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array
from kernelweave.operators.expansion.lmers import lmer_table, suits_table
from kernelweave.operators.expansion.terms import Term, usual_norm

LETTERS = 4
"""Letters of a table over all l-mers."""
MOST_FEATURES = 5e7
"""Features of support rows that are listed one by one: some seconds, and a gigabyte."""
WILDCARD = "."
SPARE = 4
"""How many times as many candidates as motifs are taken of each choice of places: shifted ones are the same motif."""


def top_motifs(
    model: Any, n: int = 20, letters: int | None = None, *, target: Any = None, repeats: bool = True
) -> list[NGramWeight]:
    """Return the motifs with wildcards that speak most for or against a class.

    For kernels on l-mers of dna or rna: `LSGKM`, `GappedKmer`, `Mismatch`, scaled, normalised, added, on views, or
    among the kernels of a model with learned weights.

    Parameters
    ----------
    model : fitted, with such a kernel
    n : how many
    letters : how many letters of a motif are fixed; None for the k of the kernel, its l for plain l-mers
    target : the class whose decision value is meant, for a model of several classes
    repeats : False to leave out motifs that say again what a heavier one says: laid over it, shifted or on the other
        strand, they contradict it nowhere and share at least half of their letters with it

    Returns
    -------
    list of `NGramWeight`, the heaviest first: motif with dots for wildcards; what an l-mer that fits it adds to the
    decision value beyond what an l-mer adds on average, its other letters being random; how many support rows have it,
    on either strand where the kernel compares both

    Examples
    --------
    >>> import kernelweave as kw
    >>> rows = ["ACTGTAATACG", "GGTGTACATAC", "CTGTATATAGG", "ACGGCTCAGTA", "CAGCTAGTCCA", "GTCCAGCATTG"]
    >>> X = kw.Sequences.from_strings(rows, alphabet="dna")
    >>> model = kw.KernelClassifier(kw.GappedKmer(8, 6)).fit(X, [1, 1, 1, 0, 0, 0])
    >>> top_motifs(model, 1, letters=7)[0].ngram
    'TGTA.ATA'
    """
    check_ranking("weight", n, "motif")
    core = last_step(model)
    found = [term for part in learned_parts(core, target) for term in part.terms if suits_table(term.leaf, term.rows)]
    if not found:
        raise ValueError(
            f"This {type(core).__name__} gives no weight to l-mers of dna or rna; expected a model with support rows "
            "and a kernel such as LSGKM or GappedKmer."
        )
    best: dict[tuple[str, str], NGramWeight] = {}
    for _, some in groupby(found, key=lambda term: id(term.leaf)):
        for motif in _motifs(list(some), n, letters, repeats):
            best[motif.kernel, motif.ngram] = motif
    return sorted(best.values(), key=lambda motif: (-abs(motif.weight), motif.ngram))[:n]


def needs_motifs(model: Any) -> bool:
    """Tell whether a model has a kernel on l-mers of dna or rna whose features are none, or too many to list."""
    expansion = last_step(model).expansion_
    if not expansion.keeps_rows:
        return False
    for leaf in (leaf for number in expansion.used for leaf in expansion.kernels[number].leaves()):
        if suits_table(leaf, expansion.rows):
            seen = leaf.select(expansion.rows)
            features = len(seen.codes) * float(leaf.kernel.coefficients(seen.alphabet.size)[0])
            if not isinstance(leaf.kernel, Features) or features > MOST_FEATURES:
                return True
    return False


def _motifs(part: list[Term], n: int, letters: int | None, repeats: bool) -> list[NGramWeight]:
    """Return the n best motifs of one kernel."""
    first = part[0]
    length, usual = first.kernel.window()
    fixed = usual if letters is None else letters
    if not 1 <= fixed <= length:
        raise ValueError(f"letters={letters!r} is not valid; {first.kernel!r} has l-mers of 1 to {length} letters.")
    table = _table(part)
    alphabet, both = first.rows.alphabet, first.kernel.reverse_complement
    best: dict[str, float] = {}
    for places, means in marginals(table - table.mean(), length, fixed):
        flat = means.ravel()
        kept = np.argpartition(-np.abs(flat), min(SPARE * n, len(flat)) - 1)[: SPARE * n]
        for number in kept.tolist():
            name = spelled(number, places, length, alphabet, both)
            if abs(flat[number]) > abs(best.get(name, 0.0)):
                best[name] = float(flat[number])
    heaviest = sorted(best, key=lambda name: (-abs(best[name]), name))
    heaviest = heaviest[:n] if repeats else _without_repeats(heaviest, n, alphabet if both else None)
    texts = first.rows.to_strings()
    return [NGramWeight(name, best[name], _having(name, texts, alphabet, both), first.leaf.name) for name in heaviest]


def _without_repeats(motifs: list[str], n: int, alphabet: Any) -> list[str]:
    """Return the first n motifs that repeat none before them; an alphabet is given where strands are one.

    Examples
    --------
    >>> _without_repeats(["GGAA.TTC", "GAA.TTCC", "GG.A.TTC", "TGACTCAG"], 3, None)
    ['GGAA.TTC', 'TGACTCAG']
    """
    found: list[str] = []
    for motif in motifs:
        strands = [motif] if alphabet is None else [motif, turned(motif, alphabet)]
        if not any(_repeats(strand, other) for other in found for strand in strands):
            found.append(motif)
        if len(found) == n:
            break
    return found


def _repeats(motif: str, other: str) -> bool:
    """Tell whether a motif, shifted, contradicts another one nowhere and shares half of its letters with it."""
    least = sum(letter != WILDCARD for letter in motif) / 2
    for shift in range(1 - len(motif), len(other)):
        pairs = zip(motif[max(-shift, 0) :], other[max(shift, 0) :])
        both = [a == b for a, b in pairs if WILDCARD not in (a, b)]
        if all(both) and len(both) >= least:
            return True
    return False


def _table(part: list[Term]) -> Array:
    """Return what each l-mer adds to the decision value of a row with the usual norm, (|A|^l,)."""
    total: Any = 0.0
    for term in part:
        norm = 1.0 if term.norms is None else usual_norm(term.norms)
        total = total + lmer_table(term).weights(term.rows.alphabet) / (norm or 1.0)
    return total


def marginals(table: Array, length: int, fixed: int) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Iterate over all choices of so many places, with the means of the table over all other places.

    Examples
    --------
    >>> [(places, means.tolist()) for places, means in marginals(np.arange(16.0), 2, 1)]
    [((1,), [6.0, 7.0, 8.0, 9.0]), ((0,), [1.5, 5.5, 9.5, 13.5])]
    """
    yield from _below(table.reshape((LETTERS,) * length), tuple(range(length)), 0, length - fixed)


def _below(table: Array, places: tuple[int, ...], first: int, drop: int) -> Iterator[tuple[tuple[int, ...], Array]]:
    if drop == 0:
        yield places, table
        return
    for at in range(first, len(places) - drop + 1):
        yield from _below(table.mean(axis=at), places[:at] + places[at + 1 :], at, drop - 1)


def spelled(number: int, places: tuple[int, ...], length: int, alphabet: Any, both: bool) -> str:
    """Return a motif as it is written, without wildcards at its ends; the earlier one of two strands that are one."""
    word = [WILDCARD] * length
    for place in reversed(places):
        number, letter = divmod(number, LETTERS)
        word[place] = alphabet.letters[letter] if letter < alphabet.size else WILDCARD
    motif = "".join(word).strip(WILDCARD)
    return min(motif, turned(motif, alphabet), key=_order) if both else motif


def turned(motif: str, alphabet: Any) -> str:
    """Return the reverse complement of a motif."""
    partner = {a: alphabet.letters[b] for a, b in zip(alphabet.letters, alphabet.complement_codes)}
    return "".join(partner.get(letter, letter) for letter in reversed(motif))


def _order(motif: str) -> tuple[str, str]:
    return motif.replace(WILDCARD, "~"), motif  # letters before wildcards


def _having(motif: str, texts: list[str], alphabet: Any, both: bool) -> int:
    """Return how many rows have a motif."""
    letters = f"[{''.join(alphabet.letters)}]"
    spellings = {motif, turned(motif, alphabet)} if both else {motif}
    pattern = re.compile("|".join(spelling.replace(WILDCARD, letters) for spelling in sorted(spellings)))
    return sum(pattern.search(text) is not None for text in texts)
