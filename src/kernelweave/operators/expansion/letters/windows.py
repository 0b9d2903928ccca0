"""What k-mers that stand anywhere give to the letters of sequences: every window is looked up by itself.

Features of a row are the sums of those of its windows (ability `Windowed`).
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from kernelweave.data.blocks import spans
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels.abilities import Features, Windowed
from kernelweave.kernels.base import Array
from kernelweave.kernels.tree import Leaf
from kernelweave.operators.features.vocabulary import Vocabulary

WINDOWS_TOGETHER = 4096
"""Windows whose features are made together."""


def by_window(leaf: Leaf, known: Vocabulary, w: Array, X: Sequences) -> Array:
    """Return what k-mers wherever they stand give to the letters of rows."""
    kernel, out = cast(Any, leaf.kernel), np.zeros(len(X.codes))
    for length in cast(Windowed, kernel).window_lengths():
        last = np.repeat(np.asarray(X.offsets[1:]), X.lengths) - length
        every = np.flatnonzero(np.arange(len(X.codes)) <= last)
        for cut in spans(len(every), WINDOWS_TOGETHER):
            _add_windows(kernel, known, w, X, every[cut], length, out)
    return out


def _add_windows(
    kernel: Any, known: Vocabulary, w: Array, X: Sequences, starts: Array, length: int, out: Array
) -> None:
    """Add what the windows that start at `starts` give to their letters."""
    letters = X.codes[starts[:, None] + np.arange(length)]
    windows = Sequences._trusted(letters.ravel(), np.arange(len(starts) + 1) * length, X.alphabet, None)
    found = cast(Features, kernel).counts(windows)
    place, window = known.find(found.codes), np.repeat(np.arange(len(starts)), np.diff(found.starts))
    spelled = kernel.letters(found.codes, X.alphabet)
    kept = np.flatnonzero((place >= 0) & ((spelled >= 0).sum(axis=1) == length))  # shorter ones have their own windows
    place, window, spelled = place[kept], window[kept], spelled[kept, :length]
    counts = spelled != X.alphabet.mask  # not the wildcards of a gapped k-mer
    turned = ~((spelled == letters[window]) | ~counts).all(axis=1) & ~counts.all(axis=1)
    counts[turned] = counts[turned][:, ::-1]  # found on the other strand: its places are mirrored
    share = w[place] * found.values[kept] / counts.sum(axis=1)
    entry, at = np.nonzero(counts)
    np.add.at(out, starts[window[entry]] + at, share[entry])
