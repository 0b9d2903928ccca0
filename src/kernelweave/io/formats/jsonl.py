"""JSON lines: one object a line, with a text, and perhaps a label and an id, in fields chosen by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.data.errors import preceded
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.io.collect import check_unique_names
from kernelweave.io.dataset import Dataset, check_options, check_rows
from kernelweave.io.registry import BY_MARK, Format, register
from kernelweave.io.source import numbered_lines

Array = np.ndarray


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
    alphabet : "bytes", "words" (split at blanks), "dna", ..., "auto" (inferred from all letters) or an Alphabet
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
    numbers, objects = _objects(path)
    lines = np.array(numbers)
    texts = [_text(path, n, o, [text] if isinstance(text, str) else list(text)) for n, o in zip(numbers, objects)]
    labels = _column(path, numbers, objects, label, "label")
    names = _column(path, numbers, objects, id, "id")
    ids = None if names is None else [str(name) for name in names]
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


def _objects(path: PathLike) -> tuple[list[int], list[dict[str, Any]]]:
    numbers, objects = [], []
    for number, line in numbered_lines(path):
        try:
            value = json.loads(line)
        except ValueError as error:
            reason = getattr(error, "msg", str(error))
            raise ValueError(f"{path}:{number}: this is not JSON ({reason[0].lower() + reason[1:]}).") from None
        if not isinstance(value, dict):
            raise ValueError(f"{path}:{number}: expected a JSON object with named fields.")
        numbers.append(number)
        objects.append(value)
    if not objects:
        raise ValueError(f"{path} holds no JSON objects.")
    return numbers, objects


def _text(path: PathLike, line: int, entry: dict[str, Any], fields: list[str]) -> str:
    found = [entry[name] for name in fields if entry.get(name) is not None]
    if not found:
        raise ValueError(f"{path}:{line}: no field {' or '.join(map(repr, fields))}; it has {_fields(entry)}.")
    for value in found:
        if not isinstance(value, str):
            raise ValueError(f"{path}:{line}: the text is a {type(value).__name__}, expected a string.")
    return "\n".join(found)


def _column(path: PathLike, lines: list[int], objects: list[dict[str, Any]], name: str | None, usual: str) -> Any:
    """Return the values of a field that all objects must have; "auto" takes the usual name if any object has it."""
    if name is None or (name == "auto" and not any(usual in entry for entry in objects)):
        return None
    field = usual if name == "auto" else name
    for line, entry in zip(lines, objects):
        if not isinstance(entry.get(field), str | int | float):
            what = "is a list or object" if entry.get(field) is not None else "is missing"
            raise ValueError(f"{path}:{line}: the field {field!r} {what}; the line has {_fields(entry)}.")
    return [entry[field] for entry in objects]


def _fields(entry: dict[str, Any]) -> str:
    return ", ".join(map(repr, entry)) or "no fields"


def _labels(values: list[Any]) -> Array:
    if all(isinstance(value, int) for value in values):
        return np.array(values, np.int64)
    if all(isinstance(value, int | float) for value in values):
        return np.array(values, np.float64)
    return np.array([str(value) for value in values])


register(Format("jsonl", ("sequences",), (".jsonl", ".ndjson"), sniff, read, write, BY_MARK))
