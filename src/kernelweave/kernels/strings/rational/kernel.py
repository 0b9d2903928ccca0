"""Rational kernels: any similarity that a weighted transducer computes, on strings and on lattices.

    K(x, y) = U(x, y),      on lattices   K(X, Y) = sum_{x, y} X(x) U(x, y) Y(y) = D(X o U o Y)

With U = T o T^-1 the kernel is an inner product, K(x, y) = sum_z T(x, z) T(y, z): the features are the strings z that T
writes, phi_z(x) = T(x, z), and it is positive semi-definite.  An arbitrary U need be neither that nor symmetric.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.automata.base import Transducer
from kernelweave.automata.pack import AcceptorTable
from kernelweave.automata.rows import MachineRows
from kernelweave.automata.stored import fingerprint, same_machine
from kernelweave.data.blocks import sample_rows
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.checks import check_alphabets, check_strings
from kernelweave.kernels.strings.counts import Counts
from kernelweave.kernels.strings.grams import Grams
from kernelweave.kernels.strings.numbering import Numbering
from kernelweave.kernels.strings.rational.rows import feature_machines, machine_rows
from kernelweave.kernels.strings.rational.strings import (
    MOST_STRINGS,
    listed_strings,
    longest_output,
    numbering_of,
    string_sizes,
)

MOST_LETTERS = 64
"""Longest feature of a transducer whose outputs have no bound; the size of codes must not depend on the rows."""
CHECKED_ROWS = 300
"""Training rows on which a transducer given as a whole is checked."""
ASYMMETRY = 1e-10
"""How far K(x, y) and K(y, x) may differ, relative to the largest value, to count as rounding."""
INDEFINITE = 1e-10
"""How far below zero the smallest eigenvalue may be, relative to the largest, to count as rounding."""


class Rational(Grams):
    """The kernel of a weighted transducer, on sequences and on lattices.

    Transducers come from `kernelweave.automata`: counters of n-grams, with gaps or mismatches, and whatever else
    `Transducer.from_arcs` and `from_text` describe.  Weights may be negative.  Rows and transducer have the same
    alphabet.  A masked letter is read by arcs with the input `alphabet.size` and by no others; an arc that writes it
    writes something that matches nothing.

    Features are the strings that T writes.  They are listed (`counts`, `features`, the solver "dual_coordinate") for
    rows with at most a million of them; Gram matrices have no such limit.  A transducer T that may write without end,
    because arcs without input form a cycle, has a Gram matrix but no list of features: each value is then the solution
    of a linear system, and an error where the sum over all strings does not converge.

    Parameters
    ----------
    transducer : T, or U
    decomposed : whether the transducer is T of the kernel T o T^-1, which is positive semi-definite.  False: it is U
        itself.  Estimators check it on their training rows (`fitted`): K must be symmetric and positive
        semi-definite on all of them, or on 300 spread evenly over them
    trusted : take U for symmetric and positive semi-definite without a check; `fitted` sets it

    Examples
    --------
    >>> from kernelweave.automata import Transducer, ngram_counter
    >>> from kernelweave.data import Alphabet, Sequences
    >>> X = Sequences.from_strings(["abab", "bab"], alphabet=Alphabet("ab", "ab"))
    >>> bigrams = Rational(ngram_counter(X.alphabet, 2))
    >>> bigrams.gram(X)
    array([[5., 3.],
           [3., 2.]])
    >>> counts = bigrams.counts(X[:1])
    >>> bigrams.names(counts.codes, X.alphabet), counts.values
    (['ab', 'ba'], array([2., 1.]))

    A transducer U that reads a in one row where the other has b, at half of the weight:

    >>> arcs = [(0, 0, "a", "a", 1.0), (0, 0, "b", "b", 1.0), (0, 0, "a", "b", 0.5), (0, 0, "b", "a", 0.5)]
    >>> U = Transducer.from_arcs(arcs, finals=[0], alphabet=X.alphabet)
    >>> Rational(U, decomposed=False).gram(Sequences.from_strings(["aab", "bab"], alphabet=X.alphabet))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    cumulative = True

    def __init__(self, transducer: Transducer, decomposed: bool = True, trusted: bool = False):
        self.transducer = transducer
        self.decomposed = decomposed
        self.trusted = trusted

    @property
    def definite(self) -> bool:
        """Whether the transducer is decomposed, or has passed the check of `fitted`."""
        return bool(self.decomposed or self.trusted)

    def check(self, X: Any) -> None:
        """Raise unless the rows are strings over the alphabet of the transducer."""
        check_strings(self, X)
        if not isinstance(self.transducer, Transducer):
            raise TypeError(
                f"transducer={self.transducer!r} of Rational must be a Transducer; build one with "
                "kernelweave.automata, for example ngram_counter(X.alphabet, 3)."
            )
        known = self.transducer.alphabet
        if known is not None and known != X.alphabet:
            raise ValueError(
                f"The transducer of Rational is over {known!r}, but the rows are over {X.alphabet!r}; build the "
                "transducer with the alphabet of the rows, or respell the rows by X.with_alphabet."
            )
        labels = np.concatenate([self.transducer.inputs, self.transducer.outputs])
        if known is None and labels.max(initial=-1) > X.alphabet.size:
            raise ValueError(f"The transducer of Rational has the label {labels.max()}, no letter of {X.alphabet!r}.")

    def fitted(self, X: Any, sample_weight: Array | None = None) -> Kernel:
        """Return the kernel; a transducer given as a whole is checked on (at most 300 of) these rows first."""
        if self.definite:
            return self
        self.check(X)
        rows = sample_rows(len(X), CHECKED_ROWS)
        A = self.prepare(X[rows])
        K = A.block(A, mirrored=False)
        _check_symmetry(K, rows)
        eigenvalues = np.linalg.eigvalsh((K + K.T) / 2) if len(K) else np.zeros(1)
        if eigenvalues[0] < -INDEFINITE * abs(eigenvalues).max():
            raise ValueError(
                f"The transducer of {self!r} is not positive semi-definite: its Gram matrix on {len(rows)} training "
                f"rows has the eigenvalue {eigenvalues[0]:.6g} (the largest is {eigenvalues[-1]:.6g}); a transducer T "
                "makes a kernel T o T^-1 that is, Rational(T)."
            )
        return Rational(self.transducer, self.decomposed, trusted=True)

    def prepare(self, X: Any) -> MachineRows:
        """Return what each row writes through the transducer, and what it reads of others."""
        self.check(X)
        return machine_rows(X, self.transducer, bool(self.decomposed))

    def machines(self, X: Any) -> MachineRows:
        """Return what each row writes and what is read of it."""
        return self.prepare(X)

    def block(self, A: MachineRows, B: MachineRows, dtype: type = np.float64) -> Array:
        """Return the sums over all pairs of paths; of a transducer given as a whole, checked for symmetry."""
        check_alphabets(A.alphabet, B.alphabet)
        out = A.block(B, mirrored=A is B and self.definite)
        if A is B and not self.definite:
            _check_symmetry(out, A.rows)
            out = (out + out.T) / 2
        return out.astype(dtype, copy=False)

    def diagonal(self, A: MachineRows) -> Array:
        """Return the kernel of each row with itself."""
        every = np.arange(len(A))
        return A.pairs(A, every, every)

    @property
    def longest(self) -> int:
        """Most letters of a feature."""
        return max(1, MOST_LETTERS if (bound := longest_output(self.transducer)) is None else bound)

    def numbering(self, alphabet: Alphabet) -> Numbering:
        """Return how output strings are numbered over an alphabet."""
        return numbering_of(alphabet.size, self.longest)

    def rows(self, X: Any, dtype: type = np.float64) -> Counts:
        """Return T(x, z) of each row x and every string z that T writes, by code."""
        self.check(X)
        if not self.decomposed:
            raise ValueError(
                f"{self!r} has no explicit features: its transducer is not given as T o T^-1; use a solver that works "
                "on kernel values."
            )
        table = feature_machines(X, self.transducer)
        if not isinstance(table, AcceptorTable):
            raise ValueError(
                f"{self!r} has no list of features: arcs without input form a cycle, which may write strings without "
                "end; use a solver that works on kernel values."
            )
        numbering = self.numbering(X.alphabet)
        paths, letters = string_sizes(table)
        if (paths > MOST_STRINGS).any():
            row = int(np.argmax(paths > MOST_STRINGS))
            raise ValueError(
                f"Row {row} has {paths[row]:.6g} output strings under {self!r}, and features are listed up to "
                f"{MOST_STRINGS:,} a row; use its Gram matrix, which needs no list."
            )
        if (letters > numbering.longest).any():
            row = int(np.argmax(letters > numbering.longest))
            raise ValueError(
                f"Row {row} has output strings of {letters[row]} letters under {self!r}, and features have up to "
                f"{numbering.longest}; use its Gram matrix, which needs no list."
            )
        return Counts(*listed_strings(table, paths, numbering), X.alphabet).astype(dtype)

    def _columns(self, alphabet: Alphabet) -> int:
        return (alphabet.size + 1) ** self.longest

    def _known(self, codes: Array, alphabet: Alphabet) -> Array:
        return super()._known(codes if codes.ndim == 2 else codes.reshape(-1, 1), alphabet)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rational) or not isinstance(self.transducer, Transducer):
            return super().__eq__(other)
        return (
            isinstance(other.transducer, Transducer)
            and (self.decomposed, self.trusted) == (other.decomposed, other.trusted)
            and same_machine(self.transducer, other.transducer)
        )

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        text, machine = super().__repr__(), self.transducer
        if not isinstance(machine, Transducer):
            return text
        return text.replace(repr(machine), f"{repr(machine)[:-1]}, {fingerprint(machine)}>", 1)


def _check_symmetry(K: Array, rows: Array) -> None:
    difference = np.abs(K - K.T)
    if difference.max(initial=0.0) > ASYMMETRY * np.abs(K).max(initial=0.0):
        i, j = np.unravel_index(int(difference.argmax()), K.shape)
        raise ValueError(
            f"The transducer of Rational is not symmetric: row {rows[i]} with row {rows[j]} gives {K[i, j]:.6g}, row "
            f"{rows[j]} with row {rows[i]} gives {K[j, i]:.6g}; a transducer T makes a symmetric kernel, Rational(T)."
        )
