"""From peaks to rows: letters, widths, strands, and what becomes of peaks at the ends."""

from __future__ import annotations

import gzip
import warnings

import numpy as np
import pytest

from kernelweave.io import read, sniff
from kernelweave.io.genome.intervals import Interval, read_intervals, write_intervals

RNG = np.random.default_rng(4)
CHROMOSOMES = {name: "".join(RNG.choice(list("ACGTacgt"), 500)) for name in ("chr1", "chr2")}
PARTNERS = str.maketrans("ACGT", "TGCA")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("peaks")
    text = "".join(f">{name}\n" + "\n".join(s[i : i + 50] for i in range(0, 500, 50)) + "\n"
                   for name, s in CHROMOSOMES.items())  # fmt: skip
    (made / "genome.fa").write_text(text)
    (made / "genome.fa.gz").write_bytes(gzip.compress(text.encode()))
    return made


def slow_row(seqid: str, start: int, end: int, strand: str) -> str:
    text = CHROMOSOMES[seqid][start:end].upper()
    return text[::-1].translate(PARTNERS) if strand == "-" else text


@pytest.mark.parametrize("genome", ["genome.fa", "genome.fa.gz"])
def test_letters_are_those_of_the_genome(folder, genome):
    places = [("chr2", 10, 60, "+"), ("chr1", 45, 105, "-"), ("chr2", 0, 500, "-"), ("chr1", 499, 500, ".")]
    (folder / "a.bed").write_text("".join(f"{c}\t{a}\t{b}\tx\t0\t{s}\n" for c, a, b, s in places))
    data = read(folder / "a.bed", genome=folder / genome)
    assert data.X.to_strings() == [slow_row(*place) for place in places]
    assert data.ids.tolist() == ["chr2:10-60", "chr1:45-105(-)", "chr2:0-500(-)", "chr1:499-500"]
    assert data.groups.tolist() == ["chr2", "chr1", "chr2", "chr1"]


def test_widths_around_middles_and_summits(folder):
    narrow = "chr1\t100\t200\tp\t0\t.\t1\t1\t1\t30\nchr1\t100\t200\tq\t0\t.\t1\t1\t1\t-1\n"
    (folder / "a.narrowPeak").write_text("track name=peaks\n# comment\n" + narrow)
    assert sniff(folder / "a.narrowPeak") == "bed"
    data = read(folder / "a.narrowPeak", genome=folder / "genome.fa", width=20)
    assert data.ids.tolist() == ["chr1:120-140", "chr1:140-160"]
    assert data.X.to_strings() == [slow_row("chr1", 120, 140, "+"), slow_row("chr1", 140, 160, "+")]


def test_what_reaches_beyond_the_ends_is_left_out_with_a_warning(folder):
    (folder / "ends.bed").write_text("chr1\t0\t10\nchr1\t100\t110\nchr1\t490\t500\n")
    with pytest.warns(UserWarning, match=r"2 intervals reach beyond .* first that of .*ends\.bed:1, chr1:-45-55"):
        data = read(folder / "ends.bed", genome=folder / "genome.fa", width=100)
    assert data.ids.tolist() == ["chr1:55-155"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(folder / "ends.bed", genome=folder / "genome.fa")


def test_written_intervals_read_back(folder):
    listed = [Interval("chr1", 3, 9, "-", "a"), Interval("chr2", 0, 5)]
    write_intervals(folder / "w.bed", listed)
    back = read_intervals(folder / "w.bed")
    assert [(one.region, one.name) for one in back] == [("chr1:3-9(-)", "a"), ("chr2:0-5", "")]


def test_both_classes_from_intervals(folder):
    (folder / "p.bed").write_text("chr1\t0\t40\n")
    (folder / "n.bed").write_text("chr2\t0\t40\nchr2\t50\t90\n")
    data = read(folder / "p.bed", negative=folder / "n.bed", genome=folder / "genome.fa", width=10)
    assert (data.X.shape, data.y.tolist(), data.groups.tolist()) == ((3, 10), [1, -1, -1], ["chr1", "chr2", "chr2"])


MISTAKES = {
    "no genome": ("chr1\t1\t5\n", {"genome": None}, r"no letters; name the FASTA file .* genome='genome.fa'"),
    "backwards": ("chr1\t9\t5\n", {}, r"x\.bed:1: the interval ends at 5, which is not behind its start, 9"),
    "no number": ("chr1\t1\t5\nchr1\tx\t5\n", {}, r"x\.bed:2: the start 'x' is not a whole number"),
    "two columns": ("chr1\t1\n", {}, r"x\.bed:1: expected sequence, start and end, found 2 columns"),
    "strand": ("chr1\t1\t5\ta\t0\tup\n", {}, r"x\.bed:1: the strand 'up' is none of"),
    "summit": ("chr1\t1\t5\ta\t0\t.\t1\t1\t1\tx\n", {}, r"x\.bed:1: the summit 'x'"),
    "name": ("1\t1\t5\n", {}, r"has no sequence '1'; it has 'chr1': one of the two files puts 'chr' before"),
    "outside": ("chr1\t900\t905\n", {}, r"No interval of .* all reach beyond the ends"),
    "twice": ("chr1\t1\t5\nchr1\t1\t5\n", {}, r"x\.bed:2: the id 'chr1:1-5' was already used on line 1"),
    "width": ("chr1\t1\t5\n", {"width": 0}, r"width=0 is not a number of letters"),
    "letters": ("chr1\t1\t5\n", {"alphabet": "rna"}, r"x\.bed:1: row 0 \(chr1:1-5\) has the unknown letter 'T'"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(folder, mistake):
    text, options, message = MISTAKES[mistake]
    if mistake == "letters":
        (folder / "t.fa").write_text(">chr1\nATTTTTTT\n")
        options = {**options, "genome": folder / "t.fa"}
    (folder / "x.bed").write_text(text)
    with pytest.raises(ValueError, match=message):
        read(folder / "x.bed", **{"genome": folder / "genome.fa", **options})
