from __future__ import annotations

import gzip
import io
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

import kernelweave as kw
from kernelweave.data import KINDS, Alphabet, Sequences, Views
from kernelweave.io import FORMATS, collect, read, register, sniff, source, write
from kernelweave.io.formats import fasta, labelled

rows = st.lists(st.text("ACGT", max_size=200), min_size=1, max_size=8).filter(any)
numbers = st.floats(allow_nan=False, allow_infinity=False)
tables = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=numbers)
SUFFIX = {"fasta": "fa", "labelled": "tsv", "jsonl": "jsonl", "table": "csv", "npz": "npz", "libsvm": "svm"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("io")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["fasta", "labelled", "jsonl"])
@given(rows=rows, data=st.data())
def test_sequences_written_and_read(
    folder: Path, name: str, packed: bool, rows: list[str], data: st.DataObject
) -> None:
    n = len(rows)
    ids = data.draw(st.lists(st.from_regex(r"[!-~]{1,9}", fullmatch=True), min_size=n, max_size=n, unique=True))
    y = np.array(data.draw(st.lists(st.sampled_from([-1, 1, 7]), min_size=n, max_size=n)))
    path = folder / f"x.{SUFFIX[name]}{'.gz' if packed else ''}"
    X = Sequences.from_strings(rows, ids=ids)
    write(path, X, y)
    assert path.read_bytes().startswith(b"\x1f\x8b") == packed
    back = read(path, format=name, alphabet="dna")
    assert back.X == X
    np.testing.assert_array_equal(back.y, y)
    assert back.ids.tolist() == ids
    assert sniff(path) == name


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "npz", "svm", "svm.gz"])
@given(X=tables, data=st.data())
def test_tables_written_and_read(folder: Path, suffix: str, X: np.ndarray, data: st.DataObject) -> None:
    y = data.draw(
        hnp.arrays(np.float64, len(X), elements=numbers) | hnp.arrays(np.int64, len(X)).map(lambda v: v // 4096)
    )
    path = folder / f"t.{suffix}"
    write(path, X, y)
    options = {"n_features": X.shape[1]} if "svm" in suffix else {}
    back = read(path, format={"svm": "libsvm", "npz": "npz"}.get(suffix[:3], "table"), **options)
    np.testing.assert_array_equal(back.X.toarray() if "svm" in suffix else back.X, X)
    np.testing.assert_array_equal(back.y, y)


def test_views_written_and_read(tmp_path: Path) -> None:
    X = Views({"a": np.eye(3), "b": np.arange(3.0)})
    write(tmp_path / "v.npz", X, ["x", "y", "x"], ids=["p", "q", "r"])
    back = read(tmp_path / "v.npz")
    assert back.X == X
    assert back.y.tolist() == ["x", "y", "x"]
    assert back.ids.tolist() == ["p", "q", "r"]


def test_saved_sequences_are_told(tmp_path: Path) -> None:
    X = Sequences.from_strings(["ACG", "T"], ids=["a", "b"])
    write(tmp_path / "s.kwseq", X)
    back = read(tmp_path / "s.kwseq")
    assert back.format == "sequences"
    assert back.X == X


def test_scipy_sparse_archive(tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_matrix(np.eye(3)))
    np.testing.assert_array_equal(read(tmp_path / "s.npz").X.toarray(), np.eye(3))


FASTA = ">one the first\r\nACGT\r\nAC GT\r\n\r\n>two\nA\nC\nG\n>three\n>four\nTTTT"


@pytest.mark.parametrize("block", [1, 2, 3, 5, 7, 11, 64, 1 << 20])
def test_fasta_does_not_depend_on_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(source, "READ_AT_ONCE", block)
    path = tmp_path / "x"
    path.write_text(FASTA)
    X = kw.read_fasta(path)
    assert X.to_strings() == ["ACGTACGT", "ACG", "", "TTTT"]
    assert X.ids.tolist() == ["one", "two", "three", "four"]
    path.write_text(FASTA + "N")
    with pytest.raises(ValueError, match=r"x:10: row 3 \(four\) has the unknown letter 'N' at position 4"):
        kw.read_fasta(path)
    path.write_text(FASTA + "\n>two")
    with pytest.raises(ValueError, match="x:12: the id 'two' was already used on line 5"):
        kw.read_fasta(path)
    assert len(kw.read_fasta(path, duplicates="allow")) == 5


@pytest.mark.parametrize("block", [3, 8, 1 << 20])
def test_labelled_does_not_depend_on_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(source, "READ_AT_ONCE", block)
    path = tmp_path / "x"
    path.write_text(f"a\tACGT\n\nbb\tGG\r\n{'c' * 100}\t\na\tT")
    data = labelled.read(path, alphabet="dna")
    assert data.X.to_strings() == ["ACGT", "GG", "", "T"]
    assert data.y.tolist() == ["a", "bb", "c" * 100, "a"]
    assert data.ids is None


FASTQ = "@r1 first label=2\nACGT\n+\nIIII\n@r2 label=5\nGGN\n+r2 label=5\nIII\n"


@pytest.mark.parametrize("packed", [False, True])
def test_fastq(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "reads"
    path.write_bytes(gzip.compress(FASTQ.encode()) if packed else FASTQ.encode())
    assert sniff(path) == "fastq"
    data = read(path, alphabet="dna", unknown="mask")
    assert data.X.to_strings() == ["ACGT", "GGN"]
    assert data.y.tolist() == [2, 5]
    with pytest.raises(ValueError, match=r"reads:5: row 1 \(r2\) has the unknown letter 'N' at position 2"):
        kw.read_fasta(path)


def test_fasta_labels_may_have_another_key(tmp_path: Path) -> None:
    path = tmp_path / "x.fa"
    path.write_text(">a kind=yes\nAC\n>b kind=no\nGT\n")
    assert read(path).y is None
    assert read(path, label="kind").y.tolist() == ["yes", "no"]


def test_fasta_streams(tmp_path: Path) -> None:
    path = tmp_path / "long.fa"
    letters = 24_000_000
    line = ("ACGT" * 20 + "\n") * 1000
    with open(path, "w") as file:
        for i in range(letters // (4 * 80_000)):
            file.write(f">r{i}\n" + line * 4)
    kw.read_fasta(path, alphabet="auto")[0]  # imports and compiled loops are not counted
    tracemalloc.start()
    X = kw.read_fasta(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert X.codes.size == letters
    assert peak < 1.3 * letters + 5 * source.READ_AT_ONCE


def test_growing_buffer_keeps_everything() -> None:
    store, pieces = collect.Growing(), [np.full(k * 100_000, k, np.uint8) for k in range(1, 12)]
    for piece in pieces:
        store.append(piece)
    np.testing.assert_array_equal(store.finish(), np.concatenate(pieces))


CONTENT = {
    "fasta": ">a\nACGT\n",
    "fastq": FASTQ,
    "jsonl": '{"text": "x"}\n',
    "libsvm": "# made by hand\n+1 1:0.5 7:1e-3\n-1 2:3 # note\n",
    "labelled": "1\tACGT\ta\n-1\tTTTT\tb\n",
    "columns": "name,outcome,promoter\na,1,ACGT\nb,-1,TTTT\n",
    "bed": "chr1\t0\t4\nchr1\t2\t8\tsecond\n",
    "table": "a,b,label\n1,2,3\n",
    "plf": "-1\t((('yes', 0, 1),),)\tu1\n",
    "slf": "VERSION=1.0\nN=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W=yes a=-1 l=-1\n",
    "kaldi": "u1\n0 1 yes 0.5,1.5,\n1\n",
    "openfst": "u1\n0 1 yes 0.5\n1\n",
}


@pytest.mark.parametrize("name", CONTENT)
def test_content_tells_the_format(tmp_path: Path, name: str) -> None:
    (tmp_path / "genome").write_text(">chr1\nACGTACGT\n")
    options = {"fastq": {"unknown": "mask"}, "bed": {"genome": tmp_path / "genome"}}.get(name, {})
    for path, content in (
        (tmp_path / "bare", CONTENT[name].encode()),
        (tmp_path / "bom", b"\xef\xbb\xbf" + CONTENT[name].encode()),
    ):
        path.write_bytes(content)
        assert sniff(path) == name
        assert read(path, **options).format == name
    packed = tmp_path / "misleading.csv"
    packed.write_bytes(gzip.compress(CONTENT[name].encode()))
    assert sniff(packed) == name


def test_formats_enter_once_and_are_looked_for_from_narrow_to_broad() -> None:
    breadths = [known.breadth for known in FORMATS.values()]
    assert breadths == sorted(breadths)
    assert [name for name, known in FORMATS.items() if name != known.name] == []
    with pytest.raises(ValueError, match="There already is a format 'table'"):
        register(FORMATS["table"])


def test_every_row_kind_of_a_format_exists_and_can_be_written() -> None:
    assert {kind for known in FORMATS.values() for kind in known.holds} <= set(KINDS)
    written = {kind for known in FORMATS.values() if known.write for kind in known.holds}
    assert written == set(KINDS) - {"matrix"}  # which is written as a table


def test_many_blanks_are_no_format(tmp_path: Path) -> None:
    (tmp_path / "blank").write_text(" " * (1 << 16))
    with pytest.raises(ValueError, match="text of an unknown format"):
        sniff(tmp_path / "blank")


def test_every_format_is_sniffed() -> None:
    assert set(CONTENT) | {"fst", "npz", "parquet", "sequences", "lattices", "store"} == set(FORMATS)


def test_the_arcs_of_a_long_lattice_are_no_table(tmp_path: Path) -> None:
    arcs = "".join(f"{i}\t{i + 1}\t7\t0.5\n" for i in range(30))
    (tmp_path / "long.fst.txt").write_text(arcs + "30\n")
    (tmp_path / "long.txt").write_text(arcs)
    assert [sniff(tmp_path / name) for name in ("long.fst.txt", "long.txt")] == ["openfst", "table"]
    assert read(tmp_path / "long.fst.txt").X[0] == " ".join("7" * 30)


def test_suffix_tells_when_content_does_not(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("a,b\nx,y\n")
    assert sniff(path) == "table"


@pytest.mark.parametrize(
    ("text", "options", "X", "y", "names"),
    [
        ("1,2,a\n3,4,b\n", {"label": 2}, [[1, 2], [3, 4]], ["a", "b"], None),
        ("1,2,a\n3,4,b\n", {"label": -1}, [[1, 2], [3, 4]], ["a", "b"], None),
        ("1,2\n3,4\n", {}, [[1, 2], [3, 4]], None, None),
        ("1,2\n3,4\n", {"label": "0"}, [[2], [4]], [1, 3], None),
        ("x;y\n1;2\n", {}, [[1]], [2], ("x",)),
        ("u\tv\n1\tnan\n", {"label": None}, [[1, np.nan]], None, ("u", "v")),
        ('"a ""b""","c,d"\n"1",2\n', {}, [[1, 2]], None, ('a "b"', "c,d")),
        ("id,Target,z\nr1,yes,1.5\n\nr2,no,-2e3\n", {}, [[1.5], [-2000]], ["yes", "no"], ("z",)),
        ("1\n2\n", {}, [[1], [2]], None, None),
        ("1,2\n3,4\n", {"header": True}, [[3, 4]], None, ("1", "2")),
        ("a,b\n1,2\n", {"label": "a"}, [[2]], [1], ("b",)),
        ("1|2\n3|4\n", {"delimiter": "|"}, [[1, 2], [3, 4]], None, None),
    ],
)
def test_tables(tmp_path: Path, text: str, options: dict, X: list, y: list | None, names: tuple | None) -> None:
    (tmp_path / "t").write_text(text)
    data = read(tmp_path / "t", format="table", **options)
    np.testing.assert_array_equal(data.X, X)
    assert (None if data.y is None else data.y.tolist()) == y
    assert data.feature_names == names


def test_table_ids_and_names_survive(tmp_path: Path) -> None:
    write(tmp_path / "t.tsv", np.eye(2), ["x y", "z"], ids=["p", "q"], feature_names=["one", "two"])
    data = read(tmp_path / "t.tsv")
    assert data.ids.tolist() == ["p", "q"]
    assert data.y.tolist() == ["x y", "z"]
    assert data.feature_names == ("one", "two")


@pytest.mark.parametrize(
    ("text", "options", "X", "y"),
    [
        ("1 1:2 3:4\n-1\n", {}, [[2, 0, 4], [0, 0, 0]], [1, -1]),
        ("0.5 0:2 1:4\n", {}, [[2, 4]], [0.5]),
        ("1 1:2\n", {"zero_based": True}, [[0, 2]], [1]),
        ("2 qid:3 2:1 1:5 # odd order\n\n", {"n_features": 3}, [[5, 1, 0]], [2]),
    ],
)
def test_libsvm(tmp_path: Path, text: str, options: dict, X: list, y: list) -> None:
    (tmp_path / "t").write_text(text)
    data = read(tmp_path / "t", format="libsvm", **options)
    np.testing.assert_array_equal(data.X.toarray(), X)
    assert data.y.tolist() == y


def test_jsonl_fields_by_name(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text('{"title": "A", "body": "b c", "k": 1.5, "id": 3}\n{"title": "D", "k": 2, "id": 4}\n')
    data = read(path, text=["title", "body"], label="k", alphabet="words")
    assert data.X.to_strings() == ["A b c", "D"]
    assert data.y.tolist() == [1.5, 2.0]
    assert data.ids.tolist() == ["3", "4"]
    assert read(path, text="title", label=None).y is None


def test_words_and_own_alphabets(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("x\tto be or\ny\tnot to\n")
    assert read(path, alphabet="words").X.alphabet.letters == ("be", "not", "or", "to")
    path.write_text("x\tαβ\n", encoding="utf-8")
    assert read(path, alphabet=Alphabet("greek", "αβ")).X.codes.tolist() == [0, 1]
    assert read(path).X.alphabet.name == "bytes"


def test_failed_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("old")
    with pytest.raises(ValueError, match="Row 1 cannot be written"):
        write(path, Sequences.from_strings(["A", "C"]), ["fine", "with\ttab"])
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.tsv"]


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "real.fa").write_text("old")
    (tmp_path / "link.fa").symlink_to(tmp_path / "real.fa")
    write(tmp_path / "link.fa", Sequences.from_strings(["ACGT"]))
    assert (tmp_path / "link.fa").is_symlink()
    assert (tmp_path / "real.fa").read_text() == ">row0\nACGT\n"


def test_shared_files(shared_data: Path) -> None:
    data = read(shared_data / "splice" / "athaliana_acceptor_decoy_100.tsv.gz")
    assert data.X.shape == (174_155, 100)
    assert (data.y == 1).sum() == 62_381
    assert {row[58:60] for row in data.X[:1000]} == {"AG"}
    assert read(shared_data / "uci" / "ionosphere.csv.gz").X.shape == (351, 33)
    assert read(shared_data / "multiview" / "mfeat_digits_6views.npz").X.shape == (2000, 6)
    news = read(shared_data / "text" / "20ng_autos_motorcycles.jsonl.gz", duplicates="allow")
    assert np.unique(news.y).tolist() == ["rec.autos", "rec.motorcycles"]
    protein = read(shared_data / "protein" / "multiloc_localisation.tsv.gz", unknown="mask")
    assert protein.X.alphabet.name == "protein"
    assert len(np.unique(protein.y)) == 11


def test_labelled_agrees_with_a_plain_parser(shared_data: Path) -> None:
    path = shared_data / "dna" / "rbp_pum2.tsv.gz"
    with io.TextIOWrapper(gzip.open(path)) as file:
        plain = [line.rstrip("\n").split("\t") for line in file]
    data = read(path, unknown="mask")
    assert data.X.to_strings() == [row[1] for row in plain]
    assert data.y.tolist() == [int(row[0]) for row in plain]
    assert data.ids.tolist() == [row[2] for row in plain]


def test_fasta_wraps_long_rows(tmp_path: Path) -> None:
    fasta.write(tmp_path / "x.fa", Sequences.from_strings(["A" * 170]))
    assert [len(line) for line in (tmp_path / "x.fa").read_text().splitlines()] == [5, 80, 80, 10]


@pytest.mark.parametrize("packed", ["bz2", "backports.zstd"])
def test_other_ways_to_compress_are_read_but_not_written(tmp_path, packed):
    suffix = {"bz2": "bz2", "backports.zstd": "zst"}[packed]
    path = tmp_path / f"sites.fa.{suffix}"
    path.write_bytes(pytest.importorskip(packed).compress(b">a label=1\nACGT\n>b label=-1\nGG\n"))
    data = read(path)
    assert (data.format, data.X.to_strings(), data.y.tolist()) == ("fasta", ["ACGT", "GG"], [1, -1])
    with pytest.raises(
        ValueError, match=r"cannot be written: files of (bzip2|zstd) are read only; end the name in .gz"
    ):
        write(path, data.X, data.y)
