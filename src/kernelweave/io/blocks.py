"""Text files of blocks: machines separated by blank lines, each behind a line with its key, or one without.

OpenFst and Kaldi write such files.  Arcs name their label by a word or by a number of a symbol table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernelweave.data.atomic import PathLike
from kernelweave.io.machines import Machine, read_state, shown
from kernelweave.io.source import line_blocks, numbered_lines

Line = tuple[int, list[str]]
"""Number of a line and its fields."""

Symbols = PathLike | Mapping[int, str] | Sequence[str]
"""A file of words and numbers, or number -> word."""

EPSILONS = ("<eps>", "<epsilon>", "@0@", "@_EPSILON_SYMBOL_@")
"""Words that stand for nothing in files of OpenFst and Kaldi, and in AT&T files of others."""

NOTHING = "0"
"""The number of the symbol that stands for nothing."""


FINAL = 2
"""A line with at most so many fields names a final state."""

ACCEPTOR, TRANSDUCER = 3, 4
"""Fields of an arc, its cost not counted."""


@dataclass
class Block:
    """Lines between two blank ones."""

    lines: list[Line]
    closed: bool  # a blank line follows


def text_lines(path: PathLike) -> Iterator[tuple[int, str]]:
    """Yield number and text of every line, blank ones too; text that is not UTF-8 raises."""
    for piece, first in line_blocks(path):
        try:
            yield from enumerate(piece.decode("utf-8").removesuffix("\n").split("\n"), first)
        except UnicodeDecodeError as error:
            line = first + piece.count(b"\n", 0, error.start)
            raise ValueError(f"{path}:{line}: the byte {piece[error.start]:#04x} is not UTF-8 text.") from None


def read_machines(path: PathLike, is_key: Callable[[list[str]], bool]) -> list[tuple[Machine, list[Line]]]:
    """Return the machines of a file, without arcs yet, each with the lines that tell them.

    Parameters
    ----------
    path : the file
    is_key : whether the fields of a line may be a key
    """
    found = list(_blocks(path))
    if not found:
        raise ValueError(f"{path} has only blank lines.")
    keyed = _has_keys(found)
    made = []
    for block in found:
        number, fields = block.lines[0]
        machine = Machine(path, number)
        if keyed:
            if not is_key(fields):
                raise ValueError(
                    f"{path}:{number}: expected a line with the key of a lattice, found {shown(' '.join(fields))}."
                )
            machine.key = " ".join(fields)
            if len(block.lines) == 1 and not block.closed:
                raise machine.fault(number, "the file ends behind its key, as if it were cut off")
        made.append((machine, block.lines[1:] if keyed else block.lines))
    return made


def _blocks(path: PathLike) -> Iterator[Block]:
    lines: list[Line] = []
    for number, text in text_lines(path):
        if fields := text.split():
            lines.append((number, fields))
        elif lines:
            yield Block(lines, closed=True)
            lines = []
    if lines:
        yield Block(lines, closed=False)


def _has_keys(found: list[Block]) -> bool:
    """Tell whether blocks begin with a key; a machine may also consist of final states alone."""
    first = found[0].lines
    states = [read_state(text) for text in first[0][1][:2]]
    if len(first[0][1]) > 2:
        return None in states
    return states[0] is None or len(first) > 1 or len(found) > 1


def fill(
    machine: Machine, lines: list[Line], width: int, column: int, score: Callable[[Machine, int, str], float]
) -> None:
    """Add arcs and final states to a machine; its initial state is the first that is mentioned.

    Parameters
    ----------
    machine : without arcs
    lines : number and fields of each of its lines: a final state (at most two fields) or an arc, and perhaps a score
    width : number of fields of an arc, its score not counted
    column : which of them is the label
    score : machine, line, text of the last field -> score
    """
    for line, fields in lines:
        n = len(fields)
        if n > FINAL and n not in (width, width + 1):
            labels = "label" if width == ACCEPTOR else "input, output"
            raise machine.fault(line, f"found {n} fields; an arc has source, target, {labels} and perhaps a cost")
        state = _state(machine, line, fields[0])
        if line == lines[0][0]:
            machine.initial = state
        value = score(machine, line, fields[-1]) if n in (FINAL, width + 1) else 0.0
        if n <= FINAL:
            machine.end(state, value, line)
        else:
            machine.add(state, _state(machine, line, fields[1]), fields[column], value, line)


def _state(machine: Machine, line: int, text: str) -> int:
    state = read_state(text)
    if state is None:
        raise machine.fault(line, f"the state {shown(text)} is not a non-negative integer")
    return state


def read_symbols(symbols: Symbols) -> dict[str, str]:
    """Return number (as text) -> word from a symbol table: lines of a word and a number, a dict or a list.

    Examples
    --------
    >>> read_symbols(["<eps>", "yes", "no"])
    {'0': '<eps>', '1': 'yes', '2': 'no'}
    """
    if isinstance(symbols, Mapping):
        return {str(number): str(word) for number, word in symbols.items()}
    if isinstance(symbols, list | tuple):
        return {str(number): str(word) for number, word in enumerate(symbols)}
    table: dict[str, str] = {}
    for line, text in numbered_lines(symbols):  # type: ignore[arg-type]
        fields = text.split()
        if len(fields) != 2 or read_state(fields[1]) is None:
            raise ValueError(f"{symbols}:{line}: expected a word and its number, found {shown(' '.join(fields))}.")
        number = str(int(fields[1]))
        if number in table:
            raise ValueError(f"{symbols}:{line}: the number {number} is already used for {shown(table[number])}.")
        table[number] = fields[0]
    return table


def spell(machines: Sequence[Machine], symbols: Symbols | None, epsilon: Collection[str] | None) -> None:
    """Replace the labels of all arcs by words, "" where they stand for nothing.

    Parameters
    ----------
    machines : of one file
    symbols : the table that labels are numbers of; None where they are words (or numbers that serve as words)
    epsilon : words that stand for nothing; None for the usual ones and, where all labels are numbers, 0
    """
    labels = {label for machine in machines for label in machine.words}
    if symbols is not None:
        table = read_symbols(symbols)
        words = {label: table.get(str(int(label)), "") for label in labels if read_state(label) is not None}
        words = {label: word for label, word in words.items() if word}
    else:
        words = {label: label for label in labels}
    silent = set(EPSILONS if epsilon is None else epsilon)
    if epsilon is None and (symbols is not None or all(read_state(label) is not None for label in labels)):
        silent.add(NOTHING)
    words = {label: "" if label in silent or word in silent else word for label, word in words.items()}
    if symbols is not None and epsilon is None:
        words[NOTHING] = ""
    for machine in machines:
        for arc, label in enumerate(machine.words):
            if label not in words:
                raise machine.fault(machine.lines[arc], f"the label {shown(label)} is not in the symbol table")
        machine.words = [words[label] for label in machine.words]
