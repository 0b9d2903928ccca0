"""What a fitted model predicts with, behind one protocol.

    f_o(x) = sum_k f_ko(x) + b_o,     f_ko(x) = sum_j a_koj K_k(x, x_j) = <w_ko, Phi_k(x)>

k kernels, j rows that the model keeps, o outputs (one, or one for each class); the intercepts b stay with the model.
An expansion is a sum of members, each of which scores some of the kernels in the way that costs least:

    member              holds                                             in `ways`
    SupportRows         rows and coefficients; kernel values              "values"
    FeatureWeights      a weight for each k-mer, n-gram ... by code       "codes"
    CodesOnDemand       the same, made from rows only where it pays       "codes on demand"
    DenseWeights        a weight for each column of explicit features     "weights"
    QuadraticForm       x'Mx + v'x + s                                    "quadratic"
    LmerWeights         a weight for each of all 4^l l-mers               "l-mers"
    PositionalTables    sums over tries of k-mers with a place            "positions"
    Constant            what centring adds to every row                   "constant"

`rows.RowExpansion` is made of kept rows, `features.FeatureExpansion` of weights that a solver found itself.  Members
are made at the first use or when the model is saved; what they hold is plain data (`state`, `restore`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.expansion.terms import Term

if TYPE_CHECKING:
    from kernelweave.operators.expansion.lmers import LmerTable

State = dict[str, Any]
"""Plain data: numbers, texts, arrays, and lists and dicts of them."""


@dataclass(frozen=True)
class Share:
    """What one kernel contributes: ``sum_j coef_j factor K(x, kept[places_j])``.

    Attributes
    ----------
    kernel : its number
    places : (c,) which of the kept rows, rising
    coef : (c, outputs)
    factor : (outputs,) the weight of the kernel for each output; kernels of one model may share `coef`
    """

    kernel: int
    places: Array
    coef: Array
    factor: Array = field(default_factory=lambda: np.ones(1))


@dataclass(frozen=True)
class Part:
    """What one kernel of a model has learned, for one output.

    Attributes
    ----------
    number, kernel : which kernel
    weight : its weight, or None where every kernel has coefficients of its own
    terms : its innermost kernels with rows and coefficients; none where it has no weight, or the model keeps weights of
        features
    codes : (features, words) what the weights belong to; None for columns by number
    weights : (features,) or None where the model keeps rows
    """

    number: int
    kernel: Kernel
    weight: float | None
    terms: tuple[Term, ...] = ()
    codes: Array | None = None
    weights: Array | None = None


class Member(Protocol):
    """Some kernels of a model, scored in one way."""

    way: str
    numbers: tuple[int, ...]

    def scores(self, X: Any, engine: Engine) -> Array:
        """Return what all of its kernels add to the outputs of new rows, (rows, outputs)."""

    def contributions(self, X: Any, engine: Engine) -> Array:
        """Return the same by kernel, (kernels, rows, outputs), in the order of `numbers`."""

    def state(self) -> State:
        """Return what would take long to make again, as plain data."""

    @property
    def nbytes(self) -> int:
        """Bytes in use."""


class Expansion(ABC):
    """What a model predicts with; see the head of this file.

    Attributes
    ----------
    kernels : of the model, every learned parameter filled in
    rows : what it keeps of the training rows
    outputs : how many
    restored : whether it was read from a file
    """

    def __init__(self, kernels: Sequence[Kernel], rows: Any, outputs: int):
        self.kernels, self.rows, self.outputs = list(kernels), rows, outputs
        self._members: list[Member] | None = None
        self._stored: list[State] = []
        self.restored = False

    @abstractmethod
    def _made(self, stored: Sequence[State]) -> list[Member]:
        """Return the members, those with a stored state from it."""

    @abstractmethod
    def parts(self, output: int = 0, sign: float = 1.0) -> list[Part]:
        """Return what each kernel has learned.

        Parameters
        ----------
        output : which one
        sign : 1, or -1 for the class that speaks against it
        """

    @abstractmethod
    def check(self) -> None:
        """Raise a ValueError unless rows, coefficients and kernels fit together: for models that come from files."""

    @property
    @abstractmethod
    def keeps_rows(self) -> bool:
        """Whether the model is made of kept rows; False also where it keeps none, or weights of features."""

    @property
    def used(self) -> list[int]:
        """Numbers of the kernels that add anything."""
        return list(range(len(self.kernels)))

    @property
    def weights(self) -> Array | None:
        """The weight of each kernel for each output, (outputs, m); None where kernels have their own coefficients."""
        return None

    @property
    def members(self) -> list[Member]:
        """The members, made at the first use."""
        if self._members is None:
            self._members = self._made(self._stored)
            self._stored = []
        return self._members

    @property
    def ways(self) -> dict[int, str]:
        """How each kernel that is in use is scored, by its number."""
        return {number: member.way for member in self.members if member.way != "constant" for number in member.numbers}

    def scores(self, X: Any, engine: Engine) -> Array:
        """Return the outputs of new rows without intercepts, (rows, outputs)."""
        out = np.zeros((X.shape[0], self.outputs))
        for member in self.members:
            out += member.scores(X, engine)
        return out

    def contributions(self, X: Any, engine: Engine) -> Array:
        """Return what every kernel adds, (m, rows, outputs); their sum is `scores`."""
        out = np.zeros((len(self.kernels), X.shape[0], self.outputs))
        for member in self.members:
            for number, values in zip(member.numbers, member.contributions(X, engine)):
                out[number] += values
        return out

    def lmer_tables(self, output: int = 0, sign: float = 1.0) -> list[tuple[int, LmerTable]]:
        """Return the weights of all l-mers, a table for each innermost kernel that has one, with the kernel's number.

        Parameters
        ----------
        output, sign : as for `parts`
        """
        from kernelweave.operators.expansion.lmers import lmer_table, suits_table

        found = [(part.number, term) for part in self.parts(output, sign) for term in part.terms]
        return [(k, lmer_table(term)) for k, term in found if suits_table(term.leaf, self.rows[:1])]

    def letters(self, X: Any, engine: Engine) -> Array:
        """Return what every letter of new rows adds, (letters of all rows behind one another, outputs).

        The letters of a row add up to its scores.  What a k-mer adds is divided evenly among its letters; a model with
        a kernel that compares no k-mers raises a ValueError.
        """
        from kernelweave.operators.expansion.letters.credit import letter_sums

        return letter_sums(self, X, engine)

    @property
    def nbytes(self) -> int:
        """Bytes of what the members hold."""
        return sum(member.nbytes for member in self.members)

    def state(self) -> State:
        """Return the members as plain data; kernels and rows are not among it, for the model holds them."""
        return {"members": [{"way": member.way, **member.state()} for member in self.members]}

    def restore(self, state: State) -> None:
        """Take the members from what `state` of an equal expansion returned; nothing is computed."""
        self._stored, self._members = list(state["members"]), None
        if not all(isinstance(one, dict) for one in self._stored):
            raise ValueError("what the model predicts with is not described by names")


def held_bytes(value: Any) -> int:
    """Return how many bytes the arrays inside rows of any kind, tuples and lists take."""
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if isinstance(value, dict):
        return sum(map(held_bytes, value.values()))
    if isinstance(value, tuple | list):
        return sum(map(held_bytes, value))
    return sum(map(held_bytes, _inside(value)))


def _inside(value: Any) -> Iterator[Any]:
    for name in (*getattr(value, "__dict__", ()), *getattr(value, "__slots__", ())):
        inner = getattr(value, name, None)
        if hasattr(inner, "nbytes") or isinstance(inner, tuple | list | dict):
            yield inner
