"""What a user reads when something breaks during a fit on a cluster, and what the same command gives once it is mended.

    python benchmarks/cluster_sentences.py                   # 6 minutes; as root the full disk is a real one

Every fault strikes a fit of `cluster_fits.py` with a checkpoint on a cluster of two workers, most of them while parts
are scored.  Columns: the fault, the seconds until the client ended, whether it ended with a model or with an error, the
last sentence on standard error, and whether the same command, run again after the repair, had the bits of an
undisturbed fit.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cluster_data import write_sites
from cluster_processes import OTHER_VERSION, Cluster, Run
from common import Row, conditions, show, write_csv

LONGEST = 180.0
"""Seconds after which a run is ended."""
ROOM = 64
"""Kilobytes of a disk that is full at once."""
TTL = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "30s"}
FAULTS: dict[str, Callable[[Place], contextlib.AbstractContextManager[None]]] = {}


class Place:
    """A store, a checkpoint and a cluster, in a folder.

    Parameters
    ----------
    folder : an empty directory
    store : that is copied there
    settings : of Dask
    """

    def __init__(self, folder: Path, store: Path, **settings: str):
        self.folder, self.store = folder, folder / "sites.kws"
        shutil.copytree(store, self.store)
        self.cluster = Cluster(folder, **settings)
        self.given: dict[str, Any] = {"checkpoint": folder / "fit.kwc", "store": self.store}
        self.run: Run

    def start(self) -> Run:
        """Start a fit."""
        self.run = Run(self.folder / "out.txt", self.given | {"address": self.cluster.address})
        return self.run

    def until(self, word: str, times: int = 1) -> None:
        """Wait for a phase of the fit."""
        assert self.run.reaches(word, times, LONGEST), self.run.said()

    @property
    def part(self) -> Path:
        """The first part file of the store."""
        return sorted(self.store.glob("part-*"))[0]


def fault(name: str) -> Callable[..., Any]:
    """Enter a fault: a generator that starts the fit, breaks something, and mends it afterwards."""

    def enter(broken: Callable[[Place], Iterator[None]]) -> Callable[[Place], Iterator[None]]:
        FAULTS[name] = contextlib.contextmanager(broken)
        return broken

    return enter


@fault("a worker never answers")
def silent(place: Place) -> Iterator[None]:
    """Stop a worker that has a part."""
    place.start()
    place.until("scoring", 2)
    worker = place.cluster.strike("worker", signal.SIGSTOP)
    yield
    worker.send_signal(signal.SIGCONT)


@fault("a worker never answers, WORKER_TTL=30s")
def silent_ttl(place: Place) -> Iterator[None]:
    """Stop a worker of a scheduler that gives workers up after some seconds."""
    yield from silent(place)


@fault("all workers are gone")
def nobody(place: Place) -> Iterator[None]:
    """Kill every worker."""
    place.start()
    place.until("scoring", 2)
    for worker in place.cluster.workers:
        worker.kill()
        worker.wait()
    yield
    place.cluster.mend()


@fault("no scheduler at the address")
def nowhere(place: Place) -> Iterator[None]:
    """Kill the scheduler before the client starts."""
    place.cluster.strike("scheduler")
    place.start()
    yield
    place.cluster.mend()


@fault("a worker has another version")
def version(place: Place) -> Iterator[None]:
    """Let a worker of another version join."""
    place.cluster.workers.append(place.cluster.worker("-c", OTHER_VERSION))
    time.sleep(3.0)
    place.start()
    yield
    other = place.cluster.workers.pop()
    other.kill()
    other.wait()


@fault("a part file is missing")
def missing(place: Place) -> Iterator[None]:
    """Take a part file away during the fit."""
    place.start()
    place.until("scoring", 2)
    kept = place.part.rename(place.folder / place.part.name)
    yield
    kept.rename(place.store / kept.name)


@fault("a part file is truncated")
def truncated(place: Place) -> Iterator[None]:
    """Cut a part file short during the fit."""
    yield from _changed(place, lambda whole: whole[: len(whole) // 2])


@fault("a part file is changed")
def changed(place: Place) -> Iterator[None]:
    """Change one byte of a part file during the fit."""
    yield from _changed(place, lambda whole: whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:])


def _changed(place: Place, change: Callable[[bytes], bytes]) -> Iterator[None]:
    place.start()
    place.until("master", 2)
    path, whole = place.part, place.part.read_bytes()
    aside = place.folder / "aside"
    aside.write_bytes(change(whole))
    aside.replace(path)
    yield
    path.write_bytes(whole)


@fault("a part file is overwritten in place")
def overwritten(place: Place) -> Iterator[None]:
    """Change bytes of the very file that workers have mapped."""
    place.start()
    place.until("scoring", 2)
    whole = place.part.read_bytes()
    with place.part.open("r+b") as file:
        file.seek(5000)
        file.write(bytes(one ^ 1 for one in whole[5000:6000]))
    yield
    place.part.write_bytes(whole)


@fault("no room for the checkpoint")
def full(place: Place) -> Iterator[None]:
    """Lay the checkpoint on a disk that is full."""
    with _small_disk(place.folder / "small") as disk:
        place.given["checkpoint"] = disk / "fit.kwc"
        place.start()
        yield
    place.given["checkpoint"] = place.folder / "fit.kwc"


@fault("no room in the shared directory")
def full_directory(place: Place) -> Iterator[None]:
    """Let models go through a directory on a disk that is full."""
    with _small_disk(place.folder / "small") as disk:
        place.given["directory"] = disk
        place.start()
        yield
    place.given["directory"] = place.folder / "shared"


@contextlib.contextmanager
def _small_disk(path: Path) -> Iterator[Path]:
    """Give a directory with little room: a file system of its own for root, else files may not grow."""
    path.mkdir()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    mounted = os.geteuid() == 0 and _quiet("mount", "-t", "tmpfs", "-o", f"size={ROOM}k", "none", str(path))
    if not mounted:
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM << 10, limit[1]))  # what is started now has it too
    try:
        yield path
    finally:
        if mounted:
            _quiet("umount", "-l", str(path))  # workers may have mapped a file
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)


def _quiet(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def struck(name: str, folder: Path, store: Path, expected: list[Any] | None) -> Row:
    """Return what came of a fault."""
    place = Place(folder, store, **(TTL if "TTL" in name else {}))
    try:
        with FAULTS[name](place):
            began = time.time()
            ended = place.run.ends(LONGEST)
            seconds, run = time.time() - began, place.run
        row = {
            "fault": name, "seconds": round(seconds, 1), "hang": not ended,
            "ended_with": "a model" if run.process.returncode == 0 else "an error", "said": run.said(),
        }  # fmt: skip
        again = place.start() if run.process.returncode else run
        again.ends(LONGEST)
        result = (again.named("result") or [[None] * 4])[-1]
        return row | {"same_bits_then": expected is not None and result[2:4] == expected}
    finally:
        place.cluster.close()


def undisturbed(folder: Path, store: Path) -> list[Any]:
    """Return the bits and the objective of a fit in this machine's threads."""
    run = Run(folder / "out.txt", {"store": store, "address": "threads"})
    assert run.ends(LONGEST), "the undisturbed fit hangs"
    return list(run.named("result")[-1][2:4])


def main() -> None:
    """Run all faults, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--only", default="", help="faults whose name contains this")
    asked = parser.parse_args()
    print(conditions("distributed"))
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        store = Path(name) / "sites.kws"
        write_sites(store, asked.rows, seed=1)
        expected = undisturbed(Path(name), store)
        for number, fault in enumerate(one for one in FAULTS if asked.only in one):
            folder = Path(name) / str(number)
            folder.mkdir()
            row = struck(fault, folder, store, expected)
            row["said"] = row["said"].replace(str(folder), "...").replace(os.uname().nodename, "HOST")
            rows.append(row)
            print(row, flush=True)
            if not asked.only:
                write_csv("cluster_sentences", rows)
    print(show(rows))


if __name__ == "__main__":
    main()
