"""Sliding a model along sequences: every window as by hand, whatever the pieces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelweave as kw
from kernelweave.estimators import scanning
from kernelweave.io import source

PARTNER = dict(zip("ACGTN", "TGCAN"))
LONG, LABELS = kw.datasets.make_splice(60, random_state=1)
SITES = kw.Sequences.from_strings([row[:21] for row in LONG])
WD = kw.KernelClassifier("wd:4", normalize="cosine").fit(SITES, LABELS)
SPECTRUM = kw.KernelClassifier("spectrum:2").fit(["ACGTA", "GGG", "TTTAC", "CAGAGA"], [1, -1, -1, 1])
RECORDS = st.lists(st.text("ACGTacgN", max_size=60), min_size=1, max_size=5)


def by_hand(model, records, window, step=1, both=False, anchors=(), skip_masked=False):
    """Every window cut, turned, chosen and scored one by one."""
    found = []
    for name, record in records:
        record = record.upper()
        for start in range(0, len(record) - window + 1, step):
            for strand in (1, -1)[: 1 + both]:
                text = record[start : start + window]
                if strand < 0:
                    text = "".join(PARTNER[letter] for letter in reversed(text))
                if skip_masked and "N" in text:
                    continue
                if anchors and not any(text[at:].startswith(letters) for letters, at in anchors):
                    continue
                row = kw.Sequences.from_strings([text], unknown="mask")
                found.append((name, start, strand, model.decision_function(row)[0]))
    return found


def listed(windows):
    return [
        (part.seqid, int(start), int(strand), score)
        for part in windows
        for start, strand, score in zip(part.starts, part.strands, part.scores)
    ]


def same(found, expected):
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    np.testing.assert_allclose([row[3] for row in found], [row[3] for row in expected], rtol=1e-9, atol=1e-12)


@settings(max_examples=60)
@given(
    records=RECORDS, size=st.integers(1, 99), window=st.integers(2, 9), step=st.integers(1, 8), both=st.booleans(),
    anchored=st.booleans(), skip=st.booleans(), block=st.integers(2, 40),
)  # fmt: skip
def test_a_file_is_scanned_as_by_hand(tmp_path_factory, records, size, window, step, both, anchored, skip, block):
    path = tmp_path_factory.getbasetemp() / "scanned.fa"
    path.write_text("".join(f">r{i}\n{record[:7]}\r\n{record[7:]}\r\n" for i, record in enumerate(records)))
    anchors = [("AG", 0), ("C", window - 1)] if anchored else []
    options = {"both_strands": both, "anchor": [f"{text}@{at}" for text, at in anchors], "skip_masked": skip}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "BLOCK", size)
        patch.setattr(scanning, "BLOCK", block)
        found = listed(kw.scan(SPECTRUM, path, window, step, **options))
    named = [(f"r{i}", record) for i, record in enumerate(records)]
    same(found, by_hand(SPECTRUM, named, window, step, both, anchors, skip))


def test_sequences_in_memory_and_the_length_of_training(tmp_path):
    rows = [("0", "ACGTAGCATTTTTCAGATGCATTTTACAG" * 2), ("1", "ACG"), ("2", ""), ("3", "A" * 21), ("4", "N" * 22)]
    found = listed(kw.scan(WD, [row for _, row in rows], both_strands=True))
    same(found, by_hand(WD, rows, 21, both=True))
    named = kw.Sequences.from_strings([row for _, row in rows], unknown="mask", ids=list("abcde"))
    assert [row[0] for row in listed(kw.scan(WD, named))] == ["abcde"[int(row[0])] for row in found if row[2] > 0]


def test_threshold():
    rows = ["ACGTAGCATTTTTCAGATGCATTTTACAG" * 4]
    every = listed(kw.scan(WD, rows))
    cut = float(np.median([row[3] for row in every]))
    good = listed(kw.scan(WD, rows, threshold=cut))
    assert good == [row for row in every if row[3] >= cut]
    assert 0 < len(good) < len(every)


def test_several_classes_and_numbers():
    several = kw.KernelClassifier("spectrum:2").fit(["AAAA", "CCCC", "GGGG"] * 2, ["a", "c", "g"] * 2)
    (part,) = kw.scan(several, ["AAAACCCC"])
    assert part.scores.shape == (5, 3)
    assert several.classes_[part.scores[[0, -1]].argmax(axis=1)].tolist() == ["a", "c"]
    with pytest.raises(ValueError, match="one score a window, but the model has 3 classes"):
        list(kw.scan(several, ["AAAACCCC"], threshold=0.0))
    regressor = kw.KernelRegressor("spectrum:1").fit(["AAA", "ACC", "AAC", "CCC"], [3.0, 1.0, 2.0, 0.0])
    (part,) = kw.scan(regressor, ["AAACCC"])
    np.testing.assert_allclose(part.scores, regressor.predict(["AAA", "AAC", "ACC", "CCC"]))


def test_words_slide_too():
    model = kw.KernelClassifier("spectrum:1").fit(
        kw.Sequences.from_strings(["good day", "fine day", "bad night", "sad night"], "words"), [1, 1, -1, -1]
    )
    (part,) = kw.scan(model, ["the good fine day and bad sad night"], window=2)
    assert part.starts[[part.scores.argmax(), part.scores.argmin()]].tolist() == [2, 6]


def test_long_windows_come_in_small_blocks(monkeypatch):
    sizes = []
    score = WD.decision_function
    monkeypatch.setattr(WD, "decision_function", lambda X: (sizes.append(len(X)), score(X))[1], raising=False)
    monkeypatch.setattr(scanning, "BLOCK_LETTERS", 21 * 10)
    rows = ["ACGTAGCATTTTTCAGATGCATTTTACAG" * 2]
    same(
        listed(kw.scan(WD, rows)),
        by_hand(kw.KernelClassifier("wd:4", normalize="cosine").fit(SITES, LABELS), [("0", rows[0])], 21),
    )
    assert max(sizes) == 10


ERRORS = {
    "unfitted": (kw.KernelClassifier("wd:2"), {}, "not fitted"),
    "table": (kw.KernelClassifier("linear").fit(np.eye(2), [0, 1]), {}, "trained on sequences can be slid"),
    "ragged": (SPECTRUM, {}, "trained on sequences of 3 to 6 letters; give window=N, the letters of a window"),
    "window": (SPECTRUM, {"window": 0}, "window=0 must be a positive integer"),
    "step": (WD, {"step": 1.5}, "step=1.5 must be a positive integer"),
    "strand": (
        kw.KernelClassifier("spectrum:1").fit(kw.Sequences.from_strings(["MK", "WW"], "protein"), [0, 1]),
        {"both_strands": True},
        "no other strand: the protein alphabet has no complement",
    ),
    "anchor": (WD, {"anchor": "AG"}, "anchor='AG' must be letters, @ and a place counted from 0, such as AG@60"),
    "anchor place": (WD, {"anchor": "AG@x"}, "anchor='AG@x' must be letters"),
    "anchor letters": (WD, {"anchor": "AQ@1"}, "anchor='AQ@1': Unknown letter 'Q' at position 1"),
    "anchor beyond": (WD, {"anchor": ["AG@19", "AG@20"]}, "anchor='AG@20' reaches beyond the 21 letters of a window"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_come_with_the_call(case):
    model, options, sentence = ERRORS[case]
    with pytest.raises((ValueError, TypeError), match=sentence):
        kw.scan(model, ["ACGT"], **options)


def test_a_window_that_the_kernel_cannot_take():
    with pytest.raises(ValueError, match="letters"):
        list(kw.scan(WD, ["ACGT" * 20], window=20))
