"""Errors that name parameters: spelled for Python by default, for others on demand, whatever they are wrapped in."""

from __future__ import annotations

import pickle

import pytest

import kernelweave as kw
from kernelweave.data.errors import Message, Metavar, ParameterError, preceded
from kernelweave.io import read


def dashed(name, value):
    return f"--{name} {value}"


def test_both_spellings():
    error = ParameterError("{path}: {unknown} is not valid.", {"unknown": "drop"}, path="{x}.fa")
    assert isinstance(error, ValueError)
    assert str(error) == "{x}.fa: unknown='drop' is not valid."
    assert error.spelled(dashed) == "{x}.fa: --unknown drop is not valid."


def test_a_value_for_the_reader_to_choose_is_not_quoted():
    error = ParameterError("give {window} or {format}", {"window": Metavar("N"), "format": Metavar()})
    assert str(error) == "give window=N or format="


def test_messages_within_messages():
    inner = Message("{unknown} keeps {it}", {"unknown": "mask"}, it="{it}")
    outer = preceded(ParameterError("row 3; {inner}.", inner=inner), "x.jsonl")
    assert str(outer) == "x.jsonl: row 3; unknown='mask' keeps {it}."
    assert outer.spelled(dashed) == "x.jsonl: row 3; --unknown mask keeps {it}."


@pytest.mark.parametrize("kind", [ValueError, TypeError])
def test_other_errors_keep_their_kind_when_a_place_is_added(kind):
    found = preceded(kind("it is {odd}"), "In x")
    assert type(found) is kind
    assert str(found) == "In x: it is {odd}"


def test_pickles_keep_the_parameters():
    with pytest.raises(ParameterError) as caught:
        kw.Sequences.from_strings(["ACGN"])
    copied = pickle.loads(pickle.dumps(caught.value))
    assert str(copied) == str(caught.value)
    assert copied.spelled(dashed) == caught.value.spelled(dashed)
    assert "--unknown mask keeps such letters" in copied.spelled(dashed)


FILES = {
    "a.fa": (">a\nACGN\n", {"alphabet": "dna"}, "--unknown mask keeps such letters"),
    "b.fa": (">a\nACG\n>a\nACG\n", {}, "--duplicates allow keeps both"),
    "c.jsonl": ('{"text": "ACGN"}\n', {"alphabet": "dna"}, "--unknown mask keeps such letters"),
    "d.fst.txt": ("k\n0 1 a 0\n1\n\nk\n0 1 a 0\n1\n\n", {}, "--duplicates allow keeps both"),
    "e.fst.txt": ("k\n0 1 a -1e4\n1\n\n", {}, "--normalize True turns such scores"),
    "f.fst.txt": ("k\n0 1 a 0\n1\n\n", {"alphabet": kw.Alphabet.words(["b"])}, "--unknown mask keeps such letters"),
    "g": ("\x01\x00\x02", {}, "(name one by --format )"),
}


@pytest.mark.parametrize("name", FILES)
def test_readers_name_their_parameters(tmp_path, name):
    text, options, expected = FILES[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(ParameterError) as caught:
        read(tmp_path / name, **options)
    assert expected in caught.value.spelled(dashed)
    assert "--" not in str(caught.value)


def test_estimators_name_their_parameters():
    with pytest.raises(ParameterError, match="normalize='most' is unknown"):
        kw.KernelClassifier("linear", normalize="most").fit([[0.0], [1.0]], [0, 1])
