from __future__ import annotations

import gzip

import pytest

from kernelweave.automata import Transducer, to_binary
from kernelweave.io.lattices import read_lattices


@pytest.fixture
def file(tmp_path):
    def write(content, name="bad"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


SLF = "N=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W=a\n"

BINARY = to_binary(Transducer.from_arcs([(0, 1, "a", 0.5), (0, 1, "b", 0.5)], [1], "ab"))

# name: (format, content, sentence)
WRONG: dict[str, tuple[str, str | bytes, str]] = {
    "empty": ("auto", "", r"bad is empty\."),
    "missing key": ("auto", "\n\n", "bad holds no lattices in a known format; known are fst, plf, slf, kaldi, openfst"),
    "blank": ("openfst", "\n \n", "bad has only blank lines"),
    "blank plf": ("plf", "\n \n", "bad has only blank lines"),
    "binary": ("auto", b"0 1 a\0\n", "bad holds no lattices in a known format"),
    "binary told": ("openfst", b"0 1 a\0\n", "bad is not a text file: it holds a zero byte at 5"),
    "unknown format": ("ark", "0 1 a\n", "There is no lattice format 'ark'; known are fst, plf"),
    "fst cut": ("auto", BINARY[:-3], r"bad: This file of OpenFst ends early, or is damaged, at byte \d+"),
    "fst of text": ("fst", "0 1 a\n", "bad: These bytes are no binary file of OpenFst"),
    "fst start": ("auto", BINARY[:39] + b"\x63" + BINARY[40:], "bad: lattice 'bad': its initial state 99 is not there"),
    "fst cycle": (
        "fst",
        to_binary(Transducer.from_arcs([(0, 1, "a", 1.0), (1, 0, "b", 1.0)], [1], "ab")),
        "bad: lattice 'bad': the arc from [01] to [01] lies on a cycle",
    ),
    "gzip": ("openfst", gzip.compress(b"0 1 a 0\n1\n" * 99)[:-9], "bad is truncated: its gzip data"),
    "gzip damaged": ("plf", b"\x1f\x8b\x08\x00garbage-garbage", "bad is damaged: its gzip data"),
    "utf-8": ("openfst", b"k\n0 1 a 0\n0 1 \xff 0\n1\n", "bad:3: the byte 0xff is not UTF-8 text"),
    "utf-8 plf": ("plf", b"((('\xff',0,1),),)", "bad:1: the byte 0xff is not UTF-8 text"),
    "no words": ("openfst", "k\n0\n", "bad holds no words from which to learn an alphabet; name one"),
    "cycle": (
        "openfst",
        "k\n0 1 a 0\n1 2 b 0\n2 1 c 0\n2 3 d 0\n3\n",
        r"bad:[34]: lattice 'k': the arc from (1 to 2|2 to 1) lies on a cycle; lattices have none",
    ),
    "loop": ("kaldi", "0 0 a 1,2,\n0\n", "bad:1: the lattice: the arc from 0 to 0 lies on a cycle"),
    "unreachable": (
        "openfst",
        "k\n0 1 a 0\n1\n7 0.5\n",
        "bad:4: lattice 'k': no path leads from the initial state 0 to the final state 7",
    ),
    "no final": ("openfst", "k\n0 1 a 0\n1 2 a 0\n", "bad:3: lattice 'k': it has arcs but no final state, as if the f"),
    "only key": ("openfst", "k\n0 1 a\n1\n\nlast\n", "bad:5: lattice 'last': the file ends behind its key"),
    "final twice": ("openfst", "0 1 a\n1\n1 0.5\n", "bad:3: the lattice: state 1 was made final before, on line 2"),
    "nan": ("openfst", "0 1 a nan\n1\n", "bad:1: the lattice: .*'nan' is not the logarithm of a probability"),
    "inf": ("openfst", "k\n0 1 a Infinity\n1\n", "bad:2: lattice 'k': the cost 'Infinity' is not the logarithm"),
    "words": ("openfst", "0 1 a x y\n1\n", "bad:1: the lattice: the cost 'y' is not a number"),
    "underscore": ("openfst", "k\n0 1 a a 1_0\n1\n", "bad:2: lattice 'k': the cost '1_0' is not a number"),
    "zero": ("openfst", "0 1 a 800\n1\n", r"bad:1: the lattice: the weight exp\(-800\) is zero in double"),
    "infinite": ("openfst", "0 1 a 0\n1 -800\n", r"bad:2: the lattice: the weight exp\(800\) is infinite"),
    "state": ("openfst", "k\n0 -1 a 0\n1\n", "bad:2: lattice 'k': the state '-1' is not a non-negative integer"),
    "fields": ("openfst", "k\n0 1 a a 0 0\n1\n", "bad:2: lattice 'k': found 6 fields; an arc has source, target"),
    "mixed": ("openfst", "0 1 a a 0\n0 1 a\n1\n", "bad:2: the lattice: found 3 fields; an arc has .* input, output"),
    "key": ("openfst", "a b c\n0 1 a\n1\n", "bad:1: expected a line with the key of a lattice, found 'a b c'"),
    "same key": ("openfst", "k\n0 1 a\n1\n\nk\n0 1 b\n1\n", "bad:5: lattice 'k': the key 'k' was already used"),
    "kaldi costs": ("kaldi", "k\n0 1 a 1;2\n1\n", "bad:2: lattice 'k': expected graph,acoustic,alignment as costs"),
    "kaldi cost": ("kaldi", "k\n0 1 a 1,x,\n1\n", "bad:2: lattice 'k': the acoustic cost 'x' is not a number"),
    "kaldi inf": ("kaldi", "k\n0 1 a inf,0,\n1\n", "bad:2: lattice 'k': the graph cost 'inf' is not the logarithm"),
    "kaldi no word": ("kaldi", "k\n0 1 1,2,\n1\n", "bad:2: lattice 'k': the arc has costs but no word"),
    "plf cut": ("plf", "((('a',0,1),", "bad:1: the lattice: expected an arc .* at character 13, found the end"),
    "plf rest": ("plf", "((('a',0,1),),) x", r"bad:1: the lattice: expected nothing behind the last '\)', found 'x'"),
    "plf text": ("plf", "()\nhello", r"bad:2: the lattice: expected '\(' of the lattice at character 1, found 'hello'"),
    "plf nan": ("plf", "((('a',nan,1),),)", "bad:1: the lattice: the score of 'a', 'nan' is not the logarithm"),
    "plf cycle": ("plf", "((('a',0,0),),)", "the arc 'a' leads from node 0 by 0, backwards or nowhere: a cycle"),
    "plf far": ("plf", "((('a',0,99999999999),),)", "an arc leads to node 99999999999, but the last one is 1"),
    "plf unreachable": ("plf", "((),(('a',0,1),),)", "no path leads from the initial state 0 to the final state 2"),
    "plf blank": ("plf", "((('a b',0,1),),)", "bad:1: the lattice: the word 'a b' has a blank or half a character"),
    "plf torn": ("plf", "((('\\ud800',0,1),),)", "has a blank or half a character"),
    "plf columns": ("plf", "1\t()\tk\n1\t()\n", "bad:2: found 2 columns, but 3 before"),
    "plf label": ("plf", "\t()\tk\n", "bad:1: the label is empty; expected label, lattice"),
    "plf id": ("plf", "1\t()\t\n", "bad:1: the id is empty; expected label, lattice"),
    "slf cut": ("slf", "N=2 L=2\nI=0\nI=1\nJ=0 S=0 E=1 W=a\n", "bad:4: .*: the header promises 2 links, the file has"),
    "slf count": ("slf", SLF.replace("N=2", "N=999999999999"), "promises 999999999999 nodes, the file has 2"),
    "slf no count": ("slf", "I=0\n", "bad:1: .*: expected N= and a whole number from 0, found none"),
    "slf field": ("slf", SLF + "J=1 S=0 E 1\n", "bad:5: .*: expected fields name=value, found 'E 1'"),
    "slf twice": ("slf", SLF + "J=1 S=0 S=1\n", "bad:5: .*: the field 'S' occurs twice"),
    "slf node": ("slf", SLF.replace("E=1", "E=7"), "bad:4: .*: the link names node 7, which no I= line defines"),
    "slf node twice": ("slf", "N=2 L=1\nI=0\nI=0\n", "bad:3: .*: node 0 is defined twice"),
    "slf ends": ("slf", SLF.replace("N=2", "N=3").replace("J=", "I=2\nJ="), "no link enters the nodes 0, 2; name one"),
    "slf cycle": ("slf", "N=1 L=1\nI=0\nJ=0 S=0 E=0\n", "no node is one that no link enters: there is a cycle"),
    "slf score": ("slf", SLF.replace("W=a", "a=x"), "bad:4: .*: a= 'x' is not a number"),
    "slf negative": (
        "slf",
        "base=0 " + SLF.replace("W=a", "W=a a=-0.5"),
        "bad:4: .*: the probability a=-0.5 is not positive",
    ),
    "slf base": ("slf", "base=1 " + SLF.replace("W=a", "a=2"), "bad:1: .*: base=1 cannot be the base of a logarithm"),
    "slf start": ("slf", "start=5 " + SLF, "bad:1: .*: start=5 is not a node"),
    "slf sub": ("slf", "N=1 L=0\nI=0 L=other\n", "bad:2: .*: the node is a sub-lattice"),
    "slf order": ("slf", SLF + "lmscale=1\n", "bad:5: .*: expected a node I= or a link J=, found 'lmscale'"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_every_wrong_file_gets_its_sentence(file, name):
    format, content, sentence = WRONG[name]
    with pytest.raises(ValueError, match=sentence) as caught:
        read_lattices(file(content), format)
    assert "\n" not in str(caught.value)


def test_missing_files_and_symbol_tables(file, tmp_path):
    with pytest.raises(FileNotFoundError, match="none does not exist"):
        read_lattices(tmp_path / "none")
    path = file("0 1 1\n1\n")
    with pytest.raises(ValueError, match=r"words:2: expected a word and its number, found 'yes'\."):
        read_lattices(path, symbols=file("<eps> 0\nyes\n", "words"))
    with pytest.raises(ValueError, match=r"words:2: the number 1 is already used for 'no'\."):
        read_lattices(path, symbols=file("no 1\nyes 1\n", "words"))
