"""The weighted sum of kernels that chunking works on while the weights change."""

from __future__ import annotations

import numpy as np

from kernelweave.operators.base import Linadd, Operator, OperatorSet, Restrictable
from kernelweave.solvers.problems import Array
from kernelweave.solvers.svm.chunking import Chunking


def through_vectors(operators: OperatorSet) -> bool:
    """Tell whether products with a sum of kernels go through one normal vector, and cost no more than with one kernel.

    The outputs of each kernel are then m times the work, and needed for nothing but the energies.
    """
    uniform = np.full(operators.m, 1.0 / operators.m)
    return isinstance(operators, Restrictable) and isinstance(operators.combined(uniform), Linadd)


def weighted_sum(operators: OperatorSet, beta: Array) -> KeptOutputs | Recombined:
    """Return the sum in the form that suits the kernels."""
    return Recombined(operators, beta) if through_vectors(operators) else KeptOutputs(operators, beta)


class Recombined:
    """The sum as an operator that is made afresh for new weights, and its outputs with it."""

    def __init__(self, operators: OperatorSet, beta: Array):
        self.operators, self.operator = operators, operators.combined(beta)

    def energies(self, alpha: Array) -> Array:
        """Return ``alpha'K_k alpha`` for every kernel."""
        return self.operators.energies(alpha)

    def change(self, svm: Chunking, beta: Array) -> None:
        """Go on with other weights."""
        self.operator = self.operators.combined(beta)
        svm.exchange(self.operator, None)

    def restore(self, alpha: Array, each: Array | None) -> None:
        """Nothing is kept."""


class KeptOutputs:
    """The sum as an operator that also keeps what every kernel contributes: ``g_k = K_k alpha``, (m, n)."""

    def __init__(self, operators: OperatorSet, beta: Array):
        self.operators, self.n = operators, operators.n
        self.each = np.zeros((operators.m, operators.n))
        self.diagonals = operators.diagonals()
        self.beta = beta

    @property
    def operator(self) -> Operator:
        """The sum."""
        return self

    def diag(self) -> Array:
        """Return the diagonal of the sum."""
        return self.beta @ self.diagonals

    def submatrix(self, rows: Array) -> Array:
        """Return the sum on some rows."""
        return self.operators.combined_submatrix(self.beta, rows)

    def columns(self, rows: Array) -> Array:
        """Return columns of the sum."""
        return self.operators.combined(self.beta).columns(rows)

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Carry a change of alpha over to every kernel's outputs, and their weighted sum to `out`."""
        if len(rows):
            self.operators.each_add_to(self.each, rows, steps)
        out[:] = self.beta @ self.each

    def energies(self, alpha: Array) -> Array:
        """Return ``alpha'K_k alpha`` for every kernel."""
        return self.each @ alpha

    def change(self, svm: Chunking, beta: Array) -> None:
        """Go on with other weights."""
        self.beta = beta
        svm.exchange(self, beta @ self.each)

    def restore(self, alpha: Array, each: Array | None) -> None:
        """Take the outputs of a former run over, or compute those of its alpha."""
        rows = np.flatnonzero(alpha)
        self.each = np.zeros_like(self.each) if each is None else each
        if each is None:
            self.operators.each_add_to(self.each, rows, alpha[rows])
