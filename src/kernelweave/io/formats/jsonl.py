"""JSON lines: one object a line, with a text, and perhaps a label and an id, in fields chosen by name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.data.errors import preceded
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.io.collect import check_unique_names
from kernelweave.io.dataset import Dataset, check_options, check_rows
from kernelweave.io.machines import shown
from kernelweave.io.registry import BY_MARK, Format, register
from kernelweave.io.source import numbered_lines

Array = np.ndarray
MOST_NAMES = 12
"""Names of fields that a message lists."""
EXACT = 2**63
"""Integers from here on are names, as labels of any other form."""


def read(
    path: PathLike,
    alphabet: str | Alphabet = "auto",
    unknown: str = "error",
    duplicates: str = "error",
    text: str | Sequence[str] = "text",
    label: str | None = "auto",
    id: str | None = "auto",
) -> Dataset:
    """Read texts, labels and ids.

    Parameters
    ----------
    path : the file
    alphabet : "bytes", "words" (split at blanks), "text" (words without punctuation), "dna", ..., "auto" (inferred
        from all letters) or an Alphabet
    unknown : "error" names the first letter that is not in the alphabet, "mask" makes it match nothing
    duplicates : "error" names an id that two lines share, "allow" keeps both
    text : the field that holds the text; several fields are joined by line ends, missing ones being empty
    label, id : the fields that hold the label and the id; "auto" for "label" and "id" where they exist, None for none

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.jsonl"
    >>> _ = path.write_text('{"text": "to be", "label": 1}\\n{"text": "or not", "label": 2}\\n')
    >>> data = read(path, alphabet="words")
    >>> data.X.to_strings(), data.y.tolist()
    (['to be', 'or not'], [1, 2])
    """
    check_options(duplicates=(duplicates, ("error", "allow")))
    fields = [text] if isinstance(text, str) else list(text)
    labels_of, names_of = _Column(path, label, "label"), _Column(path, id, "id")
    numbers, texts = [], []
    for number, entry in _objects(path):  # of an object no more is kept than is asked for
        texts.append(_text(path, number, entry, fields))
        labels_of.add(number, entry)
        names_of.add(number, entry)
        numbers.append(number)
    if not numbers:
        raise ValueError(f"{path} holds no JSON objects.")
    lines, labels, names = np.array(numbers), labels_of.finish(), names_of.finish()
    for line, one in zip(numbers, labels or ()):
        _written(path, line, str(one))
    ids = None if names is None else [_written(path, line, str(name)) for line, name in zip(numbers, names)]
    if ids is not None and duplicates == "error":
        check_unique_names(path, ids, lines)
    try:
        X = Sequences.from_strings(texts, alphabet, unknown, ids)
    except ValueError as error:
        raise preceded(error, str(path)) from None
    return Dataset(X, None if labels is None else _labels(labels), X.ids, "jsonl")


def write(path: PathLike, X: Sequences, y: Any = None, ids: Any = None) -> None:
    """Write one object a row with the fields id, label (where there are any) and text."""
    ids = X.ids if ids is None else ids
    check_rows(len(X), y, ids)
    with open_aside(path) as file:
        for i, row in enumerate(X):
            entry = {} if ids is None else {"id": str(ids[i])}
            if y is not None:
                entry["label"] = y[i].item() if isinstance(y[i], np.generic) else y[i]
            file.write((json.dumps({**entry, "text": row}) + "\n").encode())


def sniff(start: bytes) -> bool:
    """Tell JSON lines by a first line that is an object, or its beginning."""
    line = start.lstrip().split(b"\n", 1)[0]
    return line.startswith(b'{"') or line.startswith(b"{ ")


def _objects(path: PathLike) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in numbered_lines(path):
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            reason = error.msg[0].lower() + error.msg[1:]
            raise ValueError(f"{path}:{number}: this is not JSON ({reason}).") from None
        except ValueError:  # Python's own limit of the digits of an integer
            raise ValueError(f"{path}:{number}: a number of this line is too long.") from None
        except RecursionError:
            raise ValueError(f"{path}:{number}: the brackets of this line are nested too deeply.") from None
        if not isinstance(value, dict):
            raise ValueError(f"{path}:{number}: expected a JSON object with named fields.")
        yield number, value


def _written(path: PathLike, line: int, text: str) -> str:
    """Return a text, or raise because JSON escapes spell half of a letter in it."""
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError(f"{path}:{line}: {shown(text)} has half of a letter (\\ud800 to \\udfff), which is no text.")
    return text


def _text(path: PathLike, line: int, entry: dict[str, Any], fields: list[str]) -> str:
    found = [entry[name] for name in fields if entry.get(name) is not None]
    if not found:
        raise ValueError(f"{path}:{line}: no field {' or '.join(map(repr, fields))}; it has {_fields(entry)}.")
    for value in found:
        if not isinstance(value, str):
            raise ValueError(f"{path}:{line}: the text is a {type(value).__name__}, expected a string.")
    return _written(path, line, "\n".join(found))


class _Column:
    """The values of a field that all objects must have; "auto" takes the usual name if any object has it."""

    def __init__(self, path: PathLike, name: str | None, usual: str):
        self.path, self.wanted, self.found = path, name not in (None, "auto"), False
        self.field = usual if name == "auto" else name
        self.values: list[Any] = []
        self.missing: str | None = None

    def add(self, line: int, entry: dict[str, Any]) -> None:
        """Take the value of an object; raise where it has none but others do, or it was asked for."""
        if self.field is None:
            return
        self.found = self.found or self.field in entry
        if isinstance(entry.get(self.field), str | int | float):
            self.values.append(entry[self.field])
        elif self.missing is None:
            what = "is a list or object" if entry.get(self.field) is not None else "is missing"
            self.missing = f"{self.path}:{line}: the field {self.field!r} {what}; the line has {_fields(entry)}."
        if self.missing is not None and (self.wanted or self.found):
            raise ValueError(self.missing)

    def finish(self) -> list[Any] | None:
        """Return the values, None where no object has any."""
        return self.values if self.found else None


def _fields(entry: dict[str, Any]) -> str:
    """Return the names of the fields of an object, of many the first ones."""
    names = [shown(name) for name in entry]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return (", ".join(names[:MOST_NAMES]) or "no fields") + more


def _labels(values: list[Any]) -> Array:
    whole = [value for value in values if isinstance(value, int)]
    if all(abs(value) < EXACT for value in whole):
        if len(whole) == len(values):
            return np.array(values, np.int64)
        if all(isinstance(value, int | float) for value in values):
            return np.array(values, np.float64)
    return np.array([str(value) for value in values])


register(Format("jsonl", ("sequences",), (".jsonl", ".ndjson"), sniff, read, write, BY_MARK))
