"""Mutated files of every reader and file kind: read rightly, or refused in one sentence.

Files with checksums must give what was written or nothing.  Foreign formats may say something else after a mutation;
what is let in must hold together: letters inside of the alphabet, indices inside of the table, one label a row.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kernelweave.data.kinds import blocks_of, kind_of, n_rows
from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.strings.sequences import Sequences

from .judging import refusal
from .mutators import mutate
from .samples import Sample, samples
from .stage import Outcome, Stage

SUMMED = ("sequences", "lattices", "store", "model", "checkpoint")
"""How the names of file kinds with checksums end, the word of the file of a store aside."""


def has_sums(sample: Sample) -> bool:
    """Tell whether files of a kind have checksums."""
    return sample.name.removesuffix(" part").removesuffix(" manifest").endswith(SUMMED)


def trial(number: int, folder: Path) -> Outcome:
    """Damage a file, read it, and compute with what was let in."""
    kinds = list(samples().values())
    return attempt(kinds[number % len(kinds)], np.random.default_rng([19, number]), folder)


def attempt(sample: Sample, random: np.random.Generator, folder: Path) -> Outcome:
    """Return the outcome of one mutated file of a kind."""
    data = mutate(sample.data, random)
    path = sample.place(folder, data)
    try:
        found = sample.read(path)
    except Exception as error:
        return refusal(sample.name, error, path)
    wrong = garbage(sample, found)
    if wrong:
        return Outcome(sample.name, "accepted garbage", wrong)
    try:
        check(found)
        sample.use(found)
    except ValueError as error:  # such as a NaN that the file says, which estimators refuse
        return refusal(sample.name, error)._replace(outcome="refused later")
    return Outcome(sample.name, "read" if data != sample.data else "unchanged")


def check(found: Any) -> None:
    """Let the row kinds check rows as estimators do."""
    X = getattr(found, "X", found)
    if not isinstance(X, list) and n_rows_or_none(X) is not None:
        for block in (blocks_of(X) or {"": X}).values():
            kind_of(block).check(block, "X")


def garbage(sample: Sample, found: Any) -> str:
    """Return what is wrong with what was let in, "" where nothing is."""
    foreign = getattr(found, "format", None) != getattr(original(sample.name), "format", None)
    if has_sums(sample) and not foreign:  # a line of text in the place of a binary file is read as what it is
        return "" if same(found, original(sample.name)) else "other content than was written, although it has checksums"
    if isinstance(found, list):  # blocks of a stream
        return next(filter(None, map(inconsistent, found)), "")
    return inconsistent(found)


def inconsistent(data: Any) -> str:
    """Return what does not fit together in rows, labels and names that were read, "" where all does."""
    X = getattr(data, "X", data)
    n = n_rows_or_none(X)
    if n is None:
        return ""
    for name in ("y", "ids"):
        values = getattr(data, name, None)
        if values is not None and len(values) != n:
            return f"{len(values)} {name} for {n} rows"
    return next(filter(None, map(_inconsistent_rows, (blocks_of(X) or {"": X}).values())), "")


def _inconsistent_rows(X: Any) -> str:
    if isinstance(X, Sequences):
        rebuilt = Sequences(X.codes, X.offsets, X.alphabet, X.ids)  # raises for codes outside of the alphabet
        return "" if rebuilt == X else "sequences that differ from themselves"
    if isinstance(X, Lattices):
        arrays = (X.source, X.target, X.labels, X.weights, X.arc_offsets, X.finals, X.state_offsets)
        fits = np.isfinite(X.weights).all() and np.isfinite(X.finals).all()
        return "" if fits and Lattices(*arrays, X.alphabet, X.ids) == X else "lattices that do not hold together"
    if hasattr(X, "indptr"):
        indptr, indices = np.asarray(X.indptr, np.int64), np.asarray(X.indices, np.int64)
        rising = len(indptr) == X.shape[0] + 1 and indptr[0] == 0 and (np.diff(indptr) >= 0).all()
        inside = rising and indptr[-1] == len(indices) == len(X.data)
        inside = inside and (not len(indices) or (indices.min() >= 0 and indices.max() < X.shape[1]))
        return "" if inside else "indices outside of the table"
    plain = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub"
    return "" if plain or not isinstance(X, np.ndarray) else f"a table of {X.dtype} of shape {X.shape}"


def n_rows_or_none(X: Any) -> int | None:
    """Return the number of rows; None for what holds none, such as a model."""
    try:
        return n_rows(X)
    except (TypeError, ValueError, AttributeError):
        return None


@cache
def original(name: str) -> Any:
    """Return what the file of a sample gives as it was written."""
    with tempfile.TemporaryDirectory() as folder:
        sample = samples()[name]
        found = sample.read(sample.place(Path(folder)))
        sample.use(found)
        return found


def same(found: Any, wanted: Any) -> bool:
    """Tell whether two readings are the same rows, or models that give the same scores."""
    if type(found) is not type(wanted):
        return False
    if hasattr(wanted, "get_params"):
        return all(_same_arrays(getattr(found, name), getattr(wanted, name)) for name in ("intercept_", "support_"))
    if hasattr(wanted, "X"):
        return same(found.X, wanted.X) and _same_arrays(found.y, wanted.y) and _same_arrays(found.ids, wanted.ids)
    if hasattr(wanted, "indptr"):
        return all(_same_arrays(getattr(found, part), getattr(wanted, part)) for part in ("indptr", "indices", "data"))
    return _same_arrays(found, wanted) if isinstance(wanted, np.ndarray) else bool(found == wanted)


def _same_arrays(one: Any, other: Any) -> bool:
    return (one is None) == (other is None) and (one is None or np.array_equal(one, other))


def warm(folder: Path) -> None:
    """Read and use every sample as it is, so that everything is loaded and compiled."""
    for sample in samples().values():
        found = original(sample.name)
        wrong = garbage(sample, found)
        if wrong:
            raise AssertionError(f"The valid file of {sample.name} counts as garbage: {wrong}.")


STAGE = Stage("mutated files", trial, goal=400_000, slice=500, minutes=30, warm=warm)
