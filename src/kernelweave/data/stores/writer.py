"""Writing a store as rows come: one part is in memory at a time, and the manifest is written last.

Part files are named by their content, so that new ones stand beside old ones until the manifest names them.  Files that
it no longer names are then removed.  Whatever ends a writer early, the store is what it was before.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from kernelweave.data.atomic import NotWritten, PathLike, is_temporary, remove_stale
from kernelweave.data.blocks import spans
from kernelweave.data.kinds import RowKind, describe, kind_of, n_rows
from kernelweave.data.rows import as_ids, packed_ids
from kernelweave.data.stores.cuts import FIRST_ROWS, PART_ROWS_STORED, part_rows_of
from kernelweave.data.stores.files import write_part
from kernelweave.data.stores.labels import Numbered, Parse
from kernelweave.data.stores.manifest import MANIFEST, PART_NAME, Manifest, Part, is_store, read_manifest
from kernelweave.data.stores.packing import Head
from kernelweave.data.stores.rows import Stored

Array = np.ndarray


class StoreWriter:
    """Writes rows to a store, block by block; used in a ``with`` statement, at whose end the store appears.

    Parameters
    ----------
    path : the directory; a store that is there is replaced
    append : add rows to the store that is there, instead
    parse : what labels that are texts mean, applied to all different ones in the end; None to store them as they are
    names : names of the columns of a table, or None
    part_rows : rows of a part; None for `PART_ROWS_STORED`, or fewer of long rows

    Examples
    --------
    >>> import tempfile, os, kernelweave as kw
    >>> path = os.path.join(tempfile.mkdtemp(), "sites.kws")
    >>> with StoreWriter(path) as writer:
    ...     for seed in range(3):
    ...         writer.add(*kw.datasets.make_splice(100, random_state=seed))
    >>> Stored(path).shape
    (300, 141)
    """

    def __init__(
        self,
        path: PathLike,
        append: bool = False,
        parse: Parse | None = None,
        names: Sequence[str] | None = None,
        part_rows: int | None = None,
    ):
        self.path = Path(os.path.realpath(path))
        self.shown = path
        check_target(path)
        self._old = read_manifest(path) if append else None
        self._kind: RowKind | None = None
        self._head: Head = {}
        self._parts: list[Part] = []
        self._new: list[str] = []
        self._held: list[tuple[Any, Any, Any, Any]] = []
        self._n_held = 0
        self._columns: tuple[bool, ...] | None = None
        self._part_rows = part_rows
        self._named: Head = {} if names is None else {"names": list(map(str, names))}
        self._labels = Numbered(() if self._old is None else self._old.classes, parse)
        self._made_folder = not self.path.exists()
        if self._old is not None:
            self._continue(path, self._old)

    def _continue(self, path: PathLike, old: Manifest) -> None:
        """Take over the full parts of a store, and the rows of a last one that is not full."""
        rows = Stored(path)
        self._kind, self._head, self._part_rows = rows.inner, old.head, old.part_rows
        self._parts = [part for part in old.parts if part.rows == old.part_rows]
        last = slice(len(self._parts) * old.part_rows, len(rows))
        sections = [set(part.sections) for part in old.parts[:1]]
        names = sections[0] if sections else set()
        labelled = bool(names & {"label_codes", "label_values"})
        self._columns = (labelled, "row_weights" in names, "id_offsets" in names)
        if last.stop > last.start:
            y = rows.labels(last)
            if y is not None and self._labels.parse is not None:
                y = np.array([self._labels._key(label) for label in y.tolist()], dtype=object)
            self._held = [(rows.take(last), y, rows.weights(last), rows.names(last))]
            self._n_held = last.stop - last.start

    @property
    def rows(self) -> int:
        """Number of rows so far, those that are appended to included."""
        return sum(part.rows for part in self._parts) + self._n_held

    def add(self, X: Any, y: Any = None, sample_weight: Any = None, ids: Iterable[str] | None = None) -> None:
        """Add rows with their labels, weights and ids, where there are some.

        Parameters
        ----------
        X : rows of one kind: Sequences, Lattices, a table
        y : (n,) labels
        sample_weight : (n,) weights
        ids : n names; None for those that X has itself
        """
        n, names = n_rows(X), getattr(X, "ids", None) if ids is None else as_ids(ids, n_rows(X))
        for name, values in (("labels", y), ("weights", sample_weight)):
            if values is not None and len(values) != n:
                raise ValueError(f"There are {len(values)} {name} for {n} rows.")
        self._check(X, (y is not None, sample_weight is not None, names is not None))
        if not n:
            return
        self._held.append((X, y, sample_weight, names))
        self._n_held += n
        if self._part_rows is None and self._n_held >= FIRST_ROWS:
            self._part_rows = part_rows_of(self._joined()[0])
        while self._part_rows is not None and self._n_held >= self._part_rows:
            self._write(self._part_rows)

    def _check(self, X: Any, columns: tuple[bool, ...]) -> None:
        """Raise unless rows can stand behind those before them."""
        kind = kind_of(X)
        packing = kind.packing
        if packing is None:
            raise TypeError(f"Rows cannot be stored where they are {kind.noun}.")
        head = {**packing.head(X), **self._named}
        if self._kind is None:
            self._kind, self._head, self._columns = kind, head, columns
            return
        if kind.name != self._kind.name or head != self._head:
            before = self._kind.phrase(packing.content(self._head)) if kind.name == self._kind.name else self._kind.noun
            raise ValueError(f"The store {self.shown} holds {before}, but the new rows are {describe(X)}.")
        for name, now, then in zip(("labels", "weights", "ids"), columns, self._columns or columns):
            if now != then:
                raise ValueError(
                    f"The rows of {self.shown} have {name if then else f'no {name}'}, but the new rows have "
                    f"{name if now else 'none'}; a store has them for all rows or for none."
                )

    def _joined(self) -> tuple[Any, ...]:
        """Return the rows that wait, in one piece."""
        assert self._kind is not None
        if len(self._held) > 1:
            columns = list(zip(*self._held))
            X = self._kind.concatenate(columns[0])
            rest = (
                None if some[0] is None else np.concatenate([np.asarray(one) for one in some]) for some in columns[1:]
            )
            self._held = [(X, *rest)]
        return self._held[0]

    def _write(self, n: int) -> None:
        """Write a part of the first n rows that wait."""
        assert self._kind is not None
        packing = self._kind.packing
        assert packing is not None
        X, *columns = self._joined()
        y, weight, ids = (None if some is None else some[:n] for some in columns)
        sections, facts = packing.sections(self._kind.take(X, slice(0, n)))
        if y is not None:
            sections |= self._labels.sections(y)
        if weight is not None:
            sections["row_weights"] = np.asarray(weight, np.float64)
        sections |= packed_ids(ids)
        self.path.mkdir(exist_ok=True)
        part = write_part(self.path, len(self._parts), n, sections, facts)
        self._new.append(part.file)
        self._parts.append(part)
        self._n_held -= n
        kept = self._kind.take(X, slice(n, n + self._n_held))
        self._held = [(kept, *(None if some is None else some[n:] for some in columns))] if self._n_held else []

    def finish(self) -> Stored:
        """Write the last part and the manifest, and remove the files of the store that was there before."""
        if self._kind is None or not self.rows:
            raise ValueError(f"There are no rows to store in {self.shown}.")
        if self._n_held:
            size = part_rows_of(self._joined()[0]) if self._part_rows is None else self._part_rows
            self._part_rows = size
            for part in spans(self._n_held, size):
                self._write(part.stop - part.start)
        size = self._part_rows or PART_ROWS_STORED
        Manifest(self._kind.name, self._head, size, self._labels.classes(), tuple(self._parts)).write(self.path)
        named = {part.file for part in self._parts}
        _remove(self.path, [name for name in os.listdir(self.path) if name not in named])
        return Stored(self.path)

    def abort(self) -> None:
        """Remove what was written: the store is what it was before."""
        old = set() if self._old is None else {part.file for part in self._old.parts}
        if self._old is None and is_store(self.path):
            old = {part.file for part in read_manifest(self.path).parts}
        _remove(self.path, [name for name in self._new if name not in old])
        if self._made_folder and self.path.is_dir() and not (self.path / MANIFEST).exists():
            shutil.rmtree(self.path, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abort()
            self._explain(error)
            return
        try:
            self.finish()
        except BaseException as fault:
            self.abort()
            self._explain(fault)
            raise

    def _explain(self, error: BaseException | None) -> None:
        """Raise one sentence for an error of the disk."""
        if isinstance(error, NotWritten):
            raise NotWritten(self.shown, error.errno, f"{error.reason}; what was written of it is removed") from None


def write_store(path: PathLike, X: Any, y: Any = None, sample_weight: Any = None, ids: Any = None) -> Stored:
    """Write rows in memory to a store, and return the stored rows.

    Parameters
    ----------
    path : the directory; a store that is there is replaced
    X : Sequences, Lattices, a table, or stored rows
    y : (n,) labels, or None
    sample_weight : (n,) weights, or None
    ids : n names; None for those that X has itself

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "table.kws")
    >>> write_store(path, np.eye(3), [1, 2, 3])[1:]
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    with StoreWriter(path) as writer:
        for part in spans(n_rows(X), PART_ROWS_STORED):
            rest = (None if some is None else some[part] for some in (y, sample_weight, ids))
            writer.add(kind_of(X).take(X, part), *rest)
    return Stored(path)


def check_target(path: PathLike) -> None:
    """Raise one clear sentence, before long work is done, if a store cannot be written at `path`."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        remove_stale(target)
        strange = [name for name in os.listdir(target) if not PART_NAME.fullmatch(name) and not is_temporary(name)]
        if not is_store(target) and strange:
            raise FileExistsError(
                f"Cannot write {path}: it is a directory that holds other files, such as {strange[0]}."
            )
        folder = target
    elif target.exists():
        raise FileExistsError(f"Cannot write {path}: it is a file, but a store is a directory; choose another name.")
    else:
        folder = target.parent
    if not folder.exists():
        raise FileNotFoundError(f"Cannot write {path}: the directory {folder} does not exist.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"Cannot write {path}: no file can be made in {folder}.")


def _remove(store: Path, names: Iterable[str]) -> None:
    """Remove part files; nothing else is touched."""
    for name in names:
        if PART_NAME.fullmatch(name):
            (store / name).unlink(missing_ok=True)
