"""How a round of scoring scales with workers: measured with 1, 2 and 4 processes, predicted for 4, 16 and 64.

    python benchmarks/cluster_simulation.py                          # 400,000 rows in 64 parts, 4 minutes
    python benchmarks/cluster_simulation.py --rows 64000 --parts 16 --fits 1

A classifier is fitted to a store by rounds over its parts (`solver="active_set"`): with 2 threads and with 2 Dask
processes of one thread, in turn, which gives the ratio of their times.  Then parts of the store are scored with its
support rows, as in such a round.  What a task, a message and a byte cost is measured on a Dask cluster of local
processes: rounds of empty tasks, and rounds that share a value of some megabytes.  A small simulation of events
predicts the time of a round from these costs and the seconds that one part takes: the scheduler hands out tasks one
after the other, every worker fetches the model once, from a worker that has it, reads its support rows and sorts them
once, computes one part at a time, and sends its result back.

The prediction is checked twice against 1, 2 and 4 processes: with parts that wait for a given time, which load no core,
and with the parts that are scored, of which no more run at once than there are cores.
"""

from __future__ import annotations

import argparse
import contextlib
import heapq
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

import kernelweave as kw
from cluster_data import write_sites
from common import Row, alternate, conditions, show, write_csv, write_picture
from kernelweave.engines import Threads
from kernelweave.engines.dask import Dask
from kernelweave.operators.sharded.model import PartModel
from kernelweave.plots.style import BLUE, GREY, figure, quiet

MEASURED, PREDICTED = (1, 2, 4), (4, 16, 64)
EMPTY = (16, 512)
"""Tasks in the rounds of empty tasks: the slope is the cost of a task, the rest that of a round."""
SHARED = (1 << 16, 1 << 25)
"""Bytes of the shared values; the slope is the cost of a byte."""
WAIT = 0.25
"""Seconds of a part that waits."""
KERNEL = "wd:20"
WARM_UP_ROWS = 70_000
"""Rows of a fit that keeps compilation out of the numbers."""


@dataclass(frozen=True)
class Costs:
    """What Dask takes, in seconds.

    Attributes
    ----------
    round : of a round, whatever is in it
    task : of the scheduler and the client for each task; tasks queue for it
    byte : to bring a byte of a shared value to one worker
    setup : of a worker, before its first part of a round
    """

    round: float
    task: float
    byte: float
    setup: float = 0.0


def simulated(durations: Sequence[float], workers: int, costs: Costs, shared: int, cores: int | None = None) -> float:
    """Return the seconds of a round by a simulation of events.

    Parameters
    ----------
    durations : seconds of each part
    workers : one part at a time each
    costs : of rounds, tasks and bytes
    shared : bytes that every worker fetches before its first part
    cores : that all workers share; None where each has one of its own
    """
    slower = 1.0 if cores is None else max(1.0, min(workers, len(durations)) / cores)
    # The k-th worker has the value after log2(k) more doublings: those that have it pass it on.
    fetch = [shared * costs.byte * (1 + int(np.log2(k + 1))) for k in range(workers)]
    free = [(seconds + slower * costs.setup, k) for k, seconds in enumerate(fetch)]
    heapq.heapify(free)
    scheduler = end = costs.round
    for seconds in durations:
        scheduler += costs.task
        at, worker = heapq.heappop(free)
        finished = max(at, scheduler) + slower * seconds
        heapq.heappush(free, (finished, worker))
        end = max(end, finished)
    return end


def least(call: Callable[[], Any], repeats: int = 3) -> float:
    """Return the seconds of the run that was disturbed least."""
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return min(taken)


def measured_costs(engine: Dask) -> Costs:
    """Return what a cluster of one worker takes for nothing, and for bytes."""
    few, many = (least(lambda n=n: engine.map(abs, range(n))) for n in EMPTY)
    task = (many - few) / (EMPTY[1] - EMPTY[0])
    small, large = (least(lambda size=size: _share(engine, size)) for size in SHARED)
    return Costs(few - EMPTY[0] * task, task, max(0.0, large - small) / (SHARED[1] - SHARED[0]))


def _share(engine: Dask, size: int) -> None:
    """Bring a value that no worker has seen to those that run two parts."""
    handle = engine.share(np.frombuffer(np.random.default_rng().bytes(size), np.uint8))
    engine.map(lambda part: handle.get()[part], [0, 1])


def scorer(rows: Any, handle: Any) -> Callable[[slice], tuple[float, float, float]]:
    """Return a pure function of a part: the sum of its outputs, and the CPU seconds of the model and of the part."""

    def score(part: slice) -> tuple[float, float, float]:
        began = time.thread_time()
        handle.get().expansion(rows)
        ready = time.thread_time()
        outputs = handle.get().scores(rows, part)
        return float(outputs.sum()), ready - began, time.thread_time() - ready

    return score


def part_model(model: Any, times: float = 1.0) -> PartModel:
    """Return a classifier as parts take it; a multiple of it is another one for the workers."""
    return PartModel([kw.WeightedDegree(20)], np.ones(1), model.support_, times * model.dual_coef_.ravel())


def measured(workers: int, asked: argparse.Namespace, model: Any, rows: Any) -> tuple[Row, Costs, list[float]]:
    """Return the seconds of both kinds of rounds, the costs on this cluster, and the seconds of each part."""
    with processes(workers) as engine:
        costs = measured_costs(engine)
        waiting = least(lambda: engine.map(lambda _: time.sleep(WAIT), range(asked.parts)), 1)
        step = -(-rows.shape[0] // asked.parts)
        cuts = [slice(i, min(i + step, rows.shape[0])) for i in range(0, rows.shape[0], step)]
        engine.map(scorer(rows, engine.share(part_model(model, 2.0))), cuts[:2] * 4 * workers)  # loads code
        score = scorer(rows, engine.share(part_model(model)))
        began = time.perf_counter()
        found = engine.map(score, cuts)
        row = {"workers": workers, "waiting": waiting, "scoring": time.perf_counter() - began}
    costs = replace(costs, setup=max(setup for _, setup, _ in found))
    return row | {"sum": sum(total for total, *_ in found)}, costs, [seconds for *_, seconds in found]


@contextlib.contextmanager
def processes(workers: int) -> Iterator[Dask]:
    """Give an engine of so many local processes with one thread each."""
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        engine = Dask(client)
        engine.map(abs, range(4 * workers))
        yield engine


def compared(asked: argparse.Namespace, folder: str, rows: Any) -> tuple[Any, Row]:
    """Return a classifier, and the least seconds of its fit with 2 threads and with 2 processes."""
    small = write_sites(os.path.join(folder, "small.kws"), WARM_UP_ROWS, seed=2)
    with processes(2) as engine:
        fits = {"threads": Threads(2), "processes": engine}
        for one in fits.values():
            fit(small, one)
        timings = alternate({name: partial(fit, rows, one) for name, one in fits.items()}, asked.fits)
    threads, there = timings["threads"], timings["processes"]
    assert np.array_equal(threads.result.dual_coef_, there.result.dual_coef_), "bits depend on the engine"
    row = {"rows": len(rows), "threads": threads.wall, "processes": there.wall, "ratio": there.wall / threads.wall}
    return threads.result, row


def fit(rows: Any, engine: Any) -> Any:
    """Return a classifier that was fitted by rounds over parts."""
    return kw.KernelClassifier(KERNEL, normalize="trace", solver="active_set", engine=engine).fit(rows, rows.y)


def table(asked: argparse.Namespace) -> tuple[list[Row], Row]:
    """Return one line for each number of workers, measured and predicted, and the times of whole fits."""
    with tempfile.TemporaryDirectory() as folder:
        rows = write_sites(os.path.join(folder, "sites.kws"), asked.rows, seed=1)
        model, times = compared(asked, folder, rows)
        found = [measured(workers, asked, model, rows) for workers in MEASURED]
    costs, seconds, size = found[0][1], found[0][2], part_model(model).nbytes
    print(f"a round {costs.round:.3f} s, a task {1e3 * costs.task:.2f} ms, a byte {1e9 * costs.byte:.2f} ns")
    print(f"a part {np.mean(seconds):.3f} s, the model {size / 1e6:.2f} MB and {costs.setup:.3f} s")
    assert len({row["sum"] for row, *_ in found}) == 1, "the sums of outputs depend on the number of workers"
    lines, cores = [], len(os.sched_getaffinity(0))
    for row, *_ in found:
        wait = simulated([WAIT] * asked.parts, row["workers"], replace(costs, setup=0.0), 0)
        score = simulated(seconds, row["workers"], costs, size, cores)
        lines.append(_line(row["workers"], "measured here", row["waiting"], wait, row["scoring"], score))
    for workers in PREDICTED:
        wait = simulated([WAIT] * asked.parts, workers, replace(costs, setup=0.0), 0)
        score = simulated(seconds, workers, costs, size)
        lines.append(_line(workers, "a core each", None, wait, None, score))
    alone = simulated(seconds, 1, costs, size)
    return [{**line, "speedup": round(alone / line["scoring_predicted"], 2)} for line in lines], times


def _line(workers: int, where: str, wait: float | None, waits: float, score: float | None, scores: float) -> Row:
    return {
        "workers": workers, "where": where, "waiting": "" if wait is None else round(wait, 3),
        "waiting_predicted": round(waits, 3), "scoring": "" if score is None else round(score, 3),
        "scoring_predicted": round(scores, 3),
    }  # fmt: skip


def draw(lines: list[Row]) -> Any:
    """Draw seconds of a round of scoring by workers, measured and predicted."""
    made, axes = figure(1, 1, (5.0, 3.6))
    here, apart = ([line for line in lines if line["where"] == where] for where in ("measured here", "a core each"))
    axes.plot([x["workers"] for x in apart], [x["scoring_predicted"] for x in apart], color=BLUE, marker="o", mfc="w")
    axes.plot([x["workers"] for x in here], [x["scoring"] for x in here], "o", color=BLUE)
    axes.plot([x["workers"] for x in here], [x["scoring_predicted"] for x in here], color=GREY)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("workers")
    axes.set_ylabel("seconds of a round of scoring")
    quiet(axes)
    return made


def main() -> None:
    """Print the table, write CSV and picture."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--parts", type=int, default=64)
    parser.add_argument("--fits", type=int, default=2, help="fits with each engine; the fastest counts")
    asked = parser.parse_args()
    print(conditions("distributed"))
    lines, times = table(asked)
    print(show(lines))
    print(show([times]))
    print(write_csv("cluster_simulation_fits", [times]))
    print(write_csv("cluster_simulation", lines), write_picture("cluster_simulation", draw(lines)))


if __name__ == "__main__":
    main()
