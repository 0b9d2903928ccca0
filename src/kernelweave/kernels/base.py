"""What a kernel is: a description with parameters and no data.

A kernel compares rows of X with rows of Y.  Work that would be repeated for each block of rows (row norms,
k-mer codes) is done once by `prepare`; `block` then fills any rectangle of the Gram matrix from two prepared
inputs.  Operators, predictions and `gram` are all built from those two.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache, reduce
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kernelweave.data.kinds import convert, describe, find

if TYPE_CHECKING:
    from kernelweave.kernels.compose import On, Product, Scaled, Sum
    from kernelweave.kernels.tree import Leaf

Array = np.ndarray


class Parameters:
    """Parameters in scikit-learn's manner: read from ``__init__``, compared, printed as typed.

    A subclass stores each argument under its own name and nothing else.
    """

    @classmethod
    def _names(cls) -> list[str]:
        return list(_defaults(cls))  # type: ignore[arg-type]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, those of nested kernels as ``outer__inner``."""
        params: dict[str, Any] = {}
        for name in self._names():
            value = getattr(self, name)
            params[name] = value
            if deep and isinstance(value, Parameters):
                params.update({f"{name}__{key}": inner for key, inner in value.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``outer__inner`` reaches a nested kernel."""
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in self._names():
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(self._names()) or 'none'}."
                )
            if rest:
                getattr(self, name).set_params(**{rest: value})
            else:
                setattr(self, name, value)
        return self

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        if not _defaults(type(self)):  # type: ignore[arg-type]
            return f"{type(self).__name__}()"
        shown = []
        for name, default in _defaults(type(self)).items():  # type: ignore[arg-type]
            value = getattr(self, name)
            if default is inspect.Parameter.empty:
                shown.append(_literal(value))
            elif not _same(value, default):
                shown.append(f"{name}={_literal(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


@cache
def _defaults(cls: Any) -> dict[str, Any]:
    """Return the parameters of a class with their default values, in order."""
    skipped = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = inspect.signature(cls.__init__).parameters.items()
    return {name: p.default for name, p in parameters if name != "self" and p.kind not in skipped}


def _literal(value: Any) -> str:
    """Print a parameter in full: two different arrays never print alike."""
    if isinstance(value, Parameters) or type(value) in (int, str):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, np.ndarray | np.generic):
        return repr(value.tolist())
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, slice):
        return f"slice({_literal(value.start)}, {_literal(value.stop)}, {_literal(value.step)})"
    return repr(value)


def _same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    return type(value) is type(default) and not isinstance(value, np.ndarray) and bool(value == default)


class Kernel(Parameters, ABC):
    """A positive semi-definite similarity between rows, unless `definite` says otherwise."""

    @property
    def definite(self) -> bool:
        """Whether every Gram matrix of this kernel is positive semi-definite."""
        return True

    @abstractmethod
    def prepare(self, X: Any) -> Any:
        """Return what `block` needs of the rows of X: arrays (or a tuple of them) with one entry a row."""

    @abstractmethod
    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return kernel values (rows of A, rows of B) of two prepared inputs as a new array.

        Where ``A is B`` the result is exactly symmetric.
        """

    @abstractmethod
    def diagonal(self, A: Any) -> Array:
        """Return the kernel of each row of a prepared input with itself, (n,) float64."""

    def children(self) -> tuple[Kernel, ...]:
        """Return the kernels this one is made of; none for an innermost kernel."""
        return ()

    def leaves(self) -> Iterator[Leaf]:
        """Iterate over the innermost kernels, each with its factor, its view and the path that leads to it.

        Examples
        --------
        >>> from kernelweave.kernels import Linear, Spectrum
        >>> [(leaf.kernel, leaf.factor, leaf.view) for leaf in (2.0 * Linear().on("a") + Spectrum(3)).leaves()]
        [(Linear(), 2.0, ('a',)), (Spectrum(3), 1.0, ())]
        """
        from kernelweave.kernels.tree import leaves

        return leaves(self)

    def fitted(self, X: Any, sample_weight: Array | None = None) -> Kernel:
        """Return the kernel with every parameter that is learned from training data filled in."""
        return self

    def gram(self, X: Any, Y: Any = None) -> Array:
        """Return the kernel matrix, (n, m) float64.

        Parameters
        ----------
        X : n rows of what this kernel compares (table, Sequences, views)
        Y : m rows; None for X itself
        """
        X = _rows(X)
        A = self.prepare(X)
        return self.block(A, A if Y is None else self.prepare(_rows(Y, X)))

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """Return the kernel matrix, for places that expect a function, as ``SVC(kernel=...)``."""
        return self.gram(X, Y)

    def diag(self, X: Any) -> Array:
        """Return ``K(x, x)`` for each row of X, (n,) float64."""
        return self.diagonal(self.prepare(_rows(X)))

    def on(self, columns: Any) -> On:
        """Return this kernel restricted to a named view, a column, a list or a slice of columns."""
        from kernelweave.kernels.compose import On

        return On(self, columns)

    def normalized(self) -> Kernel:
        """Return the kernel divided by the geometric mean of the two diagonals (cosine of the feature maps)."""
        from kernelweave.kernels.compose import Cosine

        return Cosine(self)

    def __add__(self, other: Kernel) -> Sum:
        from kernelweave.kernels.compose import Sum

        return Sum(_terms(self, Sum) + _terms(other, Sum)) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: object) -> Kernel:
        """Let `sum` add kernels up: it begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, other: Kernel | float) -> Product | Scaled:
        from kernelweave.kernels.compose import Product, Scaled

        if isinstance(other, Kernel):
            return Product(_terms(self, Product) + _terms(other, Product))
        return Scaled(self, float(other)) if isinstance(other, Real) else NotImplemented

    __rmul__ = __mul__


def _rows(X: Any, like: Any = None) -> Any:
    """Return texts as sequences, in the letters of other rows where there are some; anything else as it is."""
    if X is None or isinstance(X, np.ndarray) or find(X) is not None:
        return X
    return convert(X, None if like is None or find(like) is None else describe(like))


def _terms(kernel: Kernel, kind: type) -> list[Kernel]:
    return list(kernel.kernels) if isinstance(kernel, kind) else [kernel]  # type: ignore[attr-defined]


class Wrapper(Kernel):
    """A kernel around another; it has an ability only while the kernel inside it has that ability too."""

    kernel: Kernel

    @property
    def definite(self) -> bool:
        """Whether the kernel inside is."""
        return self.kernel.definite

    def children(self) -> tuple[Kernel, ...]:
        """Return the kernel inside."""
        return (self.kernel,)


class Combination(Kernel):
    """Several kernels on the same rows, put together entry by entry."""

    kernels: Sequence[Kernel]
    ufunc: np.ufunc

    @property
    def definite(self) -> bool:
        """Whether all parts are."""
        return all(kernel.definite for kernel in self.kernels)

    def children(self) -> tuple[Kernel, ...]:
        """Return the parts."""
        return tuple(self.kernels)

    def check(self) -> None:
        """Raise if there is no part or one is no kernel."""
        if len(self.kernels) == 0:
            raise ValueError(f"{type(self).__name__} needs at least one kernel, but got none.")
        for kernel in self.kernels:
            if not isinstance(kernel, Kernel):
                raise TypeError(f"{type(self).__name__} needs kernels, but got {kernel!r}.")

    def fitted(self, X: Any, sample_weight: Array | None = None) -> Kernel:
        """Return the combination of the fitted parts."""
        self.check()
        return type(self)([kernel.fitted(X, sample_weight) for kernel in self.kernels])  # type: ignore[call-arg]

    def prepare(self, X: Any) -> Any:
        """Return what each part needs."""
        self.check()
        return tuple(kernel.prepare(X) for kernel in self.kernels)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the combined values."""
        blocks = (kernel.block(a, b, dtype) for kernel, a, b in zip(self.kernels, A, B))
        return reduce(lambda total, part: self.ufunc(total, part, out=total), blocks)

    def diagonal(self, A: Any) -> Array:
        """Return the combined diagonal."""
        return self.ufunc.reduce([kernel.diagonal(a) for kernel, a in zip(self.kernels, A)])


def take(prepared: Any, rows: Any) -> Any:
    """Return some rows of prepared input (arrays, tuples of arrays, anything indexed by rows)."""
    if isinstance(prepared, tuple):
        return tuple(take(part, rows) for part in prepared)
    return prepared[rows]


def count(prepared: Any) -> int:
    """Return how many rows a prepared input has."""
    if isinstance(prepared, tuple):
        return count(prepared[0])
    return int(prepared.shape[0]) if hasattr(prepared, "shape") else len(prepared)


def width(prepared: Any) -> int:
    """Return how many numbers of a prepared row a kernel value looks at, 0 where rows are not those of tables."""
    if isinstance(prepared, tuple):
        return sum(map(width, prepared))
    return int(prepared.shape[1]) if getattr(prepared, "ndim", 1) == 2 else 0
