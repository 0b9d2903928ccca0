"""From files to stores: sequences in blocks of bounded size, so that a file of any size needs little memory.

Letters become codes as they are read.  An alphabet that is to be inferred takes one reading of its own, for it depends
on all letters.  Labels come with the blocks, out of headers or the first column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.data.blocks import spans
from kernelweave.data.kinds import kind_of, n_rows
from kernelweave.data.stores import PART_ROWS_STORED, Stored, StoreWriter
from kernelweave.data.strings.alphabet import Alphabet, infer_from_counts
from kernelweave.io.collect import byte_counts
from kernelweave.io.dataset import Dataset, parse_labels
from kernelweave.io.registry import named
from kernelweave.io.sniff import sniff
from kernelweave.io.stream import stream

Array = np.ndarray
Report = Callable[[int], None]
"""Called with the number of rows so far."""


class Block(NamedTuple):
    """Rows with their labels, texts or values, and their ids where the rows do not hold them."""

    X: Any
    y: Any = None
    ids: Any = None


def store_blocks(
    out: PathLike,
    blocks: Iterable[Block],
    append: bool = False,
    names: tuple[str, ...] | None = None,
    report: Report | None = None,
) -> Stored:
    """Write blocks of rows to a store as they come.

    Parameters
    ----------
    out : the directory; a store that is there is replaced
    blocks : rows with labels
    append : add the rows to the store that is there, instead
    names : names of the columns of a table
    report : called after each block
    """
    with StoreWriter(out, append, parse_labels, names) as writer:
        for X, y, ids in blocks:
            writer.add(X, y, ids=ids)
            if report is not None:
                report(writer.rows)
    return Stored(out)


def file_blocks(
    path: PathLike, label: str | None = "label", format: str | None = None, **options: Any
) -> Iterator[Block]:
    """Yield the sequences of a FASTA, FASTQ or label-TAB-sequence file, with their labels.

    Parameters
    ----------
    path : the file, plain or compressed
    label : key of the labels in FASTA headers; None not to look
    format : name of the format; None to look at the content
    options : alphabet ("auto" takes one more reading), unknown and duplicates, as for `stream`

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.fa"
    >>> _ = path.write_text(">a label=yes\\nACGT\\nAC\\n>b label=no\\nGG\\n")
    >>> [(block.X.to_strings(), block.y) for block in file_blocks(path)]
    [(['ACGTAC', 'GG'], ['yes', 'no'])]
    """
    name = sniff(path) if format is None else format
    if options.setdefault("alphabet", "auto") == "auto":
        options["alphabet"] = inferred_alphabet(path, name)
    texts: list[str] = []
    for block in stream(path, format=name, label=label, texts=texts, **options):
        n = len(block.X)
        yield Block(block.X, texts[:n] if texts else None)
        del texts[:n]


def inferred_alphabet(path: PathLike, format: str) -> Alphabet:
    """Return the alphabet that all letters of a file suggest."""
    make_parts = named(format).parts
    assert make_parts is not None  # only formats that are streamed come here
    counts = np.zeros(256, np.int64)
    for letters, *_ in make_parts(path):
        counts += byte_counts(letters)
    if not counts.any():
        raise ValueError(f"{path}: no sequence has letters from which to infer an alphabet; name one.")
    return infer_from_counts(counts)


def table_blocks(path: PathLike, format: str, **options: Any) -> tuple[tuple[str, ...] | None, Iterator[Block]] | None:
    """Return names of columns and blocks of a table, None for formats whose files are read whole."""
    read_blocks = named(format).blocks
    if read_blocks is None:
        return None
    parts = read_blocks(path, **options)
    first = next(parts, None)
    if first is None:
        raise ValueError(f"{path} holds no rows.")
    return first.feature_names, (Block(part.X, part.y, part.ids) for part in chain([first], parts))


def data_blocks(data: Dataset) -> Iterator[Block]:
    """Yield what was read whole, or mapped, in blocks."""
    for part in spans(n_rows(data.X), PART_ROWS_STORED):
        y, ids = (None if some is None else some[part] for some in (data.y, data.ids))
        X = kind_of(data.X).take(data.X, part)
        yield Block(X, y, None if hasattr(X, "ids") else ids)
