"""Checkpoints: what the runs of a fit have reached, written down now and then, so that a fit can go on elsewhere.

A fit is a fixed sequence of runs of `loop.run`: one for each output, each value of C, each fold.  The checkpoint has an
entry for each of them, in that order; those that are finished are not run again, the last one goes on.

    entry   stop (tol, most iterations), how (solver, form of the kernels), ended (None while it runs), primal, gap,
            loop (iteration, seconds, ledger, trace, stalls), state (of the solver; None for a start from the best
            point), lasting (whether a finished run is not told by its points alone)

Entries are plain data (`state`); where they are written to is not known here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelweave.solvers.certificate import Ledger
from kernelweave.solvers.result import Result, Trace
from kernelweave.solvers.state import plain, revive

if TYPE_CHECKING:
    from kernelweave.solvers.loop import Stop

EVERY = 60.0
"""Seconds between two writes, where the user does not say."""
HELD = 1.0
"""Seconds after which the state is copied in memory, to be written should an iteration be interrupted."""
WRITING_SHARE = 10.0
"""Writing takes at most one of so many seconds, however slow the disk is."""
POINTS = ("primal", "proven", "provisional")
"""The points of a ledger."""
Entry = dict[str, Any]
Write = Callable[[list[Entry]], None]
"""Writes the entries of all runs, in place of what was written before."""


@dataclass(frozen=True)
class Saved:
    """What is known of a run.

    Parameters
    ----------
    result : its best points and trace, and how it ended
    finished : whether nothing is left to do
    loop, state : where the loop and the solver were; None where only the points can be used
    start : whether the points fit the problem at hand
    """

    result: Result
    finished: bool
    loop: dict[str, Any] | None
    state: dict[str, Any] | None
    start: bool = True


class Checkpoint:
    """The runs of a fit, written down as they go.

    Parameters
    ----------
    write : writes the entries of all runs
    every : seconds between two writes; 0 for a write after each iteration
    runs : entries that were written before
    trusted : whether the solvers that wrote them were those of this version
    clock : seconds since some moment

    Examples
    --------
    >>> written = []
    >>> checkpoint = Checkpoint(written.append, every=0.0)
    >>> checkpoint.close()
    >>> written
    []
    """

    def __init__(
        self,
        write: Write,
        every: float = EVERY,
        runs: list[Entry] | None = None,
        trusted: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.write, self.every, self.trusted, self.clock = write, every, trusted, clock
        self.runs = list(runs or [])
        self.number, self.open, self.dirty = -1, True, False
        self.how: dict[str, Any] = {}
        self.written = self.held_at = clock()
        self.held: Entry | None = None
        self.pause = every

    def describe(self, **how: Any) -> None:
        """Take note of how the next run goes about it: the solver, the form of the kernels, the features."""
        self.how = how

    def begin(self, stop: Stop) -> Saved | None:
        """Go to the next run; return what is known of it."""
        if not self.open:
            return None
        self.number += 1
        self.held = None
        if self.number >= len(self.runs):
            self._forget_states()
            return None
        return self._known(self.runs[self.number], stop)

    def _known(self, entry: Entry, stop: Stop) -> Saved:
        tol, most = entry["stop"]
        fits = entry["how"].get("features") == self.how.get("features")
        over = entry["ended"] not in (None, "interrupted") and stop.tol >= tol and stop.max_iter <= most
        same = self.trusted and entry["how"] == self.how and tol == stop.tol
        result = _result(entry, stop.tol)
        return Saved(
            result, fits and (over or result.converged), entry["loop"] if same else None,
            revive(entry["state"]) if same or (over and entry["lasting"]) else None, fits,
        )  # fmt: skip

    def keep(self, stop: Stop, entry: Callable[[bool], Entry | None]) -> None:
        """Write the run down if it is time, after an iteration; `entry` gives it, with copies of arrays if asked."""
        if not self.open:
            return
        now = self.clock()
        if now - self.written >= self.pause:
            made = entry(False)
            if made is not None:
                self._put(stop, made)
                self.flush()
        elif now - self.held_at >= HELD:
            made = entry(True)
            if made is not None:
                self.held, self.held_at = self._entry(stop, made), now

    def end(self, stop: Stop, entry: Entry, interrupted: bool = False) -> None:
        """Write a run down that is over, or that was stopped between two iterations."""
        if not self.open:
            return
        self._put(stop, entry)
        if interrupted or self.clock() - self.written >= min(HELD, self.every):
            self.flush()
        self.open = not interrupted

    @property
    def resumable(self) -> bool:
        """Whether a state of the present run is known."""
        known = self.runs[self.number] if self.number < len(self.runs) else None
        return any(entry is not None and entry["state"] is not None for entry in (self.held, known))

    def interrupted(self) -> None:
        """Write down where a run was that was stopped within an iteration; later runs do not count."""
        if self.open and self.held is not None:
            self._replace(self.held)
        self.close()

    def close(self) -> None:
        """Write what was not written yet; the fit is over."""
        if self.open and self.dirty:
            self.flush()
        self.open = False

    def flush(self) -> None:
        """Write all runs."""
        began = self.clock()
        self.write(self.runs)
        self.written = self.held_at = self.clock()
        self.pause = max(self.every, WRITING_SHARE * (self.written - began))
        self.dirty, self.held = False, None

    def _entry(self, stop: Stop, entry: Entry) -> Entry:
        return {"stop": (stop.tol, stop.max_iter), "how": self.how, **entry}

    def _put(self, stop: Stop, entry: Entry) -> None:
        self._replace(self._entry(stop, entry))

    def _replace(self, entry: Entry) -> None:
        self.runs[self.number : self.number + 1] = [entry]
        self.dirty = True

    def _forget_states(self) -> None:
        """Drop the states of finished runs, unless their results are made of them."""
        for entry in self.runs:
            if not entry["lasting"]:
                entry["state"] = None


def _result(entry: Mapping[str, Any], tol: float) -> Result:
    """Return the points and the trace of an entry."""
    loop = entry["loop"]
    ledger = Ledger()
    restore_ledger(ledger, loop["ledger"])
    trace, ended = restored_trace(loop["trace"]), entry["ended"] or "interrupted"
    return Result(revive(entry["primal"]), ledger.dual, trace, loop["iteration"], entry["gap"] <= tol, ended)


def plain_ledger(ledger: Ledger) -> dict[str, Any]:
    """Return the points of a ledger as plain data; points never change, so that they need no copies."""
    return {name: plain(getattr(ledger, name)) for name in POINTS}


def restore_ledger(ledger: Ledger, saved: Mapping[str, Any]) -> None:
    """Put the points of a saved ledger into one."""
    for name in POINTS:
        setattr(ledger, name, revive(saved[name]))


def plain_trace(trace: Trace) -> dict[str, Any]:
    """Return the columns of a trace as arrays."""
    return {name: np.asarray(column, dtype=float) for name, column in trace.columns.items()}


def restored_trace(saved: Mapping[str, Any]) -> Trace:
    """Return the trace of columns."""
    return Trace({name: np.asarray(column).tolist() for name, column in saved.items()})
