"""Line ends, encodings, numbers, headers and compression of text files: read rightly, or refused in one sentence."""

from __future__ import annotations

import gzip
import re
import tracemalloc

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.io import sniff
from kernelweave.io.formats import fasta, jsonl, labelled, libsvm, openfst, plf, slf, table
from kernelweave.io.numbers import LONGEST_NUMBER, almost_number, is_number, read_integer, read_number
from kernelweave.io.source import FREE_EXPANSION

FILES = {
    "a.tsv": b"1\tACGT\n-1\tGGGG\n",
    "a.fa": b">a\nACGT\n>b\nGG\n",
    "a.svm": b"1 1:2\n-1 2:1\n",
    "a.csv": b"1,2\n3,4\n",
    "a.jsonl": b'{"text": "a"}\n{"text": "b"}\n',
    "a.att": b"0 1 a 0.1\n1\n",
    "a.plf": b"((('a',0,1),),)\n((('b',0,1),),)\n",
}


def put(folder, name, data):
    path = folder / name
    path.write_bytes(data)
    return path


def refused(path, match, **options):
    with pytest.raises(ValueError, match=match) as caught:
        kw.read(path, **options)
    text = str(caught.value)
    assert path.name in text
    assert "\n" not in text
    assert not re.search(r"[A-Z]\w+Error", text)


@pytest.mark.parametrize("name", FILES)
def test_both_usual_line_ends_mean_the_same(tmp_path, name):
    plain = kw.read(put(tmp_path, name, FILES[name])).X
    other = kw.read(put(tmp_path, "dos-" + name, FILES[name].replace(b"\n", b"\r\n"))).X
    marked = kw.read(put(tmp_path, "bom-" + name, b"\xef\xbb\xbf" + FILES[name])).X
    for found in (other, marked):
        assert (found != plain).nnz == 0 if hasattr(plain, "nnz") else np.all(found == plain)


@pytest.mark.parametrize("name", FILES)
def test_carriage_returns_alone_are_refused_with_their_line(tmp_path, name):
    refused(put(tmp_path, name, FILES[name].replace(b"\n", b"\r")), r":1: a carriage return stands alone")
    last = FILES[name].count(b"\n")
    refused(put(tmp_path, name, FILES[name][:-1] + b"\r"), rf":{last}: a carriage return stands alone")


def test_a_line_end_may_lie_across_two_pieces(tmp_path, monkeypatch):
    for size in (1, 2, 3, 7):
        monkeypatch.setattr("kernelweave.io.source.READ_AT_ONCE", size)
        assert kw.read(put(tmp_path, "a.csv", b"1,2\r\n3,4\r\n"), format="table").X.tolist() == [[1, 2], [3, 4]]
        refused(put(tmp_path, "b.csv", b"1,2\r\n3,4\r5,6\n"), ":2: a carriage return", format="table")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_other_encodings_are_refused(tmp_path, encoding):
    data = "\ufeff1,2\n3,4\n".encode(encoding)
    refused(put(tmp_path, "a.csv", data), "UTF-16|binary data")


def test_bytes_that_are_no_text_are_refused_with_their_line(tmp_path):
    for name, data in {
        "a.tsv": b"1\tACGT\tb\n-1\tGGGG\tb\xe4r\n",
        "b.tsv": b"1\tACGT\nb\xe4r\tGGGG\n",
        "a.fa": b">one\nAC\n>b\xe4r\nGG\n",
        "a.csv": b"a,b\n1,2\xe4\n",
    }.items():
        refused(put(tmp_path, name, data), r":[23]: the byte 0xe4 is not UTF-8 text")


def test_fastq_is_ascii(tmp_path):
    refused(put(tmp_path, "a.fq", b"@r1 \xe4\nACGT\n+\nIIII\n"), "ASCII|ascii")


def test_numbers():
    for text in ("1", "-1.5", "+.5", "1.", "1e-3", " 7\t", "inf", "-Infinity", "NaN", "0" * LONGEST_NUMBER):
        assert is_number(text)
        assert not almost_number(text)
        assert str(read_number(text)) == str(float(text))
    for text in ("1_0", "\u0663", "9" * (LONGEST_NUMBER + 1)):
        assert almost_number(text)
        assert read_number(text) is None
    for text in ("", "x", "1e", ".", "1 2", "9\x1c", "0x10", "1,5", "--1", "infx"):
        assert not is_number(text)
        assert not almost_number(text)
    assert [read_integer(text) for text in ("12", "-3", "1.0", "", "9" * 19)] == [12, -3, None, None, None]


@pytest.mark.parametrize("cell", ["9\x1c", "\u0663", "1_0", "9" * 500, "0x10"])
def test_a_cell_that_only_some_programs_read_is_no_number(tmp_path, cell):
    refused(put(tmp_path, "a.csv", f"a,b\n1,2\n3,{cell}\n".encode()), r":3, column 'b': .* is not a number")
    refused(put(tmp_path, "b.csv", f"1,{cell}\n3,4\n".encode()), ":1", **({"header": False} if "x" in cell else {}))
    labels = kw.read(put(tmp_path, "c.csv", f"a,label\n1,2\n3,{cell}\n".encode())).y
    assert labels.dtype.kind == "U"
    refused(put(tmp_path, "a.svm", f"1 1:2\n1 2:{cell}\n".encode()), ":2: ", format="libsvm")


def test_long_labels_are_names_where_numbers_would_be_equal(tmp_path):
    one, other = "9007199254740993000", "9007199254740993001"
    y = kw.read(put(tmp_path, "a.tsv", f"{one}\tACGT\n{other}\tGGGG\n".encode())).y
    assert y.tolist() == [one, other]
    text = f'{{"text": "a", "label": 1{"0" * 30}}}\n{{"text": "b", "label": 2}}\n'
    assert kw.read(put(tmp_path, "a.jsonl", text.encode())).y.dtype.kind == "U"


def test_libsvm_queries_and_indices(tmp_path):
    assert kw.read(put(tmp_path, "a.svm", b"1 qid:3 1:2\n-1 qid:3\n")).y.tolist() == [1, -1]
    refused(put(tmp_path, "b.svm", b"1 qid:3e5 1:2\n-1 2:1\n"), ":1: expected 'label index:value")
    refused(put(tmp_path, "c.svm", b"1 1:1\n1 9007199254740993:1\n"), ":2: an index is beyond 9007199254740992")


@pytest.mark.parametrize("digits", [20_000, 200_000])
def test_a_long_number_takes_little_memory(tmp_path, digits):
    row = b"1 1:2 2:3\n" * 2000
    path = put(tmp_path, "a.svm", row + b"1 1:0." + b"3" * digits + b"\n" + row)
    kw.read(put(tmp_path, "c.svm", row))  # loops that are compiled here take memory, too
    tracemalloc.start()
    refused(path, f":2001: a number of {digits + 2} letters", format="libsvm")
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()
    X = kw.read(put(tmp_path, "b.svm", row + b"1 1:0." + b"3" * 300 + b"\n")).X
    assert X[-1, 0] == 1 / 3


@pytest.mark.parametrize("first", ["label\tsequence", "site\tseq", "class\tx", "Label\tText"])
def test_a_line_of_names_is_no_row(tmp_path, first):
    data = kw.read(put(tmp_path, "a.tsv", f"{first}\n1\tACGT\n-1\tGGGG\n".encode()))
    assert (data.X.to_strings(), data.y.tolist()) == (["ACGT", "GGGG"], [1, -1])
    refused(put(tmp_path, "b.tsv", b"kind\tACGT\n1\tACGT\n-1\tGGGG\n"), ":1: the label .* is no number")


@pytest.mark.parametrize(
    "rows", ["y\tACGT\nn\tGGG\ny\tAA", "target\tACGT\ndecoy\tGGGG\ntarget\tCCAA", "yes\ttext me\nno\tb"]
)
def test_classes_with_the_names_of_columns_are_classes(tmp_path, rows):
    assert len(kw.read(put(tmp_path, "a.tsv", rows.encode() + b"\n")).y) == rows.count("\n") + 1


def test_deep_json_and_long_json_numbers_are_one_sentence(tmp_path):
    deep = b'{"text": "a"}\n{"text": "a", "x": ' + b"[" * 100_000
    refused(put(tmp_path, "a.jsonl", deep), ":2: .*nested too deeply")
    refused(put(tmp_path, "b.jsonl", b'{"text": "a", "x": ' + b"9" * 5000 + b"}"), ":1: a number .* is too long")


def test_half_of_a_letter_is_no_text(tmp_path):
    for entry in ('"text": "\\ud800"', '"text": "a", "id": "\\udc00"', '"text": "a", "label": "\\ud800x"'):
        refused(
            put(
                tmp_path,
                "a.jsonl",
                f'{{"text": "a", "id": "1", "label": 1}}\n{{"id": 1, "label": 1, {entry}}}'.encode(),
            ),
            ":2: ",
        )


def test_a_column_far_out_takes_no_memory(tmp_path):
    X = kw.read(put(tmp_path, "a.svm", b"1 4294967297:2 1:1\n-1 4294967296:1\n")).X
    for kernel, expected in ((kw.Linear(), [[5, 0], [0, 1]]), (kw.RBF(width=1e9), np.ones((2, 2)))):
        np.testing.assert_allclose(kernel.gram(X), expected, atol=1e-7)
        np.testing.assert_allclose(kernel.gram(X, X[:1]), np.asarray(expected)[:, :1], atol=1e-7)


def test_a_table_with_a_huge_quoted_cell_is_refused(tmp_path):
    refused(put(tmp_path, "a.csv", b'a,b\n1,"' + b"3" * 200_000 + b'"\n'), ":2", format="table")


def test_what_unpacks_to_far_more_than_its_size_is_refused(tmp_path):
    blank = b" \n" * FREE_EXPANSION
    for name, format in (("a.jsonl.gz", "jsonl"), ("a.csv.gz", "table"), ("a.fa.gz", "fasta"), ("a.svm.gz", "libsvm")):
        path = put(tmp_path, name, gzip.compress(blank, 9, mtime=0))
        refused(path, "unpacks to more than 250 times its size", format=format)
    assert len(kw.read(put(tmp_path, "b.fa.gz", gzip.compress(b">a\n" + b"A" * (FREE_EXPANSION // 2)))).X) == 1


BLANKS = {
    "blanks": b" ", "tabs": b"\t", "lines": b"\n", "blank lines": b"\n ", "brackets": b"(",
    "brackets and blanks": b"( ", "digits": b"1", "pairs": b"1:1 ", "labels": b"1\t", "quotes": b'"', "words": b"a ",
    "arcs": b"0 1 a 1 ", "braces": b"{", "commas": b",", "blanks and a bracket": b" " * 63 + b"(",
    "numbers": b"1 ", "signs": b"@\n", "assignments": b"N=1 ",
}  # fmt: skip


@pytest.mark.parametrize("piece", BLANKS.values(), ids=BLANKS)
def test_every_format_tells_its_files_in_linear_time(piece):
    """A sniffer that took quadratic time would need minutes here, and the run would be given up."""
    start = (piece * (1 << 16))[: 1 << 16]
    for format in (fasta, jsonl, labelled, libsvm, openfst, plf, slf, table):
        for name in ("sniff", "sniff_fastq"):
            if hasattr(format, name):
                assert getattr(format, name)(start) in (True, False)


def test_sniffing_reads_a_bounded_prefix(tmp_path):
    path = put(tmp_path, "a", b"1,2\n" * (1 << 20))
    tracemalloc.start()
    assert sniff(path) == "table"
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()
