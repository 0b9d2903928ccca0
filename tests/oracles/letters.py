"""What letters and arcs add, the slow way: mask one, and see what is lost, length by length."""

from __future__ import annotations

import kernelweave as kw
from kernelweave.data.masked import masked_one_by_one
from kernelweave.kernels.abilities import Positional


def masked_shares(model, row):
    """Return the share of every place of one row in the decision value of a model of one kernel."""
    (leaf,) = model.expansion_.kernels[0].leaves()
    rows, coef = model.expansion_.rows, model.dual_coef_[0] * leaf.factor
    copies, total = masked_one_by_one(row), 0.0
    for kernel, letters in _by_length(leaf.kernel):
        scores = kernel.gram(copies, rows) @ coef
        total = total + (scores[0] - scores[1:]) / letters
    return total


def _by_length(kernel):
    if not isinstance(kernel, Positional):
        return [(kernel, kernel.longest)]
    degree, shift = kernel.degree, kernel.shift
    return [(kw.WeightedDegree(degree, shift=shift, only=k), k) for k in range(1, degree + 1)]
