"""Several named views of the same rows, and views as a row kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from kernelweave.data.errors import preceded
from kernelweave.data.gram import GramRows
from kernelweave.data.kinds import Description, RowKind, Rows, convert, describe, find, kind_of, matched, register
from kernelweave.data.rows import row_numbers
from kernelweave.data.tables import is_sparse

Array = np.ndarray


class Views:
    """Immutable named blocks with the same rows: tables, sparse tables, `Sequences`, `Lattices` or another row kind.

    ``X[rows]`` selects rows of every block, ``X["name"]`` gives one block.

    Parameters
    ----------
    blocks : mapping from name to a table (a one-dimensional array is one column), a scipy sparse matrix,
        Sequences, Lattices, or rows of another registered kind; a list of texts becomes sequences

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.data import Sequences, Views
    >>> X = Views({"size": [1.0, 2.0, 3.0], "dna": Sequences.from_strings(["AC", "GT", "CC"])})
    >>> X.shape, X[[0, 2]]["dna"].to_strings(), X["size"].shape
    ((3, 2), ['AC', 'CC'], (3, 1))
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, blocks: Mapping[str, Any]):
        if not blocks:
            raise ValueError("Views need at least one named block, got none.")
        made = {}
        for name, block in blocks.items():
            if not isinstance(name, str):
                raise TypeError(f"A view is named by a string, not by {name!r}.")
            made[name] = _as_block(name, block)
        counts = {name: int(block.shape[0]) for name, block in made.items()}
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{name!r} has {n}" for name, n in counts.items())
            raise ValueError(f"Views must have the same number of rows, but {listed}.")
        self._blocks = made
        self._origin: Array | None = None
        self._whole = len(self)

    @classmethod
    def from_frame(cls, frame: Any) -> Self:
        """Return one numeric one-column view for each column of a DataFrame."""
        return cls(_columns(frame))

    @classmethod
    def from_matrices(cls, matrices: Sequence[Any] | Mapping[str, Any]) -> Self:
        """Return Gram matrices of the same rows as views, named "K0", "K1" and so on where they have no names.

        They are cut like tables: folds of a cross-validation take rows, and the matrices know which columns go along.

        Examples
        --------
        >>> import numpy as np
        >>> Views.from_matrices([np.eye(3), np.ones((3, 3))])[[0, 2]]
        Views({'K0': 2 x 3, 'K1': 2 x 3})
        """
        given = matrices if isinstance(matrices, Mapping) else {f"K{k}": one for k, one in enumerate(matrices)}
        return cls({name: GramRows.of(one) for name, one in given.items()})

    def matrix(self, name: str) -> GramRows:
        """Return a view as rows of a Gram matrix: where these views were cut from others, it knows from which rows."""
        return GramRows.of(self[name], self._origin, self._whole)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the views, in order."""
        return tuple(self._blocks)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Iterate over (name, block)."""
        return iter(self._blocks.items())

    @property
    def shape(self) -> tuple[int, int]:
        """``(number of rows, number of views)``."""
        return len(self), len(self._blocks)

    def __len__(self) -> int:
        return int(next(iter(self._blocks.values())).shape[0])

    def __contains__(self, name: object) -> bool:
        return name in self._blocks

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self._blocks:
                raise KeyError(unknown_view(key, self.names))
            return self._blocks[key]
        if isinstance(key, tuple):
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError("Views are indexed by a name or by rows: X['name'], X[rows] or X[rows, ...].")
            key = key[0]
        if not isinstance(key, slice):
            key = row_numbers([key] if np.ndim(key) == 0 else key, len(self))
        part = type(self)({name: block[key] for name, block in self._blocks.items()})
        origin = np.arange(len(self)) if self._origin is None else self._origin
        part._origin, part._whole = origin[key], self._whole
        return part

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Views):
            return NotImplemented
        return self.names == other.names and all(_equal(block, other[name]) for name, block in self.items())

    def __repr__(self) -> str:
        inner = ", ".join(f"{name!r}: {' x '.join(map(str, block.shape))}" for name, block in self.items())
        return f"Views({{{inner}}})"


class ViewsKind(RowKind):
    """Several named blocks of the same rows: `Views`, dicts, DataFrames whose columns a kernel names."""

    name = noun = family = "views"
    rows = Views

    def convert(self, X: Any, trained: Description | None = None, by_name: bool = False) -> Views | None:
        """Return dicts, and DataFrames whose columns a kernel names, as views; texts in them become sequences."""
        if is_matrices(X):
            return _listed(X, trained)
        if isinstance(X, Mapping):
            blocks = dict(X)
        elif by_name and hasattr(X, "columns"):
            blocks = _columns(X)
        else:
            return None
        known = trained.content if trained is not None and isinstance(trained.content, dict) else {}
        return Views({name: _block(name, block, known.get(name)) for name, block in blocks.items()})

    def content(self, X: Views) -> dict[str, Description]:
        """Return what each view is."""
        return {name: describe(block) for name, block in X.items()}

    def phrase(self, content: dict[str, Description]) -> str:
        """Name the views."""
        return f"views named {', '.join(content)}"

    def summary(self, X: Views) -> str:
        """Say how many rows and views there are, and name them."""
        return f"{len(X)} rows in {len(X.names)} views: {', '.join(X.names)}"

    def facts(self, content: dict[str, Description]) -> dict[str, Any]:
        """Return the names of the views."""
        return {"names": list(content)}

    def check(self, X: Views, where: str) -> None:
        """Check each view."""
        for name, block in X.items():
            kind_of(block).check(block, f"view {name!r}")

    def respell(self, X: Views, content: dict[str, Description]) -> Views:
        """Return the views that the model was trained on, each in its terms; others are left out."""
        lacking = next((name for name in content if name not in X), None)
        if lacking is not None:
            raise TypeError(f"This model was trained on {self.phrase(content)}, but the view {lacking!r} is missing.")
        return Views({name: matched(X[name], trained, f"view {name!r}") for name, trained in content.items()})

    def concatenate(self, parts: Sequence[Views]) -> Views:
        """Return the rows of views of the same names behind one another."""
        blocks = {name: [part[name] for part in parts] for name in parts[0].names}
        return Views({name: kind_of(some[0]).concatenate(some) for name, some in blocks.items()})

    def blocks(self, X: Views) -> dict[str, Rows]:
        """Return the views by name."""
        return dict(X.items())

    def advice(self, X: Views) -> str:
        """Say how a kernel is given one view."""
        return f"choose one with .on(), such as kw.RBF().on({X.names[0]!r})"

    def save(self, X: Views) -> dict[str, Any]:
        """Return names and blocks."""
        return {"blocks": [[name, block] for name, block in X.items()]}

    def load(self, state: Mapping[str, Any]) -> Views:
        """Return the views, their numbers of rows checked."""
        return Views(dict(state["blocks"]))


def is_matrices(X: Any) -> bool:
    """Tell a list of tables, which can only be Gram matrices of the same rows."""
    if isinstance(X, np.ndarray):
        return X.ndim == 3
    return isinstance(X, list | tuple) and len(X) > 0 and all(getattr(one, "ndim", 0) == 2 for one in X)


def _listed(X: Sequence[Any], trained: Description | None) -> Views | None:
    """Return a list of Gram matrices as views; other lists of tables are not for us."""
    if trained is None:
        n = X[0].shape[0]
        square = all(not is_sparse(one) and one.shape == (n, n) for one in X)
        return Views.from_matrices(X) if square else None
    names = list(trained.content) if isinstance(trained.content, dict) else []
    if len(names) != len(X):
        what = f"{len(names)} matrices" if names else str(trained)
        raise ValueError(f"This model was trained on {what}, but the input is a list of {len(X)}.")
    return Views(dict(zip(names, X)))


def unknown_view(name: str, known: Any) -> str:
    """Return the sentence about a view that does not exist."""
    return f"There is no view {name!r}; known names are {', '.join(known)}."


def _columns(frame: Any) -> dict[str, Array]:
    return {str(name): np.asarray(frame[name]) for name in frame.columns}


def _block(name: str, block: Any, trained: Description | None) -> Any:
    """Return what a user handed in for one view."""
    try:
        return convert(block, trained)
    except (TypeError, ValueError) as error:
        raise preceded(error, f"In the view {name!r}") from None


def _as_block(name: str, block: Any) -> Any:
    if is_sparse(block):
        return block.tocsr()
    if not (isinstance(block, np.ndarray) and block.ndim > 2):
        block = _block(name, block, None)  # texts become sequences
    kind = find(block)
    if kind is not None and not kind.tabular:
        return block
    try:
        table = np.asarray(block)
    except ValueError:
        raise ValueError(f"View {name!r} has rows of different lengths; expected a table.") from None
    if table.dtype.kind not in "biuf":
        raise TypeError(
            f"View {name!r} holds {table.dtype} values; expected numbers, or strings wrapped by Sequences.from_strings."
        )
    if table.ndim == 1:
        return table[:, None]
    if table.ndim != 2:
        raise ValueError(f"View {name!r} has {table.ndim} dimensions; expected a table of rows and columns.")
    return table


def _equal(a: Any, b: Any) -> bool:
    if not kind_of(a).tabular or not kind_of(b).tabular:
        return bool(a == b)
    if a.shape != b.shape or is_sparse(a) != is_sparse(b):
        return False
    return (a != b).nnz == 0 if is_sparse(a) else bool(np.array_equal(a, b))


register(ViewsKind())
