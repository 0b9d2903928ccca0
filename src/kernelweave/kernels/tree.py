"""The tree of a kernel: sums, products, factors, selections, normalisation and centring around innermost kernels.

There is one way to walk it, `leaves`.  An innermost kernel k with factor c whose path holds neither a product nor an
approximation adds  c k(x, y)  to the kernel at the root, up to the norms of a `Cosine` and the means of a `Centred` on
the path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kernelweave.data import select
from kernelweave.kernels.base import Kernel
from kernelweave.kernels.centred import Centred
from kernelweave.kernels.compose import Cosine, On, Scaled, Sum

__all__ = ["Centred", "Cosine", "Leaf", "On", "Scaled", "Sum", "all_leaves", "leaves", "made_of_kernels"]


class Leaf(NamedTuple):
    """An innermost kernel of a tree.

    Attributes
    ----------
    kernel : the innermost kernel
    factor : product of the factors of the `Scaled` kernels on the path
    view : the selections of `.on()` on the path, outermost first
    path : the kernels passed from the root down, without the innermost one
    """

    kernel: Kernel
    factor: float
    view: tuple[Any, ...]
    path: tuple[Kernel, ...]

    @property
    def additive(self) -> bool:
        """Whether the kernel enters the root as a summand: nothing on the path multiplies or approximates it."""
        return all(isinstance(node, Sum | Scaled | On | Cosine | Centred) for node in self.path)

    @property
    def direct(self) -> bool:
        """Whether the root is this kernel on its view times its factor, and nothing else."""
        return all(isinstance(node, Scaled | On) for node in self.path)

    @property
    def normalized(self) -> bool:
        """Whether a `Cosine` lies on the path."""
        return any(isinstance(node, Cosine) for node in self.path)

    @property
    def centred(self) -> bool:
        """Whether a `Centred` lies on the path."""
        return any(isinstance(node, Centred) for node in self.path)

    @property
    def name(self) -> str:
        """The kernel on its view, as it is written."""
        return repr(self.kernel) + "".join(f".on({columns!r})" for columns in reversed(self.view))

    def select(self, X: Any) -> Any:
        """Return the rows of X as the innermost kernel sees them."""
        for columns in self.view:
            X = select(X, columns)
        return X


def leaves(kernel: Kernel) -> Iterator[Leaf]:
    """Iterate over the innermost kernels of a tree, from left to right.

    Examples
    --------
    >>> from kernelweave.kernels import Linear, RBF
    >>> first, *others = leaves(3.0 * (RBF(width=1.0).on("a") * Linear()) + Linear())
    >>> first.kernel, first.factor, first.view, first.additive, len(others)
    (RBF(width=1.0), 3.0, ('a',), False, 2)
    """
    return _below(kernel, 1.0, (), ())


def _below(node: Kernel, factor: float, view: tuple[Any, ...], path: tuple[Kernel, ...]) -> Iterator[Leaf]:
    inside = getattr(node, "children", None)
    if inside is None:
        whose = type(path[-1]).__name__ if path else "An estimator"
        raise TypeError(f"{whose} needs kernels, but got {node!r}.")
    children = inside()
    if not children:
        yield Leaf(node, factor, view, path)
        return
    if isinstance(node, Scaled):
        factor *= node.factor
    elif isinstance(node, On):
        view = (*view, node.columns)
    for child in children:
        yield from _below(child, factor, view, (*path, node))


def made_of_kernels(parameters: Mapping[str, Any]) -> bool:
    """Tell whether what stands where a description has its kernels are kernels."""
    parts = [parameters["kernel"]] if "kernel" in parameters else parameters.get("kernels", [])
    return isinstance(parts, list | tuple) and all(isinstance(part, Kernel) for part in parts)


def all_leaves(kernels: Kernel | Iterable[Kernel]) -> list[Leaf]:
    """Return the innermost kernels of one kernel or of several."""
    each = [kernels] if isinstance(kernels, Kernel) else kernels
    return [leaf for kernel in each for leaf in leaves(kernel)]
