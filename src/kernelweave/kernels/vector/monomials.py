"""The features of a polynomial kernel, written out.

    (gamma x'y + c)^D = (z(x)'z(y))^D = sum_{|a| = D} D! / (a_0! .. a_d!) z(x)^a z(y)^a,   z(x) = sqrt(c, gamma x)

with sqrt(gamma) in front of each column of x and sqrt(c) as a constant column, which falls away where c = 0.  So there
is a feature for each choice of D columns of z, with repetition and regardless of order: the product of the columns
times the root of the number of orders.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from kernelweave.kernels.base import Array

EXPAND_UP_TO = 5000
"""Most features that are written out: with more, kernel values or an approximation cost less."""


def n_monomials(n_features: int, degree: int, constant: bool) -> int:
    """Return the number of features, one for each monomial.

    Examples
    --------
    >>> n_monomials(20, 2, True), n_monomials(20, 2, False)
    (231, 210)
    """
    return math.comb(n_features + constant + degree - 1, degree)


@cache
def orders(columns: int, degree: int) -> Array:
    """Return in how many orders each choice of columns can be drawn, in the order of `monomials`.

    Examples
    --------
    >>> orders(2, 3)
    array([1., 3., 3., 1.])
    """
    choices = combinations_with_replacement(range(columns), degree)
    whole = math.factorial(degree)
    return np.array([whole / math.prod(map(math.factorial, Counter(choice).values())) for choice in choices])


def monomials(z: Array, degree: int) -> Array:
    """Return the products of all choices of `degree` rows of z, (choices, n).

    Examples
    --------
    >>> monomials(np.array([[1.0, 2.0], [3.0, 5.0]]), 2)
    array([[ 1.,  4.],
           [ 3., 10.],
           [ 9., 25.]])
    """
    columns, out = len(z), z
    starts = np.arange(columns)  # where the choices begin whose first row is i or a later one
    for _ in range(degree - 1):
        made = [z[i] * out[starts[i] :] for i in range(columns)]
        sizes = [len(part) for part in made]
        starts = np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.int64)
        out = np.concatenate(made)
    return out


def expanded(rows: Array, degree: int, gamma: float, coef0: float) -> Array:
    """Return the features of dense rows, (n, width)."""
    z = np.sqrt(gamma) * rows.T
    if coef0 > 0:
        z = np.concatenate([np.full((1, len(rows)), np.sqrt(coef0)), z])
    made = monomials(z, degree)
    made *= np.sqrt(orders(len(z), degree))[:, None]
    return made.T
