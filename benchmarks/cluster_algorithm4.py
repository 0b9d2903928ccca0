"""Two ways to train on a cluster: Algorithm 4 of Sonnenburg et al. (2006) to the letter, and large working sets.

    python benchmarks/cluster_algorithm4.py --folder DATA                          # 20,000 and 100,000 rows, 15 minutes
    python benchmarks/cluster_algorithm4.py --folder DATA --rows 20000 --minutes 1

``solver="chunking"`` on workers solves 512 rows a round; the workers compute what that changes of the outputs of
their rows, and all n numbers come back.  ``solver="active_set"`` solves all rows that may carry the solution; a part
sends back one number and its rows with the largest losses.  Many kernels likewise: "silp_chunking" on workers, where m
times n numbers come back, against "active_set" with "silp_chunking" and with "hessian" for the master.

Weighted degree 20 (or 5 kernels, one for each degree), C = 5, mean diagonal 1, free intercept, two processes with one
thread each, rows in a store.  Bytes are counted where they leave: what tasks carry, large arrays once for each worker,
and results.  CPU seconds are those of the client and of the workers.  A run that the time limit ends is marked.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster

import kernelweave as kw
from cluster_scale import store
from common import Row, conditions, show, write_csv
from kernelweave.engines.dask import Dask
from kernelweave.engines.dask.packing import Parcel
from kernelweave.engines.dask.rounds import Round
from kernelweave.solvers.loop import Progress
from seq_common import DEGREE, C

WORKERS = 2
WARM_UP_ROWS = 20_000
KERNELS = 5
ONE = {"chunking": {}, "active_set": {}}
MANY: dict[str, dict[str, Any]] = {
    "silp_chunking": {},
    "active_set with silp_chunking": {"solver": "silp_chunking"},
    "active_set with hessian": {"solver": "hessian"},
}
"""Names of the runs, and what the solver is given."""


class Counting(Dask):
    """Counts the bytes that leave, and those that come back."""

    sent = returned = 0

    def _submit(self, common: Parcel, jobs: list[Any], parts: list[Any]) -> Round:
        self.sent += len(common.packed.head) + sum(len(job.head) for job in jobs)
        found = super()._submit(common, jobs, parts)
        collect = found.results

        def results() -> list[Any]:
            answers = collect()
            self.returned += sum(len(answer.result) for answer in answers)
            return answers

        vars(found)["results"] = results
        return found

    def watch(self) -> None:
        """Count large arrays when they are laid down, once for each worker."""
        put = self.shelf.put

        def counted(name: str, blob: Any) -> None:
            self.sent += blob.nbytes * WORKERS
            put(name, blob)

        vars(self.shelf)["put"] = counted


def stopper(minutes: float) -> Callable[[Progress], bool]:
    """Return a callback that ends a fit after some minutes."""
    began = time.perf_counter()
    return lambda progress: time.perf_counter() - began > 60 * minutes


def model(name: str, many: bool, options: argparse.Namespace, engine: Dask, minutes: float) -> Any:
    """Return an unfitted machine."""
    params = (MANY if many else ONE)[name] or None
    common: dict[str, Any] = {
        "C": C, "tol": options.tol, "solver": name.split()[0], "solver_params": params, "engine": engine,
        "callbacks": (stopper(minutes),), "normalize": "trace",
    }  # fmt: skip
    if many:
        return kw.MKLClassifier(kw.WeightedDegree(KERNELS).per_degree(), **common)
    return kw.KernelClassifier(kw.WeightedDegree(DEGREE), **common)


def measure(rows: int, name: str, many: bool, options: argparse.Namespace, client: Client) -> Row:
    """Fit once, and return a line of the table."""
    data, engine = store(options.folder, rows, 1), Counting(client)
    engine.watch()
    X = data.X[:] if options.in_memory else data.X
    spent = worker_seconds(client)
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model(name, many, options, engine, options.minutes).fit(X, data.y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    workers = worker_seconds(client) - spent
    engine.close()
    moved = engine.sent + engine.returned
    return {
        "n": rows, "kernels": KERNELS if many else 1, "solver": name, "rounds": fitted.n_iter_,
        "megabytes_a_round": moved / 1e6 / max(1, fitted.n_iter_), "megabytes_sent": engine.sent / 1e6,
        "megabytes_returned": engine.returned / 1e6, "wall": wall, "cpu_client": cpu, "cpu_workers": workers,
        "gap": fitted.duality_gap_, "primal": fitted.objective_, "dual": fitted.dual_objective_,
        "support_vectors": len(fitted.support_), "stopped": not fitted.converged_,
    }  # fmt: skip


def worker_seconds(client: Client) -> float:
    """Return the CPU seconds of all workers so far."""
    return float(sum(client.run(time.process_time).values()))


def main() -> None:
    """Read the options, fit each size both ways, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="20000,100000", help="numbers of rows for one kernel, separated by commas")
    parser.add_argument("--mkl-rows", default="20000", help="the same for five kernels; empty for none")
    parser.add_argument("--folder", type=Path, required=True, help="where stores are, or are made")
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--minutes", type=float, default=4.0, help="that one fit may take")
    parser.add_argument("--in-memory", action="store_true", help="read the store before the fit")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    jobs = [(int(n), name, False) for n in options.rows.split(",") if n for name in ONE]
    jobs += [(int(n), name, True) for n in options.mkl_rows.split(",") if n for name in MANY]
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        small = store(options.folder, WARM_UP_ROWS, 3)
        for name, many in dict.fromkeys(job[1:] for job in jobs):  # compiles
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model(name, many, options, Dask(client), 0.1).fit(small.X, small.y)
        found = []
        for rows, name, many in jobs:
            found.append(measure(rows, name, many, options, client))
            print(show(found[-1:]), flush=True)
    write_csv("cluster_algorithm4", found)
    print(conditions("distributed"))
    print(show(found))


if __name__ == "__main__":
    main()
