"""Kill -9 at random moments of a fit with a checkpoint; the fit that goes on must end as one that was never stopped.

    python benchmarks/checkpoint_kills.py [--kills 10] [--rows 4000]

For each solver a process is killed a random moment after it began a random iteration, and started again until one ends.
Columns: fits that ended, kills, fits whose objective and decision values have the same bits as a fit that was never
stopped, and the largest relative difference of objectives.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from common import show, write_csv

SOLVERS = ("smo", "chunking", "dual_coordinate", "hessian", "silp_chunking", "svrg", "boost")


def fit(solver: str, rows: int, path: str) -> None:
    """Fit with a checkpoint after every iteration; print the objective and a digest of the coefficients."""
    import kernelweave as kw

    X, y = kw.datasets.make_splice(rows, random_state=0)
    common = {"checkpoint": (path, 0.0), "tol": 1e-5, "callbacks": [lambda p: print(p.iteration, flush=True)]}
    if solver == "boost":
        table = np.random.default_rng(0).normal(size=(rows, 4))
        kernels = [kw.Linear(), *kw.RBF.grid([1.0, 8.0])]
        model = kw.CGBoostClassifier(kernels, columns_per_round=4, **common).fit(table, table[:, 0] * table[:, 1] > 0)
    elif solver in ("smo", "chunking", "dual_coordinate"):
        model = kw.KernelClassifier(kw.WeightedDegree(8), normalize="trace", solver=solver, **common).fit(X, y)
    else:
        smooth = {"loss": "logistic", "norm": 2.0} if solver == "svrg" else {}
        model = kw.MKLClassifier(kw.WeightedDegree(6).per_degree(), solver=solver, **smooth, **common).fit(X, y)
    bits = hashlib.sha256(np.ascontiguousarray(model.decision_function(X if solver != "boost" else table)).tobytes())
    print(model.objective_.hex(), bits.hexdigest())


def start(solver: str, rows: int, path: str) -> subprocess.Popen[str]:
    """Start a fit in a process of its own."""
    command = [sys.executable, __file__, "--fit", solver, "--rows", str(rows), "--path", path]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def kill_one(solver: str, rows: int, rng: np.random.Generator) -> tuple[int, str]:
    """Kill a fit until one ends; return how many were started, and what the last one printed at its end."""
    with tempfile.TemporaryDirectory() as folder:
        for started in range(1, 50):
            process, lines, last = start(solver, rows, os.path.join(folder, "fit.kwc")), int(rng.integers(2, 8)), ""
            assert process.stdout is not None
            for number, line in enumerate(process.stdout):
                last = line.strip()
                if number == lines:
                    time.sleep(float(rng.uniform(0.0, 0.05)))
                    process.kill()
            process.wait()
            if " " in last:
                return started, last
    raise RuntimeError(f"{solver}: no fit ended in 50 starts.")


def main() -> None:
    """Run the table, or one fit of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--solvers", nargs="*", default=SOLVERS)
    parser.add_argument("--fit")
    parser.add_argument("--path")
    given = parser.parse_args()
    if given.fit:
        fit(given.fit, given.rows, given.path)
        return
    lines, rng = [], np.random.default_rng(0)
    for solver in given.solvers:
        with tempfile.TemporaryDirectory() as folder:
            whole = start(solver, given.rows, os.path.join(folder, "fit.kwc")).communicate()[0].splitlines()[-1]
        ends = [kill_one(solver, given.rows, rng) for _ in range(given.kills)]
        goal = float.fromhex(whole.split()[0])
        off = max(abs(float.fromhex(text.split()[0]) - goal) / abs(goal) for _, text in ends)
        same = sum(text == whole for _, text in ends)
        killed = sum(number - 1 for number, _ in ends)
        lines.append({"solver": solver, "fits": len(ends), "kills": killed, "same bits": same, "off by": f"{off:.1g}"})
    print(show(lines))
    print(write_csv(Path(__file__).stem, lines))


if __name__ == "__main__":
    main()
