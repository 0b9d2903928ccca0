"""How a round of scoring scales with workers: measured with 1, 2 and 4 processes, predicted for 4, 16 and 64.

    python benchmarks/cluster_simulation.py                          # 2,560,000 rows in 64 parts, 3 minutes
    python benchmarks/cluster_simulation.py --rows 64000 --parts 16

What a task, a message and a byte cost is measured here, on a Dask cluster of local processes: rounds of empty tasks,
and rounds that share a value of some megabytes.  A small simulation of events predicts the time of a round from these
costs and the seconds that one part takes: the scheduler hands out tasks one after the other, every worker fetches the
model once, from the scheduler or from a worker that has it, computes one part at a time, and sends its result back.

The prediction is checked twice against 1, 2 and 4 processes: with parts that wait for a given time, which load no core,
and with parts that score rows of a store with a weighted-degree machine, of which no more run at once than there are
cores.
"""

from __future__ import annotations

import argparse
import heapq
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

import kernelweave as kw
from cluster_data import write_sites
from common import Row, conditions, show, write_csv, write_picture
from kernelweave.engines import Serial
from kernelweave.engines.dask import Dask
from kernelweave.plots.style import BLUE, GREY, figure, quiet

MEASURED, PREDICTED = (1, 2, 4), (4, 16, 64)
EMPTY = (16, 512)
"""Tasks in the rounds of empty tasks: the slope is the cost of a task, the rest that of a round."""
SHARED = (1 << 16, 1 << 25)
"""Bytes of the shared values; the slope is the cost of a byte."""
WAIT = 0.25
"""Seconds of a part that waits."""
MODEL_ROWS, MODEL_KERNEL = 3000, "wd:20"


@dataclass(frozen=True)
class Costs:
    """What Dask takes, in seconds.

    Attributes
    ----------
    round : of a round, whatever is in it
    task : of the scheduler and the client for each task; tasks queue for it
    byte : to bring a byte of a shared value to one worker
    """

    round: float
    task: float
    byte: float


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
    free = [(shared * costs.byte * (1 + int(np.log2(k + 1))), k) for k in range(workers)]
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


def scorer(model: Any, rows: Any, handle: Any) -> Callable[[slice], tuple[float, float]]:
    """Return a pure function of a part: the sum of its outputs, and the CPU seconds that they took."""

    def score(part: slice) -> tuple[float, float]:
        began = time.thread_time()
        outputs = handle.get().scores(rows[part], Serial())
        return float(outputs.sum()), time.thread_time() - began

    return score


def measured(workers: int, asked: argparse.Namespace, model: Any, rows: Any) -> tuple[Row, Costs, list[float]]:
    """Return the seconds of both kinds of rounds, the costs on this cluster, and the seconds of each part."""
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        engine = Dask(client)
        engine.map(abs, range(4 * workers))
        costs = measured_costs(engine)
        waiting = least(lambda: engine.map(lambda _: time.sleep(WAIT), range(asked.parts)), 1)
        step = -(-rows.shape[0] // asked.parts)
        cuts = [slice(i, min(i + step, rows.shape[0])) for i in range(0, rows.shape[0], step)]
        score = scorer(model, rows, engine.share(model.expansion_))
        engine.map(score, cuts[:2] * 4 * workers)  # workers load their code
        began = time.perf_counter()
        found = engine.map(score, cuts)
        row = {"workers": workers, "waiting": waiting, "scoring": time.perf_counter() - began}
        return row | {"sum": sum(total for total, _ in found)}, costs, [seconds for _, seconds in found]


def table(asked: argparse.Namespace) -> list[Row]:
    """Return one line for each number of workers, measured and predicted."""
    with tempfile.TemporaryDirectory() as folder:
        rows = write_sites(os.path.join(folder, "sites.kws"), asked.rows, seed=1)
        train = rows[:MODEL_ROWS]
        model = kw.KernelClassifier(MODEL_KERNEL, n_jobs=1).fit(train, np.asarray(rows.y[:MODEL_ROWS]))
        model.decision_function(train[:10])
        found = [measured(workers, asked, model, rows) for workers in MEASURED]
    costs, seconds = found[0][1], found[0][2]
    size = sum(blob.nbytes for blob in _blobs(model))
    print(f"a round {costs.round:.3f} s, a task {1e3 * costs.task:.2f} ms, a byte {1e9 * costs.byte:.2f} ns")
    print(f"a part {np.mean(seconds):.3f} s, the model {size / 1e6:.2f} MB")
    assert len({row["sum"] for row, *_ in found}) == 1, "the sums of outputs depend on the number of workers"
    lines, cores = [], len(os.sched_getaffinity(0))
    for row, *_ in found:
        wait = simulated([WAIT] * asked.parts, row["workers"], costs, 0)
        score = simulated(seconds, row["workers"], costs, size, cores)
        lines.append(_line(row["workers"], "measured here", row["waiting"], wait, row["scoring"], score))
    for workers in PREDICTED:
        wait = simulated([WAIT] * asked.parts, workers, costs, 0)
        score = simulated(seconds, workers, costs, size)
        lines.append(_line(workers, "a core each", None, wait, None, score))
    alone = simulated(seconds, 1, costs, size)
    return [{**line, "speedup": round(alone / line["scoring_predicted"], 2)} for line in lines]


def _blobs(model: Any) -> list[np.ndarray]:
    from kernelweave.engines.dask.packing import pack

    return list(pack(model.expansion_).blobs.values())


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
    parser.add_argument("--rows", type=int, default=2_560_000)
    parser.add_argument("--parts", type=int, default=64)
    asked = parser.parse_args()
    print(conditions("distributed"))
    lines = table(asked)
    print(show(lines))
    print(write_csv("cluster_simulation", lines), write_picture("cluster_simulation", draw(lines)))


if __name__ == "__main__":
    main()
