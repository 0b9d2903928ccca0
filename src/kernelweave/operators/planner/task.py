"""What is to be held: kernels on rows, within a memory limit, for a solver that needs certain things of them.

Facts that several candidates ask for (prepared rows, a sample of the features) are found once and kept here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from kernelweave.data.kinds import n_rows
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Features, Positional
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.features.design.columns import TableColumns
from kernelweave.operators.features.design.maps import ColumnMap
from kernelweave.operators.features.design.size import FINE_TOLERANCE, some_rows
from kernelweave.operators.gram.mixture import Family
from kernelweave.operators.kmers.positional import LetterRows
from kernelweave.operators.memory import memory_budget

LITTLE = 1 << 22
"""Bytes beside which what Python and numpy take is much: finding out how many are free takes longer than using them."""
GRAM_UP_TO = 2000
"""Rows up to which a Gram matrix is quicker than a normal vector even for kernels with explicit features."""
NEEDS = {
    "any": "products of one kernel with a vector, by whatever solver suits the form",
    "products": "products of one kernel with a vector",
    "whole": "few products of one kernel with whole vectors",
    "values": "values of one kernel",
    "features": "a normal vector over the features of one kernel",
    "automata": "a normal vector of one kernel, kept as an automaton of strings",
    "parts": "products of each of several kernels",
    "vectors": "one number a row of each of several kernels",
    "design": "the features of several kernels side by side",
    "scores": "products of single columns of one kernel, without its values",
    "columns": "single columns of several kernels with a common base",
    "shards": "one kernel on rows that are worked through part by part",
    "shard_parts": "several kernels on rows that are worked through part by part",
}
"""What a solver can ask for."""
SEVERAL = ("parts", "vectors")
"""Needs of several kernels that are prepared together."""


@dataclass
class Task:
    """Kernels to be held on training rows.

    Parameters
    ----------
    kernels : with every learned parameter filled in (`Kernel.fitted`)
    X : training rows
    limit : bytes, a text such as "4GB", or "auto"
    tol : the relative gap that will be asked for; decides on the precision
    need : what the solver needs of them, one of `NEEDS`
    store : "map", "sorted" or "trie" where the normal vector of positioned k-mers is to be kept there; "trie",
        "minimal" or "naive" where that of strings is to be an automaton (need "automata"); else None
    maps : of the rows before, where X is a further block of a stream
    table : the columns of X that the features of all kernels are, where that is known already
    """

    kernels: Sequence[Kernel]
    X: Any
    engine: Engine
    limit: float | str | None = "auto"
    tol: float = 1e-3
    need: str = "any"
    store: str | None = None
    maps: Sequence[ColumnMap] | None = None
    table: TableColumns | None = None

    @property
    def kernel(self) -> Kernel:
        """The first kernel, where there is one only."""
        return self.kernels[0]

    @cached_property
    def budget(self) -> int:
        """The memory limit in bytes."""
        return memory_budget(self.limit)

    def is_little(self, size: float) -> bool:
        """Tell whether so many bytes are there whatever else is: where nobody has set a limit, none is looked up."""
        return self.limit in (None, "auto") and size <= LITTLE

    @cached_property
    def n(self) -> int:
        """Number of rows."""
        return n_rows(self.X)

    @property
    def m(self) -> int:
        """Number of kernels."""
        return len(self.kernels)

    @property
    def many(self) -> bool:
        """Whether there are so many rows that features are quicker than a Gram matrix."""
        return self.n > GRAM_UP_TO

    @property
    def fine(self) -> bool:
        """Whether the tolerance asks for double precision."""
        return self.tol < FINE_TOLERANCE

    @cached_property
    def family(self) -> Family:
        """The kernels, grouped by the number they are functions of."""
        return Family(self.kernels)

    @property
    def groups(self) -> int:
        """Number of different base numbers."""
        return len(self.family.bases)

    @cached_property
    def prepared(self) -> Any:
        """The rows as the kernel prepares them, or as the base of each group does."""
        return self.kernel.prepare(self.X) if self.need not in SEVERAL else self.family.prepare(self.X)

    @cached_property
    def letters(self) -> LetterRows:
        """The letters of the rows, for kernels with the ability `Positional`."""
        length = self.placed.codes.shape[1]
        degree = max(kernel.cells(length).shape[1] for kernel in self.kernels if isinstance(kernel, Positional))
        return LetterRows(self.placed, degree, self.engine)

    @cached_property
    def placed(self) -> Any:
        """The rows as a kernel with the ability `Positional` prepares them."""
        return self.kernel.prepare(self.X)

    @cached_property
    def sample(self) -> Any:
        """Some of the rows, by which all are judged."""
        return self.X[some_rows(self.n)]

    @cached_property
    def entries(self) -> Array:
        """How many sparse features a row has under each kernel, (m,)."""
        rows = max(1, len(some_rows(self.n)))
        return np.array([cast(Features, kernel).counts(self.sample).entries / rows for kernel in self.kernels])

    @cached_property
    def prepared_bytes(self) -> float:
        """Bytes that prepared rows take beyond those of the rows themselves, judged by some of them."""
        given, made = self._judged
        fresh = [array for array in made if not any(np.may_share_memory(array, other) for other in given)]
        extra = sum(array.nbytes for array in fresh) - sum(array.nbytes for array in given)
        return max(0, extra) * self.n / max(1, self._judges)

    @property
    def steps(self) -> float:
        """Steps of a pass: so many working sets are all rows."""
        return max(1.0, self.n / WORKING_SET)

    @cached_property
    def value_cost(self) -> float:
        """Roughly, the nanoseconds of one kernel value: by the numbers of a prepared row."""
        groups = self.groups if self.need in SEVERAL else 1
        numbers = sum(array.size for array in self._judged[1]) / max(1, self._judges * groups)
        return VALUE_COST + numbers * (TABLE_COST if isinstance(self.X, np.ndarray) else STRING_COST)

    @property
    def _judges(self) -> int:
        return self.n if self.n <= PREPARED_UP_TO else len(some_rows(self.n))

    @cached_property
    def _judged(self) -> tuple[list[Array], list[Array]]:
        """The arrays of rows, and of prepared rows; none for matrices, of which some rows have no part."""
        few = self.n <= PREPARED_UP_TO
        given = _arrays(self.X if few else self.sample)
        bases = self.family.bases if self.need in SEVERAL else self.kernels[:1]
        try:
            made = _arrays(self.prepared if few else tuple(base.prepare(self.sample) for base in bases))
        except ValueError:
            return given, []
        return given, made


PREPARED_UP_TO = 512
"""Rows up to which all are prepared to tell what that takes: kernel values will need them."""
WORKING_SET = 512
"""Rows that move together in a step of a solver."""
VALUE_COST, TABLE_COST, STRING_COST = 2.0, 0.04, 0.08
"""Nanoseconds of a kernel value, and for each number of a row: of a table (matrix products), of anything else.
Measured: Gaussians of 20 and 400 columns 2.4 and 18, weighted degrees of 141 letters 14, gapped k-mers 264."""


def _arrays(rows: Any, depth: int = 4) -> list[Array]:
    """Return the arrays that rows consist of."""
    if isinstance(rows, np.ndarray):
        return [rows]
    if depth == 0 or isinstance(rows, str | bytes | int | float | type(None)):
        return []
    parts = list(rows) if isinstance(rows, tuple | list) else list(getattr(rows, "__dict__", {}).values())
    slots = [getattr(rows, name, None) for name in getattr(type(rows), "__slots__", ())]
    return [array for part in (*parts, *slots) for array in _arrays(part, depth - 1)]
