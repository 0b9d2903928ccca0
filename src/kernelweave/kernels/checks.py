"""Checks of kernel parameters, made when a kernel is first evaluated: one sentence each."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from kernelweave.data.kinds import alphabet_of, find, kind_of
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.kernels.base import Kernel


def check_number(kernel: Kernel, name: str, value: Any) -> None:
    """Raise unless the parameter is a finite number."""
    if not isinstance(value, Real) or not np.isfinite(float(value)):
        raise ValueError(f"{name}={value!r} of {type(kernel).__name__} must be a finite number.")


def check_positive(kernel: Kernel, name: str, value: Any, expected: str = "a positive number") -> None:
    """Raise unless the parameter is a finite number above zero."""
    if not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name}={value!r} of {type(kernel).__name__} must be {expected}.")


def check_count(kernel: Kernel, name: str, value: Any) -> None:
    """Raise unless the parameter is a positive integer."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
        raise ValueError(f"{name}={value!r} of {type(kernel).__name__} must be a positive integer.")


def check_kernel(owner: Kernel, value: Any) -> None:
    """Raise unless a part of a composed kernel is a kernel."""
    if not isinstance(value, Kernel):
        raise TypeError(f"{type(owner).__name__} needs kernels, but got {value!r}.")


def check_sequences(kernel: Kernel, X: Any) -> None:
    """Raise unless X holds sequences."""
    if kind_of(X).uncertain:
        raise TypeError(
            f"{type(kernel).__name__} compares sequences, but got {type(X).__name__}; use a kernel for lattices, such "
            "as NGram, or the best path of each, X.one_best()."
        )
    if alphabet_of(X) is None:
        raise TypeError(
            f"{type(kernel).__name__} compares sequences, but got {_got(X)}; make them with Sequences.from_strings."
        )


def _got(X: Any) -> str:
    """Say what rows are, or what an object is that is no container of rows."""
    return type(X).__name__ if find(X) is None else kind_of(X).noun


def check_strings(kernel: Kernel, X: Any) -> None:
    """Raise unless X holds sequences or lattices."""
    if alphabet_of(X) is None:
        raise TypeError(
            f"{type(kernel).__name__} compares sequences, but got {_got(X)}; make them with Sequences.from_strings, or "
            "lattices with Lattices.from_arcs."
        )


def check_alphabets(alphabet: Alphabet, other: Alphabet) -> None:
    """Raise unless two inputs are spelled with the same letters."""
    if alphabet != other:
        raise ValueError(
            f"Sequences over different alphabets cannot be compared: one side is {alphabet!r}, the other {other!r}."
        )
