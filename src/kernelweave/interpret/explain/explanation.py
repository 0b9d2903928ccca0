"""What an explanation is: numbers for the places of every row that add up to its decision values.

decision(row) = base + sum over the places of the row, of all tracks + sum over the kernels that cannot be divided
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kernelweave.data.kinds import alphabet_of
from kernelweave.kernels.base import Array


class Place(NamedTuple):
    """A place of a row and what it adds to a decision value.

    Attributes
    ----------
    name : the letter, the word, the word of an arc, the column, or the kernel that cannot be divided
    position : from 0: the letter's place, the number of the arc or of the column; -1 for a kernel
    value : what it adds
    view : of which view, "" where rows are no views
    """

    name: str
    position: int
    value: float
    view: str

    def __str__(self) -> str:
        where = "" if self.position < 0 else f" at {self.position}"
        return f"{self.value:+.4f}  {self.name}{where}" + (f" of {self.view}" if self.view else "")


@dataclass(frozen=True)
class Track:
    """What places of one kind add.

    Attributes
    ----------
    unit : "letter", "word", "arc" or "column"
    view : of which view, "" where rows are no views
    kernel : what they get of this kernel, None for what they get of all of them
    rows : the rows that the places are of, as kernels see them
    offsets : (n + 1,) where the places of each row begin
    values : (places of all rows behind one another, outputs)
    names : of columns; empty for other units
    """

    unit: str
    view: str
    kernel: str | None
    rows: Any
    offsets: Array
    values: Array
    names: tuple[str, ...] = ()

    def of(self, row: int) -> Array:
        """Return what the places of one row add, (places, outputs)."""
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def spelled(self, row: int) -> list[str]:
        """Return the name of every place of one row: letters, words, words of arcs, columns."""
        if self.unit == "column":
            return list(self.names)
        alphabet = alphabet_of(self.rows)
        assert alphabet is not None  # places other than columns have letters
        known = [*alphabet.letters, alphabet.mask_letter]
        if self.unit == "arc":
            labels = self.rows.labels[self.offsets[row] : self.offsets[row + 1]]
            return ["" if label < 0 else known[min(label, alphabet.size)] for label in labels.tolist()]
        codes = self.rows.codes[self.offsets[row] : self.offsets[row + 1]]
        return [known[min(code, alphabet.size)] for code in codes.tolist()]

    def sums(self) -> Array:
        """Return what the places of each row add together, (n, outputs)."""
        rows = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        lines = [np.bincount(rows, line, len(self.offsets) - 1) for line in self.values.T]
        return np.stack(lines, axis=1) if lines else np.zeros((len(self.offsets) - 1, 0))


@dataclass(frozen=True)
class Explanation:
    """What decides about each of n rows.

    Attributes
    ----------
    outputs : names of the decision values: the class that each speaks for
    base : (outputs,) the intercept, and what centring adds to every row
    tracks : what places add, one `Track` for each view and unit (and kernel, if they were kept apart)
    rest : (n, kernels, outputs) what each kernel adds that cannot be divided among places
    rest_names : of these kernels
    ids : names of the rows

    Examples
    --------
    >>> import kernelweave as kw
    >>> X = kw.Sequences.from_strings(["ACGTAT", "CCTATG", "ACGGCT", "GGCTCA"], ids=list("abcd"))
    >>> model = kw.KernelClassifier(kw.Spectrum(2), C=10.0).fit(X, [1, 1, 0, 0])
    >>> told = kw.explain(model, X)
    >>> told
    <explanation of 4 rows by letter>
    >>> bool(np.allclose(told.decision, model.decision_function(X)))
    True
    >>> [place.name for place in told.top(1, 2)]
    ['A', 'T']
    """

    outputs: tuple[str, ...]
    base: Array
    tracks: tuple[Track, ...]
    rest: Array
    rest_names: tuple[str, ...]
    ids: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rest)

    @property
    def sums(self) -> Array:
        """What base, places and undivided kernels of each row add up to, (n, outputs)."""
        total = self.base + self.rest.sum(axis=1)
        for track in self.tracks:
            total = total + track.sums()
        return total

    @property
    def decision(self) -> Array:
        """The decision values, (n,) for one output, else (n, outputs)."""
        sums = self.sums
        return sums[:, 0] if sums.shape[1] == 1 else sums

    def matrix(self, output: int = 0) -> Array:
        """Return what the places of rows of one length add, (n, places).

        Parameters
        ----------
        output : number of the decision value
        """
        if len(self.tracks) != 1:
            raise ValueError(f"A matrix needs one kind of places, but there are {len(self.tracks)}; see tracks.")
        sizes = np.diff(self.tracks[0].offsets)
        if len(sizes) and (sizes != sizes[0]).any():
            raise ValueError(
                f"A matrix needs rows of one length, but they have {sizes.min()} to {sizes.max()} places; "
                "see tracks[0].of(row)."
            )
        return self.tracks[0].values[:, output].reshape(len(sizes), int(sizes[0]) if len(sizes) else 0)

    def places(self, row: int, output: int = 0) -> Iterator[Place]:
        """Iterate over the places of a row, then over the kernels that cannot be divided.

        Parameters
        ----------
        row : its number
        output : number of the decision value
        """
        for track in self.tracks:
            values = track.of(row)[:, output].tolist()
            for position, (name, value) in enumerate(zip(track.spelled(row), values)):
                yield Place(name, position, value, track.view)
        for name, value in zip(self.rest_names, self.rest[row, :, output].tolist()):
            yield Place(name, -1, value, "")

    def top(self, row: int, n: int = 10, output: int = 0) -> list[Place]:
        """Return the places of a row that add or take off most.

        Parameters
        ----------
        row : its number
        n : how many
        output : number of the decision value
        """
        return sorted(self.places(row, output), key=lambda place: -abs(place.value))[:n]

    def __repr__(self) -> str:
        units = list(dict.fromkeys(track.unit for track in self.tracks)) + ["kernel"] * bool(self.rest_names)
        return f"<explanation of {len(self)} rows by {' and '.join(units) or 'nothing'}>"


def joined(parts: Sequence[Explanation]) -> Explanation:
    """Return explanations of several parts of the rows as one."""
    from dataclasses import replace

    from kernelweave.data.kinds import kind_of

    first = parts[0]
    if len(parts) == 1:
        return first
    tracks = []
    for some in zip(*(part.tracks for part in parts), strict=True):
        sizes = np.concatenate([np.diff(track.offsets) for track in some])
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = kind_of(some[0].rows).concatenate([track.rows for track in some])
        values = np.concatenate([track.values for track in some])
        tracks.append(replace(some[0], rows=rows, offsets=offsets, values=values))
    ids = tuple(name for part in parts for name in part.ids)
    return replace(first, tracks=tuple(tracks), rest=np.concatenate([part.rest for part in parts]), ids=ids)
