"""What a model with weighted-degree kernels has learned: weights by degree and by position, and its best k-mers.

    c(i, k) = sum_m beta_m c_m(i, k)        the weight of a k-mer of length k that starts at position i, `cell_weights`

With kernels scaled to mean diagonal 1, the cells of kernel m add up to beta_m, whatever its degree and its window.
Shares of that sum therefore show the learned weights of any split (by degree, by position, by both) on one scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave.interpret.normal_vector import Array, Nodes, NormalVector, normal_vector
from kernelweave.interpret.parts import (
    check_one_place,
    check_ranking,
    kernel_weights,
    lacking,
    last_step,
    letters_of,
    positional,
)
from kernelweave.kernels.abilities import Positional
from kernelweave.kernels.tree import all_leaves
from kernelweave.operators.expansion.terms import Term, terms

SPARE = 8
"""How many times as many k-mers are ranked as are kept where repeats are left out: many lie inside others."""


@dataclass(frozen=True)
class Kmer:
    """A k-mer at a position (counted from 0) and what it adds to the decision value."""

    kmer: str
    position: int
    weight: float

    def __str__(self) -> str:
        return f"{self.position:>5}  {self.weight:+.4f}  {self.kmer}"


@dataclass(frozen=True)
class DegreeWeights:
    """Share of the kernel weight by length of k-mer.

    Attributes
    ----------
    degrees : (d,) 1, 2, ..., d
    weights : (d,) shares; together with `other` they add up to one
    other : share of kernels that are not positional
    learned : False for a model with one kernel, whose weights are as given
    """

    degrees: Array
    weights: Array
    other: float = 0.0
    learned: bool = True

    @property
    def names(self) -> list[str]:
        """What each share belongs to."""
        return [str(k) for k in self.degrees]

    def __str__(self) -> str:
        return _table(self.names, self.weights, self.other, "k")


@dataclass(frozen=True)
class PositionWeights:
    """Share of the kernel weight by window of positions.

    Attributes
    ----------
    starts, stops : (w,) windows of positions, first and one past the last; they cover the row
    weights : (w,) shares; together with `other` they add up to one
    other : share of kernels that are not positional
    learned : False for a model with one kernel, whose weights are as given
    """

    starts: Array
    stops: Array
    weights: Array
    other: float = 0.0
    learned: bool = True

    @property
    def names(self) -> list[str]:
        """What each share belongs to: a position, or the first and the last one of a window."""
        return [str(a) if b == a + 1 else f"{a}..{b - 1}" for a, b in zip(self.starts, self.stops)]

    @property
    def per_position(self) -> Array:
        """The share of each single position, (length,): that of its window, divided evenly."""
        sizes = self.stops - self.starts
        return np.repeat(self.weights / sizes, sizes)

    def __str__(self) -> str:
        return _table(self.names, self.weights, self.other, "position")


def cell_weights(model: Any, *, target: Any = None) -> Array:
    """Return the weight of a k-mer of each length at each position in the kernel of a model, (length, degree).

    Parameters
    ----------
    model : fitted, with one weighted-degree kernel or several
    target : a class, where each class has kernel weights of its own

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(100, random_state=0)
    >>> model = kw.KernelClassifier(kw.WeightedDegree(3)).fit(X, y)
    >>> cell_weights(model)[[0, 139, 140]].round(3)
    array([[0.5  , 0.333, 0.167],
           [0.5  , 0.333, 0.   ],
           [0.5  , 0.   , 0.   ]])
    """
    return _total([cells for _, cells in _learned(model, target)[0]])


def weights_by_degree(model: Any, *, target: Any = None) -> DegreeWeights:
    """Return the share of the learned weight that k-mers of each length have.

    For ``MKLClassifier(kw.WeightedDegree(20).per_degree())`` these are the kernel weights; for a model with one kernel
    they are as given, not learned.

    Parameters
    ----------
    model : fitted, with one weighted-degree kernel or several
    target : a class, where each class has kernel weights of its own

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(100, random_state=0)
    >>> model = kw.KernelClassifier(kw.WeightedDegree(3)).fit(X, y)
    >>> weights_by_degree(model).weights.round(2)
    array([0.5 , 0.33, 0.17])
    """
    learned, rest = _learned(model, target)
    sums = _total([cells for _, cells in learned]).sum(axis=0)
    whole = float(sums.sum()) + rest
    return DegreeWeights(np.arange(1, len(sums) + 1), sums / whole, rest / whole, _chooses(model))


def weights_by_position(model: Any, *, target: Any = None) -> PositionWeights:
    """Return the share of the learned weight that k-mers starting in each window of positions have.

    The windows are those of the kernels: for ``kw.WeightedDegree(20).per_position(window=5)`` windows of five
    positions; kernels that see the whole row have one window.

    Parameters
    ----------
    model : fitted, with one weighted-degree kernel or several
    target : a class, where each class has kernel weights of its own

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(100, random_state=0)
    >>> model = kw.KernelClassifier(kw.WeightedDegree(3)).fit(X, y)
    >>> print(weights_by_position(model))
    position  share
    0..140    1.0000
    """
    learned, rest = _learned(model, target)
    sums = _total([cells for _, cells in learned]).sum(axis=1)
    whole = float(sums.sum()) + rest
    edges = _edges([shape for shape, _ in learned], len(sums))
    shares = np.add.reduceat(sums, edges[:-1]) / whole
    return PositionWeights(edges[:-1], edges[1:], shares, rest / whole, _chooses(model))


def top_kmers(
    model: Any, n: int = 20, k: int | None = None, *, by: str = "spread", target: Any = None, repeats: bool = True
) -> list[Kmer]:
    """Return the k-mers at positions that tell the classes apart most, with what each adds to the decision value.

    A model with positional kernels is linear in its k-mers: ``s(x) = b +`` the sum of the weights of all k-mers of x.
    The weight of a k-mer counts besides those of the shorter k-mers inside it; `poim` puts them together.

    Parameters
    ----------
    model : fitted, with one weighted-degree kernel or several
    n : how many
    k : length of the k-mers; None for any
    by : what ranks them: "spread", ``|weight| sqrt(q (1 - q))``, q the share of the support rows that have the k-mer
        there, the standard deviation of what it adds over these rows, so that neither rare nor ubiquitous k-mers come
        first; or "weight", ``|weight|`` alone
    target : the class whose decision value is meant, for a model of several classes
    repeats : False to leave out k-mers that say again what a better one says: those inside it, at the same place, and
        those around it

    Returns
    -------
    list of `Kmer` (kmer, position, weight), the most discriminative first

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(300, random_state=0)
    >>> model = kw.KernelClassifier(kw.WeightedDegree(5)).fit(X, y)
    >>> found = top_kmers(model, 3, k=2)
    >>> [len(best.kmer) for best in found]
    [2, 2, 2]
    """
    check_ranking(by, n, "k-mer")
    vector = normal_vector(model, target)
    degree = vector.coupling.shape[3]
    if k is not None and not 1 <= k <= degree:
        raise ValueError(f"k={k!r} is not valid; the model has k-mers of 1 to {degree} letters.")
    spare = n if repeats else SPARE * n
    best = sorted(_candidates(vector, spare, k, by), key=lambda found: (-found[0], found[1].position, found[1].kmer))
    kmers = [kmer for _, kmer in best[:spare]]
    return kmers if repeats else _without_repeats(kmers)[:n]


def _without_repeats(kmers: list[Kmer]) -> list[Kmer]:
    """Return the k-mers that neither lie inside one that comes before them, at the same place, nor hold one.

    Examples
    --------
    >>> some = Kmer("CAG", 3, 2.0), Kmer("AG", 4, 1.0), Kmer("TG", 4, 1.0), Kmer("ACAG", 2, 0.5)
    >>> [one.kmer for one in _without_repeats(list(some))]
    ['CAG', 'TG']
    """
    found: list[Kmer] = []
    for kmer in kmers:
        if not any(_inside(kmer, other) or _inside(other, kmer) for other in found):
            found.append(kmer)
    return found


def _inside(part: Kmer, whole: Kmer) -> bool:
    """Tell whether a k-mer is a part of another one, letter by letter at the same positions."""
    start = part.position - whole.position
    return start >= 0 and whole.kmer[start : start + len(part.kmer)] == part.kmer


def _learned(model: Any, target: Any) -> tuple[list[tuple[Array, Array]], float]:
    """Return cells of each positional kernel, bare and weighted, and the weight of all other kernels.

    A kernel weighs as much as its mean diagonal, so others are measured alike.
    """
    core = last_step(model)
    expansion = core.expansion_
    found: list[tuple[Term, float]] = []
    rest = 0.0
    if expansion.keeps_rows:
        for kernel, weight in zip(expansion.kernels, kernel_weights(core, target).tolist()):
            inside = [(term, weight * term.factor) for term in positional(terms(kernel, expansion.rows))]
            found += inside
            if not inside and weight > 0:
                rest += weight * float(np.mean(kernel.diag(expansion.rows)))
    if not found:
        raise ValueError(lacking(core, expansion.parts()))
    rows = letters_of([term for term, _ in found])
    check_one_place(rows)
    tables = [term.kernel.cells(rows[0].codes.shape[1]) for term, _ in found]
    return [(table, factor * table) for table, (_, factor) in zip(tables, found)], rest


def positional_kernels(model: Any) -> int:
    """Return how many kernels of k-mers with a place a model has, with a weight or without."""
    kernels = last_step(model).expansion_.kernels
    return sum(leaf.additive and isinstance(leaf.kernel, Positional) for leaf in all_leaves(kernels))


def _chooses(model: Any) -> bool:
    """Return whether a model had kernels to choose from."""
    return len(last_step(model).expansion_.kernels) > 1


def _total(tables: list[Array]) -> Array:
    total = np.zeros((len(tables[0]), max(table.shape[1] for table in tables)))
    for table in tables:
        total[:, : table.shape[1]] += table
    return total


def _edges(tables: list[Array], length: int) -> Array:
    """Return where the windows of the kernels begin and end, 0 and the length among them."""
    edges = {0, length}
    for cells in tables:
        places, lengths = np.flatnonzero(cells.any(axis=1)), np.flatnonzero(cells.any(axis=0))
        if len(places):
            stop = int(places[-1]) + 1
            edges.add(int(places[0]))
            # no k-mer starts where it would leave the row: that is not the end of a window
            if stop + lengths[0] < length:
                edges.add(stop)
    return np.array(sorted(edges))


def _candidates(vector: NormalVector, n: int, k: int | None, by: str) -> Iterator[tuple[float, Kmer]]:
    """Iterate over the n best k-mers of each position with their rank."""
    for position in range(vector.length):
        nodes = vector.at(position)
        rank = np.abs(nodes.weight)
        if by == "spread":
            share = np.minimum(nodes.count / len(vector.codes), 1.0)
            rank = rank * np.sqrt(share * (1.0 - share))
        kept = np.flatnonzero((rank > 0) if k is None else (rank > 0) & (nodes.depth == k))
        if len(kept) > n:
            kept = kept[np.argpartition(-rank[kept], n - 1)[:n]]
        for q in kept:
            yield float(rank[q]), Kmer(_letters(vector, nodes, int(q)), position, float(nodes.weight[q]))


def _letters(vector: NormalVector, nodes: Nodes, q: int) -> str:
    start = nodes.starts[q]
    return vector.alphabet.decode(vector.codes[nodes.rows[q], start : start + nodes.depth[q]])


def _table(names: list[str], weights: Array, other: float, title: str) -> str:
    lines = [(name, f"{weight:.4f}") for name, weight in zip(names, weights)]
    if other > 0:
        lines.append(("other", f"{other:.4f}"))
    width = max(len(title), *(len(name) for name, _ in lines)) + 2
    return "\n".join([f"{title:<{width}}share", *(f"{name:<{width}}{share}" for name, share in lines)])
