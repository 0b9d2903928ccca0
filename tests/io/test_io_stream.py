"""Files read in blocks: the same rows as read whole, whatever the size of a block, and in little memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernelweave as kw
from kernelweave.data import Alphabet, Sequences
from kernelweave.io import collect, read, source
from kernelweave.io.formats import fasta
from kernelweave.io.stream import stream

RECORDS = st.lists(st.text("ACGTacgtN", max_size=60), min_size=1, max_size=7)


def fasta_text(records: list[str], width: int, end: str) -> str:
    lines = []
    for number, record in enumerate(records):
        lines += [f">r{number} some words", *(record[i : i + width] for i in range(0, len(record), width))]
    return end.join([*lines, ""])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stream")


def in_blocks(size: int, *arguments, **options):
    """Read in blocks of `size` bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "READ_AT_ONCE", size)
        patch.setattr(fasta, "READ_AT_ONCE", size)
        return list(stream(*arguments, **options))


@given(records=RECORDS, width=st.integers(1, 80), size=st.integers(1, 90), dos=st.booleans(), packed=st.booleans())
def test_whole_records(folder, records, width, size, dos, packed):
    path, text = folder / "x", fasta_text(records, width, "\r\n" if dos else "\n").encode()
    path.write_bytes(gzip.compress(text, 1) if packed else text)
    blocks = in_blocks(size, path, unknown="mask")
    assert Sequences.concatenate([block.X for block in blocks]) == kw.read_fasta(path, unknown="mask")
    assert [block.first for block in blocks] == np.cumsum([0, *(len(block.X) for block in blocks[:-1])]).tolist()
    assert not any(block.places.any() for block in blocks)


@given(records=RECORDS, width=st.integers(1, 80), size=st.integers(1, 90), window=st.integers(1, 20))
def test_every_window_lies_in_exactly_one_piece(folder, records, width, size, window):
    path = folder / "p"
    path.write_text(fasta_text(records, width, "\n"))
    found, told = [], set()
    for block in in_blocks(size, path, unknown="mask", overlap=window - 1):
        assert block.X.codes.size <= 2 * size + window - 1
        assert block.X.ids[0] == f"r{block.first}"
        for name, place, row in zip(block.X.ids, block.places.tolist(), block.X.to_strings()):
            found += [(str(name), place + i, row[i : i + window]) for i in range(len(row) - window + 1)]
            told.add(str(name))
    clean = [record.upper() for record in records]
    expected = [(f"r{n}", i, r[i : i + window]) for n, r in enumerate(clean) for i in range(len(r) - window + 1)]
    assert found == expected
    assert told == {f"r{n}" for n in range(len(records))}


@pytest.mark.parametrize("size", [1, 7, 50, 1 << 20])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("labelled", "1\tACGT\n\n-1\tGG\r\n1\t\n1\tTTTTTTTT"),
        ("labelled", "1\tACGT\tp\n-1\tGG\tq\n1\tTTTT\tr\n"),
        ("fastq", "@a x\nACGT\n+\nIIII\n@b\nGG\n+\nII\n@c\nTTT\n+\nIII\n"),
    ],
)
def test_other_formats(tmp_path, name, text, size):
    (tmp_path / "x").write_bytes(text.encode())
    blocks = in_blocks(size, tmp_path / "x")
    assert Sequences.concatenate([block.X for block in blocks]) == read(tmp_path / "x", name, alphabet="dna").X


def test_words_in_blocks(tmp_path):
    (tmp_path / "x.tsv").write_text("a\tto be\nb\tor not\nc\tto be\n")
    words = Alphabet.words(["be", "not", "or", "to"])
    blocks = in_blocks(10, tmp_path / "x.tsv", alphabet=words)
    assert [row for block in blocks for row in block.X.to_strings()] == ["to be", "or not", "to be"]
    with pytest.raises(ValueError, match=r"x.tsv:2: row 1 has the unknown letter 'not' at position 1; the words"):
        in_blocks(10, tmp_path / "x.tsv", alphabet=Alphabet.words(["be", "or", "to"]))
    with pytest.raises(ValueError, match="letters of the words alphabet are not bytes"):
        stream(tmp_path / "x.tsv", words, overlap=3)


# file, what is wrong
BAD = {
    "": "bad is empty",
    "\n\n": "bad holds no sequences",
    "\nACGT\n>a\nA\n": "bad:2: expected a header that begins with '>'",
    ">a\nA\n> b\nA\n": "bad:3: the header has no id",
    ">a\nA\n>b\nC\n>c\nC\n>a x\nG\n": "bad:7: the id 'a' was already used on line 1; duplicates='allow' keeps both",
    ">a\nACGT\n>b\nAC\nGTTQACGTACGTACGTACGT\n": r"bad:3: row 1 \(b\) has the unknown letter 'Q' at position 5; the dna",
    ">a label=1\nA\n>b\nA\n": "bad:3: b has no label=, but other headers have one",
    ">a\nAC\0GT\n": "bad is not a text file: it holds a zero byte at 5",
}


@pytest.mark.parametrize("overlap", [None, 2])
@pytest.mark.parametrize("size", [3, 11, 1 << 20])
@pytest.mark.parametrize("text", BAD)
def test_errors_are_those_of_reading_whole(tmp_path, text, size, overlap):
    (tmp_path / "bad").write_text(text)
    with pytest.raises(ValueError, match=BAD[text]) as whole:
        read(tmp_path / "bad", "fasta", alphabet="dna")
    with pytest.raises(ValueError) as piecewise:
        in_blocks(size, tmp_path / "bad", overlap=overlap, format="fasta")
    assert str(piecewise.value) == str(whole.value)


def test_options_are_checked_at_the_call(tmp_path):
    (tmp_path / "x.fa").write_text(">a\nA\n>a\nC\n")
    for options, sentence in [
        ({"unknown": "skip"}, "unknown='skip' is not valid"),
        ({"duplicates": "no"}, "duplicates='no' is unknown"),
        ({"alphabet": "dan"}, "no alphabet named 'dan'"),
        ({"format": "table"}, "is read as table, which is not read in blocks; fasta, fastq, labelled are"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            stream(tmp_path / "x.fa", **options)
    (block,) = stream(tmp_path / "x.fa", duplicates="allow")
    assert block.X.to_strings() == ["A", "C"]


def test_ids_of_equal_hash_are_no_duplicates(tmp_path, monkeypatch):
    (tmp_path / "x.fa").write_text("".join(f">r{i}\nA\n" for i in range(40)))
    monkeypatch.setattr("kernelweave.io.stream.hashes_of", lambda ids: np.zeros(len(ids), np.int64))
    assert sum(len(block.X) for block in in_blocks(20, tmp_path / "x.fa")) == 40


def test_many_ids_are_told_apart_in_runs(tmp_path):
    lines = [f">r{i}\nA\n" for i in range(500)]
    (tmp_path / "x.fa").write_text("".join(lines))
    assert sum(len(block.X) for block in in_blocks(16, tmp_path / "x.fa")) == 500
    (tmp_path / "x.fa").write_text("".join([*lines, ">r250\nA\n"]))
    with pytest.raises(ValueError, match=r"x.fa:1001: the id 'r250' was already used on line 501"):
        in_blocks(16, tmp_path / "x.fa")


def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "READ_AT_ONCE", 1 << 17)
    peaks = []
    for n in (1, 8):
        with open(tmp_path / "x.fa", "wb") as file:
            file.write(b">long\n" + (b"ACGT" * 20 + b"\n") * (n << 13))
        tracemalloc.start()
        letters = sum(block.X.codes.size for block in stream(tmp_path / "x.fa", overlap=0))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert letters == 80 * (n << 13)
    assert peaks[1] < 1.2 * peaks[0] < 3 << 20


def test_many_short_reads_take_little_more_than_their_letters_and_names(tmp_path):
    n, width = 60_000, 40
    with open(tmp_path / "x.fa", "w") as file:
        file.writelines(f">r{i:08d}\n{'ACGT' * (width // 4)}\n" for i in range(n))
    kw.read_fasta(tmp_path / "x.fa")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "READ_AT_ONCE", 1 << 14)
        patch.setattr(collect, "FIRST_BYTES", 1 << 14)
        patch.setattr(collect, "LETTERS_TOGETHER", 1 << 14)
        tracemalloc.start()
        X = kw.read_fasta(tmp_path / "x.fa")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    kept_beside_letters = 16 + 8 + 8 + 4
    assert X.shape == (n, width)
    assert peak < collect.ARRAY_GROWTH * (width + kept_beside_letters) * n + (1 << 18)


@pytest.mark.slow
def test_two_gigabytes_are_read_within_four(tmp_path):
    line = np.frombuffer(b"ACGTTGCATC" * 10, np.uint8)
    record = np.full((100_000, 113), ord("\n"), np.uint8)
    record[:, :2], record[:, 12:112] = np.frombuffer(b">r", np.uint8), line
    with open(tmp_path / "reads.fa", "wb") as file:
        for first in range(0, 17_800_000, len(record)):
            numbers = np.arange(first, first + len(record))
            for digit in range(9):
                record[:, 10 - digit] = ord("0") + numbers // 10**digit % 10
            file.write(record.tobytes())
    script = (
        "import resource, sys, kernelweave as kw\nX = kw.read_fasta(sys.argv[1])\n"
        "print(len(X), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "reads.fa")], capture_output=True, text=True, check=True
    )
    (tmp_path / "reads.fa").unlink()
    rows, peak = map(int, done.stdout.split())
    assert rows == 17_800_000
    assert peak < 4e9
