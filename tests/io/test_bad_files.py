"""Bad input and the one sentence it gets: what was wrong, where, what was expected."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.data import Sequences, Views
from kernelweave.io import FORMATS, check_writable, open_aside, read, sniff, write

TWO = Sequences.from_strings(["ACGT", "GG"])
GARBAGE = bytes(range(256)) * 8

# name: (content, options, sentence)
TABLE: dict[str, tuple[str | bytes, dict, str]] = {
    "empty": ("", {}, r"bad is empty\."),
    "empty gzip": (gzip.compress(b""), {}, r"bad is empty\."),
    "blank fasta": ("\n\n", {"format": "fasta"}, "bad holds no sequences"),
    "blank labelled": ("\n\n", {"format": "labelled"}, "bad holds no sequences"),
    "blank table": ("\n\n", {"format": "table"}, "bad has only blank lines"),
    "blank jsonl": ("\n\n", {"format": "jsonl"}, "bad holds no JSON objects"),
    "blank libsvm": ("\n\n", {"format": "libsvm"}, "bad holds no rows"),
    "garbage": (
        GARBAGE,
        {},
        "bad holds binary data of an unknown format; known are fst, npz, parquet, sequences, lattices, store",
    ),
    "garbage as fasta": (GARBAGE, {"format": "fasta"}, "bad is not a text file: it holds a zero byte at 0"),
    "garbage as npz": (GARBAGE, {"format": "npz"}, "bad cannot be read as npz: it is damaged or not an archive"),
    "garbage as sequences": (GARBAGE, {"format": "sequences"}, "bad is not a file of saved sequences"),
    "prose": ("it was a dark\nand stormy night\n", {}, "bad holds text of an unknown format"),
    "truncated gzip": (
        gzip.compress(b">a\n" + b"ACGT" * 9999)[:-20],
        {"format": "fasta"},
        "bad is truncated: its gzip",
    ),
    "truncated bzip2": (
        bz2.compress(b">a\n" + b"ACGT" * 9999)[:-20],
        {"format": "fasta"},
        "bad is truncated: its bzip2 data end too early",
    ),
    "damaged bzip2": (b"BZhgarbage-garbage", {"format": "fasta"}, "bad is damaged: its bzip2 data cannot be unpacked"),
    "damaged zstd": (b"\x28\xb5\x2f\xfdgarbage-garbage", {"format": "fasta"}, "bad is damaged: its zstd data"),
    "damaged gzip": (b"\x1f\x8b\x08\x00garbage-garbage", {"format": "fasta"}, "bad is damaged: its gzip data"),
    "unknown format": (">a\nA\n", {"format": "word"}, "no format 'word'; known are fst, npz, parquet, sequences"),
    "unknown option": (">a\nA\n", {"header": True}, "read as fasta, which has no option 'header'; it has alphabet"),
    "unknown alphabet": (">a\nA\n", {"alphabet": "dan"}, "no alphabet named 'dan'; built-in ones are dna"),
    "unknown policy": (">a\nA\n", {"unknown": "skip"}, "unknown='skip' is not valid; use 'error' or 'mask'"),
    "duplicates policy": (">a\nA\n", {"duplicates": "no"}, "duplicates='no' is unknown; use 'error' or 'allow'"),
    "no header": ("\nACGT\n>a\nA\n", {"format": "fasta"}, r"bad:2: expected a header that begins with '>'\."),
    "no id": (">a\nA\n> b\nA\n", {}, "bad:3: the header has no id"),
    "duplicate header": (">a\nA\n>b\nC\n>a x\nG\n", {}, "bad:5: the id 'a' was already used on line 1"),
    "unknown letter": (
        ">a\nACGT\n>b\nAC\nGTTQACGTACGTACGTACGT\n",
        {"alphabet": "dna"},
        r"bad:3: row 1 \(b\) has the unknown letter 'Q' at position 5; the dna alphabet has ACGT",
    ),
    "label here, a long name there": (
        ">a label=1\nA\n>" + "b" * 5000 + "\nA\n",
        {},
        r"bad:3: b{40}\.\.\. has no label=, but other headers have one",
    ),
    "long names of columns": (
        ",".join(f"column{n}" for n in range(500)) + "\n" + ",".join(["1"] * 500) + "\n",
        {"format": "table", "label": "c"},
        r"bad has no label column 'c'; its columns are column0, .{100,200}\.\.\.\.",
    ),
    "not a number in a long column": (
        "a," + "b" * 5000 + "\n1,2\n1,x4\n",
        {"format": "table"},
        r"bad:3, column 'b{40}'\.\.\.: 'x4' is not a number",
    ),
    "label here and there": (">a label=1\nA\n>b\nA\n", {}, "bad:3: b has no label=, but other headers have one"),
    "label there and here": (">a\nA\n>b label=1\nA\n", {}, "bad:1: a has no label=, but other headers have one"),
    "fastq cut": ("@r\nACGT\n+\nIIII\n@s\nACG\n+\nII", {}, r"bad:8: .*[Ll]ength"),
    "fastq no plus": ("@r\nACGT\nIIII\n@s\n", {"format": "fastq"}, r"bad:3: .*expected to start with '\+'"),
    "labelled fields": (
        "1\tA\n1\tA\tb\tc\n",
        {"format": "labelled"},
        "bad:2: found 4 tab-separated fields, expected 2 as",
    ),
    "labelled one field": (
        "ACGT\n",
        {"format": "labelled"},
        "bad:1: found 1 tab-separated fields, expected label, seq",
    ),
    "labelled no label": ("1\tA\n\tC\n", {"format": "labelled"}, "bad:2: the label is empty"),
    "labelled twice": ("1\tA\tp\n1\tC\tp\n", {}, "bad:2: the id 'p' was already used on line 1"),
    "labelled letter": ("1\tAC\n1\tAx\n", {"alphabet": "dna"}, "bad:2: row 1 has the unknown letter 'x' at position 1"),
    "no letters": ("1\t\n1\t\n", {"format": "labelled"}, "bad: no sequence has letters from which to infer"),
    "no words": ("1\t    \n1\t  \n", {"format": "labelled"}, r"bad: no row has words \(alphabet='text'\)"),
    "json": ('{"text": "a"}\n{"text": \n', {}, "bad:2: this is not JSON"),
    "json list": ('{"text": "a"}\n[1]\n', {}, "bad:2: expected a JSON object"),
    "json no text": ('{"txt": "a", "n": 1}\n', {}, "bad:1: no field 'text'; it has 'txt', 'n'"),
    "json number text": ('{"text": 5}\n', {}, "bad:1: the text is a int, expected a string"),
    "json no label": (
        '{"text": "a", "label": 1}\n{"text": "b"}\n',
        {},
        "bad:2: the field 'label' is missing; the line has",
    ),
    "json asked label": ('{"text": "a"}\n', {"label": "k"}, "bad:1: the field 'k' is missing; the line has 'text'"),
    "json label list": ('{"text": "a", "label": [1]}\n', {}, "bad:1: the field 'label' is a list or object"),
    "json ids": (
        '{"text": "a", "id": 1}\n\n{"text": "b", "id": 1}\n',
        {},
        "bad:3: the id '1' was already used on line 1",
    ),
    "json letter": ('{"text": "AZ"}\n', {"alphabet": "dna"}, "bad: Row 0 has the unknown letter 'Z' at position 1"),
    "not utf-8": (b'{"text": "a"}\n{"text": "\xff"}\n', {}, "bad:2: the byte 0xff is not UTF-8 text"),
    "no label column": ("a,b\n1,2\n", {"label": "c"}, "bad has no label column 'c'; its columns are a, b"),
    "no label number": ("1,2\n3,4\n", {"label": 2}, "bad has no label column 2; its columns are 0 to 1"),
    "no id column": ("a,b\n1,2\n", {"id": "c"}, "bad has no id column 'c'; its columns are a, b"),
    "ragged": ("a,b\n1,2\n3\n", {"format": "table"}, "bad:3: found 1 cells, but line 1 has 2"),
    "ragged quoted": ('a,b\n1,"2,3"\n3,4,"5"\n', {"format": "table"}, "bad:3: found 3 cells, but line 1 has 2"),
    "open quote": ('a,b\n1,2\n3,"4\n5,6\n', {}, r"bad:3: the quotes of this line cannot be read \(unexpected end"),
    "open quote in a label": ('a,label\n1,x\n3,"y\n5,x\n', {}, "bad:3: the quotes of this line cannot be read"),
    "letters behind a quote": ('a,b\n1,2\n3,"4"5\n', {"format": "table"}, "bad:3: the quotes of this line cannot be"),
    "not a number": ("a,b\n1,2\n\n3,x4\n", {}, "bad:4, column 'b': 'x4' is not a number"),
    "not a number, no names": ("1,2\n3,x\n", {"format": "table"}, "bad:2, column 1: 'x' is not a number"),
    "empty cell": ("a,b\n1,\n", {"format": "table"}, "bad:2, column 'b': the cell is empty"),
    "empty label": ("a,label\n1,2\n1,\n", {"format": "table"}, "bad:3: the label is empty"),
    "same names": ("a,a\n1,2\n", {}, "bad:1: two columns are named 'a'"),
    "names only": ("a,b\n", {"format": "table"}, "bad has a line of names but no rows"),
    "label only": ("label\n1\n", {}, "bad has no columns of features"),
    "table ids": ("id,a\nx,1\nx,2\n", {}, "bad:3: the id 'x' was already used on line 2"),
    "libsvm order": (
        "1 1:2 3\n",
        {"format": "libsvm"},
        "bad:1: expected 'label index:value ...' in numbers, found '1 1:2 3'",
    ),
    "libsvm label": ("1 1:2\na 1:2\n", {"format": "libsvm"}, "bad:2: expected 'label index:value"),
    "libsvm value": ("1 1:2:3\n", {"format": "libsvm"}, "bad:1: expected 'label index:value"),
    "libsvm zero": (
        "1 1:2\n1 0:2\n",
        {"zero_based": False},
        "bad:2: index 0 is used, but the first column has index 1",
    ),
    "libsvm beyond": ("1 1:2\n1 4:2\n", {"n_features": 3}, "bad:2: column 4 is beyond n_features=3"),
    "libsvm twice": ("1 1:2\n1 4:2 4:3\n", {}, "bad:2: an index occurs twice"),
}


@pytest.mark.parametrize("case", TABLE)
def test_bad_content(tmp_path: Path, case: str) -> None:
    content, options, sentence = TABLE[case]
    path = tmp_path / "bad"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=sentence) as caught:
        read(path, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("asked", [True, False])
def test_missing_and_directory(tmp_path: Path, name: str, asked: bool) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere does not exist\.$"):
        read(tmp_path / "nowhere", format=name if asked else None)
    with pytest.raises((IsADirectoryError, ValueError), match=r"is a directory, expected a file\.$|is not a store"):
        read(tmp_path, format=name if asked else None)
    (tmp_path / "empty").touch()
    with pytest.raises(
        ValueError, match=r"empty is empty|ends early|cannot be read as npz|not a file of saved|not a store"
    ):
        read(tmp_path / "empty", format=name if asked else None)


def test_read_fasta_and_sniff_at_the_same_door(tmp_path: Path) -> None:
    for call in (kw.read_fasta, sniff):
        with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
            call(tmp_path / "nowhere")
        with pytest.raises(IsADirectoryError, match="is a directory"):
            call(tmp_path)


ARCHIVES = {
    "views differ": (
        {"a": np.eye(3), "b": np.eye(2)},
        {},
        "Views must have the same number of rows, but 'a' has 3, 'b' has 2",
    ),
    "labels differ": ({"X": np.eye(3), "y": [1, 2]}, {}, "There are 2 labels for 3 rows"),
    "labels only": ({"y": [1, 2]}, {}, "no arrays beside labels and ids; expected X or named views"),
    "asked label": ({"X": np.eye(3)}, {"label": "t"}, "no array 't' of labels; it has X"),
    "flat labels": ({"X": np.eye(3), "y": np.eye(3)}, {}, "the labels have 2 dimensions, expected one value a row"),
    "objects": ({"X": np.array([{}, []], dtype=object)}, {}, "it holds Python objects, which are never loaded"),
}


@pytest.mark.parametrize("case", ARCHIVES)
def test_bad_archives(tmp_path: Path, case: str) -> None:
    arrays, options, sentence = ARCHIVES[case]
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ValueError, match=sentence):
        read(tmp_path / "bad.npz", **options)
    whole = (tmp_path / "bad.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="cannot be read as npz: it is damaged or not an archive"):
        read(tmp_path / "cut.npz")


def test_a_bare_array_is_no_archive(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.eye(2))
    with pytest.raises(ValueError, match="cannot be read as npz"):
        read(tmp_path / "x.npy", format="npz")


WRITES = {
    "no suffix": (TWO, [1, 2], "x", {}, "has no suffix of a format for sequences; known suffixes are .kwseq .kws .fa"),
    "table as fasta": (np.eye(2), [1, 2], "x.fa", {}, "has no suffix of a format for tables; known suffixes are .npz"),
    "wrong format": (np.eye(2), [1, 2], "x", {"format": "fasta"}, "format fasta cannot hold a ndarray"),
    "unknown format": (TWO, [1, 2], "x", {"format": "word"}, "no format 'word'"),
    "fastq": (TWO, None, "x.fq", {}, "format fastq can be read but not written"),
    "no labels": (TWO, None, "x.tsv", {}, "need labels, got none"),
    "labels differ": (TWO, [1], "x.fa", {}, "There are 1 labels for 2 rows"),
    "ids differ": (TWO, None, "x.jsonl", {"ids": ["a"]}, "There are 1 ids for 2 rows"),
    "id of two words": (TWO, None, "x.fa", {"ids": ["a", "b c"]}, "id 'b c' of row 1 cannot stand in a FASTA header"),
    "label of two words": (TWO, ["a b", "c"], "x.fa", {}, "label 'a b' of row 0 cannot stand in a FASTA header"),
    "saved labels": (TWO, [1, 2], "x.kwseq", {}, "hold no labels"),
    "libsvm names": (np.eye(2), ["a", "b"], "x.svm", {}, "need labels that are numbers"),
    "view named y": (Views({"y": np.eye(2)}), None, "x.npz", {}, "view cannot be named 'y'"),
    "flat table": (np.ones(3), None, "x.csv", {}, "A table has two dimensions, this one has 1"),
}


@pytest.mark.parametrize("case", WRITES)
def test_bad_writes(tmp_path: Path, case: str) -> None:
    X, y, name, options, sentence = WRITES[case]
    with pytest.raises(ValueError, match=sentence):
        write(tmp_path / name, X, y, **options)
    assert not list(tmp_path.iterdir())


def test_sequences_in_an_archive(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="The block 'dna' is a Sequences; npz files hold dense tables"):
        write(tmp_path / "x.npz", Views({"dna": TWO}))


def test_unwritable_paths(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for check in (check_writable, lambda path: write(path, TWO, format="fasta")):
        with pytest.raises(FileNotFoundError, match=r"Cannot write .*x\.fa: the directory .* does not exist\.$"):
            check(tmp_path / "nowhere" / "x.fa")
        with pytest.raises(IsADirectoryError, match=r"Cannot write .*: it is a directory, expected the name of a file"):
            check(tmp_path)
        with pytest.raises(NotADirectoryError, match=r"Cannot write .*: .*file is not a directory\.$"):
            check(tmp_path / "file" / "x.fa")


def test_a_folder_that_takes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(PermissionError, match=r"Cannot write .*: no file can be made in .* \(permission denied\)\.$"):
        check_writable(tmp_path / "x.fa")


def test_check_writable_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    check_writable(tmp_path / "old")
    check_writable(tmp_path / "new")
    check_writable("/dev/null")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("old", "old")]


def test_interrupted_writing_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> None:
        with open_aside(tmp_path / "x") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not list(tmp_path.iterdir())
