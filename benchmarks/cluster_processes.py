"""Processes of a cluster that benchmarks start, strike and watch: a scheduler, its workers, and the client of a fit."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from common import ROOT

POLL = 0.005
"""Seconds between two looks at what a client has said."""
OTHER_VERSION = (
    "import kernelweave._version as v; v.__version__ = '9.9'; from distributed.cli.dask_worker import main; main()"
)
"""A worker that has another version of the package, as far as anybody can tell."""
AFTERWARDS = "cannot schedule new futures"
"""What threads of Dask may say after the error, when the interpreter ends under them."""
Line = list[Any]
"""What a client says: seconds since the epoch, a word, and more."""


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process: the modules of this one, and one thread of BLAS."""
    path = os.pathsep.join(path for path in sys.path if path)
    return os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} | more


def started(*command: str, **more: str) -> subprocess.Popen[bytes]:
    """Start a process of Python that nobody listens to."""
    quiet = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, *command], stdout=quiet, stderr=quiet, env=environment(**more))


class Cluster:
    """A scheduler and workers, started by hand as on a real cluster.

    Parameters
    ----------
    folder : where workers keep their files
    workers : how many
    settings : of Dask, as variables of the environment
    """

    def __init__(self, folder: Path, workers: int = 2, **settings: str):
        self.folder, self.settings = folder, settings
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler = self._scheduler()
        self.workers = [self.worker() for _ in range(workers)]

    def _scheduler(self) -> subprocess.Popen[bytes]:
        fixed = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        return started("-m", "dask", "scheduler", *fixed, **self.settings)

    def worker(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a worker, by another command than that of Dask if one is given."""
        fixed = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "600"]
        folder = ["--local-directory", str(self.folder)]
        return started(*(command or ("-m", "dask", "worker")), self.address, *fixed, *folder, **self.settings)

    def strike(self, what: str, sign: int = signal.SIGKILL) -> subprocess.Popen[bytes]:
        """Send a signal to the scheduler or to any worker; return the process."""
        process = self.scheduler if what == "scheduler" else random.choice(self.workers)
        process.send_signal(sign)
        if sign == signal.SIGKILL:
            process.wait()
        return process

    def mend(self) -> None:
        """Start again what is dead; workers of a dead scheduler begin anew with the next one."""
        if self.scheduler.poll() is not None:
            for worker in self.workers:
                worker.kill()
                worker.wait()
            self.scheduler = self._scheduler()
        self.workers = [worker if worker.poll() is None else self.worker() for worker in self.workers]

    def close(self) -> None:
        """End all processes."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


class Run:
    """A fit of `cluster_fits.py` in a process of its own, and what it says.

    Parameters
    ----------
    out : file for what it says; a second run in the same file goes on behind the first
    given : options of `cluster_fits.py`
    """

    def __init__(self, out: Path, given: dict[str, Any], **settings: str):
        self.out, self.errors = out, out.with_suffix(".err")
        self.begin = out.stat().st_size if out.exists() else 0
        self.errors_begin = self.errors.stat().st_size if self.errors.exists() else 0
        options = [f"--{name}={value}" for name, value in given.items()]
        command = [sys.executable, str(ROOT / "benchmarks" / "cluster_fits.py"), *options]
        with out.open("ab") as file, self.errors.open("ab") as errors:
            self.process = subprocess.Popen(command, stdout=file, stderr=errors, env=environment(**settings))

    def lines(self) -> list[Line]:
        """Return what this run has said so far."""
        with self.out.open() as file:
            file.seek(self.begin)
            return [json.loads(line) for line in file.read().splitlines() if line.endswith("]")]

    def named(self, word: str) -> list[Line]:
        """Return the lines with a word."""
        return [line for line in self.lines() if line[1] == word]

    def reaches(self, word: str, times: int, limit: float) -> bool:
        """Wait until a word was said so many times; return False where the run ends before, or after the limit."""
        until = time.time() + limit
        while len(self.named(word)) < times:
            if self.process.poll() is not None or time.time() > until:
                return False
            time.sleep(POLL)
        return True

    def ends(self, limit: float) -> bool:
        """Wait for the end; return False where it takes longer than the limit, and end it."""
        try:
            self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        return True

    def kill(self) -> None:
        """End the client without warning."""
        self.process.kill()
        self.process.wait()

    def said(self) -> str:
        """Return the last sentence that went to standard error: a warning or an error."""
        with self.errors.open() as file:
            file.seek(self.errors_begin)
            lines = [line for line in file.read().strip().splitlines() if ": " in line and not line.startswith(" ")]
        lines = [line for line in lines if AFTERWARDS not in line]
        return lines[-1].partition(": ")[2].split("Warning: ")[-1].strip() if lines else ""
