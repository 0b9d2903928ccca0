"""Intervals of genomes: every letter as a reading of the whole file gives it."""

from __future__ import annotations

import bz2
import gzip
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.io.genome import Genome

PACKED = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress}


def slow_sequences(text: str) -> dict[str, str]:
    """Twin: sequences by name, line by line."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith(">"):
            name = line[1:].split()[0]
            found[name] = ""
        else:
            found[name] += "".join(line.split())
    return found


@st.composite
def fasta(draw) -> str:
    ends = draw(st.sampled_from(["\n", "\r\n"]))
    lines = []
    for number in range(draw(st.integers(1, 4))):
        lines.append(f">s{number}" + draw(st.sampled_from(["", " a title", "\tx"])))
        letters = draw(st.text("ACGTNacgtn", max_size=40))
        width = draw(st.integers(1, 12))
        lines += [letters[start : start + width] for start in range(0, len(letters), width)]
        lines += draw(st.lists(st.sampled_from(["", "ACG", "A C G", "ACGTACGTACGTACG"]), max_size=2))
    return ends.join(lines) + draw(st.sampled_from(["", ends, ends * 2]))


@settings(deadline=None)
@given(fasta(), st.sampled_from(list(PACKED)), st.randoms(use_true_random=False))
def test_every_interval_is_that_of_the_whole_file(tmp_path_factory, text, packed, chance) -> None:
    path = tmp_path_factory.mktemp("genome") / "g.fa"
    path.write_bytes(PACKED[packed](text.encode()))
    expected, genome = slow_sequences(text), Genome(path)
    assert dict(genome.lengths) == {name: len(letters) for name, letters in expected.items()}
    places = []
    for name, letters in expected.items():
        start = chance.randint(0, len(letters))
        places.append(SimpleNamespace(seqid=name, start=start, end=chance.randint(start, len(letters))))
    chance.shuffle(places)
    wanted = [expected[place.seqid][place.start : place.end] for place in places]
    assert genome.fetch_many(places) == wanted
    assert [genome.fetch(place.seqid, place.start, place.end) for place in places] == wanted


def test_zstd_is_read(tmp_path: Path) -> None:
    zstd = pytest.importorskip("backports.zstd")
    path = tmp_path / "g.fa.zst"
    path.write_bytes(zstd.compress(b">a\nACGT\nAC\n"))
    assert Genome(path).fetch("a", 3, 6) == "TAC"


def test_lines_beyond_one_reading_of_line_ends(tmp_path: Path, monkeypatch) -> None:
    letters = "".join(np.random.default_rng(0).choice(list("ACGT"), 5000))
    path = tmp_path / "g.fa"
    path.write_text(">a\n" + "\n".join(letters[i : i + 60] for i in range(0, 5000, 60)) + "\n")
    monkeypatch.setattr(import_module("kernelweave.io.genome.index"), "LINES_READ", 97)
    assert Genome(path).fetch("a", 0, 5000) == letters


MISTAKES = {
    "no such sequence": (">chr1\nACGT\n", ("1", 0, 2), "has no sequence '1'; it has 'chr1': one of the two files puts"),
    "another name": (">a\nAC\n>b\nAC\n", ("c", 0, 2), "has no sequence 'c'; it has a, b."),
    "behind the end": (">a\nACGT\n", ("a", 2, 5), "a:2-5 is not inside of .*, where a has 4 letters"),
    "before the beginning": (">a\nACGT\n", ("a", -1, 2), "a:-1-2 is not inside of"),
    "backwards": (">a\nACGT\n", ("a", 3, 2), "a:3-2 is not inside of"),
    "twice": (">a\nAC\n>a\nGT\n", ("a", 0, 1), "has two sequences 'a'"),
    "no header": ("ACGT\n", ("a", 0, 1), "g.fa:1: expected a header that begins with '>'"),
    "no id": (">a\nAC\n> \nAC\n", ("a", 0, 1), "g.fa:3: the header has no id"),
    "empty": ("", ("a", 0, 1), "g.fa is empty"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("packed", ["plain", "gzip"])
def test_mistakes(tmp_path: Path, mistake: str, packed: str) -> None:
    text, place, message = MISTAKES[mistake]
    path = tmp_path / "g.fa"
    path.write_bytes(PACKED[packed](text.encode()))
    with pytest.raises(ValueError, match=message):
        Genome(path).fetch(*place)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no\.fa does not exist"):
        Genome(tmp_path / "no.fa")
