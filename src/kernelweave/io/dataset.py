"""What every reader returns, and how labels become numbers or names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave.data.errors import ParameterError
from kernelweave.data.kinds import kind_of
from kernelweave.io.numbers import read_integer, read_number

Array = np.ndarray
SAMPLE, SHOWN = 5, 100
"""Values that a dataset shows of each part, and letters of a line."""


@dataclass(frozen=True)
class Dataset:
    """Rows read from a file.

    Parameters
    ----------
    X : Sequences, a table (numpy or scipy CSR) or Views
    y : (n,) labels (integers, floats or strings), or None when the file has none
    ids : (n,) names of the rows, or None
    format : the format that was read
    feature_names : names of the columns of a table, or None
    groups : (n,) what each row belongs to and folds keep together, a chromosome for example; None where the file does
        not say
    """

    X: Any
    y: Array | None
    ids: Array | None
    format: str
    feature_names: tuple[str, ...] | None = None
    groups: Array | None = None

    def __repr__(self) -> str:
        """Return a sample of each part, in few lines.

        Examples
        --------
        >>> Dataset(np.eye(3), np.array([1, 1, 2]), None, "table")
        Dataset, read as table
          X       3 rows of 3 columns
          y       1, 1, 2
        """
        parts: list[tuple[str, str]] = [("X", kind_of(self.X).summary(self.X))]
        for name in ("y", "ids", "groups", "feature_names"):
            values = getattr(self, name)
            if values is not None:
                shown = ", ".join(map(str, values[:SAMPLE]))
                parts.append((name, shown + (f", ... ({len(values)})" if len(values) > SAMPLE else "")))
        width = max(len(name) for name, _ in parts) + 1
        lines = [f"  {name:<{max(width, 7)}} {text[:SHOWN]}" for name, text in parts]
        return "\n".join([f"Dataset, read as {self.format}", *lines])


def parse_labels(texts: Sequence[str]) -> Array:
    """Return labels as integers if all are, else as floats if all are numbers, else as strings.

    Examples
    --------
    >>> parse_labels(["+1", "-1"]), parse_labels(["0.5", "2"]), parse_labels(["yes", "1"])
    (array([ 1, -1]), array([0.5, 2. ]), array(['yes', '1'], dtype='<U3'))

    Integers of more than 18 digits are names: as numbers, several of them would be the same.

    >>> parse_labels(["1" * 20, "2"]).dtype
    dtype('<U20')
    """
    integers = [read_integer(text) for text in texts]
    if None not in integers:
        return np.array(integers, np.int64)
    numbers = [read_number(text) for text in texts]
    long = any(integer is None and text.lstrip("+-").isdecimal() for integer, text in zip(integers, texts))
    return np.array(texts if None in numbers or long else numbers, dtype=np.str_ if None in numbers or long else float)


def label_text(value: Any) -> str:
    """Return how a label is written to a file, so that it reads back as the same number or name."""
    value = value.item() if isinstance(value, np.generic) else value
    return repr(value) if isinstance(value, float) else str(int(value) if isinstance(value, bool) else value)


def check_rows(n: int, y: Any, ids: Any) -> None:
    """Raise unless labels and ids, where given, have one entry a row."""
    for name, values in (("labels", y), ("ids", ids)):
        if values is not None and len(values) != n:
            raise ValueError(f"There are {len(values)} {name} for {n} rows.")


def check_options(**policies: tuple[str, tuple[str, ...]]) -> None:
    """Raise unless each option is one of its allowed values."""
    for name, (value, allowed) in policies.items():
        if value not in allowed:
            known = " or ".join(map(repr, allowed))
            raise ParameterError("{" + name + "} is unknown; use {known}.", {name: value}, known=known)
