"""How rows are cut into parts, on disk and in memory alike, and when stored rows are read into memory."""

from __future__ import annotations

from typing import Any

from kernelweave.data.blocks import spans
from kernelweave.data.kinds import kind_of, n_rows
from kernelweave.data.stores.rows import Stored

PART_ROWS_STORED = 1 << 18
"""Most rows of a part: ten million rows are 39 parts, enough for the workers of a cluster."""
PART_BYTES_STORED = 1 << 27
"""Most bytes of a part in memory, as far as its first rows tell: parts of long rows have fewer of them."""
FIRST_ROWS = 1 << 12
"""Rows whose size tells how many rows a part has."""


def part_rows_of(X: Any) -> int:
    """Return how many rows a part has, by the size of the first rows.

    Examples
    --------
    >>> import numpy as np
    >>> part_rows_of(np.zeros((10, 100))), part_rows_of(np.zeros((10, 1000)))
    (131072, 16384)
    """
    kind = kind_of(X)
    packing, some = kind.packing, kind.take(X, slice(0, FIRST_ROWS))
    n = n_rows(some)
    if packing is None or not n:
        return PART_ROWS_STORED
    each = packing.nbytes(packing.head(some), n, [packing.sections(some)[1]]) / n
    fitting = int(PART_BYTES_STORED // max(each, 1.0))
    return max(1, min(PART_ROWS_STORED, 1 << (fitting.bit_length() - 1) if fitting else 1))


def parts_of(X: Any) -> list[slice]:
    """Return the parts in which rows are worked through: those of a store, and the same cuts of rows in memory.

    Examples
    --------
    >>> import numpy as np
    >>> parts_of(np.zeros((200_000, 100)))
    [slice(0, 131072, None), slice(131072, 200000, None)]
    """
    return X.parts if isinstance(X, Stored) else spans(n_rows(X), part_rows_of(X))


def is_stored(X: Any) -> bool:
    """Tell rows on disk."""
    return isinstance(X, Stored)


def in_memory(X: Any, limit: int, remedy: str = "") -> Any:
    """Return rows in memory: those of a store are read where they fit, other rows come back as they are.

    Parameters
    ----------
    X : rows of any kind
    limit : bytes that the rows of a store may take
    remedy : what a message says can be done where they do not fit
    """
    if not isinstance(X, Stored):
        return X
    if X.nbytes > limit:
        raise MemoryError(
            f"The {len(X)} rows of the store {X.path} take {X.nbytes / 1e9:.3g} GB in memory, but the memory limit is "
            f"{limit / 1e9:.3g} GB{remedy and '; ' + remedy}."
        )
    return X[:]
