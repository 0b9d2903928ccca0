"""How many levels of the paths of k-mers are addressed by their letters, and how these lie in an array."""

from __future__ import annotations

import numpy as np

Array = np.ndarray

FOLDED_BITS = 2
"""Entries of a folded group that one write changes: more would cost more to write than they save in reading."""
ENTRIES_A_ROW = 2.0
"""The directly addressed levels end where the deepest has more entries than this for each row."""
MOST_DIRECT, ITEM = 1.2e9, 4
"""Bytes beyond which no further level is addressed directly, and bytes of an entry."""
SHARED_BYTES = 10.0
"""Bytes that the shared nodes take for each row and position: half a node on splice sites and on random letters."""


def direct_depth(n: int, length: int, degree: int, bits: int) -> int:
    """Return D, how many levels are addressed by their letters."""
    depth = 1
    while (
        depth < min(degree, length)
        and (1 << (bits * (depth + 1))) <= ENTRIES_A_ROW * n
        and length * ITEM * (1 << (bits * (depth + 1))) <= MOST_DIRECT
    ):
        depth += 1
    return depth


def path_bytes(n: int, length: int, degree: int, bits: int) -> float:
    """Return about how many bytes the paths of n rows take, with a normal vector in single precision."""
    entries = folded(length, direct_depth(n, length, degree, bits), bits)[-1, 2]
    return float(ITEM * entries + SHARED_BYTES * n * length)


def folded(length: int, depth: int, bits: int) -> Array:
    """Return the groups of levels, (groups + 1, 3): first level, last level, address of the group's first entry.

    The last line holds the total number of entries in its third column.
    """
    together = 1 + FOLDED_BITS // bits
    lines, last = [], depth
    while last > 0:
        lines.append((max(1, last - together + 1), last))
        last = lines[-1][0] - 1
    groups, base = np.zeros((len(lines) + 1, 3), np.int64), 0
    for g, (low, high) in enumerate(reversed(lines)):
        groups[g] = low, high, base
        base += length << (bits * high)
    groups[-1, 2] = base
    return groups
