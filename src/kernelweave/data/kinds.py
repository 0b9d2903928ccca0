"""Row kinds: what an input is, asked in one place.

Tables, sequences, lattices and named views are row kinds.  Each is one object that recognises what users hand in,
says what a model must remember of its rows, checks new rows against that, and turns rows into plain data and back.
Everybody else asks the registry: a new kind of input (graphs, say) is a container class, a `RowKind` for it, and
`register`.

A container has ``len(X)``, ``X.shape`` (rows first) and ``X[rows]`` for slices, integer arrays and boolean masks.  One
that holds rows of any kind, as stores on disk do, names their kind itself: ``X.row_kind``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from kernelweave.data.stores.packing import Packing
    from kernelweave.data.strings.alphabet import Alphabet

Array = np.ndarray
Rows = Any
"""A container of some registered kind."""


@dataclass(frozen=True)
class Description:
    """What a model remembers of its training rows.

    Parameters
    ----------
    kind : name of the row kind
    content : what rows must share to be compared, as plain data: an alphabet, a number of columns, and so on
    """

    kind: str
    content: Any

    def __str__(self) -> str:
        return named(self.kind).phrase(self.content)


class RowKind(ABC):
    """One kind of input.

    Attributes
    ----------
    name : what formats and model files call it: "sequences"
    noun : what messages call it: "sequences", "a table"
    rows : the container class, or several
    family : kinds of one family can stand for one another: a model of sequences scores lattices
    tabular : whether rows are those of one table of numbers, with columns that scikit-learn counts and names
    uncertain : whether a row is a distribution over rows of another kind of the family
    packing : how rows lie in a store on disk, None where they cannot be stored
    """

    name: ClassVar[str]
    noun: ClassVar[str]
    rows: ClassVar[type | tuple[type, ...]]
    family: ClassVar[str]
    tabular: ClassVar[bool] = False
    uncertain: ClassVar[bool] = False
    packing: ClassVar[Packing | None] = None

    def holds(self, X: Any) -> bool:
        """Tell whether an object is a container of this kind."""
        return isinstance(X, self.rows)

    def convert(self, X: Any, trained: Description | None = None, by_name: bool = False) -> Rows | None:
        """Return rows of this kind for what a user handed in, None for what is not of this kind.

        Parameters
        ----------
        X : anything but a registered container
        trained : what the model remembers, where new rows are read for one
        by_name : whether some kernel selects a part of X by its name
        """
        return None

    @abstractmethod
    def content(self, X: Rows) -> Any:
        """Return what rows must share to be compared, as plain data."""

    @abstractmethod
    def phrase(self, content: Any) -> str:
        """Say what rows with this content are: "sequences over the dna alphabet (4 letters)"."""

    @abstractmethod
    def save(self, X: Rows) -> dict[str, Any]:
        """Return rows as named plain data: arrays, numbers, texts, alphabets, lists, rows of other kinds."""

    @abstractmethod
    def load(self, state: Mapping[str, Any]) -> Rows:
        """Return the rows that `save` turned into plain data; data that do not fit together raise."""

    def summary(self, X: Rows) -> str:
        """Say in a few words what rows are."""
        return f"{n_rows(X)} {self.phrase(self.content(X))}"

    def facts(self, content: Any) -> dict[str, Any]:
        """Return what `phrase` says as plain data, for reports."""
        return {}

    def check(self, X: Rows, where: str) -> None:
        """Raise unless every row can be computed with; `where` is "input" or names a view."""
        return

    def respell(self, X: Rows, content: Any) -> Rows:
        """Return the rows in the terms of a model that was trained on rows with this content, where that is safe."""
        return X

    def mismatch(self, given: Any, trained: Any, where: str) -> str | None:
        """Return the sentence about content that is not what a model was trained on, None where they agree."""
        if given == trained:
            return None
        return f"This model was trained on {self.phrase(trained)}, but the {where} has {self.phrase(given)}."

    def concatenate(self, parts: Sequence[Rows]) -> Rows:
        """Return the rows of several parts behind one another."""
        raise TypeError(f"Rows cannot be put behind one another where they are {self.noun}.")

    def take(self, X: Rows, rows: Any) -> Rows:
        """Return some rows: a slice, row numbers or a boolean mask."""
        return X[rows]

    def blocks(self, X: Rows) -> dict[str, Rows] | None:
        """Return the named blocks that rows are made of, None for rows that are no views."""
        return None

    def alphabet(self, X: Rows) -> Alphabet | None:
        """Return the letters that rows are spelled with, None for rows that are no strings."""
        return None

    def letters(self, X: Rows) -> tuple[int, int]:
        """Return how many letters rows have, and how many of them match nothing."""
        return 0, 0

    def reading(self, content: Any) -> dict[str, Any]:
        """Return the options under which a reader gives rows with this content."""
        return {}

    def advice(self, X: Rows) -> str:
        """Say which kernels compare such rows, for the message of one that does not."""
        return f"use a kernel for {self.name}"


KINDS: dict[str, RowKind] = {}
"""Row kinds by name, in the order in which they are offered what a user hands in."""


def register(kind: RowKind) -> RowKind:
    """Enter a row kind; its containers can then be fitted, predicted, split, saved and loaded.

    Returns
    -------
    the kind
    """
    if kind.name in KINDS:
        raise ValueError(f"There already is a row kind {kind.name!r}.")
    KINDS[kind.name] = kind
    return kind


def named(name: str) -> RowKind:
    """Return the row kind of this name."""
    if name not in KINDS:
        raise ValueError(f"There is no row kind {name!r}; known are {', '.join(KINDS)}.")
    return KINDS[name]


def find(X: Any) -> RowKind | None:
    """Return the kind of a container, None for an object that is none."""
    own = getattr(type(X), "row_kind", None) and X.row_kind
    return own or next((kind for kind in KINDS.values() if kind.holds(X)), None)


def kind_of(X: Any) -> RowKind:
    """Return the kind of rows; what no kind holds (a list of lists, a DataFrame) is taken for a table.

    Examples
    --------
    >>> from kernelweave.data import Sequences
    >>> kind_of(Sequences.from_strings(["ACGT"])).name, kind_of([[1.0, 2.0]]).name
    ('sequences', 'table')
    """
    return find(X) or KINDS["table"]


def convert(X: Any, trained: Description | None = None, by_name: bool = False) -> Any:
    """Return what a user handed in as rows of the kind that recognises it; see `RowKind.convert`.

    What no kind recognises comes back as it is, to be checked as a table.

    Examples
    --------
    >>> convert(["ACGT", "CC"])
    <2 sequences, dna, 2 to 4 letters>
    """
    if find(X) is not None:
        return X
    for kind in KINDS.values():
        made = kind.convert(X, trained, by_name)
        if made is not None:
            return made
    return X


def describe(X: Rows) -> Description:
    """Return what a model remembers of rows.

    Examples
    --------
    >>> print(describe(np.eye(3)))
    a table of 3 columns
    """
    kind = kind_of(X)
    return Description(kind.name, kind.content(X))


def matched(X: Rows, trained: Description, where: str = "input") -> Rows:
    """Return new rows in the terms of the training rows, or raise because they cannot be compared with those."""
    kind = kind_of(X)
    if kind.family != named(trained.kind).family:
        raise TypeError(f"This model was trained on {_family(trained)}, but the {where} is {kind.noun}.")
    X = kind.respell(X, trained.content)
    fault = kind.mismatch(kind.content(X), trained.content, where)
    if fault is not None:
        raise ValueError(fault)
    return X


def n_rows(X: Any) -> int:
    """Return the number of rows of a container, or of what can become one."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take(X: Any, rows: Any) -> Any:
    """Return some rows of a container, or of what can become one."""
    return kind_of(X).take(X, rows)


def blocks_of(X: Any) -> dict[str, Rows] | None:
    """Return the named blocks of views, None for other rows."""
    return kind_of(X).blocks(X)


def alphabet_of(X: Any) -> Alphabet | None:
    """Return the letters that rows are spelled with, None for rows that are no strings."""
    return kind_of(X).alphabet(X)


def _family(trained: Description) -> str:
    """Name the kinds that a model may be given."""
    family = named(trained.kind).family
    return " or ".join(kind.noun for kind in KINDS.values() if kind.family == family)
