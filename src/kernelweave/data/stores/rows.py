"""Rows on disk: indexed like rows in memory, of which only those that are asked for are read."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.data.blocks import spans
from kernelweave.data.kinds import RowKind, named
from kernelweave.data.rows import row_numbers, stepped_rows
from kernelweave.data.stores.files import map_part, mark_sound, state_of, unsound, verify_part
from kernelweave.data.stores.ids import NO_IDS, check_ids, ids_of
from kernelweave.data.stores.kind import StoredKind
from kernelweave.data.stores.labels import check_labels, labels_of, weights_of
from kernelweave.data.stores.manifest import Manifest, read_manifest
from kernelweave.data.stores.packing import Packing, Piece

if TYPE_CHECKING:
    from kernelweave.data.strings.alphabet import Alphabet

Array = np.ndarray


class Stored:
    """Immutable rows of a store on disk: sequences, tables or lattices.

    Slices, integer arrays and boolean masks give rows in memory (`Sequences`, a table, `Lattices`), an integer gives
    one row; only the rows that are asked for are read.  Estimators, `cross_val_score` and the commands take a store
    wherever they take rows, and score it part by part.  A store is pickled as its path: other processes open it there.

    Parameters
    ----------
    path : directory that `Sequences.to_store`, `kernelweave convert` or `write_store` wrote
    fingerprint : raise unless the store still has this fingerprint; None to take it as it is

    Attributes
    ----------
    path : absolute path of the directory
    manifest : what the store holds, in which files

    Examples
    --------
    >>> import tempfile, os, kernelweave as kw
    >>> path = os.path.join(tempfile.mkdtemp(), "sites.kws")
    >>> X = kw.Sequences.from_strings(["ACGT", "GGCA", "TTAA"]).to_store(path, [1, -1, 1])
    >>> X.shape, X[[2, 0]].to_strings(), X[1], X.y
    ((3, 4), ['TTAA', 'ACGT'], 'GGCA', array([ 1, -1,  1]))
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, path: PathLike, fingerprint: str | None = None):
        self.path = os.path.realpath(path)
        self.manifest: Manifest = read_manifest(path)
        if fingerprint is not None and self.manifest.fingerprint != fingerprint:
            raise ValueError(f"The store {path} has changed since these rows were opened; open it again.")
        self._inner = named(self.manifest.kind)
        self._kind = StoredKind(self._inner)
        self._maps: dict[int, Any] = {}

    @property
    def row_kind(self) -> RowKind:
        """The kind of the rows, which answers without reading all of them."""
        return self._kind

    @property
    def fingerprint(self) -> str:
        """A hash of what the store holds: two stores of the same rows, labels and ids have the same."""
        return self.manifest.fingerprint

    @property
    def inner(self) -> RowKind:
        """The row kind of the rows in memory."""
        return self._inner

    @property
    def parts(self) -> list[slice]:
        """The rows of each part file: cuts that depend on the data alone."""
        return spans(len(self), self.manifest.part_rows)

    @cached_property
    def content(self) -> Any:
        """What the rows share: an alphabet, a number of columns."""
        return self._packing.content(self.manifest.head)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the rows in memory."""
        facts = [part.facts for part in self.manifest.parts]
        return self._packing.shape(self.manifest.head, len(self), facts)

    @property
    def ndim(self) -> int:
        """Number of axes of the shape."""
        return len(self.shape)

    @property
    def is_fixed_length(self) -> bool:
        """Whether all rows have the same number of letters or columns."""
        return self.ndim == 2

    @property
    def nbytes(self) -> int:
        """Bytes that all rows would take in memory."""
        return self._packing.nbytes(self.manifest.head, len(self), [part.facts for part in self.manifest.parts])

    @property
    def alphabet(self) -> Alphabet | None:
        """The letters that rows are spelled with, None for tables."""
        return self.row_kind.alphabet(self)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns of a table, None where there are none."""
        names = self.manifest.head.get("names")
        return None if names is None else tuple(map(str, names))

    @property
    def y(self) -> Array | None:
        """The labels of all rows, None where none are stored."""
        return self.labels()

    @property
    def sample_weight(self) -> Array | None:
        """The weights of all rows, None where none are stored."""
        return self.weights()

    @property
    def ids(self) -> Array | None:
        """The ids of all rows, None where none are stored."""
        return self.names()

    def names(self, rows: Any = slice(None)) -> Array | None:
        """Return the ids of some rows, None where none are stored."""
        return self._column(rows, ids_of, NO_IDS) if self._has("id_offsets") else None

    def weights(self, rows: Any = slice(None)) -> Array | None:
        """Return the weights of some rows, None where none are stored."""
        return self._column(rows, weights_of, np.zeros(0)) if self._has("row_weights") else None

    def labels(self, rows: Any = slice(None)) -> Array | None:
        """Return the labels of some rows, None where none are stored."""
        if not (self._has("label_codes") or self._has("label_values")):
            return None
        classes = self.manifest.classes
        return self._column(rows, partial(labels_of, classes), np.array(classes)[:0])

    def take(self, rows: Any, ids: bool = True) -> Any:
        """Return some rows in memory; without `ids` the names of the rows are not read."""
        rising, place = self._rising(rows)
        pieces = self._pieces(rising)
        names = _joined(pieces, ids_of, NO_IDS) if ids and self._packing.has_ids and self._has("id_offsets") else None
        found = self._packing.gather(self.manifest.head, pieces, names)
        return found if place is None else self._inner.take(found, place)

    def verify(self) -> None:
        """Read every part and compare it with its checksums; one that is missing, truncated or changed raises."""
        for number in range(len(self.manifest.parts)):
            self._sections(number)

    def __len__(self) -> int:
        return self.manifest.rows

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError("Stored rows are indexed by rows only: X[rows] or X[rows, ...].")
            key = key[0]
        if isinstance(key, slice) or np.ndim(key) or isinstance(key, bool | np.bool_):
            return self.take(key)
        row = int(row_numbers([operator.index(key)], len(self))[0])
        return self.take(slice(row, row + 1))[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if not self._inner.tabular or self.manifest.head.get("sparse"):
            raise TypeError(f"The store {self.path} holds {self._inner.noun}, which cannot become an array of numbers.")
        return np.asarray(self[:], dtype)

    def __iter__(self) -> Iterator[Any]:
        for part in self.parts:
            yield from self[part]

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, Stored) else NotImplemented

    def __reduce__(self) -> tuple[Any, ...]:
        return Stored, (self.path, self.fingerprint)

    def __repr__(self) -> str:
        return f"<store {self.path}: {self.row_kind.summary(self)}>"

    @property
    def _packing(self) -> Packing:
        packing = self._inner.packing
        assert packing is not None  # the manifest was checked
        return packing

    def _has(self, section: str) -> bool:
        return any(section in part.sections for part in self.manifest.parts)

    def _column(self, rows: Any, of: Callable[[Piece], Array], none: Array) -> Array:
        """Return one value for each of some rows; `none` is what no rows have."""
        rising, place = self._rising(rows)
        found = _joined(self._pieces(rising), of, none)
        return found if place is None else found[place]

    def _rising(self, rows: Any) -> tuple[slice | Array, Array | None]:
        """Return the same rows as a slice of step 1 or rising numbers, and where each stands in them, None in order."""
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                return slice(start, max(start, stop)), None
            numbers = stepped_rows(start, stop, step)
        else:
            numbers = row_numbers(rows, len(self))
        if (np.diff(numbers) >= 0).all():
            return numbers, None
        order = np.argsort(numbers, kind="stable")
        place = np.empty(order.size, np.int64)
        place[order] = np.arange(order.size)
        return numbers[order], place

    def _pieces(self, rows: slice | Array) -> list[Piece]:
        """Return what each part has of a slice or of rising numbers."""
        size, found = self.manifest.part_rows, []
        wanted: list[tuple[int, slice | Array]]
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            wanted = [
                (number, slice(max(start - number * size, 0), min(stop - number * size, size)))
                for number in range(start // size, -(-stop // size) if stop > start else 0)
            ]
        else:
            rows = np.asarray(rows)
            bounds = np.searchsorted(rows, np.arange(len(self.manifest.parts) + 1) * size)
            wanted = [
                (number, rows[bounds[number] : bounds[number + 1]] - number * size)
                for number in np.flatnonzero(np.diff(bounds)).tolist()
            ]
        for number, local in wanted:
            part = self.manifest.parts[number]
            found.append(Piece(self._sections(number), part.facts, part.rows, local))
        return found

    def _sections(self, number: int) -> dict[str, Array]:
        """Return the sections of a part, whose sums were compared in this process."""
        part = self.manifest.parts[number]
        known = self._maps.get(number)
        if known is not None and known[0] == state_of(self.path, part):
            return known[1]
        state = state_of(self.path, part)
        sections = map_part(self.path, part)
        if verify_part(self.path, part, sections):
            try:
                self._packing.check(self.manifest.head, sections, part.facts, part.rows)
                check_labels(sections, self.manifest.classes, part.rows)
                check_ids(sections, part.rows)
            except (ValueError, KeyError, TypeError, IndexError):
                raise unsound(self.path, part) from None
            mark_sound(self.path, part)
        self._maps[number] = state, sections
        return sections


def open_store(path: PathLike, kind: str | None = None) -> Stored:
    """Return the rows of a store; `kind` names the kind of rows that is expected."""
    rows = Stored(path)
    if kind is not None and rows.inner.name != kind:
        raise ValueError(f"{path} holds {rows.inner.noun}, expected {named(kind).noun}.")
    return rows


def _joined(pieces: list[Piece], of: Callable[[Piece], Array], none: Array) -> Array:
    """Return what each piece has, behind one another."""
    return np.concatenate([of(piece) for piece in pieces]) if pieces else none
