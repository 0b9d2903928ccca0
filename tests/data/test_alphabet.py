from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelweave.data import Alphabet
from kernelweave.data.strings.alphabet import BYTES, DNA, PROTEIN, READY, RNA

GREEK = Alphabet("greek", "αβγδ")
WORDS = Alphabet.words(["to", "be", "or", "not"])
ALL = [*READY.values(), GREEK, WORDS, Alphabet("binary", "01")]


def test_ready_alphabets() -> None:
    assert [Alphabet.named(name).size for name in ("dna", "rna", "protein", "bytes")] == [4, 4, 20, 256]
    np.testing.assert_array_equal(DNA.encode("ACGTacgt"), [0, 1, 2, 3, 0, 1, 2, 3])
    with pytest.raises(ValueError, match="no alphabet named 'dnaa'; built-in ones are dna, rna, protein, bytes"):
        Alphabet.named("dnaa")


@pytest.mark.parametrize("alphabet", ALL, ids=lambda a: a.name)
def test_codes_round_trip(alphabet: Alphabet) -> None:
    codes = np.arange(alphabet.size).astype(alphabet.dtype)
    np.testing.assert_array_equal(alphabet.encode(alphabet.decode(codes)), codes)
    assert alphabet.size <= alphabet.mask == np.iinfo(alphabet.dtype).max


@pytest.mark.parametrize("alphabet", ALL, ids=lambda a: a.name)
def test_description_survives_json_and_pickle(alphabet: Alphabet) -> None:
    copy = Alphabet.from_dict(json.loads(json.dumps(alphabet.to_dict())))
    assert copy == alphabet
    assert hash(copy) == hash(alphabet)
    assert copy.name == alphabet.name
    assert pickle.loads(pickle.dumps(alphabet)) == alphabet


@given(st.text())
def test_bytes_hold_any_text(text: str) -> None:
    codes = BYTES.encode(text)
    assert codes.dtype == np.uint16
    assert BYTES.decode(codes) == text
    np.testing.assert_array_equal(codes, list(text.encode()))


@given(st.binary())
def test_bytes_hold_any_bytes(raw: bytes) -> None:
    np.testing.assert_array_equal(BYTES.encode(raw), list(raw))
    assert BYTES.decode(BYTES.encode(raw)).encode("utf-8", "surrogateescape") == raw


@pytest.mark.parametrize(
    ("size", "dtype"), [(1, "uint8"), (254, "uint8"), (255, "uint16"), (65534, "uint16"), (65536, "uint32")]
)
def test_storage_grows_with_the_alphabet(size: int, dtype: str) -> None:
    alphabet = Alphabet.words(f"w{i}" for i in range(size))
    assert alphabet.dtype == dtype
    assert alphabet.encode(f"w{size - 1} w0").tolist() == [size - 1, 0]
    assert alphabet.encode(["nowhere"], unknown="mask")[0] == alphabet.mask


@pytest.mark.parametrize(
    ("alphabet", "text", "letter", "position"),
    [
        (DNA, "ACNT", "N", 2),
        (DNA, "ACG✓", "✓", 3),
        (GREEK, "αx", "x", 1),
        (WORDS, "to see", "see", 1),
        (RNA, "T", "T", 0),
    ],
)
def test_unknown_letters(alphabet: Alphabet, text: str, letter: str, position: int) -> None:
    with pytest.raises(
        ValueError, match=f"Unknown letter '{letter}' at position {position}; the {alphabet.name} alphabet"
    ):
        alphabet.encode(text)
    codes = alphabet.encode(text, unknown="mask")
    assert np.flatnonzero(codes == alphabet.mask).tolist() == [position]
    shown = alphabet.decode(codes)
    np.testing.assert_array_equal(alphabet.encode(shown, unknown="mask"), codes)


@pytest.mark.parametrize(
    ("strings", "name"),
    [
        (["ACGT", "acgt"], "dna"),
        (["ACGTACGTACGTN"], "dna"),
        (["ACGU"], "rna"),
        (["MKVLAAGIVGL", "PQRSTWYX"], "protein"),
        (["hello world"], "text"),
        (["helloworld" * 9, "and so on"], "bytes"),
        (["mkvlaagivgl"], "bytes"),
        (["ACGT☃"], "bytes"),
    ],
)
def test_infer(strings: list[str], name: str) -> None:
    assert Alphabet.infer(strings).name == name


def test_infer_needs_letters() -> None:
    with pytest.raises(ValueError, match="without letters"):
        Alphabet.infer(["", ""])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("a", ""), "has no letters"),
        (("a", "ABA"), "the letter 'A' twice"),
        (("a", "AC", "AG"), "complement of alphabet 'a' must list each of its letters"),
        (("a", ["to be", "or"]), "a word has at least one character and no blank"),
    ],
)
def test_bad_alphabets(arguments: tuple, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Alphabet(*arguments)


def test_case_clash() -> None:
    with pytest.raises(ValueError, match="the letter 'A' twice"):
        Alphabet("a", "aA", ignore_case=True)
    assert Alphabet("a", "aA").encode("Aa").tolist() == [1, 0]


def test_immutable_and_equal_by_letters() -> None:
    with pytest.raises(AttributeError):
        DNA.letters = ("A",)  # type: ignore[misc]
    assert Alphabet("nucleotides", "ACGT", "TGCA", ignore_case=True) == DNA
    assert Alphabet("dna", "ACGT", "TGCA") != DNA
    assert PROTEIN != DNA


def test_policy_is_checked() -> None:
    with pytest.raises(ValueError, match="use 'error' or 'mask'"):
        DNA.encode("A", unknown="drop")
