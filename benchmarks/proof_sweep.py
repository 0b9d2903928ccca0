"""Thousands of random fits, each judged: is every reported gap true?

    python benchmarks/proof_sweep.py --fits 5000
    python benchmarks/proof_sweep.py --seeds 510 909 --out again      # some of them once more

Draws problems (tests/sweeps.py) over estimators, losses, solvers, kernels, rows, norms, costs, weights, intercepts,
tolerances and memory limits, fits them, and recomputes the certificate of each with `kw.verify`.  Writes
results/proof_sweep.csv, a line for each fit as soon as it is done, and results/proof_sweep_summary.csv, by the form in
which kernels were held: fits, confirmed, refused, those of which rounding leaves nothing to tell, defects, and the
largest excess of the judged over the reported gap among the confirmed.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import sys
from collections import defaultdict
from typing import Any

from common import RESULTS, ROOT, show, timed, write_csv

sys.path.insert(0, str(ROOT / "tests"))

GOOD = "confirmed", "refused", "cannot tell"
FIELDS = (
    "seed", "verdict", "kind", "model", "n", "solver", "held", "gap", "judged", "excess", "rounding",
    "infeasibility", "iterations", "converged", "seconds", "C", "nu", "loss", "epsilon", "norm", "tol", "fit_intercept",
    "normalize", "memory_limit", "penalty", "kernels", "sentence", "warning",
)  # fmt: skip


def one(task: tuple[int, int]) -> dict[str, Any]:
    """Fit and judge the case of a seed."""
    from sweeps import judged

    return judged(*task)


def all_of(tasks: list[tuple[int, int]], processes: int, out: str) -> list[dict[str, Any]]:
    """Fit and judge all cases, and write a line for each when it is done; the file is put into order at the end."""
    lines = []
    RESULTS.mkdir(exist_ok=True)
    with (
        (RESULTS / f"{out}.csv").open("w", newline="", encoding="utf-8") as file,
        multiprocessing.get_context("spawn").Pool(processes) as pool,
    ):
        writer = csv.DictWriter(file, FIELDS, restval="", extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for line in pool.imap_unordered(one, tasks, chunksize=5 if len(tasks) > 5 * processes else 1):
            writer.writerow(line)
            file.flush()
            lines.append(line)
    return lines


def summary(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Count by the form in which kernels were held."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        groups[str(line.get("held", "")) or line["verdict"]].append(line)
    rows = []
    for held, some in sorted(groups.items()):
        bad = [line for line in some if line["verdict"] not in GOOD]
        rows.append(
            {
                "held": held,
                "fits": len(some),
                "confirmed": sum(line["verdict"] == "confirmed" for line in some),
                "refused": sum(line["verdict"] == "refused" for line in some),
                "cannot tell": sum(line["verdict"] == "cannot tell" for line in some),
                "above tol": sum(line.get("converged") is False for line in some),
                "defects": len(bad),
                "largest excess": max((line["excess"] for line in some if line["verdict"] == "confirmed"), default=0.0),
                "seconds": sum(line["seconds"] for line in some),
            }
        )
    return rows


def main() -> None:
    """Run the sweep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seeds", type=int, nargs="+", help="these seeds instead")
    parser.add_argument("--seconds", type=int, default=60, help="a fit that takes longer counts as endless")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", default="proof_sweep", help="name of the files under results/")
    given = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # of the processes that are started now
    tasks = [(seed, given.seconds) for seed in given.seeds or range(given.first, given.first + given.fits)]
    done = timed(lambda: all_of(tasks, given.processes, given.out))
    lines = sorted(done.result, key=lambda line: line["seed"])
    write_csv(given.out, [{name: line.get(name, "") for name in FIELDS} for line in lines])
    found = summary(lines)
    write_csv(f"{given.out}_summary", found)
    print(show(found))
    for line in lines:
        if line["verdict"] not in GOOD:
            named = (str(line.get(name, "")) for name in ("seed", "verdict", "model", "kind", "solver", "sentence"))
            print("  ".join(named), line["warning"][:120])
    print(f"{len(lines)} fits, {sum(line['verdict'] not in GOOD for line in lines)} defects, {done.wall:.0f} s")


if __name__ == "__main__":
    main()
