"""Positional oligomer importance (Sonnenburg, Zien, Philips, Raetsch 2008): what a k-mer at a place is worth.

The weight w(i, u) of one k-mer tells little: a k-mer that is seen brings along all k-mers inside it, parts of those
that overlap it, and perhaps longer ones around it.  The importance of z (k letters) at position j is what seeing it
changes on average over rows X whose letters are drawn independently with frequencies p:

    Q_k(z, j) = E[s(X) | X has z at j] - E[s(X)]
              = sum_(i, u) w(i, u) ([u and z agree where they overlap] p(u outside z) - p(u)),      p(u) = prod_l p(u_l)

Derivation.  Given z, the letters outside it keep their frequencies, so a k-mer u occurs with probability 0 if it
contradicts z and p(u outside z) if not; without overlap the two terms cancel.  Sort the others by where they start,
with R(i, v) the expected weight of all that starts with v at i once v is there:

    R(i, v) = w(i, v) + sum_a p(a) R(i, va)                             sum over the letters a that may follow

    start i = s inside z:    it ends inside z, w(s, z_s ..), for every length; or it reaches the end of z or goes on,
                             R(s, z_s .. z_end)
    start i < j:             it ends inside z after D letters of it,   Left(j, D)[z_1 .. z_D],   D < k; or it covers z,
                             Left(j, k)[z]
    Left(j, D)[v] = sum_{i < j} sum_{h of j - i letters} p(h) w(i, hv)        R instead of w for D = k

    G(z, j) = sum_{s < k} (sum_{D < k - s} w(j + s, z_{s+1} .. z_{s+D}) + R(j + s, z_{s+1} .. z_k))
              + sum_{D <= k} Left(j, D)[z_1 .. z_D]

Averaged over z, G is what stays without z, hence Q_k(z, j) = G(z, j) - sum_y p(y) G(y, j).  Each k-mer of the normal
vector, of whatever length, is met once and enters at most k + 2 cells: linear in their number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data import Alphabet
from kernelweave.data.kinds import alphabet_of
from kernelweave.interpret.normal_vector import Array, NormalVector, normal_vector
from kernelweave.interpret.positional import Kmer

MOST_CELLS = 50_000_000
"""Entries that one table of k-mers by positions may have: 400 MB."""


@dataclass(frozen=True)
class Poim:
    """Importance of every k-mer at every position.

    Attributes
    ----------
    values : (letters^k, positions) Q_k(z, j); k-mers in the order of the alphabet, AAA, AAC, ...
    k : number of letters
    alphabet : of the letters
    background : (letters,) their frequencies
    """

    values: Array
    k: int
    alphabet: Alphabet
    background: Array

    @cached_property
    def kmers(self) -> list[str]:
        """The k-mers, in the order of the rows of `values`."""
        return _spelled(np.arange(len(self.values)), self.k, self.alphabet)

    @property
    def by_position(self) -> Array:
        """The largest absolute importance of any k-mer at each position, (positions,)."""
        return np.abs(self.values).max(axis=0)

    def most_important(self, n: int = 10) -> list[Kmer]:
        """Return the k-mers and positions of the largest absolute importance, the largest first.

        Parameters
        ----------
        n : how many
        """
        flat = np.abs(self.values).ravel()
        order = np.lexsort([np.arange(flat.size), -flat]) if flat.size <= n else _largest(flat, n)
        which, position = np.unravel_index(order, self.values.shape)
        names = _spelled(which, self.k, self.alphabet)
        values = self.values[which, position].tolist()
        return [Kmer(name, int(j), value) for name, j, value in zip(names, position, values)]


@dataclass(frozen=True)
class PoimLengths:
    """The largest importance at each position, for k-mers of several lengths.

    Attributes
    ----------
    lengths : the k
    values : (lengths, positions) ``max_z |Q_k(z, j)|``; NaN where a k-mer would leave the row
    gains : same shape, the maximum over z of ``|Q_k(z, j)|`` less the larger ``|Q_{k-1}|`` of the two (k-1)-mers in z:
        what a k-mer says beyond its parts; values themselves for k = 1
    """

    lengths: tuple[int, ...]
    values: Array
    gains: Array


def poim(model: Any, k: int = 3, background: Any = None, *, target: Any = None) -> Poim:
    """Return the positional oligomer importance matrix of a model with a weighted-degree kernel.

    Parameters
    ----------
    model : fitted, with one such kernel or several
    k : letters of the k-mers
    background : how letters are drawn: None for all alike, "support" for their frequencies in the support rows, a
        dict or (letters,) frequencies, or Sequences to count them in
    target : the class whose decision value is meant, for a model of several classes

    Notes
    -----
    A k-mer that is inserted into a row by hand changes the score by less or more than this, for the row's own letters
    are not those of the average row.  Of several kernels, those that are not positional are left out.

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(200, random_state=0)
    >>> found = poim(kw.KernelClassifier(kw.WeightedDegree(5)).fit(X, y), k=2)
    >>> found.values.shape, bool(abs(found.values.mean(axis=0)).max() < 1e-12)
    ((16, 140), True)
    """
    vector = normal_vector(model, target)
    _check_k(vector, k)
    return _importance(vector, k, letter_frequencies(vector, background))


def poim_lengths(
    model: Any, lengths: Iterable[int] = (1, 2, 3, 4), background: Any = None, *, target: Any = None
) -> PoimLengths:
    """Return the largest importance at each position for k-mers of several lengths: which length matters where.

    Parameters
    ----------
    model, background, target : as for `poim`
    lengths : the k to compare

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(200, random_state=0)
    >>> poim_lengths(kw.KernelClassifier(kw.WeightedDegree(5)).fit(X, y), (1, 2)).values.shape
    (2, 141)
    """
    vector, wanted = normal_vector(model, target), tuple(int(k) for k in lengths)
    for k in wanted:
        _check_k(vector, k)
    p = letter_frequencies(vector, background)
    values = np.full((len(wanted), vector.length), np.nan)
    gains = values.copy()
    for row, k in enumerate(wanted):
        sizes = np.abs(_importance(vector, k, p).values)
        values[row, : sizes.shape[1]] = sizes.max(axis=0)
        gains[row, : sizes.shape[1]] = (sizes - _best_part(vector, k, p)).max(axis=0)
    return PoimLengths(wanted, values, gains)


def letter_frequencies(vector: NormalVector, background: Any) -> Array:
    """Return the background as (letters,) frequencies that add up to one."""
    alphabet = vector.alphabet
    if background is None:
        return np.full(alphabet.size, 1.0 / alphabet.size)
    if isinstance(background, str):
        if background != "support":
            raise ValueError(f"background={background!r} is unknown; give 'support', frequencies, Sequences or None.")
        return _counted(vector.codes, alphabet)
    given = alphabet_of(background)
    if given is not None:
        if given != alphabet:
            raise ValueError(f"The background is over {given!r}, but the model over {alphabet!r}.")
        return _counted(background.codes, alphabet)
    if isinstance(background, dict):
        strange = [letter for letter in background if letter not in alphabet.letters]
        if strange:
            raise ValueError(
                f"The background names {strange[0]!r}, which is not a letter of the {alphabet.name} alphabet."
            )
        background = [background.get(letter, 0.0) for letter in alphabet.letters]
    p = np.asarray(background, dtype=np.float64)
    if p.shape != (alphabet.size,) or not np.all(np.isfinite(p)) or np.any(p < 0) or not p.sum() > 0:
        raise ValueError(f"The background must be {alphabet.size} non-negative frequencies, one for each letter.")
    return p / p.sum()


def _counted(codes: Array, alphabet: Alphabet) -> Array:
    counts = np.bincount(codes[codes != alphabet.mask].ravel(), minlength=alphabet.size)
    if not counts.sum():
        raise ValueError("The background has no letters to count.")
    return counts / counts.sum()


def _check_k(vector: NormalVector, k: int) -> None:
    if not isinstance(k, int | np.integer) or not 1 <= k <= vector.length:
        raise ValueError(f"k={k!r} is not valid; expected a whole number from 1 to {vector.length}, the row length.")
    letters = vector.alphabet.size
    if float(letters) ** k * vector.length > MOST_CELLS:
        raise ValueError(
            f"k={k} gives {letters}^{k} k-mers at {vector.length} positions, more than {MOST_CELLS:,} numbers; "
            "choose a smaller k."
        )


def _importance(vector: NormalVector, k: int, p: Array) -> Poim:
    letters = vector.alphabet.size
    sizes = letters ** np.arange(1, k + 1)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    inner, begun, left = (np.zeros((vector.length, offsets[-1])) for _ in range(3))
    for position in range(vector.length):
        nodes = vector.at(position)
        _scatter(
            vector.codes, p, position, offsets, nodes.rows, nodes.starts, nodes.depth, nodes.weight, inner, begun, left
        )  # fmt: skip
    values = np.zeros((letters**k, vector.length - k + 1))
    _assemble(letters, offsets, inner, begun, left, values)
    values -= _products(p, k) @ values
    return Poim(values, k, vector.alphabet, p)


def _products(p: Array, k: int) -> Array:
    """Return the probability of each k-mer, (letters^k,)."""
    out = np.ones(1)
    for _ in range(k):
        out = np.multiply.outer(out, p).ravel()
    return out


def _best_part(vector: NormalVector, k: int, p: Array) -> Array:
    """Return the larger absolute importance of the first and of the last k - 1 letters, (letters^k, positions)."""
    if k == 1:
        return np.zeros((vector.alphabet.size, vector.length))
    shorter = np.abs(_importance(vector, k - 1, p).values)
    whole = np.arange(vector.alphabet.size**k)
    head, tail = shorter[whole // vector.alphabet.size, :-1], shorter[whole % len(shorter), 1:]
    return np.maximum(head, tail)


def _largest(flat: Array, n: int) -> Array:
    some = np.argpartition(-flat, n - 1)[:n]
    return some[np.lexsort([some, -flat[some]])]


def _spelled(numbers: Array, k: int, alphabet: Alphabet) -> list[str]:
    """Return k-mers by their numbers."""
    digits = numbers[:, None] // alphabet.size ** np.arange(k - 1, -1, -1) % alphabet.size
    return alphabet.decode_rows(digits.astype(alphabet.dtype).ravel(), np.arange(len(numbers) + 1) * k)


@jit
def _scatter(codes, p, position, offsets, rows, starts, depths, weights, inner, begun, left):  # type: ignore[no-untyped-def]
    """Add the k-mers of one position, children before parents, to the tables w, R and Left."""
    letters, k = len(p), len(offsets) - 1
    deepest = 0
    for q in range(len(rows)):
        deepest = max(deepest, depths[q])
    below = np.zeros(deepest + 2)  # p(a) R(va) of the children met so far, by their depth
    head = np.ones(deepest + 1)  # probability of the first letters
    for q in range(len(rows)):
        row, start, depth = rows[q], starts[q], depths[q]
        expected = weights[q] + below[depth + 1]
        below[depth + 1] = 0.0
        below[depth] += p[codes[row, start + depth - 1]] * expected
        for h in range(depth):
            head[h + 1] = head[h] * p[codes[row, start + h]]
        code, power = 0, 1
        for tail in range(1, min(depth, k) + 1):
            code += power * codes[row, start + depth - tail]
            power *= letters
            if tail == depth:
                inner[position, offsets[tail - 1] + code] = weights[q]
                begun[position, offsets[tail - 1] + code] = expected
            else:
                value = weights[q] if tail < k else expected
                left[position + depth - tail, offsets[tail - 1] + code] += head[depth - tail] * value


@jit
def _assemble(letters, offsets, inner, begun, left, values):  # type: ignore[no-untyped-def]
    """Add up G(z, j)."""
    k = len(offsets) - 1
    for j in range(values.shape[1]):
        for z in range(values.shape[0]):
            total, rest, power = 0.0, z, values.shape[0]
            for s in range(k):  # rest: the letters of z from s on
                part = rest
                total += begun[j + s, offsets[k - s - 1] + part]
                for width in range(k - s - 1, 0, -1):
                    part //= letters
                    total += inner[j + s, offsets[width - 1] + part]
                power //= letters
                rest %= power
            part = z
            for width in range(k, 0, -1):
                total += left[j, offsets[width - 1] + part]
                part //= letters
            values[z, j] = total
