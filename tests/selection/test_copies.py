"""Near copies and groups: all pairs that a slow comparison finds, and no other."""

import itertools

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.selection.copies import clusters, copies_note

RNG = np.random.default_rng(0)
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def letters(n):
    return "".join(RNG.choice(list("ACGT"), n))


def changed(text, places):
    out = list(text)
    for place in places:
        out[place] = "ACGT"["ACGT".index(out[place]) - 1]
    return "".join(out)


def shared(left, right, k=12):
    """The slow twin: the share of the k-mers of the shorter list that both have, on either strand."""

    def kmers(text):
        words = {text[i : i + k] for i in range(len(text) - k + 1)}
        return {min(word, word[::-1].translate(COMPLEMENT)) for word in words}

    a, b = kmers(left), kmers(right)
    return len(a & b) / min(len(a), len(b))


TEXTS = [letters(120) for _ in range(30)]
TEXTS += [changed(TEXTS[0], [60]), TEXTS[1][::-1].translate(COMPLEMENT), TEXTS[2][20:] + letters(20), TEXTS[3]]
TEXTS += [changed(TEXTS[4], range(0, 120, 9)), TEXTS[5][60:] + letters(60)]
ROWS = kw.Sequences.from_strings(TEXTS, alphabet="dna", ids=[f"chr{1 + i % 3}:{i}" for i in range(len(TEXTS))])


@pytest.mark.parametrize("share", [0.5, 0.8, 1.0])
def test_the_pairs_are_those_of_the_slow_comparison(share):
    found = kw.near_copies(ROWS, share=share)
    expected = {(i, j): shared(TEXTS[i], TEXTS[j]) for i, j in itertools.combinations(range(len(TEXTS)), 2)}
    expected = {pair: value for pair, value in expected.items() if value >= share}
    assert dict(zip(map(tuple, found.pairs.tolist()), found.shares.tolist())) == pytest.approx(expected)
    assert len(expected) >= 2


def test_between_two_sets_only_pairs_across_count():
    found = kw.near_copies(ROWS[:31], ROWS[31:])
    assert found.pairs.tolist() == [[1, 0], [2, 1], [3, 2]]
    assert (0, 30) in map(tuple, kw.near_copies(ROWS[:31]).pairs.tolist())


def test_clusters_join_copies_of_copies():
    chain = [letters(100)]
    for _ in range(4):
        chain.append(chain[-1][40:] + letters(40))
    rows = kw.Sequences.from_strings([*chain, letters(100)], alphabet="dna")
    assert len(set(clusters(rows, 0.5)[:5])) == 1
    assert len(set(clusters(rows, 0.5))) == 2
    assert len(set(clusters(rows, 0.9))) == 6
    assert kw.groups_of(rows, "clusters:0.5").tolist() == clusters(rows, 0.5).tolist()


def test_short_sequences_text_and_tables_are_compared_too():
    short = kw.Sequences.from_strings(["ACG", "ACG", "ACT", letters(40)], alphabet="dna")
    assert kw.near_copies(short).pairs.tolist() == [[0, 1]]
    words = kw.Sequences.from_tokens([s.split() for s in ("a b c d e f", "x y z", "a b c d e f g")])
    assert kw.near_copies(words).pairs.tolist() == [[0, 2]]
    table = RNG.normal(size=(20, 4))
    table[7] = table[3]
    assert kw.near_copies(table).pairs.tolist() == [[3, 7]]
    assert kw.near_copies(table[:5], table[5:]).pairs.tolist() == [[3, 2]]


def test_a_note_tells_of_copies_that_folds_tear_apart():
    assert "near copies of other rows, such as chr" in copies_note(ROWS)
    assert copies_note(ROWS, clusters(ROWS, 0.5)) is None
    assert copies_note(RNG.normal(size=(30, 2))) is None


def test_groups_follow_from_ids():
    assert set(kw.groups_of(ROWS, "chromosome")) == {"chr1", "chr2", "chr3"}
    named = kw.Sequences.from_strings(["ACGT"] * 3, ids=["a_1", "a_2", "b_1"])
    assert kw.groups_of(named, "prefix:_").tolist() == ["a", "a", "b"]
    for id_, chromosome in (("chrX_5_9", "chrX"), ("2L:5-9", "2L"), ("chr10-5", "chr10"), ("V:+:12", "V")):
        one = kw.Sequences.from_strings(["ACGT"], ids=[id_])
        assert kw.groups_of(one, "chromosome").tolist() == [chromosome]
    with pytest.raises(ValueError, match="Row 0 has the id 'a_1', which names no chromosome"):
        kw.groups_of(named, "chromosome")
    with pytest.raises(ValueError, match="must name a share between 0 and 1"):
        kw.groups_of(named, "clusters:2")
