"""Sliding a model along sequences: every window as by hand, whatever the pieces."""

from __future__ import annotations

import gzip
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli import flow
from kernelweave.cli.app import app
from kernelweave.estimators import scanning
from kernelweave.io import source, write

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
        patch.setattr(source, "READ_AT_ONCE", size)
        patch.setattr(scanning, "SCANNED_WINDOWS", block)
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
    monkeypatch.setattr(scanning, "SCANNED_LETTERS", 21 * 10)
    rows = ["ACGTAGCATTTTTCAGATGCATTTTACAG" * 2]
    same(
        listed(kw.scan(WD, rows)),
        by_hand(kw.KernelClassifier("wd:4", normalize="cosine").fit(SITES, LABELS), [("0", rows[0])], 21),
    )
    assert max(sizes) == 10


ERRORS = {
    "unfitted": (kw.KernelClassifier("wd:2"), {}, "not fitted"),
    "table": (kw.KernelClassifier("linear").fit(np.eye(2), [0, 1]), {}, "trained on sequences can score"),
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


# the command


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def table(text):
    rows = [line.split("\t") for line in text.splitlines()]
    assert rows[0] == ["seqid", "start", "end", "strand", "decision"]
    assert all(int(row[2]) - int(row[1]) == 21 for row in rows[1:])
    return [(row[0], int(row[1]), {"+": 1, "-": -1}[row[3]], float(row[4])) for row in rows[1:]]


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    """A folder with a model, and a genome with lower case, runs of N, a short and an empty record."""
    folder = tmp_path_factory.mktemp("genome")
    rng = np.random.default_rng(2)
    letters = "".join(rng.choice(list("ACGTacgt"), 400))
    records = {"chr1": letters[:150] + "N" * 30 + letters[150:], "tiny": "ACGT", "none": "", "chr2": letters[::-1]}
    lines = [f">{name} assembled\r\n{row[:333]}\r\n{row[333:]}\r\n" for name, row in records.items()]
    (folder / "g.fa").write_text("".join(lines))
    (folder / "g.fa.gz").write_bytes(gzip.compress("".join(lines).encode()))
    kw.save(WD, folder / "wd.kw")
    kw.save(SPECTRUM, folder / "spectrum.kw")
    return folder, list(records.items())


def test_the_command_writes_what_is_scored_by_hand(genome, tmp_path):
    folder, records = genome
    result = run("predict", folder / "wd.kw", folder / "g.fa", "--scan", "--both-strands")
    same(table(result.stdout), by_hand(WD, records, 21, both=True))
    assert "scanned" in result.stderr
    assert "834 letters" in result.stderr
    said = run("predict", folder / "wd.kw", folder / "g.fa.gz", "--scan", "--both-strands", "-o", tmp_path / "w.tsv")
    assert (tmp_path / "w.tsv").read_text() == result.stdout
    assert said.stdout == ""
    assert run("predict", folder / "wd.kw", folder / "g.fa", "--scan", "-q").stderr == ""


def test_the_command_chooses_windows(genome):
    folder, records = genome
    options = ["--step", 3, "--anchor", "AG@4", "--anchor", "T@0", "--skip-masked", "--both-strands"]
    found = table(run("predict", folder / "wd.kw", folder / "g.fa", "--scan", *options).stdout)
    every = by_hand(WD, records, 21, 3, True, [("AG", 4), ("T", 0)], True)
    same(found, every)
    cut = sorted(row[3] for row in found)[len(found) // 2]
    good = table(run("predict", folder / "wd.kw", folder / "g.fa", "--scan", *options, "--threshold", cut).stdout)
    assert good == [row for row in found if row[3] >= cut]


@pytest.mark.parametrize("size", [37, 1 << 20])
def test_the_best_windows(genome, monkeypatch, size):
    monkeypatch.setattr(source, "READ_AT_ONCE", size)
    folder, _ = genome
    every = table(run("predict", folder / "wd.kw", folder / "g.fa", "--scan").stdout)
    best = sorted(every, key=lambda row: -row[3])  # windows of N only are all alike: the first of them comes first
    for n in (1, 10, len(every) - 1, len(every) + 5):
        assert table(run("predict", folder / "wd.kw", folder / "g.fa", "--scan", "--top", n).stdout) == best[:n]


def test_the_command_as_json(genome, tmp_path):
    folder, _ = genome
    call = ["predict", folder / "wd.kw", folder / "g.fa", "--scan", "--top", 3, "--json"]
    found = json.loads(run(*call).stdout)
    assert (found["letters"], found["masked_letters"], found["window"]) == (834, 30, 21)
    assert (found["windows"], found["reported"], len(found["predictions"])) == (410 + 380, 3, 3)
    assert list(found["predictions"][0]) == ["seqid", "start", "end", "strand", "decision"]
    written = json.loads(run(*call, "--out", tmp_path / "w.tsv").stdout)
    assert (written["reported"], written["out"]) == (3, str(tmp_path / "w.tsv"))
    assert "predictions" not in written


def test_other_formats_are_scanned_too(genome, tmp_path):
    folder, records = genome
    rows = [(str(i), row) for i, (_, row) in enumerate(records)]
    (tmp_path / "x.tsv").write_text("".join(f"1\t{row}\n" for _, row in rows))
    same(table(run("predict", folder / "wd.kw", tmp_path / "x.tsv", "--scan").stdout), by_hand(WD, rows, 21))
    kw.Sequences.from_strings([row for _, row in rows], unknown="mask").save(tmp_path / "x.kwseq")
    same(table(run("predict", folder / "wd.kw", tmp_path / "x.kwseq", "--scan").stdout), by_hand(WD, rows, 21))


def test_notes(genome, tmp_path):
    folder, _ = genome
    (tmp_path / "p.fa").write_text(">p\n" + "MKLVWYQQ" * 5 + "\n>q\nACGT\n")
    said = run("predict", folder / "wd.kw", tmp_path / "p.fa", "--scan").stderr
    assert "91% of the letters are outside the dna alphabet and match nothing" in said
    (tmp_path / "s.fa").write_text(">p\nACGT\n>q\n\n")
    result = run("predict", folder / "wd.kw", tmp_path / "s.fa", "--scan")
    assert result.stdout == "seqid\tstart\tend\tstrand\tdecision\n"
    assert "no window of 21 letters" in result.stderr


@pytest.mark.parametrize(
    ("model", "options", "sentence"),
    [
        ("wd", ["--top", 3], "error: --top is about windows; add --scan to score them."),
        ("wd", ["--scan", "--anchor", "AG"], "error: --anchor AG must be letters, @ and a place"),
        ("wd", ["--scan", "--unknown", "error"], "g.fa:1: row 0 (chr1) has the unknown letter 'N' at position 150;"),
        ("spectrum", ["--scan"], "of 3 to 6 letters; give --window N, the letters of a window."),
    ],
)
def test_errors_of_the_command(genome, tmp_path, model, options, sentence):
    folder, _ = genome
    result = run("predict", folder / f"{model}.kw", folder / "g.fa", *options, "--out", tmp_path / "w", code=1)
    assert sentence in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_bad_files_are_told(genome, tmp_path):
    folder, _ = genome
    (tmp_path / "empty.fa").write_text("")
    assert "empty.fa is empty" in run("predict", folder / "wd.kw", tmp_path / "empty.fa", "--scan", code=1).stderr
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    said = run("predict", folder / "wd.kw", tmp_path / "t.csv", "--scan", code=1).stderr
    assert "holds a table, but the model was trained on sequences" in said


def test_an_interrupted_scan(genome, tmp_path, monkeypatch):
    folder, _ = genome

    def stop(self, *arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(flow.Pace, "report", stop)
    call = ["predict", folder / "wd.kw", folder / "g.fa", "--scan"]
    result = run(*call, code=130)
    assert result.stderr == "interrupted: the output holds only a part of the scan\n"
    assert len(table(result.stdout)) == 790
    assert run(*call, "--out", tmp_path / "w", code=130).stderr == "interrupted: nothing was saved\n"
    assert list(tmp_path.iterdir()) == []


def test_long_work_shows_its_pace(genome, monkeypatch):
    folder, _ = genome
    monkeypatch.setattr(flow, "EVERY", 0.0)
    call = ["predict", folder / "wd.kw", folder / "g.fa"]
    monkeypatch.setattr(scanning, "SCANNED_WINDOWS", 100)
    said = run(*call, "--scan", "--threshold", 1e9).stderr
    told = re.findall(r"scanning +(\d+) letters  (\d+) windows  \S+ s  \S+ letters/s", said)
    assert [int(windows) for _, windows in told] == [*range(100, 790, 100), 790]
    assert [int(letters) for letters, _ in told] == [100, 200, 300, 400, 524, 624, 724, 834]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["x.fa", "x.tsv"])
def test_prediction_of_rows_does_not_depend_on_the_blocks(genome, tmp_path, monkeypatch, name, packed):
    folder, _ = genome
    path = tmp_path / (name + ".gz" * packed)
    write(path, SITES, *([LABELS] if name == "x.tsv" else []))
    whole = run("predict", folder / "wd.kw", path)
    values = [line.split("\t") for line in whole.stdout.splitlines()]
    assert values[0] == ["id", "decision", "label"]
    assert [row[0] for row in values[1:]] == [("row" if name == "x.fa" else "") + str(i) for i in range(60)]
    np.testing.assert_allclose([float(row[1]) for row in values[1:]], WD.decision_function(SITES), rtol=1e-12)
    assert [int(row[2]) for row in values[1:]] == WD.predict(SITES).tolist()
    monkeypatch.setattr(source, "READ_AT_ONCE", 100)
    blocks = []
    monkeypatch.setattr(
        "kernelweave.estimators.outputs.decisions", lambda model, X: (blocks.append(1), model.decision_function(X))[1]
    )
    found = run("predict", folder / "wd.kw", path).stdout
    again = [line.split("\t") for line in found.splitlines()]
    assert len(blocks) > 10
    assert [(row[0], row[2]) for row in again] == [(row[0], row[2]) for row in values]
    # how many rows are scored at once may change the last bit
    np.testing.assert_allclose([float(row[1]) for row in again[1:]], WD.decision_function(SITES), rtol=1e-12)
    run("predict", folder / "wd.kw", path, "--out", tmp_path / "out.tsv", "--json")
    assert (tmp_path / "out.tsv").read_text() == found
    assert len(json.loads(run("predict", folder / "wd.kw", path, "--json").stdout)["predictions"]) == 60


def test_errors_of_rows_in_blocks_are_those_of_before(genome, tmp_path, monkeypatch):
    folder, _ = genome
    monkeypatch.setattr(source, "READ_AT_ONCE", 40)
    write(tmp_path / "x.fa", SITES[:5])
    good = (tmp_path / "x.fa").read_text()
    for more, sentence in [
        (
            ">row1\nACGTACGTACGTACGTACGTA\n",
            "x.fa:11: the id 'row1' was already used on line 3; --duplicates allow keeps",
        ),
        (">b\nACGTACGTACGTACGTACGTN\n", "x.fa:11: row 5 (b) has the unknown letter 'N' at position 20; the dna"),
        (">b\nACG\n", "letters"),
    ]:
        (tmp_path / "x.fa").write_text(good + more)
        said = run("predict", folder / "wd.kw", tmp_path / "x.fa", "-o", tmp_path / "out", code=1).stderr
        assert sentence in said
        assert not (tmp_path / "out").exists()
    (tmp_path / "p.fa").write_text(">p\nMKLVWYQQMKLVWYQQWWWWW\n")
    said = run("predict", folder / "wd.kw", tmp_path / "p.fa", code=1).stderr
    assert "trained on the alphabet 'dna', but" in said
