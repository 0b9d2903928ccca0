"""What the benchmarks of solvers on explicit features share: rows, kernels, timed runs, and when a gap was reached.

Rows: n of 10 standard normal columns.  A label is the sign of

    sin(2 x_1) + x_2 x_3 + x_4 / 2 + 0.3 cos(3 x_5) + e / 2,      e standard normal.

Kernels: F Gaussians ``exp(-|x - y|^2 / width)``, width = 10 2^j for j = -4 .. 5 in turn; the first ten on all columns,
the others on three columns drawn for each.  As features each is a block of d random waves (`kw.Fourier`), whose
diagonal is 1.  Rows are drawn, and features made, in blocks, so a million rows of 400 features in single precision take
1.6 GB and little more.  The rows of a smaller n are the first ones of a larger n.

Real rows (`labelled`): covertype, classes 1 and 2, 54 columns; MNIST, odd and even digits, 784 columns; standardised.
The
same Gaussians, on all columns and on three tenths of them, each as many times wider as there are more columns.

Every run starts from zero and is stopped after a time: its clock is one of wall seconds since the solver began, its CPU
seconds are those of all threads.  A gap counts as reached at the first certificate that proves it.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import kernelweave as kw
from boost_common import dense
from common import Row, timed
from kernelweave.engines import choose_engine
from kernelweave.estimators.mkl.base import ONE_THREAD_UP_TO
from kernelweave.kernels import Kernel, On
from kernelweave.losses import make_loss
from kernelweave.operators import Task, choose
from kernelweave.operators.features.design.set import DesignSet
from kernelweave.penalties import LpBall
from kernelweave.solvers.loop import Progress, Stop, run
from kernelweave.solvers.mkl import MKL_SOLVERS
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.result import Result

Array = np.ndarray
COLUMNS, SUBSET, WIDTHS = 10, 3, 10
NARROWEST = 10.0 / 16.0
SIMULATED, REAL = "simulated", ("covertype", "mnist")
BLOCK = 1 << 16
"""Rows that are drawn together; the seed of a block is its number."""
LABEL_NOISE = 0.5
NORMS = (1.05, 4 / 3, 2.0, 4.0)
GAPS = tuple(10.0**-k for k in range(1, 7))
WARM_UP_ROWS = 200
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The Okabe-Ito palette without its yellow."""


def rows(n: int) -> tuple[Array, Array]:
    """Return X (n, 10) and labels of -1 and 1."""
    X, y = np.empty((n, COLUMNS)), np.empty(n)
    for number, first in enumerate(range(0, n, BLOCK)):
        rng, some = np.random.default_rng(number), slice(first, min(n, first + BLOCK))
        block = rng.standard_normal((BLOCK, COLUMNS + 1))[: some.stop - first]
        X[some], noise = block[:, :-1], block[:, -1]
        y[some] = np.where(_signal(X[some]) + LABEL_NOISE * noise > 0, 1.0, -1.0)
    return X, y


def _signal(X: Array) -> Array:
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + 0.3 * np.cos(3 * X[:, 4])


def labelled(data: str, n: int) -> tuple[Array, Array]:
    """Return simulated rows, or the first ones of a real set in an order drawn once; both with labels of -1 and 1."""
    if data == SIMULATED:
        return rows(n)
    X, y = dense(data)
    some = np.random.default_rng(0).permutation(len(y))[:n]
    return X[some], y[some]


def gaussians(F: int, columns: int = COLUMNS) -> list[tuple[kw.RBF, list[int]]]:
    """Return F Gaussian kernels, each with its columns; widths grow with the number of columns there are."""
    rng = np.random.default_rng(F)
    every, size, narrowest = list(range(columns)), SUBSET * columns // COLUMNS, NARROWEST * columns / COLUMNS
    chosen = [every if k < WIDTHS else sorted(rng.choice(columns, size, replace=False).tolist()) for k in range(F)]
    return [(kw.RBF(width=narrowest * 2.0 ** (k % WIDTHS)), some) for k, some in enumerate(chosen)]


def waves(F: int, d: int, columns: int = COLUMNS) -> list[Kernel]:
    """Return the F kernels as d random waves each."""
    return [On(kw.Fourier(rbf, d, random_state=k), some) for k, (rbf, some) in enumerate(gaussians(F, columns))]


def exact(F: int) -> list[Kernel]:
    """Return the F kernels themselves."""
    return [On(rbf, columns) for rbf, columns in gaussians(F)]


def features(kernels: Sequence[Kernel], X: Any, tol: float = GAPS[-1], limit: float | str = "auto") -> Any:
    """Bind kernels through their features; lengths of rows, which several solvers ask for, are measured here."""
    with threadpool_limits(1, user_api="blas"):  # the engine's own threads make the features
        operators, _ = choose(
            Task([kernel.fitted(X) for kernel in kernels], X, choose_engine(), limit, tol, need="design")
        )
    operators.design.squares()
    return operators


def grams(kernels: Sequence[Kernel], X: Any, tol: float = GAPS[-1]) -> tuple[Any, str]:
    """Bind kernels through their values; return how they are held, too."""
    with threadpool_limits(1, user_api="blas"):
        operators, plan = choose(
            Task([kernel.fitted(X) for kernel in kernels], X, choose_engine(), "auto", tol, need="parts")
        )
    return operators, plan.kind


def problem(
    operators: Any, y: Array, p: float = 2.0, C: float = 1.0, loss: str = "logistic", intercept: str = "free"
) -> MKLProblem:  # fmt: skip
    """Return the common problem on bound kernels."""
    return MKLProblem(operators, make_loss(loss), y[None, :], np.full(len(y), C), LpBall(p), intercept)


@dataclass
class Watch:
    """Notes the CPU seconds of each certificate; stops a run after so many wall seconds."""

    limit: float
    cpu: list[float] = field(default_factory=list)
    began: float = field(default_factory=time.process_time)

    def __call__(self, progress: Progress) -> bool:
        self.cpu.append(time.process_time() - self.began)
        return progress.seconds > self.limit


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Interrupt a run in the middle of an iteration: one iteration of a solver on Gram matrices may take minutes."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True)
class Curve:
    """How the gap of a run fell: one entry for each certificate; passes are NaN where a solver makes none."""

    passes: Array
    seconds: Array
    cpu: Array
    gaps: Array
    result: Result

    @property
    def gap(self) -> float:
        """The smallest gap that was proved."""
        return float(self.gaps.min(initial=np.inf))

    def at(self, gap: float) -> tuple[float, float, float]:
        """Return passes, wall and CPU seconds at the first certificate of a gap; NaN where there is none."""
        there = np.flatnonzero(self.gaps <= gap)
        if not len(there):
            return float("nan"), float("nan"), float("nan")
        return float(self.passes[there[0]]), float(self.seconds[there[0]]), float(self.cpu[there[0]])

    def cells(self, gap: float) -> Row:
        """Return passes, wall and CPU seconds at a gap as cells of a table, "-" where it was not reached."""
        named = zip(("passes", "seconds", "cpu"), self.at(gap))
        return {name: value if np.isfinite(value) else "-" for name, value in named}


def solve(solver: str | Any, posed: MKLProblem, tol: float, limit: float, max_iter: int = -1) -> Curve:
    """Run a solver, by its name or made, to a gap or for so many seconds; BLAS has the threads estimators give it."""
    made = MKL_SOLVERS[solver].make() if isinstance(solver, str) else solver
    alone = posed.operators.n <= ONE_THREAD_UP_TO or isinstance(posed.operators, DesignSet)
    watch = Watch(limit)
    with threadpool_limits(1 if alone else None, user_api="blas"), alarm(limit), np.errstate(all="ignore"):
        result = run(made, posed, Stop(tol, max_iter, polish=False), watch)
    trace = result.trace
    size = min(len(trace), len(watch.cpu))
    passes = trace["passes"][:size] if "passes" in trace.columns else np.full(size, np.nan)
    return Curve(passes, trace["seconds"][:size], np.array(watch.cpu), trace["gap"][:size], result)


def compile_all(names: Sequence[str], tol: float = GAPS[-1], F: int = 4, d: int = 4) -> None:
    """Run every solver on a few rows, so that nothing that is timed compiles; `tol` decides the precision."""
    X, y = rows(WARM_UP_ROWS)
    bound, values = features(waves(F, d), X, tol), None
    for name in names:
        if not MKL_SOLVERS[name].primal and values is None:
            values = [grams(exact(F), X, tol)[0], grams(waves(F, d), X, tol)[0]]
        p = 2.0 if MKL_SOLVERS[name].largest_p > 1 else 1.0
        for operators in [bound] if MKL_SOLVERS[name].primal else values or []:
            solve(name, problem(operators, y, p=p), 1e-3, 60.0, max_iter=20)


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope of log(value) over log(size), NaN for fewer than two finite values."""
    pairs = np.array([(s, v) for s, v in zip(sizes, values) if isinstance(v, float) and np.isfinite(v) and v > 0])
    return float(np.polyfit(*np.log(pairs).T, 1)[0]) if len(pairs) > 1 else float("nan")


def norm_name(p: float) -> str:
    """Return a norm as it is written: 4/3, not 1.33333."""
    return "4/3" if abs(p - 4 / 3) < 1e-12 else f"{p:g}"


def decades(ax: Any, values: Array) -> None:
    """Let a logarithmic axis of x begin and end at powers of ten, so that at least two are labelled."""
    known = values[np.isfinite(values) & (values > 0)]
    if len(known):
        low, high = np.floor(np.log10(known.min())), np.ceil(np.log10(known.max()))
        ax.set_xlim(10.0**low / 1.1, 1.1 * 10.0 ** max(high, low + 1))


def verdict(good: bool | None, text: str) -> str:
    """Return a line that says whether an aim was met; None where the run does not tell."""
    return f"{'not measured' if good is None else 'reached' if good else 'MISSED'}: {text}"


def best_of(repeats: int, call: Callable[[], Curve]) -> Curve:
    """Return the quickest of several runs, which only the clock can tell apart."""
    return min((timed(call) for _ in range(repeats)), key=lambda timing: timing.wall).result
