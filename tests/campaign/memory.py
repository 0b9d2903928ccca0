"""Memory limits: kernels x solvers x limits, each cell in a process of its own that weighs itself.

The peak of a fit may lie above what the process held before it by the limit and 100 MB of working space; a refusal
comes before anything of that size is allocated.  Rows are so many that their Gram matrix would be found out.
"""

from __future__ import annotations

import json
import os
import signal
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import kernelweave as kw
from kernelweave.solvers.mkl import MKL_SOLVERS
from kernelweave.solvers.svm import SVM_SOLVERS

from .judging import refusal
from .stage import Outcome, Stage
from .workers import PATIENCE, peak_memory, processor_seconds

LIMITS = ("1MB", "20MB", "150MB")
SPACE = 100 << 20
"""Bytes beside the limit: what Python, NumPy and compiled loops take while they work."""
SECONDS, LATEST = 6.0, 120.0
"""Seconds of the processor after which a fit is asked to end, and is ended; what it took until then counts: rows are
held before the first step."""
ROWS, FEWER = 4000, 1500
SMOOTH = ("newton", "interior_point", "block_coordinate", "svrg", "proximal_gradient", "ufo", "obscure")
"""Solvers that are asked for a smooth loss."""


class Cell(NamedTuple):
    """A fit: the kind of rows, one kernel or several, the solver and the limit."""

    rows: str
    kernel: str
    solver: str
    limit: str

    @property
    def name(self) -> str:
        """What it is called in the table."""
        return f"{self.kernel}, {self.solver}"


FIRST = (
    Cell("dna", "GappedKmer", "smo", "20MB"), Cell("table", "RBFs", "auto", "1MB"),
    Cell("table", "Linear", "dual_coordinate", "20MB"), Cell("dna", "Spectrum", "auto", "20MB"),
    Cell("dna", "GappedKmer", "auto", "20MB"), Cell("dna", "Mismatch", "auto", "20MB"),
)  # fmt: skip
"""What comes first: quick ones for `make test`, and fits that once took many times their limit."""


def kernels() -> dict[str, tuple[str, Any]]:
    """Return rows and kernel by name: one kernel, or a list for kernels that are learned together."""
    gapped, wd = kw.GappedKmer(6, 4), kw.WeightedDegree(8)
    one = {
        "Linear": ("table", kw.Linear()),
        "RBF": ("table", kw.RBF(width=4.0)),
        "Polynomial": ("table", kw.Polynomial(3, gamma=0.1)),
        "Laplacian": ("table", kw.Laplacian(gamma=0.1)),
        "RBF + Linear": ("table", kw.RBF(width=4.0) + kw.Linear()),
        "Nystrom": ("table", kw.Nystrom(kw.RBF(width=4.0), n_components=50)),
        "Cholesky": ("table", kw.IncompleteCholesky(kw.RBF(width=4.0), max_rank=50)),
        "Fourier": ("table", kw.Fourier(kw.RBF(width=4.0), n_components=100)),
        "sparse Linear": ("sparse", kw.Linear()),
        "sparse RBF": ("sparse", kw.RBF(width=4.0)),
        "Spectrum": ("dna", kw.Spectrum(6)),
        "Mismatch": ("dna", kw.Mismatch(6, 1)),
        "GappedKmer": ("dna", gapped),
        "LSGKM": ("dna", kw.LSGKM(6, 4)),
        "WeightedDegree": ("dna", wd),
        "shifted": ("dna", kw.WeightedDegree(8, shift=2)),
        "InducedRBF": ("dna", kw.InducedRBF(kw.GappedKmer(6, 4), gamma=1.0)),
        "TfIdf": ("words", kw.TfIdf(kw.NGram(1))),
        "NGram": ("words", kw.NGram(2)),
        "GappyNGram": ("words", kw.GappyNGram(2, 0.5)),
        "Rational": ("lattices", kw.NGram(2)),
        "Precomputed": ("given", kw.Precomputed()),
    }
    several = {
        "RBFs": ("table", kw.RBF.grid([1.0, 4.0, 16.0])),
        "columns": ("table", kw.per_feature(kw.Linear(), 20)),
        "mixed": ("table", [kw.Linear(), kw.RBF(width=4.0), kw.Laplacian(gamma=0.1)]),
        "sparse mixed": ("sparse", [kw.Linear(), kw.RBF(width=4.0)]),
        "strings": ("dna", [kw.Spectrum(3), kw.Mismatch(5, 1), gapped]),
        "degrees": ("dna", [kw.WeightedDegree(3), wd]),
        "texts": ("words", [kw.NGram(1), kw.GappyNGram(2, 0.5)]),
    }
    return {**one, **several}


@cache
def rows(name: str) -> Any:
    """Return rows of a kind."""
    random = np.random.default_rng(0)
    if name in ("table", "given"):
        X = random.normal(size=(ROWS if name == "table" else FEWER, 20))
        return X if name == "table" else X @ X.T
    if name == "sparse":
        return sparse.random_array((ROWS, 2000), density=0.01, random_state=random, format="csr")
    if name == "dna":
        return kw.Sequences.from_strings(["".join(line) for line in random.choice(list("ACGT"), (ROWS, 40))], "dna")
    texts = [[f"w{word}" for word in line] for line in random.geometric(0.02, (ROWS, 12))]
    words = kw.Sequences.from_tokens(texts)
    return words if name == "words" else kw.Lattices.from_sequences(words[:FEWER])


def targets(name: str) -> np.ndarray:
    """Return noisy classes."""
    X, random = rows(name), np.random.default_rng(1)
    if hasattr(X, "codes"):
        base = np.add.reduceat(X.codes.astype(float), X.offsets[:-1])
    else:
        base = X[:, :1].sum(axis=1) if name != "lattices" else random.normal(size=X.shape[0])
    base = np.asarray(base).ravel()
    return np.where(base - np.median(base) + 0.1 * base.std() * random.normal(size=len(base)) > 0, 1, -1)


@cache
def cells() -> list[Cell]:
    """Return the matrix in an order in which any first part of it has something of everything."""
    made = []
    for name, (kind, kernel) in kernels().items():
        many = isinstance(kernel, list) or not hasattr(kernel, "prepare")
        solvers = ("auto", *MKL_SOLVERS, "boost l1", "boost l2") if many else ("auto", *SVM_SOLVERS)
        made += [Cell(kind, name, solver, limit) for solver in solvers for limit in LIMITS]
    order = np.random.default_rng(9).permutation(len(made))
    first = [made.index(cell) for cell in FIRST]
    return [made[place] for place in (*first, *(place for place in order.tolist() if place not in first))]


def model(cell: Cell) -> Any:
    """Return the estimator of a cell."""
    kernel, given = kernels()[cell.kernel][1], {"memory_limit": cell.limit, "tol": 1e-2}
    if cell.solver.startswith("boost"):
        return kw.CGBoostClassifier(kernel, penalty=cell.solver.split()[1], **given)
    loss = "logistic" if cell.solver in SMOOTH else "hinge"
    if isinstance(kernel, list) or not hasattr(kernel, "prepare"):
        return kw.MKLClassifier(kernel, solver=cell.solver, loss=loss, **given)
    return kw.KernelClassifier(kernel, solver=cell.solver, loss=loss, **given)


def trial(number: int, folder: Path) -> Outcome:
    """Fit one cell in a child; where it grew beyond the limit, once more: the first may have compiled loops."""
    cell = cells()[number % len(cells())]
    found = weighed(cell, folder)
    return weighed(cell, folder) if found.outcome == "growth" else found


def weighed(cell: Cell, folder: Path) -> Outcome:
    """Return the outcome of a cell."""
    X, y = rows(cell.rows), targets(cell.rows)
    told = folder / "told.json"
    child = os.fork()
    if not child:
        _alone(lambda: model(cell).fit(X, y), told)
    status = _ended(child)
    if not told.exists():
        return Outcome(cell.name, "crash", f"{cell.limit}: the process ended with {status}")
    said = json.loads(told.read_text())
    told.unlink()
    outcome = _judged(cell, said, status)
    allowed = _bytes(cell.limit) + SPACE
    if said["grown"] > allowed and not outcome.failed:
        text = f"{cell.limit}: peak memory rose by {said['grown'] >> 20} MB ({outcome.outcome})"
        return Outcome(cell.name, "growth", text)
    return outcome._replace(text=f"{cell.limit}: {said['grown'] >> 20} MB; {outcome.text}")


def _bytes(limit: str) -> int:
    """Return a limit in bytes."""
    return int(float(limit.removesuffix("MB")) * 1e6)


def _judged(cell: Cell, said: dict[str, Any], status: int) -> Outcome:
    if said["error"] is None:
        return Outcome(cell.name, "fitted" if said["done"] else "out of time")
    if said["type"] == "MemoryError":
        ours = "Unable to allocate" not in said["error"] and said["error"].endswith(".")
        return Outcome(cell.name, "refused" if ours else "inner exception", said["error"])
    return refusal(
        cell.name, {"ValueError": ValueError, "TypeError": ValueError}.get(said["type"], Exception)(said["error"])
    )


def _alone(work: Callable[[], Any], told: Path) -> None:
    """Do the work of a child, tell what it took, and end."""
    said: dict[str, Any] = {"error": None, "type": "", "done": False}
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
        before = peak_memory()
        signal.signal(signal.SIGPROF, _time_is_up)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                work()
            said["done"] = True
        except _Late:
            pass
        except Exception as error:
            said.update(error=str(error), type=type(error).__name__)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        told.write_text(json.dumps({**said, "grown": peak_memory() - before}))
    finally:
        os._exit(0)


class _Late(BaseException):
    """The time of a cell is up."""


def _time_is_up(*_: Any) -> None:
    raise _Late


def _ended(child: int) -> int:
    """Wait for a child, and end one that does not answer to its alarm."""
    began = time.monotonic()
    while max(processor_seconds(child), (time.monotonic() - began) / PATIENCE) < LATEST:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def warm(folder: Path) -> None:
    """Load what fits need."""
    for cell in (Cell("table", "RBF", "auto", "1GB"), Cell("dna", "Spectrum", "auto", "1GB")):
        model(cell).fit(rows(cell.rows)[:200], targets(cell.rows)[:200])


STAGE = Stage(
    "memory matrix", trial, goal=len(cells()), slice=0, minutes=30, warm=warm, seconds=3 * LATEST, growth=None
)
"""`make test` runs the first ones by themselves (`test_memory`): they fork, so no other thread may be at work."""
