"""Trials in child processes: one that crashes or hangs is ended and replaced, and what it worked on is kept.

A worker of step w among W takes the numbers w, w + W, w + 2W, ... and reports each outcome, so that the trial under way
is always known here: it is the one after the last report.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Generator
from multiprocessing import connection, get_context
from pathlib import Path
from typing import Any

from .stage import Outcome, Stage

SPAWN = get_context("spawn")
WARMING = 600.0
"""Seconds in which a process must be ready: everything may have to be compiled."""
PATIENCE = 6.0
"""Seconds are those of the processor, so that no trial hangs for a busy machine; by the clock so many times more."""
ADDRESSES = 3 << 30
"""Bytes of address space that trials may ask for beyond the warm-up; more raises MemoryError in place of swapping."""
DYING = 5.0
"""Seconds that a process may take to end after its last word."""
MOST_DEATHS = 20
"""Processes that a stage may lose before it is given up."""
TRACE = "traceback.txt"


class Worker:
    """A child process and the trial it is at."""

    def __init__(self, stage: Stage, first: int, step: int, last: int, failures: Path):
        self.stage, self.at, self.step, self.last, self.failures = stage, first, step, last, failures
        self.folder = Path(tempfile.mkdtemp(prefix="campaign-"))
        self.pipe, theirs = SPAWN.Pipe(duplex=False)
        arguments = (stage, range(first, last, step), theirs, self.folder, failures)
        self.process = SPAWN.Process(target=serve, args=arguments)
        self.process.start()
        theirs.close()
        self.ready, self.gone = False, False
        self.since, self.used = time.monotonic(), 0.0

    @property
    def limit(self) -> float:
        """Seconds until the next report."""
        return self.stage.seconds if self.ready else WARMING

    @property
    def spent(self) -> float:
        """Seconds since the last report: of the processor, or of the clock where that asks for more than patience."""
        return max(processor_seconds(self.process.pid) - self.used, (time.monotonic() - self.since) / PATIENCE)

    def news(self, readable: bool) -> Outcome | None:
        """Return the outcome of the trial it was at, also where that ended the process; None where there is none."""
        if readable:
            try:
                outcome = self.pipe.recv()
            except (EOFError, OSError):
                self.process.join(DYING)
                code = self.end()
                return None if self.at >= self.last else self._lost("crash", f"the process ended with {code}")
            self.since, self.used = time.monotonic(), processor_seconds(self.process.pid)
            if self.ready:
                self.at += self.step
            self.ready = True
            return outcome
        if self.spent > self.limit:
            self.end()
            return self._lost("hang", f"no answer within {self.limit:g} seconds")
        return None

    def _lost(self, outcome: str, text: str) -> Outcome:
        """Return the outcome of a process that is gone, whose files are kept; one that never was ready is the last."""
        trace = self.folder / TRACE
        told = trace.read_text(errors="replace")[:1500] if trace.exists() else ""
        lost = Outcome("trial" if self.ready else "warm-up", outcome, f"{text}\n{told}".strip())
        keep(self.failures, self.stage, self.at, lost, self.folder)
        self.at = self.at + self.step if self.ready else self.last
        return lost

    def successor(self) -> Worker:
        """Return a process that goes on after the trial that ended this one."""
        return Worker(self.stage, self.at, self.step, self.last, self.failures)

    def end(self) -> int | None:
        """End the process and those it started, and return its exit code."""
        if not self.gone and self.process.is_alive():
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):  # it does not lead a group yet
                self.process.kill()
        self.process.join()
        self.pipe.close()
        self.gone = True
        return self.process.exitcode


def run(
    stage: Stage, trials: range, seconds: float, failures: Path, processes: int = 1
) -> Generator[tuple[int, Outcome]]:
    """Run trials for at most some seconds; give number and outcome of each, and keep the files of failures.

    Parameters
    ----------
    trials : their numbers
    failures : a folder; each trial that failed leaves its files in a folder there
    processes : how many run at a time
    """
    step = max(1, min(processes, stage.processes or processes, len(trials)))
    workers = [Worker(stage, trials.start + place, step, trials.stop, failures) for place in range(step)]
    deadline, deaths = time.monotonic() + seconds, 0
    try:
        while workers and time.monotonic() < deadline:
            readable = connection.wait([worker.pipe for worker in workers], timeout=0.2)
            for place, worker in enumerate(list(workers)):
                number, outcome = worker.at, worker.news(worker.pipe in readable)
                if outcome is not None:
                    yield number, outcome
                if worker.gone:
                    shutil.rmtree(worker.folder, ignore_errors=True)
                    deaths += outcome is not None
                    if worker.at < worker.last and deaths < MOST_DEATHS:
                        workers[place] = worker.successor()
            workers = [worker for worker in workers if not worker.gone]
    finally:
        for worker in workers:
            worker.end()
            shutil.rmtree(worker.folder, ignore_errors=True)


def processor_seconds(pid: int | None) -> float:
    """Return the seconds that a process and the children it waited for have used; 0 for one that is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            times = file.read().rpartition(")")[2].split()[11:15]
    except OSError:
        return 0.0
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def keep(failures: Path, stage: Stage, number: int, outcome: Outcome, folder: Path) -> None:
    """Copy the files of a trial that failed, with what was said of it."""
    place = failures / f"{stage.name.replace(' ', '-')}-{number}"
    shutil.copytree(folder, place, dirs_exist_ok=True, ignore_dangling_symlinks=True)
    (place / "outcome.txt").write_text(f"{stage.name} {number}: {outcome.kind}, {outcome.outcome}\n{outcome.text}\n")


# ------------------------------------------------------------------------------------------------- in the child process


def serve(stage: Stage, numbers: range, pipe: Any, folder: Path, failures: Path) -> None:
    """Run trials and report them, until none is left or the parent is gone."""
    os.setsid()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    with open(folder / TRACE, "w") as trace:
        faulthandler.enable(trace)
        stage.warm(folder)
        if stage.growth is not None:
            resource.setrlimit(resource.RLIMIT_AS, (address_space() + ADDRESSES,) * 2)
        scale = Scale(stage.growth)
        pipe.send(None)
        for number in numbers:
            outcome = scale.weigh(guarded(stage, number, folder))
            if outcome.failed:
                keep(failures, stage, number, outcome, folder)
            pipe.send(outcome)
            empty(folder)


def guarded(stage: Stage, number: int, folder: Path) -> Outcome:
    """Return the outcome of a trial; whatever it raises is a failure."""
    try:
        return stage.trial(number, folder)
    except MemoryError as error:
        return Outcome("trial", "growth", f"{error}\n{traceback.format_exc(limit=-6)}")
    except Exception as error:
        return Outcome("trial", "inner exception", f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-6)}")


class Scale:
    """Weighs the process: a rise of its peak memory by more than a limit is a failure of the trial before."""

    def __init__(self, growth: int | None):
        self.growth, self.base = growth, peak_memory()

    def weigh(self, outcome: Outcome) -> Outcome:
        """Return the outcome, or "growth"."""
        peak = peak_memory()
        if self.growth is None or outcome.failed or peak - self.base <= self.growth:
            return outcome
        risen, self.base = peak - self.base, peak
        return Outcome(outcome.kind, "growth", f"peak memory rose by {risen >> 20} MB ({outcome.text})")


def peak_memory() -> int:
    """Return the largest number of bytes that this process has held; `ru_maxrss` would begin with its parent's."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))


def address_space() -> int:
    """Return the bytes of address space in use."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def empty(folder: Path) -> None:
    """Remove what a trial wrote; the trace stays open."""
    for entry in os.scandir(folder):
        if entry.name == TRACE:
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)
