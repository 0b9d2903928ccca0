"""What people hand in from Python: records, columns, texts in views, sums of kernels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import kernelweave as kw

TEXTS = ["good day", "bad night", "good luck", "bad luck"] * 3
LABELS = [1, 0] * 6
NUMBERS = np.random.default_rng(0).normal(size=(12, 2))


class Seq:
    """Like `Bio.Seq.Seq`: letters that know their reverse complement."""

    def __init__(self, text):
        self.text = text

    def __str__(self):
        return self.text

    def __len__(self):
        return len(self.text)

    def __getitem__(self, place):
        return self.text[place]

    def reverse_complement(self):
        raise NotImplementedError


class Record:
    """Like `Bio.SeqRecord.SeqRecord`, and like the sequences of pyfaidx: letters with a name."""

    def __init__(self, text, name):
        self.seq, self.id = Seq(text), name

    def __len__(self):
        return len(self.seq)

    def __getitem__(self, place):
        return self.seq[place]


@pytest.mark.parametrize("make", [lambda text, name: Seq(text), Record], ids=["Seq", "SeqRecord"])
def test_records_are_sequences(make):
    rows = ["ACGTAC", "GGCATT"] * 6
    records = [make(row, f"r{i}") for i, row in enumerate(rows)]
    X = kw.Sequences.from_strings(records)
    assert X.to_strings() == rows
    assert (X.ids is None) == (make is not Record)
    plain = kw.KernelClassifier(kw.Spectrum(2)).fit(rows, LABELS)
    found = kw.KernelClassifier(kw.Spectrum(2)).fit(records, LABELS)
    assert np.array_equal(plain.decision_function(rows), found.decision_function(records))


def test_texts_in_views_and_frames():
    frame = pd.DataFrame({"text": TEXTS, "a": NUMBERS[:, 0], "b": NUMBERS[:, 1]})
    kernels = [kw.NGram(1).on("text"), kw.RBF().on(["a", "b"])]
    views = kw.Views({"text": TEXTS, "a": NUMBERS[:, 0], "b": NUMBERS[:, 1]})
    first = kw.MKLClassifier(kernels).fit(frame, LABELS)
    second = kw.MKLClassifier(kernels).fit(views, LABELS)
    assert np.array_equal(first.decision_function(frame), second.decision_function(views))
    assert first.score(frame[:4], LABELS[:4]) == 1.0


def test_a_frame_of_one_column_of_texts():
    frame = pd.DataFrame({"text": TEXTS})
    model = kw.KernelClassifier(kw.NGram(1)).fit(frame, LABELS)
    same = kw.KernelClassifier(kw.NGram(1)).fit(TEXTS, LABELS)
    assert np.array_equal(model.decision_function(frame[:3]), same.decision_function(TEXTS[:3]))


def test_kernels_take_texts_and_add_up():
    X = kw.Sequences.from_strings(["ACGT", "AACC"])
    assert np.array_equal(kw.Spectrum(2).gram(["ACGT", "AACC"]), kw.Spectrum(2).gram(X))
    assert np.array_equal(kw.Spectrum(2).gram(["ACGT"], ["AACC"]), kw.Spectrum(2).gram(X[:1], X[1:]))
    assert sum([kw.RBF(width=1.0), kw.Linear()]) == kw.RBF(width=1.0) + kw.Linear()
    with pytest.raises(TypeError, match="unsupported operand"):
        1 + kw.RBF()


def test_what_is_read_prints_in_few_lines(tmp_path):
    X = kw.Sequences.from_strings(["ACGT"] * 500, ids=[f"row{i}" for i in range(500)])
    from kernelweave.io import write

    write(tmp_path / "x.tsv", X, np.arange(500) % 2)
    lines = repr(kw.read(tmp_path / "x.tsv")).splitlines()
    assert len(lines) <= 10
    assert max(map(len, lines)) <= 120
    assert lines[1].split() == ["X", "500", "sequences", "of", "4", "letters", "(dna)"]
    assert "row0, row1" in lines[3]


def test_dashes_in_dna_are_dna():
    assert kw.Sequences.from_strings(["ACGTACGTACGTACGTACGT-ACG."], "auto", unknown="mask").alphabet.name == "dna"
