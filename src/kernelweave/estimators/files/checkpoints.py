"""Checkpoint files: what a fit was asked, and how far its runs have come (`kernelweave.solvers.checkpoint`).

The body has three parts: "fit", a digest of the rows, the targets and each parameter, with its text where it is short;
"progress", for people; "runs", the entries as a tree.  A fit that asks something else is refused, with what changed.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from kernelweave._version import __version__
from kernelweave.data.atomic import check_writable
from kernelweave.data.kinds import blocks_of, kind_of
from kernelweave.estimators.files.container import CHECKPOINTS, digest
from kernelweave.estimators.files.misfit import UNREADABLE, misfit
from kernelweave.estimators.files.tree import Reader, Writer
from kernelweave.solvers.checkpoint import EVERY, Checkpoint, Entry

CHANGEABLE = ("tol", "max_iter", "engine", "n_jobs", "memory_limit", "checkpoint", "callbacks", "verbose")
"""Parameters that a fit may change when it goes on: they say how far to go, or where work runs."""
LONGEST_TEXT = 60
"""Letters of a parameter that a message shows."""
Asked = dict[str, dict[str, str]]
"""What a fit is asked, by name: a digest, and a text where it is short."""


class Place(NamedTuple):
    """Where to write, and how many seconds lie between two writes."""

    path: str
    every: float


def place_of(checkpoint: Any) -> Place:
    """Return file and seconds of the parameter of an estimator; raise where no file can be written.

    Examples
    --------
    >>> place_of("fit.kwc"), place_of(("fit.kwc", 5))
    (Place(path='fit.kwc', every=60.0), Place(path='fit.kwc', every=5.0))
    """
    path, every = checkpoint if isinstance(checkpoint, tuple | list) and len(checkpoint) == 2 else (checkpoint, EVERY)
    known = isinstance(path, str | os.PathLike) and isinstance(every, int | float) and not isinstance(every, bool)
    if not known or not every >= 0:
        raise ValueError(f"checkpoint={checkpoint!r} must be the name of a file, or a pair (file, seconds).")
    check_writable(path)
    return Place(os.fspath(path), float(every))


def open_checkpoint(estimator: Any, X: Any, data: Mapping[str, Any]) -> Checkpoint:
    """Return the checkpoint of a fit: a new one, or the one in the file, if it is about the same fit.

    Parameters
    ----------
    X : checked rows
    data : targets, weights and what else was drawn or given, by the names that messages have for them
    """
    place, asked = place_of(estimator.checkpoint), asked_of(estimator, X, data)
    file = CheckpointFile(place.path, asked)
    if not os.path.exists(place.path) or not os.path.getsize(place.path):
        return Checkpoint(file.write, place.every)
    header, tensors = CHECKPOINTS.read(place.path)
    try:
        refuse_changes(place.path, header["fit"], asked)
        runs = Reader(tensors).value(header["runs"])
    except Changed as error:
        raise ValueError(str(error)) from None
    except UNREADABLE as error:
        raise ValueError(f"{place.path} holds a checkpoint that cannot be read: {misfit(error)}; remove it.") from None
    return Checkpoint(file.write, place.every, runs, header["library"] == __version__)


class Changed(Exception):
    """A checkpoint is about another fit."""


class CheckpointFile:
    """Writes the runs of a fit to a file; what cannot be written is warned of once, and tried again later."""

    def __init__(self, path: str, asked: Asked):
        self.path, self.asked, self.failed = path, asked, False

    def write(self, runs: list[Entry]) -> None:
        """Write the runs in place of those before."""
        writer = Writer()
        body = {"fit": self.asked, "progress": _progress(runs), "runs": writer.node(runs)}
        try:
            CHECKPOINTS.write(self.path, body, writer.tensors)
        except OSError as error:
            if not self.failed:
                reason = (error.strerror or str(error)).lower()
                text = f"The checkpoint {self.path} could not be written ({reason}); the fit goes on without."
                warnings.warn(text, UserWarning, stacklevel=2)
            self.failed = True


def _progress(runs: list[Entry]) -> dict[str, Any]:
    """Return how far a fit has come, for people."""
    last, finished = runs[-1], sum(entry["ended"] not in (None, "interrupted") for entry in runs)
    gap = float(last["gap"])
    return {
        "runs": len(runs), "finished": finished, "solver": last["how"].get("solver"), "ended": last["ended"],
        "iteration": int(last["loop"]["iteration"]), "gap": gap if math.isfinite(gap) else None,
        "seconds": sum(float(entry["loop"]["seconds"]) for entry in runs),
    }  # fmt: skip


def read_progress(path: str) -> dict[str, Any] | None:
    """Return how far the fit of a checkpoint has come, None for a file that is none."""
    try:
        header = CHECKPOINTS.header(path)
    except (ValueError, OSError):
        return None
    name = str(header["fit"]["the estimator"].get("text", "")).strip("'")
    return {"estimator": name, "library": header["library"], **header["progress"]}


def asked_of(estimator: Any, X: Any, data: Mapping[str, Any]) -> Asked:
    """Return what a fit is asked: the estimator, its parameters, the rows, and further data."""
    given = {key: value for key, value in estimator.get_params(deep=False).items() if key not in CHANGEABLE}
    asked = {"the estimator": _entry(type(estimator).__name__), "the rows": {"digest": row_digest(X)}}
    asked |= {name: {"digest": _digest(value)} for name, value in data.items()}
    return asked | {name: _entry(value) for name, value in given.items()}


def row_digest(X: Any) -> str:
    """Return a digest of rows, in one pass; rows in a store have theirs in its manifest.

    Examples
    --------
    >>> row_digest(np.eye(2)) == row_digest(np.eye(2)), row_digest(np.eye(2)) == row_digest(np.ones((2, 2)))
    (True, False)
    """
    known = getattr(X, "fingerprint", None)
    if isinstance(known, str):
        return known
    blocks = blocks_of(X)
    if blocks is not None:
        return digest({name: row_digest(block) for name, block in blocks.items()}, {})
    writer = Writer()
    node = writer.rows(kind_of(X), X)
    return digest(node, writer.tensors)


def _entry(value: Any) -> dict[str, str]:
    text = repr(value)
    return {"digest": _digest(value)} | ({"text": text} if len(text) <= LONGEST_TEXT else {})


def _digest(value: Any) -> str:
    """Return a digest of a parameter, by its contents where a file could hold it, else by its text."""
    writer = Writer()
    try:
        node = writer.node(np.asarray(value) if isinstance(value, np.ndarray) else value)
    except TypeError:
        return digest(repr(value), {})
    return digest(node, writer.tensors)


def refuse_changes(path: str, former: Asked, asked: Asked) -> None:
    """Raise unless a fit is asked what a checkpoint was written for.

    Examples
    --------
    >>> refuse_changes("fit.kwc", {"C": _entry(1.0)}, {"C": _entry(2.0)})
    Traceback (most recent call last):
    ...
    kernelweave.estimators.files.checkpoints.Changed: fit.kwc is the checkpoint of another fit: C was 1.0 and is 2.0; \
give what it was written for, or another file, or remove it to begin anew.
    """
    changed = []
    for name in dict.fromkeys([*former, *asked]):
        before, now = former.get(name, {}), asked.get(name, {})
        if before.get("digest") == now.get("digest"):
            continue
        shown = "text" in before and "text" in now and before["text"] != now["text"]
        changed.append(f"{name} was {before['text']} and is {now['text']}" if shown else f"{name} changed")
    if changed:
        raise Changed(
            f"{path} is the checkpoint of another fit: {', '.join(changed)}; give what it was written for, or another "
            "file, or remove it to begin anew."
        )
