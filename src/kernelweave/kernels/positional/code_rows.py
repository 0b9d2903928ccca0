"""Sequences of one length, prepared for kernels that compare letters at the same place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave._numba.bits import bit_planes
from kernelweave.data.errors import Incomparable
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.checks import check_alphabets, check_sequences


@dataclass(frozen=True)
class CodeRows:
    """Rows of letters of one length.

    Attributes
    ----------
    codes : (n, length) letters
    planes : (n, words, planes) uint64, the same letters as bits
    alphabet : what they are spelled with
    """

    codes: Array
    planes: Array
    alphabet: Alphabet

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> CodeRows:
        return CodeRows(self.codes[rows], self.planes[rows], self.alphabet)


def code_rows(kernel: Kernel, X: Any) -> CodeRows:
    """Return sequences as a matrix of letters and as bit planes."""
    length = fixed_length(kernel, X)
    codes = np.ascontiguousarray(X.matrix) if len(X) else np.empty((0, length), X.codes.dtype)
    return CodeRows(codes, bit_planes(codes, X.alphabet.size, X.alphabet.mask), X.alphabet)


def fixed_length(kernel: Kernel, X: Any) -> int:
    """Return the number of letters in every row, 0 if there are no rows; raise where rows differ in length."""
    check_sequences(kernel, X)
    if len(X) == 0:
        return 0
    lengths = np.diff(X.offsets)
    if not X.is_fixed_length:
        row = int(np.argmax(lengths != lengths[0]))
        raise Incomparable(
            f"{type(kernel).__name__} compares sequences of one length, but row 0 has {lengths[0]} letters and row "
            f"{row} has {lengths[row]}."
        )
    return int(lengths[0])


def check_comparable(kernel: Kernel, A: CodeRows, B: CodeRows) -> None:
    """Raise unless two prepared inputs have one alphabet and, where both have rows, one length."""
    check_alphabets(A.alphabet, B.alphabet)
    if len(A) and len(B) and A.codes.shape[1] != B.codes.shape[1]:
        raise Incomparable(
            f"{type(kernel).__name__} compares sequences of one length, but one side has {A.codes.shape[1]} letters a "
            f"row and the other {B.codes.shape[1]}."
        )
