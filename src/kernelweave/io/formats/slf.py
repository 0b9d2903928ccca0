"""HTK's standard lattice format: a header, nodes ``I=`` and links ``J=`` of fields ``name=value``.

    ln p(link) = acscale a + lmscale l + prscale r + wdpenalty (unless its word is !NULL)

Words stand on links or on the nodes where links end.  A file holds one lattice, from the node that no link enters to
the node that no link leaves, unless the header names others by ``start=`` and ``end=``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection

from kernelweave.data.atomic import PathLike
from kernelweave.io.lattices import register_lattices
from kernelweave.io.machines import Machine, no_score, read_score, read_state, shown
from kernelweave.io.registry import BY_MARK
from kernelweave.io.source import numbered_lines, unpacked_name

SUFFIXES = (".slf", ".slf.txt", ".htk")
NULL = "!NULL"
EPSILONS = (NULL, "!ENTER", "!EXIT")
"""Words that nobody says."""

FIELD = re.compile(r"""([A-Za-z][\w-]*)=("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\S*)(?:\s+|$)""", re.ASCII)
BYTES = re.compile(rb"\\(?:([0-7]{3})|(.))", re.DOTALL)
SHORT = {
    "NODES": "N", "LINKS": "L", "UTTERANCE": "U", "VERSION": "V", "START": "S", "END": "E", "WORD": "W",
    "acoustic": "a", "language": "l", "SUBLAT": "SUBLAT",
}  # fmt: skip
SCALES = ("acscale", "lmscale", "prscale")
Fields = dict[str, str]


def read(
    path: PathLike,
    epsilon: Collection[str] | None = None,
    acoustic_scale: float | None = None,
    lm_scale: float | None = None,
    word_penalty: float | None = None,
) -> list[Machine]:
    """Read the lattice of a file; its key is the utterance of the header, else the name of the file.

    Parameters
    ----------
    path : the file, plain or compressed
    epsilon : words that stand for nothing; None for !NULL, !ENTER and !EXIT
    acoustic_scale, lm_scale, word_penalty : instead of acscale, lmscale and wdpenalty of the header

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "one.slf"
    >>> _ = path.write_text("N=2 L=2\\nI=0\\nI=1\\nJ=0 S=0 E=1 W=yes a=-9\\nJ=1 S=0 E=1 W=no a=-8 l=-2\\n")
    >>> machine, = read(path, lm_scale=0.5)
    >>> machine.key, machine.words, machine.scores
    ('one', ['yes', 'no'], [-9.0, -9.0])
    """
    lattice = _Lattice(path)
    given = {"acscale": acoustic_scale, "lmscale": lm_scale, "wdpenalty": word_penalty}
    lattice.header.update({name: repr(float(value)) for name, value in given.items() if value is not None})
    silent = set(EPSILONS if epsilon is None else epsilon)
    return [lattice.machine(silent)]


class _Lattice:
    """The fields of a file, sorted into header, nodes and links."""

    def __init__(self, path: PathLike):
        self.header: Fields = {}
        self.header_lines: dict[str, int] = {}
        self.nodes: dict[int, Fields] = {}
        self.links: list[tuple[int, Fields]] = []
        self.parsed = Machine(path, 1)
        self.last_line = 1
        for line, text in numbered_lines(path):
            if not text.lstrip().startswith("#"):
                self._add(line, self._fields(line, text))
            self.last_line = line
        name = unpacked_name(os.path.basename(os.fspath(path)))
        self.parsed.key = self.header.get("U") or name.removesuffix(next(filter(name.endswith, SUFFIXES), ""))

    def _fields(self, line: int, text: str) -> Fields:
        """Return the fields of a line by their short names."""
        fields: Fields = {}
        text = text.strip()
        at = 0
        while at < len(text):
            found = FIELD.match(text, at)
            if found is None:
                raise self.parsed.fault(line, f"expected fields name=value, found {text[at : at + 20]!r}")
            name = SHORT.get(found[1], found[1])
            if name in fields:
                raise self.parsed.fault(line, f"the field {shown(found[1])} occurs twice")
            fields[name] = self._value(line, found[2])
            at = found.end()
        return fields

    def _value(self, line: int, text: str) -> str:
        """Return a value without quotes; HTK writes bytes beyond ASCII as octal numbers."""
        if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
            text = text[1:-1]
        if "\\" not in text:
            return text
        raw = BYTES.sub(lambda found: bytes([int(found[1], 8) & 255]) if found[1] else found[2], text.encode())
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise self.parsed.fault(line, f"the value {shown(text)} is not UTF-8 text") from None

    def _add(self, line: int, fields: Fields) -> None:
        kind = next(iter(fields), "")
        if kind == "I":
            node = self._whole(line, fields, "I")
            if node in self.nodes:
                raise self.parsed.fault(line, f"node {node} is defined twice")
            if "L" in fields:
                raise self.parsed.fault(line, "the node is a sub-lattice; nested lattices cannot be read")
            self.nodes[node] = fields
        elif kind == "J":
            self.links.append((line, fields))
        elif self.nodes or self.links:
            raise self.parsed.fault(line, f"expected a node I= or a link J=, found {shown(kind)}")
        else:
            self.header.update(fields)
            self.header_lines.update(dict.fromkeys(fields, line))

    def _whole(self, line: int, fields: Fields, name: str) -> int:
        value = read_state(fields.get(name, ""))
        if value is None:
            found = f"found {shown(fields[name])}" if name in fields else "found none"
            raise self.parsed.fault(line, f"expected {name}= and a whole number from 0, {found}")
        return value

    def _number(self, line: int, fields: Fields, name: str, default: float) -> float:
        if name not in fields:
            return default
        value = read_score(fields[name])
        if value is None:
            raise self.parsed.fault(line, no_score(f"{name}=", fields[name]))
        return value

    def _promise(self, name: str) -> int:
        return self._whole(self._line(name), self.header, name)

    def _setting(self, name: str, default: float) -> float:
        return self._number(self._line(name), self.header, name, default)

    def _line(self, name: str) -> int:
        """Return the line of a header field; the last one where the header lacks it."""
        return self.header_lines.get(name, self.last_line)

    def machine(self, silent: set[str]) -> Machine:
        """Return the checked machine."""
        machine, end = self.parsed, self.last_line
        for name, what, found in (("N", "nodes", len(self.nodes)), ("L", "links", len(self.links))):
            if (count := self._promise(name)) != found:
                raise machine.fault(end, f"the header promises {count} {what}, the file has {found}")
        entered, left = set(), set()
        for line, fields in self.links:
            source, target = self._whole(line, fields, "S"), self._whole(line, fields, "E")
            for node in (source, target):
                if node not in self.nodes:
                    raise machine.fault(line, f"the link names node {node}, which no I= line defines")
            entered.add(target)
            left.add(source)
            word = fields.get("W") or self.nodes[target].get("W") or NULL
            machine.add(source, target, "" if word in silent else word, self._score(line, fields, word), line)
        if not self.nodes:
            return machine
        machine.initial = self._only("start", "enters", self.nodes.keys() - entered)
        machine.end(self._only("end", "leaves", self.nodes.keys() - left), 0.0, end)
        return self._with_first_word(machine, silent)

    def _score(self, line: int, fields: Fields, word: str) -> float:
        """Return ln p of a link."""
        base = self._setting("base", math.e)
        if base < 0 or base == 1:
            raise self.parsed.fault(self._line("base"), f"base={base:g} cannot be the base of a logarithm")
        unit = math.log(base) if base else 1.0
        total = 0.0 if word == NULL else unit * self._setting("wdpenalty", 0.0)
        for scale, name in zip(SCALES, "alr"):
            if name not in fields:
                continue
            value = self._number(line, fields, name, 0.0)
            if base == 0 and value <= 0:
                raise self.parsed.fault(line, f"the probability {name}={value:g} is not positive")
            logarithm = unit * value if base else math.log(value)
            total += self._setting(scale, 1.0) * logarithm
        return total

    def _only(self, name: str, verb: str, nodes: set[int]) -> int:
        """Return the first or the last node."""
        if name in self.header:
            node = self._promise(name)
            if node not in self.nodes:
                raise self.parsed.fault(self._line(name), f"{name}={node} is not a node")
            return node
        if len(nodes) == 1:
            return nodes.pop()
        if not nodes:
            raise self.parsed.fault(self.last_line, f"no node is one that no link {verb}: there is a cycle")
        shown = ", ".join(map(str, sorted(nodes)[:4]))
        raise self.parsed.fault(self.last_line, f"no link {verb} the nodes {shown}; name one by {name}= in the header")

    def _with_first_word(self, machine: Machine, silent: set[str]) -> Machine:
        """Let paths begin with the word of the first node, where it has one."""
        word = self.nodes[machine.initial].get("W", NULL)
        if word not in silent and word != NULL and not any("W" in fields for _, fields in self.links):
            before = max(self.nodes) + 1
            machine.add(before, machine.initial, word, 0.0, machine.line)
            machine.initial = before
        return machine


def sniff(start: bytes) -> bool:
    """Tell the format by a first field VERSION=, N=, UTTERANCE= or the like, behind comments."""
    names = (
        rb"(?:VERSION|V|UTTERANCE|U|NODES|N|LINKS|L|base|lmname|lmscale|acscale|wdpenalty|prscale|vocab|hmms|start|end)"
    )
    return re.match(rb"(?:\s*#[^\n]*\n)*\s*" + names + rb"=", start) is not None


register_lattices("slf", SUFFIXES, sniff, read, None, BY_MARK)
