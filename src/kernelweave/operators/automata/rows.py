"""The rows of a kernel as automata: what each adds to the weight vector, and what it is compared with the vector by.

    K(x_i, x_j) = D(P_i o R_j)            P_i what row i writes, R_j what of row j is read

    K = T o T^-1        P_i = R_i = Pi_2(X_i o T), the features of the row; a list of n-grams is such a machine, too
    K = U as a whole    P_i = Pi_2(X_i o U),  R_j = X_j                     (equation 1 of Allauzen, Cortes and Mohri)

Factors and norms around the kernel are folded into the final weights.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kernelweave.automata.algorithms.rational import scale
from kernelweave.automata.base import Transducer
from kernelweave.automata.pack import AcceptorTable, pack
from kernelweave.automata.rows import MachineRows, Side
from kernelweave.automata.trie import trie
from kernelweave.kernels.abilities import Features, Transduced
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.tree import Cosine, Leaf, On, Scaled
from kernelweave.operators.features.vocabulary import Vocabulary

ARC_BYTES, STATE_BYTES, ROW_BYTES = 16, 24, 1024
"""Bytes of an arc (target, label, weight), of a state (final weight, where its arcs begin in all rows and in its own),
and of the arrays that show one row alone."""


def the_leaf(kernel: Kernel) -> Leaf | None:
    """Return the only kernel of strings in a tree, None where there are several, or others."""
    leaves = list(kernel.leaves())
    leaf = leaves[0]
    alone = len(leaves) == 1 and all(isinstance(node, Scaled | On | Cosine) for node in leaf.path)
    return leaf if alone and isinstance(leaf.kernel, Features) and leaf.kernel.kind == "strings" else None


def no_machines(kernel: Kernel, store: str) -> str | None:
    """Return why a kernel's features cannot be kept as an automaton, None where they can."""
    if the_leaf(kernel) is not None:
        return None
    what = f"store={store!r} keeps the strings that one kernel counts, wherever they stand"
    if len(list(kernel.leaves())) > 1:
        return f"{what}, but {kernel!r} is made of several kernels; use store='indexed', or one kernel."
    return f"{what}, but {kernel!r} does not count strings; use store='indexed'."


def row_machines(kernel: Kernel, X: Any) -> MachineRows:
    """Return the rows of a kernel, of which `the_leaf` is known, as automata.

    Examples
    --------
    >>> from kernelweave.data import Sequences
    >>> from kernelweave.kernels import NGram
    >>> rows = row_machines(NGram(2).normalized(), Sequences.from_strings(["ACAC", "AC"], alphabet="dna"))
    >>> rows.block(rows, mirrored=True).round(3)
    array([[1.   , 0.894],
           [0.894, 1.   ]])
    """
    leaf = the_leaf(kernel)
    assert leaf is not None
    seen = leaf.select(X)
    if isinstance(leaf.kernel, Transduced):
        rows = leaf.kernel.machines(seen)
    else:
        table = _listed(leaf.kernel, seen)
        rows = MachineRows(table, table, np.arange(len(table)), seen.alphabet)
    factor = _factors(leaf, rows)
    written = _scaled(rows.written, factor)
    return replace(rows, written=written, read=written if rows.read is rows.written else _scaled(rows.read, factor))


def machine_bytes(kernel: Kernel, X: Any) -> float:
    """Return the bytes of the automata of some rows."""
    rows = row_machines(kernel, X)
    sides = (rows.written,) if rows.written is rows.read else (rows.written, rows.read)
    arcs, states = 0, 0
    for side in sides:
        tables = (side,) if isinstance(side, AcceptorTable) else side
        arcs += sum(len(part.weights) for part in tables)
        states += sum(len(part.finals) for part in tables)
    return float(arcs * ARC_BYTES + states * STATE_BYTES + len(sides) * len(rows) * ROW_BYTES)


def _listed(kernel: Any, X: Any) -> AcceptorTable:
    """Return the features of each row as a tree of prefixes."""
    found = kernel.counts(X)
    known = Vocabulary(found.codes.shape[1])
    number = known.number(found.codes)
    strings = np.ascontiguousarray(kernel.letters(known.codes(), kernel.alphabets(X)), np.int32)
    starts, values = np.asarray(found.starts, np.int64), np.asarray(found.values, np.float64)
    spans = [slice(starts[row], starts[row + 1]) for row in range(len(starts) - 1)]
    return pack([trie(strings[number[span]], values[span]) for span in spans])


def _factors(leaf: Leaf, rows: MachineRows) -> Array:
    """Return by how much what surrounds the kernel scales the features of each row."""
    factor = np.ones(len(rows))
    if any(isinstance(node, Cosine) for node in leaf.path):
        every = np.arange(len(rows))
        diagonal = rows.pairs(rows, every, every)
    else:
        diagonal = factor
    for node in reversed(leaf.path):
        if isinstance(node, Scaled):
            factor, diagonal = factor * np.sqrt(node.factor), diagonal * node.factor
        elif isinstance(node, Cosine):
            with np.errstate(divide="ignore"):
                factor = factor * np.where(diagonal > 0, 1 / np.sqrt(diagonal), 0.0)
            diagonal = (diagonal > 0).astype(np.float64)
    return factor


def _scaled(side: Side, factor: Array) -> Side:
    if (factor == 1.0).all():
        return side
    if isinstance(side, AcceptorTable):
        return replace(side, finals=side.finals * np.repeat(factor, np.diff(side.state_offsets)))
    machines: list[Transducer] = [scale(machine, float(f)) for machine, f in zip(side, factor)]
    return tuple(machines)
