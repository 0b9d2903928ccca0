"""Damage to files: bytes, numbers, lines, sizes and packing, drawn from a generator, so that a seed gives the file.

`mutate` knows nothing of formats.  `forge` changes what a file says and makes its checksums right again, for file kinds
that have some: see `forgers`.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable

import numpy as np

NUMBERS = (
    b"0", b"-0", b"-1", b"1", b"255", b"256", b"65536", b"2147483648", b"-2147483649", b"4294967296",
    b"9007199254740993", b"9223372036854775807", b"9223372036854775808", b"99999999999999999999", b"1e5", b"3e5",
    b"1e308", b"-1e308", b"1e309", b"1e-400", b"5e-324", b"nan", b"-nan", b"inf", b"-inf", b"Infinity", b"NaN", b"1_0",
    b"0x10", b"+1", b"+-1", b".", b"1.", b".5", b"1e", b"1,5", b"\xd9\xa3", b"\xef\xbc\x95", b"9\x1c", b"\xc2\xb2",
    b"1\xc2\xa0", b"9" * 400, b"1" + b"0" * 5000, b"0." + b"3" * 20_000,
)  # fmt: skip
"""What a number may be replaced by: limits of types, forms that only some languages read, digits of other scripts."""

TOKENS = (
    b"", b" ", b"\t", b"\r", b"\n", b"\r\n", b"\n\n", b"\0", b"\xff", b"\xfe", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1a",
    b"\x0b", b"\x0c", b"\x1c", b"\xc2\x85", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"'", b'"', b"\\",
    b"\\x", b"\\u", b"\\ud800", b",", b";", b":", b"=", b"#", b">", b"@", b"+", b"|", b"(", b")", b"((((", b"[", b"]",
    b"[[[[", b"{", b"}", b"{}", b"[]", b"null", b"true", b"<eps>", b"qid:3", b"qid:3e5", b"0:0", b"1:1:1", b"N=9",
    b"W=",
    b"I=7", b"label", b"label=", b"SV", b"id", b"nan", b"[" * 3000, b"(" * 3000, b'{"a":' * 2000, b" " * 4000,
    b"\t" * 500, b"A" * 5000,
)  # fmt: skip
"""What may be put anywhere: ends of lines, blanks, quotes, brackets, marks of formats, bytes that are not text."""

_NUMBER = re.compile(rb"[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
_CELL = re.compile(rb"([\s=,;:()\"]+)")
Mutator = Callable[[bytes, np.random.Generator], bytes]


def mutate(data: bytes, random: np.random.Generator) -> bytes:
    """Return the bytes of a file with one to four damages of any kind.

    Examples
    --------
    >>> start = b"1 1:0.5 3:2\\n-1 2:1\\n"
    >>> mutate(start, np.random.default_rng(5)) == mutate(start, np.random.default_rng(5))
    True
    """
    for _ in range(int(random.choice([1, 1, 1, 2, 4]))):
        data = _choose(random, MUTATORS)(data, random)
    return data


def flip(data: bytes, random: np.random.Generator) -> bytes:
    """Flip one bit, or one in each of a few bytes."""
    changed = bytearray(data)
    for _ in range(int(random.choice([1, 1, 3])) if changed else 0):
        changed[_place(random, len(changed) - 1)] ^= 1 << int(random.integers(8))
    return bytes(changed)


def overwrite(data: bytes, random: np.random.Generator) -> bytes:
    """Put other bytes over one, two, four or eight: zeros, ones, or random ones."""
    at, size = _place(random, len(data)), int(random.choice([1, 2, 4, 8]))
    new = _choose(random, (b"\0" * size, b"\xff" * size, b"\x7f" + b"\xff" * (size - 1), random.bytes(size)))
    return data[:at] + new + data[at + size :]


def insert(data: bytes, random: np.random.Generator) -> bytes:
    """Put a token somewhere."""
    at = _place(random, len(data))
    return data[:at] + _choose(random, TOKENS) + data[at:]


def delete(data: bytes, random: np.random.Generator) -> bytes:
    """Take some bytes out."""
    at = _place(random, len(data))
    return data[:at] + data[at + int(random.choice([1, 1, 2, 8, 64])) :]


def truncate(data: bytes, random: np.random.Generator) -> bytes:
    """Let the file end early."""
    return data[: _place(random, len(data))]


def extend(data: bytes, random: np.random.Generator) -> bytes:
    """Let the file go on: with itself, zeros or random bytes."""
    return data + _choose(random, (data, b"\0" * 100, random.bytes(40), b"\n" * 50, data[: len(data) // 2]))


def replace_number(data: bytes, random: np.random.Generator) -> bytes:
    """Put an extreme number in the place of one."""
    found = list(_NUMBER.finditer(data))
    if not found:
        return overwrite(data, random)
    one = found[int(random.integers(len(found)))]
    return data[: one.start()] + _choose(random, NUMBERS) + data[one.end() :]


def replace_cell(data: bytes, random: np.random.Generator) -> bytes:
    """Put a token or a number in the place of a cell."""
    cells = _CELL.split(data)
    cells[2 * int(random.integers((len(cells) + 1) // 2))] = _choose(random, (*TOKENS, *NUMBERS))
    return b"".join(cells)


def swap_cells(data: bytes, random: np.random.Generator) -> bytes:
    """Exchange two cells."""
    cells = _CELL.split(data)
    one, two = (2 * random.integers((len(cells) + 1) // 2, size=2)).tolist()
    cells[one], cells[two] = cells[two], cells[one]
    return b"".join(cells)


def duplicate_line(data: bytes, random: np.random.Generator) -> bytes:
    """Put a line somewhere a second time, or many times."""
    lines = data.split(b"\n")
    one, two = random.integers(len(lines), size=2).tolist()
    return b"\n".join([*lines[:one], *[lines[two]] * int(random.choice([1, 1, 30])), *lines[one:]])


def delete_line(data: bytes, random: np.random.Generator) -> bytes:
    """Take a line out."""
    lines = data.split(b"\n")
    one = int(random.integers(len(lines)))
    return b"\n".join(lines[:one] + lines[one + 1 :])


def swap_lines(data: bytes, random: np.random.Generator) -> bytes:
    """Exchange two lines."""
    lines = data.split(b"\n")
    one, two = random.integers(len(lines), size=2).tolist()
    lines[one], lines[two] = lines[two], lines[one]
    return b"\n".join(lines)


def join_or_end_lines(data: bytes, random: np.random.Generator) -> bytes:
    """Give all lines, or one, another end."""
    end = _choose(random, (b"\r", b"\r\n", b"", b" ", b"\n\r", b"\xe2\x80\xa8", b"\x0c"))
    return data.replace(b"\n", end) if random.random() < 0.5 else data.replace(b"\n", end, 1)


def encode(data: bytes, random: np.random.Generator) -> bytes:
    """Write the text in another encoding, or with a mark that says so."""
    text = data.decode("latin-1")
    others = [text.encode("utf-16"), text.encode("utf-16-be"), text.encode("utf-32"), data.decode("latin-1").encode()]
    return _choose(random, (*others, b"\xef\xbb\xbf" + data, b"\xef\xbb\xbf" * 2 + data, b"\xff\xfe" + data))


def pack(data: bytes, random: np.random.Generator) -> bytes:
    """Compress the file, whole, flipped, truncated, or with something behind it."""
    packed = gzip.compress(data, 1, mtime=0)
    return _choose(
        random, (packed, flip(packed, random), truncate(packed, random), packed + random.bytes(9), packed * 2)
    )


def move(data: bytes, random: np.random.Generator) -> bytes:
    """Move a piece to another place."""
    a, b = sorted(random.integers(len(data) + 1, size=2).tolist())
    b = min(b, a + 200)
    piece, rest = data[a:b], data[:a] + data[b:]
    at = _place(random, len(rest))
    return rest[:at] + piece + rest[at:]


MUTATORS: tuple[Mutator, ...] = (
    flip, flip, overwrite, insert, insert, delete, truncate, extend, replace_number, replace_number, replace_cell,
    replace_cell, swap_cells, duplicate_line, delete_line, swap_lines, join_or_end_lines, encode, pack, move,
)  # fmt: skip
"""What `mutate` chooses from; those that stand twice are chosen more often."""


def _place(random: np.random.Generator, size: int) -> int:
    """Return a place up to `size`, as often among the first 200 bytes, where headers are, as anywhere."""
    most = max(size, 0)
    return int(random.integers(min(most, 200) + 1 if random.random() < 0.5 else most + 1))


def _choose(random: np.random.Generator, among):
    return among[int(random.integers(len(among)))]
