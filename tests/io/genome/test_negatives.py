"""Negatives: like their peaks in what was asked for, and nowhere near them; the same again with the same seed."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernelweave as kw
from kernelweave.data.strings.shuffled import shuffled
from kernelweave.io.genome import Genome, Interval, matched, read_intervals


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("negatives")
    kw.datasets.make_peaks(60, n_chromosomes=3, random_state=2).write(folder)
    return read_intervals(folder / "peaks.narrowPeak"), Genome(folder / "genome.fa")


def slow_shares(text: str) -> tuple[float, float]:
    return sum(letter in "GCgc" for letter in text) / len(text), sum(letter.islower() for letter in text) / len(text)


def overlapping(one: Interval, other: Interval) -> bool:
    return one.seqid == other.seqid and bool({*range(one.start, one.end)} & {*range(other.start, other.end)})


@pytest.mark.parametrize("copies", [1, 3])
def test_matches_are_alike_and_elsewhere(simulated, copies):
    peaks, genome = simulated
    exclude = [Interval("chr1", 0, 9000)]
    found = matched(peaks, genome, copies, 0.05, 0.1, exclude, random_state=4)
    assert found.lacking == []
    assert np.array_equal(found.sources, np.repeat(np.arange(60), copies))
    for place, (source, one) in enumerate(zip(found.sources, found.intervals)):
        peak = peaks[source]
        assert one.end - one.start == peak.end - peak.start
        shares = [np.array(slow_shares(genome.fetch(each.seqid, each.start, each.end))) for each in (peak, one)]
        assert (np.abs(shares[0] - shares[1]) <= (0.05, 0.1)).all()
        assert np.allclose(found.wanted[source], shares[0])
        assert np.allclose(found.found[place], shares[1])
    near = [pair for pair in itertools.combinations([*peaks, *exclude, *found.intervals], 2) if overlapping(*pair)]
    assert all(one in peaks and (other in peaks or other in exclude) for one, other in near)


def test_the_same_seed_gives_the_same_intervals(simulated):
    first, again, other = (matched(*simulated, gc=0.1, repeats=1.0, random_state=seed).intervals for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_unknown_letters_are_avoided_and_what_cannot_be_matched_is_named(tmp_path):
    (tmp_path / "g.fa").write_text(">a\n" + "N" * 300 + "ACGT" * 20 + "N" * 300 + "G" * 20 + "\n")
    genome = Genome(tmp_path / "g.fa")
    found = matched([Interval("a", 300, 310), Interval("a", 680, 690)], genome, gc=0.1, random_state=0)
    assert found.sources.tolist() == [0, 1]
    assert all(set(genome.fetch(one.seqid, one.start, one.end)) <= set("ACGT") for one in found.intervals)
    found = matched([Interval("a", 680, 700)], genome, gc=0.1, random_state=0)
    assert (found.intervals, found.lacking) == ([], [0])


@given(st.lists(st.text("ACGTN", max_size=30), min_size=1, max_size=4), st.integers(0, 99))
def test_shuffles_keep_pairs_and_ends(rows, seed):
    X = kw.Sequences.from_strings(rows, unknown="mask")
    for before, after in zip(X.to_strings(), shuffled(X, seed).to_strings()):
        assert Counter(itertools.pairwise(before)) == Counter(itertools.pairwise(after))
        assert before[:1] + before[-1:] == after[:1] + after[-1:]
    assert shuffled(X, seed) == shuffled(X, seed)


def test_all_shuffles_are_equally_likely():
    text = "ACAGATACGA"
    pairs = Counter(itertools.pairwise(text))
    orders = {"".join(order) for order in itertools.permutations(text[1:-1])}
    possible = {f"A{o}A" for o in orders if Counter(itertools.pairwise(f"A{o}A")) == pairs}
    drawn = Counter(shuffled(kw.Sequences.from_strings([text] * 3000), 7).to_strings())
    assert set(drawn) == possible
    expected = 3000 / len(possible)
    statistic = sum((n - expected) ** 2 / expected for n in drawn.values())
    assert statistic < len(possible) + 4 * np.sqrt(2 * len(possible))  # four standard deviations of chi-square
