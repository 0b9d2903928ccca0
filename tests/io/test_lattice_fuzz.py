"""Damaged lattice files: each is read correctly, or refused by one sentence with file and line."""

from __future__ import annotations

import ast
import gzip
import math
import random
import re

import numpy as np
import pytest

from kernelweave.automata import Transducer, to_binary
from kernelweave.data import Alphabet
from kernelweave.data.lattices.rows import Lattices
from kernelweave.io.lattices import lattice_formats, read_lattice_rows

FILES = 10_000
NASTY = [
    "1000000000000", "99999999999999999999", "-1", "0", "nan", "inf", "-inf", "1e999", "-1e308", "1e-400", "0x10",
    "1e308", "1_0", "", "٣", "9" * 5000, "<eps>", "a\u00a0b", "((((", "'", '"', "\\", "=", ",", ",,", "N=999999999999",
    "\\x", "I=7", "\r", "\t", "\ufeff", "W=", "#", "()", "1,2,3_4",
]  # fmt: skip
BYTES = b"\0\xff\n\r\t \"'\\(),=#-+.0129eEaz_\x80\xc3"

LONGEST_SENTENCE = 400
GZIP = b"\x1f\x8b"

# errors about a file as a whole, which have no line
WHOLE = (
    "is empty", "has only blank lines", "not a text file", "no lattices in a known format", "holds no words from which",
    "gzip data",
)  # fmt: skip

SMALL = {
    "openfst": [
        "k1\n0 1 to to 0.7\n0 1 two two 1.2\n1 2 be be 0\n0 2 <eps> <eps> 3\n2 0.5\n\nk2\n0 1 or or 0\n1\n\nnone\n\n",
        "0 1 a 0.1\n0 2 b 2.3\n1 3 c 0\n2 3 d 0\n3\n",
        "4 2 1 1\n2 9 0 0\n4 9 2 0.5\n9 0.1\n",
    ],
    "kaldi": [
        "u1\n0 1 4 0.5,20.25,1_1_2\n0 1 5 0.7,20,\n1 2 0 0,0,\n2 1,0.5,\n\nu2\n0 1 6 1,2,\n1 0,0,\n\n",
        "u1\n0 1 10 yes 0.5,2\n1 2 11 <eps>\n2 0.25,0.75\n",
    ],
    "plf": [
        "((('to',-0.2,1),('two',-1.7,1),),(('cats',0,1),),)\n()\n((('a',0,2),('b',-3,1),),(('c',0.5,1),),)\n",
        "-1\t((('it\\'s', -0.5, 1),(\"x\", -1, 2),),(('y', 0, 1),),)\tid1\ta b\tc\n1\t\tid2\t\t\n",
    ],
    "slf": [
        "# a comment\nVERSION=1.0\nUTTERANCE=\"u 1\" lmscale=2.0 wdpenalty=-0.5\nN=4 L=4\nI=0 t=0.0\nI=1\nI=2\nI=3\n"
        "J=0 S=0 E=1 W=!ENTER a=-3\nJ=1 S=1 E=2 W=to a=-3.5 l=-1\nJ=2 S=1 E=2 W=two a=-4 l=-2\nJ=3 S=2 E=3 W=!EXIT\n",
        "N=3 L=2 base=10\nI=0 W=!NULL\nI=1 W=\\303\\274\nI=2 W=be\nJ=0 S=0 E=1 a=-1.5\nJ=1 S=1 E=2 a=-2\n",
    ],
}  # fmt: skip


def seeds(shared_data) -> dict[str, list[bytes]]:
    """Small valid files of every format, made up and real."""
    folder = shared_data / "lattice"
    snips = gzip.decompress((folder / "snips_valid_lattices.fst.txt.gz").read_bytes()).split(b"\n\n")
    fisher = gzip.decompress((folder / "fisher_dev.plf.tsv.gz").read_bytes()).split(b"\n")
    real = {
        "openfst": [b"\n\n".join(snips[i : i + 2]) + b"\n" for i in (0, 40, 300)],
        "kaldi": [(folder / "example_asr_lattice.kaldi.txt").read_bytes()],
        "plf": [b"\n".join(fisher[i : i + 3]) + b"\n" for i in (0, 160, 1173)],
        "slf": [(folder / "example_asr_lattice.slf").read_bytes()],
    }
    arcs = [(0, 1, "to", 0.5), (0, 1, "two", 0.3), (0, 1, None, 0.2), (1, 2, "be", 0.5)]
    machine = Transducer.from_arcs(arcs, finals={2: 0.5}, alphabet=Alphabet.words(["be", "to", "two"]))
    real["fst"] = [to_binary(machine, arc_type) for arc_type in ("standard", "log", "log64")]
    real["plf"].append((folder / "example_compound_split_de.plf").read_bytes())
    return {name: [text.encode() for text in SMALL.get(name, [])] + files for name, files in real.items()}


def mutated(start: bytes, chance: random.Random) -> bytes:
    """One to four damages: to bytes, fields, lines, the end of the file or its packing."""
    content = start
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        kind = chance.randrange(9)
        at = chance.randrange(len(content) + 1)
        lines = content.split(b"\n")
        one, two = chance.randrange(len(lines)), chance.randrange(len(lines))
        if kind == 0:
            content = content[:at] + bytes([chance.choice(BYTES)]) + content[at + 1 :]
        elif kind == 1:
            content = content[:at] + bytes([chance.choice(BYTES)]) + content[at:]
        elif kind == 2:
            content = content[:at] + content[at + chance.choice([1, 1, 2, 9]) :]
        elif kind == 3:
            content = content[:at]
        elif kind in (4, 5):
            tokens = re.split(rb"([\s=,()]+)", content)
            tokens[2 * chance.randrange((len(tokens) + 1) // 2)] = chance.choice(NASTY).encode()
            content = b"".join(tokens)
        elif kind == 6:
            lines[one], lines[two] = lines[two], lines[one]
            content = b"\n".join(lines)
        elif kind == 7:
            content = b"\n".join([*lines[:one], lines[two], *lines[one:]])
        else:
            content = b"\n".join(lines[:one] + lines[one + 1 :])
    if chance.random() < 0.03:
        packed = bytearray(gzip.compress(content, mtime=0))
        packed[chance.randrange(2, len(packed))] ^= 1 << chance.randrange(8)
        return bytes(packed[: chance.choice([len(packed), chance.randrange(2, len(packed))])])
    return content


def check_lattices(data, normalize: bool) -> None:
    """A lattice that was read holds what `Lattices` promises, checked again from its arrays."""
    X = data.X
    arrays = (X.source, X.target, X.labels, X.weights, X.arc_offsets, X.finals, X.state_offsets)
    assert Lattices(*arrays, X.alphabet, X.ids) == X
    used = np.zeros(X.finals.size, bool)
    first = np.repeat(X.state_offsets[:-1], np.diff(X.arc_offsets))
    used[first + X.target] = used[X.state_offsets[:-1]] = True
    assert used.all()
    leads_on = X.finals > 0
    leads_on[first + X.source] = True
    leads_on[X.state_offsets[:-1]] = True
    assert leads_on.all()
    assert data.y is None or len(data.y) == len(X)
    if normalize:
        totals = X.total_weights()
        np.testing.assert_allclose(totals[totals > 0], 1.0, rtol=1e-9)


def check_plf(content: bytes, X) -> None:
    """Python reads lattices of the same total weight from PLF, where it reads them at all."""
    lines = [line for line in content.removeprefix(b"\xef\xbb\xbf").decode().split("\n") if line.strip()]
    cells = [line if line.lstrip(" ").startswith("(") else line.split("\t")[1] for line in lines]
    try:
        literals = [ast.literal_eval(cell.strip() or "()") for cell in cells]
        totals = [total_of(literal) for literal in literals]
    except (ValueError, SyntaxError, TypeError):
        return  # 01 is no number to Python, and (x) no tuple
    np.testing.assert_allclose(X.total_weights(), totals, rtol=1e-9)


def total_of(literal) -> float:
    """The summed weight of all paths, from the last node backwards."""
    sums = [0.0] * len(literal) + [1.0]
    for node in range(len(literal) - 1, -1, -1):
        sums[node] = sum(math.exp(score) * sums[node + distance] for _, score, distance in literal[node])
    return sums[0] if literal else 0.0


def check_refusal(error: Exception, path, lines: bool) -> None:
    """One sentence with the file and, unless it is about the file as a whole or it has none, the line."""
    text = str(error)
    assert "\n" not in text
    assert str(path) in text
    place = re.escape(str(path)) + (":[0-9]+: " if lines else ": ")
    assert re.search(place, text) or any(part in text for part in WHOLE), text
    assert len(text.replace(str(path), "")) < LONGEST_SENTENCE


@pytest.mark.filterwarnings("ignore:invalid escape")
@pytest.mark.parametrize("format", lattice_formats())
def test_damaged_files_are_refused_or_read(shared_data, tmp_path, format):
    chance = random.Random(f"lattices {format}")
    starts = seeds(shared_data)[format]
    path = tmp_path / "damaged"
    for start in starts:
        path.write_bytes(start)
        check_lattices(read_lattice_rows(path, normalize=True), True)
    refused = compared = 0
    for number in range(FILES // len(lattice_formats())):
        path.write_bytes(mutated(chance.choice(starts), chance))
        normalize = number % 2 == 0
        told = "auto" if number % 10 == 0 else format
        try:
            data = read_lattice_rows(path, told, normalize=normalize)
        except (ValueError, OSError) as error:
            refused += 1
            check_refusal(error, path, format != "fst")
            continue
        check_lattices(data, normalize)
        content = path.read_bytes()
        if data.format == "plf" and not normalize and content[:2] != GZIP:
            compared += 1
            check_plf(content, data.X)
    assert format != "plf" or compared > FILES // 100
    assert FILES // len(lattice_formats()) * 0.2 < refused < FILES // len(lattice_formats()) * 0.99
