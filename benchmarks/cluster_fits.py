"""One fit that says what it does, a line of JSON at a time; `cluster_faults.py` and others start it and strike it.

    python benchmarks/cluster_fits.py --work active_set --store sites.kws --address tcp://127.0.0.1:8786

Lines are ``[seconds, word, ...]``: "connecting", "starting", "pilot", "master", "scoring", "writing" (the checkpoint)
when a phase begins, "round" with its number and whether it was known from a checkpoint, "fitted", and "result" with the
hash of the coefficients, the objective in hexadecimal digits and the gap.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import kernelweave as kw
from kernelweave.engines.dask import Dask
from kernelweave.estimators.files.checkpoints import CheckpointFile
from kernelweave.solvers.active.rounds import Rounds
from kernelweave.solvers.mkl import ActiveSetMKL
from kernelweave.solvers.svm import ActiveSet

STORED = ("active_set", "active_set_mkl")
"""Fits to a store; the others are of rows in memory, in this process, without a cluster."""
ONE = ("smo", "chunking", "dual_coordinate")
MANY = ("hessian", "silp_chunking", "svrg")
BOOST = "boost"
WORKS = (*STORED, *ONE, *MANY, BOOST)
Array = np.ndarray


def told(*what: Any) -> None:
    """Say something."""
    print(json.dumps([time.time(), *what]), flush=True)


def tell_phases() -> None:
    """Let solvers and checkpoints say when a phase begins."""
    inside = []

    def telling(cls: type, name: str, word: str) -> None:
        method = getattr(cls, name)

        @functools.wraps(method)
        def wrapped(self: Any, *given: Any) -> Any:
            if not inside:
                told(word)
            if word == "pilot":  # solves samples, as a master does
                inside.append(word)
            try:
                return method(self, *given)
            finally:
                inside[:] = [one for one in inside if one != word]

        setattr(cls, name, wrapped)

    telling(Rounds, "_pilot", "pilot")
    telling(Rounds, "_score", "scoring")
    for cls in (ActiveSet, ActiveSetMKL):
        telling(cls, "_solve", "master")
    telling(CheckpointFile, "write", "writing")


def estimator(work: str) -> Any:
    """Return what is fitted."""
    if work == "active_set":
        return kw.KernelClassifier("wd:20", normalize="trace", solver=work, tol=1e-4)
    if work == "active_set_mkl":
        kernels = kw.WeightedDegree(6).per_degree()
        return kw.MKLClassifier(kernels, solver="active_set", tol=1e-3)
    if work in ONE:
        return kw.KernelClassifier(kw.WeightedDegree(8), normalize="trace", solver=work, tol=1e-6)
    if work == BOOST:
        kernels = [kw.Linear(), *kw.RBF.grid([1.0, 8.0])]
        return kw.CGBoostClassifier(kernels, columns_per_round=4, tol=1e-5)
    smooth = {"loss": "logistic", "norm": 2.0} if work == "svrg" else {}
    return kw.MKLClassifier(kw.WeightedDegree(6).per_degree(), solver=work, tol=1e-6, **smooth)


def data(work: str, store: str, rows: int) -> tuple[Any, Array]:
    """Return rows and labels."""
    if work in STORED:
        found = kw.read(store)
        return found.X, np.asarray(found.y)
    if work == BOOST:
        table = np.random.default_rng(0).normal(size=(rows, 4))
        return table, table[:, 0] * table[:, 1] > 0
    return kw.datasets.make_splice(rows, random_state=0)


def digest(*arrays: Any) -> str:
    """Return the hash of the bits of some arrays."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array))
    return total.hexdigest()


def bits(model: Any, X: Any) -> str:
    """Return the hash of what was learned."""
    if not hasattr(model, "dual_coef_"):
        return digest(model.decision_function(X))
    weights = getattr(model, "kernel_weights_", np.ones(1))
    return digest(model.dual_coef_, model.support_, model.intercept_, weights)


def main() -> None:
    """Fit, and say so."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", choices=WORKS, default="active_set")
    parser.add_argument("--rows", type=int, default=4000, help="of fits in memory")
    for name, what in (("store", "rows and labels"), ("checkpoint", "file"), ("address", "of the scheduler")):
        parser.add_argument(f"--{name}", default="", help=what)
    parser.add_argument("--jobs", type=int, default=None, help="threads of a fit in this process")
    parser.add_argument("--directory", default="", help="that client and workers share")
    asked = parser.parse_args()
    tell_phases()
    model, engine = estimator(asked.work), _engine(asked.address, asked.directory)
    told("starting")
    X, y = data(asked.work, asked.store, asked.rows)
    checkpoint = (asked.checkpoint, 0.0) if asked.checkpoint else None
    callback: Callable[[Any], None] = lambda progress: told("round", progress.iteration, progress.resumed)  # noqa: E731
    model.set_params(engine=engine, n_jobs=asked.jobs, checkpoint=checkpoint, callbacks=(callback,)).fit(X, y)
    told("fitted")
    told("result", bits(model, X), float(model.objective_).hex(), float(model.duality_gap_))


def _engine(address: str, directory: str) -> Dask | str | None:
    if not address or "://" not in address:
        return address or None
    told("connecting")
    return Dask(address, directory=directory or None)


if __name__ == "__main__":
    main()
