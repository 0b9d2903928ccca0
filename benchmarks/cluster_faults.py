"""Faults on purpose: kill -9 of workers, clients and schedulers at random moments; the result must keep its bits.

    python benchmarks/cluster_faults.py                              # 20 workers, 10 clients, 5 schedulers
    python benchmarks/cluster_faults.py --work fit --solver active_set --rows 100000
    python benchmarks/cluster_faults.py --workers 3 --clients 1 --schedulers 1

A scheduler and two workers are started by hand, as on a real cluster, and a client runs in a process of its own: it
scores the rows of a store round after round with a weighted-degree machine, or fits one (`--work fit`).  A trial kills
one of these processes at a random moment of the undisturbed run.  A killed worker is started again after two seconds;
after the death of the client, or of the scheduler under it, the same command is run again, and a fit goes on from its
checkpoint where the solver writes one.  The longest stall is the time from the kill to the next result of a round, or
to the error message that says what happened.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import kernelweave as kw
from cluster_data import write_sites
from common import Row, conditions, show, write_csv
from kernelweave.engines import Serial
from kernelweave.engines.dask import Dask

LIMIT = 60.0
"""Seconds after which a run counts as a hang."""
RESTART = 2.0
"""Seconds until somebody starts a killed process again."""
ROUNDS, TRAINED, PARTS = 6, 2000, 24
KERNEL = "wd:20"


def started(*command: str) -> subprocess.Popen[bytes]:
    """Start a process of Dask and say nothing about it."""
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


class Cluster:
    """A scheduler and two workers, started by hand."""

    def __init__(self, folder: Path):
        self.folder, self.port = folder, random.randint(20_000, 60_000)
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler = self._scheduler()
        self.workers = [self._worker() for _ in range(2)]

    def _scheduler(self) -> subprocess.Popen[bytes]:
        return started("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")

    def _worker(self) -> subprocess.Popen[bytes]:
        fixed = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "600"]
        return started("worker", self.address, *fixed, "--local-directory", str(self.folder))

    def kill(self, what: str) -> None:
        """Kill a process without warning."""
        (self.scheduler if what == "scheduler" else random.choice(self.workers)).kill()

    def mend(self) -> None:
        """Start again what is dead; workers of a dead scheduler begin anew with the next one."""
        if self.scheduler.poll() is not None:
            for worker in self.workers:
                worker.kill()
                worker.wait()
            self.scheduler = self._scheduler()
        self.workers = [worker if worker.poll() is None else self._worker() for worker in self.workers]

    def close(self) -> None:
        """End all processes."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def client(asked: argparse.Namespace) -> None:
    """Do the work and write a line for each round, then one with the hash of the result."""
    from kernelweave.data.stores import Stored

    rows = Stored(asked.store)
    engine = Dask(asked.address)
    if asked.work == "fit":
        model = kw.KernelClassifier(KERNEL, C=1.0, solver=asked.solver, engine=engine, tol=1e-3)
        if "checkpoint" in model.get_params():
            model.set_params(checkpoint=asked.checkpoint)
        model.set_params(callbacks=(lambda *_: told("round"),)).fit(rows, np.asarray(rows.y))
        told("result", digest(model.decision_function(rows[:1000]), model.objective_), float(model.duality_gap_))
        return
    model = kw.KernelClassifier(KERNEL, n_jobs=1).fit(rows[:TRAINED], np.asarray(rows.y[:TRAINED]))
    step = -(-rows.shape[0] // PARTS)
    cuts, outputs = [slice(i, i + step) for i in range(0, rows.shape[0], step)], []
    handle = engine.share(model.expansion_)
    for number in range(ROUNDS):
        found = engine.map(lambda part: handle.get().scores(rows[part], Serial()), cuts)
        outputs.append(np.concatenate(found) + number)
        told("round")
    told("result", digest(*outputs), 0.0)


def told(*what: Any) -> None:
    """Tell the trial something."""
    print(json.dumps([time.time(), *what]), flush=True)


def digest(*arrays: Any) -> str:
    """Return the hash of the bits of some arrays."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array))
    return total.hexdigest()


class Run:
    """One client at work, and what it says."""

    def __init__(self, asked: argparse.Namespace, address: str, out: Path):
        self.out, self.errors = out, out.with_suffix(".err")
        fixed = ["--client", "--address", address, "--store", asked.store, "--checkpoint", asked.checkpoint]
        more = ["--work", asked.work, "--solver", asked.solver]
        with out.open("ab") as file, self.errors.open("ab") as errors:
            self.process = subprocess.Popen([sys.executable, __file__, *fixed, *more], stdout=file, stderr=errors)

    def lines(self) -> list[list[Any]]:
        """Return what was said so far."""
        return [json.loads(line) for line in self.out.read_text().splitlines() if line.endswith("]")]

    def wait(self) -> bool:
        """Wait for the end; return False where it hangs."""
        try:
            self.process.wait(LIMIT + RESTART)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return False
        return True

    def message(self) -> str:
        """Return the last line that went to standard error."""
        return (self.errors.read_text().strip().splitlines() or [""])[-1]


def trial(what: str, when: float, asked: argparse.Namespace, folder: Path) -> Row:
    """Kill something at some moment after the first round began; return what came of it."""
    Path(asked.checkpoint).unlink(missing_ok=True)
    out, cluster = folder / "out.txt", Cluster(folder)
    for path in (out, out.with_suffix(".err")):
        path.write_text("")
    try:
        run = Run(asked, cluster.address, out)
        _until_first_round(run)
        time.sleep(when)
        if what == "client":
            run.process.send_signal(signal.SIGKILL)
        elif what != "nothing":
            cluster.kill(what)
        killed = time.time()
        if what == "worker":
            time.sleep(RESTART)
            cluster.mend()
        ended, message, ends = run.wait(), run.message(), time.time()
        again = run.process.returncode != 0
        if again:
            cluster.mend()
            ended = Run(asked, cluster.address, out).wait() and ended
        return _judged(what, when, killed, ends if again else None, ended, message, run.lines())
    finally:
        cluster.close()


def _until_first_round(run: Run) -> None:
    began = time.time()
    while not run.lines() and run.process.poll() is None and time.time() - began < LIMIT:
        time.sleep(0.05)


def _judged(
    what: str, when: float, killed: float, failed: float | None, ended: bool, message: str, lines: list[list[Any]]
) -> Row:
    """Return a line of the table: how long nothing came, how it ended, and the hash of the result."""
    after = [line[0] for line in lines if line[0] > killed]
    stall = (failed if failed is not None else min(after, default=killed)) - killed
    results = [line for line in lines if line[1] == "result"]
    return {
        "killed": what, "at": round(when, 2), "stall": round(stall, 2), "hang": not ended or stall > LIMIT,
        "length": round(lines[-1][0] - lines[0][0], 2) if lines else 0.0, "run_again": failed is not None,
        "result": results[-1][2] if results else "", "said": message[:160],
    }  # fmt: skip


@contextlib.contextmanager
def workplace(asked: argparse.Namespace) -> Iterator[Path]:
    """Give a folder with the store and the place of the checkpoint."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asked.store, asked.checkpoint = str(folder / "sites.kws"), str(folder / "fit.kwc")
        write_sites(asked.store, asked.rows, seed=1)
        yield folder


def campaign(asked: argparse.Namespace) -> None:
    """Run all trials, print and write the tables."""
    random.seed(asked.seed)
    with workplace(asked) as folder:
        trial("nothing", 0.0, asked, folder)  # compiles
        plain = trial("nothing", 0.0, asked, folder)
        print(f"undisturbed: {plain['result'][:16]}, {plain['length']} s from round to result", flush=True)
        rows = []
        for what, times in (("worker", asked.workers), ("client", asked.clients), ("scheduler", asked.schedulers)):
            for _ in range(times):
                row = trial(what, random.uniform(0.0, plain["length"]), asked, folder)
                row["same_bits"] = row["result"] == plain["result"] != ""
                rows.append(row)
                print(f"{what} at {row['at']} s: same bits {row['same_bits']}, stall {row['stall']} s", flush=True)
    counts = [
        _counts(what, [row for row in rows if row["killed"] == what])
        for what in dict.fromkeys(r["killed"] for r in rows)
    ]
    print(show(counts))
    name = f"cluster_faults_{asked.work}"
    print(write_csv(name, rows), write_csv(f"{name}_counts", counts))


def _counts(what: str, rows: list[Row]) -> Row:
    return {
        "killed": what, "trials": len(rows), "same_bits": sum(row["same_bits"] for row in rows),
        "run_again": sum(row["run_again"] for row in rows), "hangs": sum(row["hang"] for row in rows),
        "longest_stall": max(row["stall"] for row in rows),
    }  # fmt: skip


def main() -> None:
    """Run the campaign, or the client of one trial."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", choices=["predict", "fit"], default="predict")
    parser.add_argument("--solver", default="auto", help="of a fit")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    for name, default in (("workers", 20), ("clients", 10), ("schedulers", 5)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{name} to kill")
    parser.add_argument("--client", action="store_true", help=argparse.SUPPRESS)
    for name in ("address", "store", "checkpoint"):
        parser.add_argument(f"--{name}", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.client:
        return client(asked)
    print(conditions("distributed"))
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return campaign(asked)


if __name__ == "__main__":
    main()
