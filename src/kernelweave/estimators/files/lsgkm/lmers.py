"""The table of l-mer scores that deltaSVM takes: every l-mer once, with its decision value.

Where both strands are compared, an l-mer and its reverse complement are one, written as the earlier of the two.  These
are the scores of `gkmpredict` for the l-mers that LS-GKM's script `nrkmers.py` lists, in the same order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.data.blocks import spans
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels.abilities import Hamming
from kernelweave.kernels.tree import all_leaves

LONGEST = 12
"""Longest l-mer of a table: 16.8 million lines, half of them with both strands."""
AT_A_TIME = 2**18


def write_lmers(model: Any, path: PathLike) -> int:
    """Write the decision value of every l-mer, one `l-mer TAB value` a line, and return how many there are.

    Parameters
    ----------
    model : fitted, of one output, on dna or rna, with a kernel on l-mers such as LSGKM, GappedKmer or Mismatch
    path : the file; a name that ends in .gz is compressed
    """
    kernel = next((leaf.kernel for leaf in all_leaves(model._used_kernels) if isinstance(leaf.kernel, Hamming)), None)
    alphabet = getattr(getattr(model, "reference_", None), "alphabet", None)
    if kernel is None or alphabet is None or alphabet.complement is None or len(model.intercept_) != 1:
        raise ValueError(
            "A table of l-mers is made of a model of one output on dna or rna with a kernel on l-mers, such as LSGKM "
            "or GappedKmer."
        )
    length = int(kernel.window()[0])
    if length > LONGEST:
        raise ValueError(f"Tables of l-mers go up to l = {LONGEST}, but this model has l = {length}.")
    numbers = distinct_lmers(length, alphabet, kernel.reverse_complement)
    letters = np.array([ord(letter) for letter in alphabet.letters], np.uint8)
    with open_aside(path) as file:
        for span in spans(len(numbers), AT_A_TIME):
            codes = spelled(numbers[span], length)
            X = Sequences(codes.reshape(-1), length * np.arange(len(codes) + 1), alphabet)
            values = (model.decision_function if hasattr(model, "decision_function") else model.predict)(X)
            texts = [row.tobytes().decode() for row in letters[codes]]
            file.write("".join(f"{text}\t{value:.9g}\n" for text, value in zip(texts, values.tolist())).encode())
    return len(numbers)


def distinct_lmers(length: int, alphabet: Alphabet, both: bool) -> np.ndarray:
    """Return the numbers of all l-mers, rising; of two reverse complements only the lower one, if `both` are one.

    Examples
    --------
    >>> [int(n) for n in distinct_lmers(2, Alphabet.named("dna"), True)]
    [0, 1, 2, 3, 4, 5, 6, 8, 9, 12]
    """
    numbers = np.arange(4**length)
    if not both:
        return numbers
    partners = alphabet.complement_codes[:4].astype(np.int64)
    turned, rest = np.zeros_like(numbers), numbers.copy()
    for _ in range(length):
        turned = 4 * turned + partners[rest & 3]
        rest >>= 2
    return numbers[numbers <= turned]


def spelled(numbers: np.ndarray, length: int) -> np.ndarray:
    """Return the letters of numbered l-mers, (m, l) uint8."""
    shifts = 2 * np.arange(length - 1, -1, -1)
    return ((numbers[:, None] >> shifts) & 3).astype(np.uint8)
