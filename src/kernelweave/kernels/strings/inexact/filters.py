"""Functions of the Hamming distance on l-mers: their eigenvalues, and the filters of gkm-SVM.

A matrix over all |A|^l l-mers whose entries depend only on the number of letters in which two l-mers differ, h[m], has
l + 1 eigenvalues, one for each order j (functions of l-mers that are sums of functions of j letters, and of no fewer):

    e[j] = sum_m h[m] K_m(j),        h[m] = |A|^-l sum_j e[j] K_j(m),        K = Krawtchouk's polynomials

Such matrices multiply by their eigenvalues.  Gapped k-mer counts know of the l-mer counts exactly what orders 0 .. k
know.  The estimate of the l-mer counts from them (Ghandi, Mohammad-Noori and Beer, J. Math. Biol. 69, 2014) is
therefore the projection on these orders, "full": e[j] = 1 up to k, 0 beyond.  "truncated" (Ghandi, Lee, Mohammad-Noori
and Beer, PLoS Comput. Biol. 10, 2014) sets g[m] of this projection to zero from its first negative value on.

Legend: l length, k letters that count, A alphabet of `size` letters, m mismatches, j order.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import comb

FILTERS = ("full", "truncated")


def krawtchouk(m: int, j: int, length: int, size: int) -> int:
    """Return K_m(j): the sum of a function of order j, at one of its ones, over the l-mers at distance m.

    Examples
    --------
    >>> [krawtchouk(1, j, 3, 4) for j in range(4)]
    [9, 5, 1, -3]
    """
    return sum((-1) ** s * (size - 1) ** (m - s) * comb(j, s) * comb(length - j, m - s) for s in range(m + 1))


def eigenvalues(table: Sequence[Fraction | int], length: int, size: int) -> list[Fraction]:
    """Return the eigenvalue of each order, (l + 1,), of h = `table`, which is zero behind its end.

    Examples
    --------
    >>> [str(value) for value in eigenvalues([1, 1], 2, 4)]
    ['7', '3', '-1']
    """
    return [
        sum((Fraction(h) * krawtchouk(m, j, length, size) for m, h in enumerate(table)), Fraction(0))
        for j in range(length + 1)
    ]


def with_eigenvalues(values: Sequence[Fraction | int], length: int, size: int) -> list[Fraction]:
    """Return h, (l + 1,), that has these eigenvalues."""
    scale = Fraction(1, size**length)
    return [scale * value for value in eigenvalues(values, length, size)]


@cache
def filtered(length: int, letters: int, size: int, name: str) -> tuple[Fraction, ...]:
    """Return h of the inner product of estimated l-mer counts, (l + 1,).

    Parameters
    ----------
    length, letters : l and k
    size : letters of the alphabet
    name : "full" or "truncated"

    Examples
    --------
    >>> [round(float(h), 6) for h in filtered(11, 7, 4, "truncated")[:6]]
    [0.220005, 0.060412, 0.013319, 0.001775, 0.000104, 0.0]
    """
    estimate = with_eigenvalues([1] * (letters + 1), length, size)
    if name == "full":
        return tuple(estimate)  # a projection is its own square
    reach = next((m for m, g in enumerate(estimate) if g <= 0), len(estimate))
    values = eigenvalues(estimate[:reach], length, size)
    return tuple(with_eigenvalues([value * value for value in values], length, size))
