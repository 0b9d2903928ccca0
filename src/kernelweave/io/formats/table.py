"""Tables of numbers as text: comma, tab or semicolon between columns, with or without a line of names."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.data.errors import Metavar, ParameterError
from kernelweave.io.collect import check_unique_names
from kernelweave.io.dataset import Dataset, check_options, check_rows, label_text, parse_labels
from kernelweave.io.header import ID_NAMES, LABEL_NAMES, guess_delimiter
from kernelweave.io.machines import LISTED, shorter, shown
from kernelweave.io.numbers import LONGEST_NUMBER, almost_number, is_number
from kernelweave.io.registry import BY_LINES, Format, register
from kernelweave.io.source import numbered_lines

Array = np.ndarray
_ODD = re.compile(rf"[^ -~\t]|[0-9]_[0-9]|[0-9]{{{LONGEST_NUMBER}}}")
"""Lines whose numbers Python may read otherwise than other programs, or longer than any number is: cell by cell."""


def read(
    path: PathLike,
    label: str | int | None = "auto",
    id: str | int | None = "auto",
    header: str | bool = "auto",
    delimiter: str = "auto",
    duplicates: str = "error",
    group: str | int | None = None,
) -> Dataset:
    """Read a table of numbers.

    Parameters
    ----------
    path : the file
    label : name or number (from 0; negative from the end) of the label column; "auto" for a column named label, y,
        target or class; None for none
    id : name or number of the id column; "auto" for a column named id, ids or name; None for none
    header : whether the first line holds names; "auto" when a cell is no number but the one below it is
    delimiter : what stands between cells; "auto" for comma, tab or semicolon, whichever the first line has most
    duplicates : "error" names an id that two rows share, "allow" keeps both
    group : column of what folds keep together; None for none

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.csv"
    >>> _ = path.write_text("a,b,label\\n1,2,yes\\n3,4,no\\n")
    >>> data = read(path)
    >>> data.X.tolist(), data.y.tolist(), data.feature_names
    ([[1.0, 2.0], [3.0, 4.0]], ['yes', 'no'], ('a', 'b'))
    """
    check_options(duplicates=(duplicates, ("error", "allow")))
    table = Cells(path, header, delimiter)
    y_column, id_column = table.find(label, LABEL_NAMES, "label"), table.find(id, ID_NAMES, "id")
    belongs = table.find(group, (), "group")
    columns = [c for c in range(table.n_columns) if c not in (y_column, id_column, belongs)]
    if not columns:
        raise ValueError(f"{path} has no columns of features beside label and id.")
    y = None if y_column is None else _labels(table, y_column)
    ids = None if id_column is None else table.column(id_column)
    if ids is not None and duplicates == "error":
        check_unique_names(path, ids, np.array(table.numbers))
    names = None if table.names is None else tuple(table.names[c] for c in columns)
    groups = None if belongs is None else parse_labels(table.column(belongs))
    return Dataset(table.numeric(columns), y, None if ids is None else np.array(ids), "table", names, groups)


def write(path: PathLike, X: Any, y: Any = None, ids: Any = None, feature_names: Sequence[str] | None = None) -> None:
    """Write names and rows, every number so that it reads back exactly; the columns are id, features, label."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"A table has two dimensions, this one has {X.ndim}.")
    check_rows(len(X), y, ids)
    names = [f"x{j}" for j in range(X.shape[1])] if feature_names is None else list(feature_names)
    top = (["id"] if ids is not None else []) + names + (["label"] if y is not None else [])
    with open_aside(path) as file:
        writer = csv.writer(_Encoded(file), delimiter="\t" if ".tsv" in str(path)[-7:] else ",", lineterminator="\n")
        writer.writerow(top)
        for i, row in enumerate(X.tolist()):
            name = [] if ids is None else [str(ids[i])]
            tag = [] if y is None else [label_text(y[i])]
            writer.writerow([*name, *map(repr, row), *tag])


def sniff(start: bytes) -> bool:
    """Tell a table by lines with the same number of cells, at least one of them a number."""
    lines = [line for line in start.split(b"\n")[:20] if line.strip()]
    lines = lines[:-1] if len(lines) > 1 and not start.endswith(b"\n") else lines
    try:
        texts = [line.decode("utf-8").rstrip("\r") for line in lines]
    except UnicodeDecodeError:
        return False
    if not texts:
        return False
    delimiter = guess_delimiter(texts[0])
    try:
        rows = list(csv.reader(texts, delimiter=delimiter))
    except csv.Error:
        return False
    return len({len(row) for row in rows}) == 1 and any(map(is_number, rows[-1]))


class _Encoded:
    """Lets the csv writer write to a binary file."""

    def __init__(self, file: Any):
        self.file = file

    def write(self, text: str) -> None:
        self.file.write(text.encode())


class Cells:
    """The lines of a table, checked to have the same number of cells."""

    def __init__(self, path: PathLike, header: str | bool, delimiter: str):
        self.path = path
        numbered = list(numbered_lines(path))
        if not numbered:
            raise ValueError(f"{path} has only blank lines.")
        self.numbers, self.lines = [n for n, _ in numbered], [line for _, line in numbered]
        self.delimiter = guess_delimiter(self.lines[0]) if delimiter == "auto" else delimiter
        self.n_columns = len(self.cells(self.lines[0]))
        self._check_widths()
        self.names: list[str] | None = None
        if self._has_header() if header == "auto" else header:
            self.take_names()

    def take_names(self) -> None:
        """Take the first line for the names of the columns."""
        line = self.numbers[0]
        self.names = [self._name(cell) for cell in self.cells(self.lines[0])]
        self.numbers, self.lines = self.numbers[1:], self.lines[1:]
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise ValueError(f"{self.path}:{line}: two columns are named {shown(twice)}.")
        if not self.lines:
            raise ValueError(f"{self.path} has a line of names but no rows.")

    def cells(self, line: str) -> list[str]:
        """Return the cells of one line."""
        if '"' not in line:
            return line.split(self.delimiter)
        try:
            return next(csv.reader([line], delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            number = self.numbers[self.lines.index(line)]
            raise ValueError(f"{self.path}:{number}: the quotes of this line cannot be read ({error}).") from None

    def _check_widths(self) -> None:
        for number, line in zip(self.numbers, self.lines):
            width = len(self.cells(line)) if '"' in line else line.count(self.delimiter) + 1
            if width != self.n_columns:
                raise ValueError(
                    f"{self.path}:{number}: found {width} cells, but line {self.numbers[0]} has {self.n_columns}."
                )

    def _has_header(self) -> bool:
        cells = self.cells(self.lines[0])
        if odd := next(filter(almost_number, cells), None):
            raise ValueError(
                f"{self.path}:{self.numbers[0]}: {shown(odd)} is neither a plain number nor a name; write it in digits "
                "0 to 9, or say whether the first line holds names (header=True or False)."
            )
        first = [is_number(cell) for cell in cells]
        if len(self.lines) == 1:
            return not any(first)
        second = [is_number(cell) for cell in self.cells(self.lines[1])]
        return not any(first) or any(below and not above for above, below in zip(first, second))

    def _name(self, cell: str) -> str:
        """Return the name of a column."""
        name = cell.strip(" \t")
        if not name.isprintable():
            raise ValueError(f"{self.path}:{self.numbers[0]}: the name {shown(name)} has a character without a shape.")
        return name

    def find(self, column: str | int | None, usual: tuple[str, ...], what: str) -> int | None:
        """Return the number of a column asked for by name or number."""
        if column is None or (column == "auto" and self.names is None):
            return None
        if column == "auto":
            found = [c for c, name in enumerate(self.names or []) if name.lower() in usual]
            return found[0] if found else None
        if self.names is not None and column in self.names:
            return self.names.index(str(column))
        try:
            number = int(column)
        except ValueError:
            number = self.n_columns
        if not -self.n_columns <= number < self.n_columns:
            known = f"0 to {self.n_columns - 1}" if self.names is None else shorter(", ".join(self.names), LISTED)
            raise ValueError(f"{self.path} has no {what} column {column!r}; its columns are {known}.")
        return number % self.n_columns

    def column(self, number: int) -> list[str]:
        """Return the cells of one column as text."""
        return [self.cells(line)[number].strip(" \t") for line in self.lines]

    def numeric(self, columns: list[int]) -> Array:
        """Return columns as numbers, (n, number of columns)."""
        quote = '"' if any('"' in line for line in self.lines) else None
        if any(map(_ODD.search, self.lines)):
            return np.array(list(self._slow_rows(columns)))
        try:
            return np.loadtxt(
                self.lines, delimiter=self.delimiter, usecols=columns, comments=None, quotechar=quote, ndmin=2
            )
        except ValueError:
            return np.array(list(self._slow_rows(columns)))

    def _slow_rows(self, columns: list[int]) -> Iterator[list[float]]:
        """Convert cell by cell, to name the first that is no number."""
        for number, line in zip(self.numbers, self.lines):
            cells = self.cells(line)
            for c in columns:
                if not is_number(cells[c]):
                    name = c if self.names is None else shown(self.names[c])
                    place = f"{self.path}:{number}, column {name}"
                    if not cells[c].strip():
                        raise ValueError(f"{place}: the cell is empty.")
                    raise ParameterError(
                        "{place}: {cell} is not a number (where the rows are sequences, name their column by "
                        "{sequence}).",
                        {"sequence": Metavar()},
                        place=place,
                        cell=shown(cells[c]),
                    )
            yield [float(cells[c]) for c in columns]


def _labels(table: Cells, column: int) -> Array:
    texts = table.column(column)
    if "" in texts:
        raise ValueError(f"{table.path}:{table.numbers[texts.index('')]}: the label is empty.")
    return parse_labels(texts)


register(Format("table", ("table",), (".csv", ".tsv", ".tab"), sniff, read, write, BY_LINES + 4))
