"""What the innermost kernels of a model add to its decision value.

A model with coefficients a of rows x_r and the kernel K scores a row x by  f(x) = sum_r a_r K(x, x_r) + b.  Every
innermost kernel k that enters K as a summand gives a term

    factor sum_r coef_r k(x, rows_r) / (norm(x) norm_r)

whose norms are there where K is normalised.  Where K is centred the rows it is centred on give a second term: their
coefficients take the mean off; what does not depend on x belongs to the intercept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelweave.data import select
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.tree import Centred, Cosine, Leaf, On


@dataclass(frozen=True)
class Term:
    """An innermost kernel and what it compares new rows with.

    Attributes
    ----------
    leaf : the innermost kernel, where it stands in the tree
    rows : n rows as the innermost kernel sees them
    coef : (n,) their coefficients, or None where there are none
    factor : what the kernel is multiplied by
    norms : (n,) of the rows, 0 for a row that is zero; None where nothing is normalised
    """

    leaf: Leaf
    rows: Any
    coef: Array | None
    factor: float
    norms: Array | None = None

    @property
    def kernel(self) -> Any:
        """The innermost kernel."""
        return self.leaf.kernel


def terms(kernel: Kernel, rows: Any, coef: Array | None = None) -> Iterator[Term]:
    """Iterate over what the innermost kernels add; those under a product or an approximation are left out.

    Parameters
    ----------
    kernel : of a model, every learned parameter filled in
    rows : n rows the model keeps
    coef : (n,) their coefficients; without them each innermost kernel comes once, with the rows it sees

    Examples
    --------
    >>> from kernelweave.kernels import Linear
    >>> X = np.array([[3.0, 4.0], [0.0, 2.0]])
    >>> [(term.kernel, term.factor, term.norms) for term in terms(2.0 * Linear().normalized(), X)]
    [(Linear(), 2.0, array([5., 2.]))]
    """
    known: dict[tuple[int, int], Any] = {}  # leaves with a common path share the rows they see, and norms
    for leaf in kernel.leaves():
        if leaf.additive:
            found = [Term(leaf, rows, coef, leaf.factor)]
            for node in leaf.path:
                found = [below for term in found for below in _below(node, term, known)]
            yield from found


def _below(node: Kernel, term: Term, known: dict[tuple[int, int], Any]) -> Iterator[Term]:
    """Return a term as the child of a kernel sees it; under a centred kernel there are two."""
    key = (id(node), id(term.rows))
    if isinstance(node, On):
        if key not in known:
            known[key] = term.rows, select(term.rows, node.columns)  # the rows are kept so that their id stays theirs
        yield replace(term, rows=known[key][1])
    elif isinstance(node, Cosine):
        if key not in known:
            known[key] = term.rows, np.sqrt(node.kernel.diag(term.rows))
        norms = known[key][1]
        yield replace(term, norms=norms if term.norms is None else term.norms * norms)
    elif isinstance(node, Centred) and term.coef is not None:
        yield term
        yield _mean(node, term)
    else:
        yield term


def _mean(node: Centred, term: Term) -> Term:
    """Return the term that takes the mean of the reference rows off."""
    coef = np.asarray(term.coef)
    if term.norms is None:
        return replace(term, rows=node.reference, coef=-coef.sum() * node.share)
    # normalised after centring: the mean is divided by the norms of the rows, not by those of the reference
    usual = usual_norm(term.norms)
    units = np.divide(coef, term.norms, out=np.zeros_like(coef), where=term.norms > 0)
    norms = np.full(len(node.share), usual)
    return replace(term, rows=node.reference, coef=-units.sum() * usual * node.share, norms=norms)


def usual_norm(norms: Array) -> float:
    """Return the norm a new row is taken to have: the root mean square of those of known rows."""
    return float(np.sqrt(np.mean(norms**2)))
