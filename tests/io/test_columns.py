"""Sequences in columns below names: a name is never a row, and never a class."""

from __future__ import annotations

import numpy as np
import pytest

from kernelweave.io import read, sniff
from kernelweave.io.header import names_sequences

NAMED = {
    "usual names": "label\tsequence\n1\tACGTAC\n-1\tGGCA\n",
    "own names": "outcome\tpromoter\n1\tACGTAC\n-1\tGGCA\n",
    "commas": "outcome,promoter\n1,ACGTAC\n-1,GGCA\n",
    "semicolons": "sequence;label\nACGTAC;1\nGGCA;-1\n",
    "quotes": '"label","sequence"\n"1","ACGTAC"\n"-1","GGCA"\n',
    "no line end": "label\tsequence\n1\tACGTAC\n-1\tGGCA",
    "lines of Windows": "label\tsequence\r\n1\tACGTAC\r\n-1\tGGCA\r\n",
    "further columns": "length,gc,dna,label\n6,0.5,ACGTAC,1\n4,0.75,GGCA,-1\n",
    "a byte-order mark": "\ufefflabel\tsequence\n1\tACGTAC\n-1\tGGCA\n",
}


@pytest.mark.parametrize("name", NAMED)
def test_names_are_no_row(tmp_path, name):
    path = tmp_path / "sites.txt"
    path.write_bytes(NAMED[name].encode())
    data = read(path)
    assert (data.format, data.X.to_strings(), data.y.tolist()) == ("columns", ["ACGTAC", "GGCA"], [1, -1])


def test_names_above_texts_are_no_row(tmp_path):
    path = tmp_path / "calls.tsv"
    rows = ["weather\tis it raining", "music\tplay some song", "music\tplay that song", "weather\tis it sunny"]
    path.write_text("\n".join(["intent\tutterance", *rows]) + "\n")
    assert read(path).y.tolist() == ["weather", "music", "music", "weather"]
    path.write_text("\n".join(rows) + "\n")
    assert (sniff(path), len(read(path).X)) == ("labelled", 4)


@pytest.mark.parametrize(
    "rows",
    [
        [["1", "ACGT"], ["-1", "GGCC"]],
        [["pos", "ACGT"], ["neg", "GGCC"], ["neg", "GGCA"]],
        [["nuclear", "MKVLAAG"], ["golgi", "MSTNPKP"]],
        [["a", "b"], ["1", "2"]],
        [["weather", "is it raining"], ["music", "play some song"], ["music", "play it"]],
    ],
)
def test_rows_are_no_names(rows):
    assert names_sequences(rows) is None


def test_columns_by_name_and_number(tmp_path):
    path = tmp_path / "sites.csv"
    path.write_text("id,first,second,bound,gene\na,ACGT,TTTT,yes,g1\nb,GGCC,CCCC,no,g2\n")
    data = read(path, sequence="second", label="bound", group="gene")
    assert (data.X.to_strings(), data.y.tolist(), data.groups.tolist()) == (
        ["TTTT", "CCCC"],
        ["yes", "no"],
        ["g1", "g2"],
    )
    assert data.ids.tolist() == ["a", "b"]
    path.write_text("ACGT,1\nGGCC,-1\n")
    data = read(path, sequence="0", label="1")
    assert (data.X.to_strings(), data.y.tolist()) == (["ACGT", "GGCC"], [1, -1])


def test_ids_alone_are_no_labels(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("name,sequence\na,ACGT\nb,GGCC\n")
    assert read(path).y is None
    path.write_text("peak,sequence\n" + "".join(f"p{i},ACGT\n" for i in range(5)))
    assert read(path).y is None


def test_groups_of_tables(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,label,patient\n1,yes,p1\n2,no,p2\n")
    data = read(path, group="patient")
    assert (data.X.tolist(), data.groups.tolist()) == ([[1.0], [2.0]], ["p1", "p2"])


MISTAKES = {
    "unknown letter": ("label,sequence\n1,ACGT\n2,ACXT\n", {"alphabet": "dna"}, "x.csv:3: row 1 has the unknown"),
    "no such column": ("label,sequence\n1,ACGT\n2,ACCT\n", {"sequence": "dna"}, "no sequence column 'dna'; its"),
    "no such group": ("label,sequence\n1,ACGT\n2,ACCT\n", {"group": "gene"}, "has no group column 'gene'"),
    "empty label": ("label,sequence\n,ACGT\n2,ACCT\n", {}, r"x\.csv:2: the label is empty"),
    "empty sequence": ("label,sequence\n1,ACGT\n2,\n", {}, r"x\.csv:3: the sequence is empty"),
    "an id twice": ("id,sequence\na,ACGT\na,ACCT\n", {}, r"x\.csv:3: the id 'a' was already used on line 2"),
    "cells": ("label,sequence\n1,ACGT\n2,ACCT,5\n", {"format": "columns"}, r"x\.csv:3"),
    "no sequences": ("a,b\n1,2\n3,4\n", {"format": "columns"}, "no column that is plainly the one of the sequences"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(tmp_path, mistake):
    text, options, message = MISTAKES[mistake]
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read(path, **options)


def test_a_word_among_numbers_is_no_class(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("site\tACGT\n1\tACGT\n-1\tGGCC\n-1\tGGCC\n")
    with pytest.raises(ValueError, match=r"x\.tsv:1: the label 'site' is no number, as all others are"):
        read(path)


def test_two_files_of_one_class_each(tmp_path):
    for name, rows in (("true.fa", ["ACGT", "AC"]), ("decoys.fa", ["GG"])):
        (tmp_path / name).write_text("".join(f">{name}{i}\n{row}\n" for i, row in enumerate(rows)))
    data = read(tmp_path / "true.fa", negative=tmp_path / "decoys.fa")
    assert (data.X.to_strings(), data.y.tolist()) == (["ACGT", "AC", "GG"], [1, 1, -1])
    assert data.ids.tolist() == ["true.fa0", "true.fa1", "decoys.fa0"]
    (tmp_path / "protein.fa").write_text(">p\nMKVLAAGEEF\n")
    with pytest.raises(ValueError, match=r"holds dna letters, but .* holds protein letters"):
        read(tmp_path / "true.fa", negative=tmp_path / "protein.fa")
    np.savetxt(tmp_path / "table.csv", np.eye(3), delimiter=",")
    with pytest.raises(ValueError, match=r"negative= adds sequences to sequences without labels, but .* is a table"):
        read(tmp_path / "table.csv", negative=tmp_path / "decoys.fa")
