"""Sparse rows as text, ``label index:value index:value ...``, as LIBSVM and LIBLINEAR read them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.io.dataset import Dataset, check_rows, label_text
from kernelweave.io.numbers import LONGEST_NUMBER
from kernelweave.io.registry import BY_LINES, Format, register
from kernelweave.io.source import line_blocks

Array = np.ndarray
EXACT = 2.0**53  # up to here floats hold every integer
NUMBER = rb"[+-]?(?:\d++\.?\d*+|\.\d++|inf|nan)(?:[eE][+-]?\d++)?"
ROW = NUMBER + rb"(?>[ \t]++\d{1,16}+:" + NUMBER + rb")*+[ \t\r]*+"
WRONG = re.compile(rb"(?m)^(?!" + ROW + rb"$|[ \t\r]*$).*$")
COMMENT = re.compile(rb"#[^\n]*")
QUERY = re.compile(rb"[ \t]qid:\d+(?=[ \t\r\n]|$)")
SHORT = 40
"""Letters of a number; texts up to this length are converted together."""


def read(path: PathLike, zero_based: str | bool = "auto", n_features: int | None = None) -> Dataset:
    """Read rows into a scipy CSR matrix.

    Parameters
    ----------
    path : the file; comments after # and query numbers (qid:) are left out
    zero_based : whether the first column has index 0; "auto" if index 0 occurs
    n_features : number of columns; None for the highest index met

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.svm"
    >>> _ = path.write_text("1 1:0.5 3:2\\n-1 2:1\\n")
    >>> data = read(path)
    >>> data.X.toarray().tolist(), data.y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1, -1])
    """
    from scipy import sparse

    parts = [_parse(path, block, line) for block, line in line_blocks(path)]
    labels, counts, indices, values, lines = (np.concatenate(column) for column in zip(*parts))
    if not labels.size:
        raise ValueError(f"{path} holds no rows.")
    if zero_based == "auto":
        zero_based = bool(indices.size and indices.min() == 0)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    if not zero_based:
        if indices.size and indices.min() == 0:
            row = np.searchsorted(indptr, np.argmin(indices), side="right") - 1
            raise ValueError(f"{path}:{lines[row]}: index 0 is used, but the first column has index 1.")
        indices = indices - 1
    found = int(indices.max()) + 1 if indices.size else 0
    if n_features is not None and found > n_features:
        row = np.searchsorted(indptr, np.argmax(indices), side="right") - 1
        raise ValueError(f"{path}:{lines[row]}: column {found} is beyond n_features={n_features}.")
    X = sparse.csr_array((values, indices, indptr), shape=(labels.size, found if n_features is None else n_features))
    X.sort_indices()
    _check_distinct(path, X, lines)
    whole = bool((np.abs(labels) < EXACT).all() and (labels == np.rint(labels)).all())
    return Dataset(X, labels.astype(np.int64) if whole else labels, None, "libsvm")


def write(path: PathLike, X: Any, y: Any, zero_based: bool = False) -> None:
    """Write the entries of a table or sparse matrix that are not zero, every number so that it reads back exactly."""
    from scipy import sparse

    X = sparse.csr_array(X)
    if y is None:
        raise ValueError("libsvm files need labels, got none.")
    check_rows(X.shape[0], y, None)
    if np.asarray(y).dtype.kind not in "biuf":
        raise ValueError("libsvm files need labels that are numbers.")
    X.sort_indices()
    with open_aside(path) as file:
        for i in range(X.shape[0]):
            span = slice(X.indptr[i], X.indptr[i + 1])
            pairs = zip((X.indices[span] + (not zero_based)).tolist(), X.data[span].tolist())
            row = [label_text(y[i]), *(f"{index}:{value!r}" for index, value in pairs if value != 0)]
            file.write((" ".join(row) + "\n").encode())


def sniff(start: bytes) -> bool:
    """Tell the format by lines of which at least one has an index and a value."""
    lines = start.split(b"\n")[:20]
    text = b"\n".join(lines[:-1] if len(lines) > 1 else lines)
    clean = QUERY.sub(b"", COMMENT.sub(b"", text))
    return re.search(rb"\d:", clean) is not None and WRONG.search(clean) is None


def _parse(path: PathLike, block: bytes, first_line: int) -> tuple[Array, Array, Array, Array, Array]:
    """Return labels, entries a row, indices, values and line numbers of a piece of text."""
    if b"#" in block:
        block = COMMENT.sub(b"", block)
    if b"qid:" in block:
        block = QUERY.sub(b"", block)
    if wrong := WRONG.search(block):
        line = first_line + block.count(b"\n", 0, wrong.start())
        shown = wrong[0].decode("utf-8", "backslashreplace").strip()[:40]
        raise ValueError(f"{path}:{line}: expected 'label index:value ...' in numbers, found {shown!r}.")
    rows = [(number, row) for number, row in enumerate(block.split(b"\n"), first_line) if row.strip()]
    counts = np.array([row.count(b":") for _, row in rows], np.int64)
    texts = block.replace(b":", b" ").split()
    longest = max(map(len, texts), default=0)
    if longest > LONGEST_NUMBER:
        line = next(number for number, row in rows if max(map(len, row.replace(b":", b" ").split())) > LONGEST_NUMBER)
        raise ValueError(f"{path}:{line}: a number of {longest} letters is longer than any that is meant.")
    # an array of texts takes the longest one's space for each
    flat = np.array(texts, np.bytes_).astype(np.float64) if longest <= SHORT else np.array(list(map(float, texts)))
    starts = np.cumsum(1 + 2 * counts) - (1 + 2 * counts)
    entries = np.ones(flat.size, bool)
    entries[starts] = False
    pairs, lines = flat[entries].reshape(-1, 2), np.array([n for n, _ in rows], np.int64)
    large = np.flatnonzero(pairs[:, 0] >= EXACT)
    if large.size:
        row = np.searchsorted(np.cumsum(counts), large[0], side="right")
        raise ValueError(f"{path}:{lines[row]}: an index is beyond {EXACT:.0f}, the largest that is read.")
    return flat[starts], counts, pairs[:, 0].astype(np.int64), pairs[:, 1], lines


def _check_distinct(path: PathLike, X: Any, lines: Array) -> None:
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    twice = np.flatnonzero((rows[1:] == rows[:-1]) & (X.indices[1:] == X.indices[:-1]))
    if twice.size:
        raise ValueError(f"{path}:{lines[rows[twice[0]]]}: an index occurs twice in the row.")


register(Format("libsvm", ("table",), (".svm", ".libsvm", ".svmlight"), sniff, read, write, BY_LINES + 2))
