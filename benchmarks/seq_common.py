"""What the benchmarks on sequences share: simulated splice sites, ways to train, peak memory, curves over N.

The reference figures (SHOGUN 6.1) were measured on the sites of ``splice_gen.py`` in the shared folder: 141 letters,
20 % positive, C = 5, kernel scaled to unit diagonal, free intercept.  Where that folder is missing, sites of
`kw.datasets.make_splice` take their place: as large and as long, but another problem with other objectives.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import kernelweave as kw
from common import ROOT, Row, Timing, best, peak_memory, timed
from kernelweave.engines import choose_engine
from kernelweave.estimators.normalize import normalized
from kernelweave.kernels import Kernel
from kernelweave.losses import make_loss
from kernelweave.operators import bind
from kernelweave.plots.style import quiet
from kernelweave.solvers.loop import Progress, Stop, run
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.result import Result
from kernelweave.solvers.svm import SVM_SOLVERS
from mkl_common import fit_quietly

Array = np.ndarray
GENERATOR = ROOT.parent / "shared" / "tools" / "splice_gen.py"
LENGTH, C = 141, 5.0
DEGREE, KMER = 20, 8
WARM_UP_ROWS = 4500
"""Enough for every path: on fewer rows a Gram matrix takes the place of features, and nothing is left out."""
PAPER_SIZES = (500, 1_000, 5_000, 10_000, 30_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
STOPPED, SKIPPED = ">", "-"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's, safe for colour-blind eyes."""


class Method(NamedTuple):
    """How a kernel is held, and the solver that works on it."""

    need: str
    solver: str


METHODS = {
    "precomputed": Method("values", "smo"),
    "cached": Method("values", "chunking"),
    "linadd": Method("features", "chunking"),
    "coordinate": Method("features", "dual_coordinate"),
}
KERNELS: dict[str, tuple[Kernel, str]] = {
    "wd": (kw.WeightedDegree(DEGREE), "trace"),
    "spectrum": (kw.Spectrum(KMER), "cosine"),
}
"""Kernels of the paper's tables, and what scales each of them to unit diagonal."""


@cache
def _generator() -> Any:
    if not GENERATOR.exists():
        print(f"note: {GENERATOR.name} is not there; sites of make_splice instead, so objectives are not comparable")
        return None
    spec = importlib.util.spec_from_file_location("splice_gen", GENERATOR)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def same_data() -> bool:
    """Tell whether the data are those of the reference figures."""
    return _generator() is not None


def splice(n: int, seed: int = 0) -> tuple[kw.Sequences, Array]:
    """Return n simulated acceptor sites and their labels of -1 and 1."""
    made = _generator()
    if made is None:
        return kw.datasets.make_splice(n, LENGTH, random_state=seed)
    codes, y = made.gen(n, seed)
    alphabet = kw.Sequences.from_strings(["ACGT"]).alphabet
    return kw.Sequences(codes.ravel(), np.arange(n + 1) * codes.shape[1], alphabet), y


def train(
    kernel: str, method: Method, X: kw.Sequences, y: Array, threads: int, tol: float, memory: float | str, limit: float,
    **params: Any,
) -> Result | None:  # fmt: skip
    """Train one machine with the kernel held in one certain way; None where that takes more than the memory.

    This is what `KernelClassifier.fit` does, but for its own choice of how to hold the kernel.
    """
    given, how = KERNELS[kernel]
    monitor, engine = time_cap(limit), choose_engine(None, threads)
    operator = bind(normalized(given.fitted(X), X, how, engine), X, engine, memory, tol, method.need)
    if method.solver == "smo" and not hasattr(operator, "gram"):
        return None
    problem = Problem(operator, make_loss("hinge"), y.astype(float), np.full(len(y), C))
    return run(SVM_SOLVERS[method.solver](**params), problem, Stop(tol), monitor)


def classifier(kernel: str, threads: int, tol: float, **params: Any) -> kw.KernelClassifier:
    """Return the unfitted machine of the reference figures."""
    given, how = KERNELS[kernel]
    return kw.KernelClassifier(given, C=C, tol=tol, normalize=how, n_jobs=threads, **params)


def time_cap(seconds: float) -> Callable[[Progress], bool]:
    """Return a callback that stops a run so many seconds from now, at the end of an iteration."""
    end = time.perf_counter() + seconds
    return lambda progress: time.perf_counter() > end


def fit_timed(make: Callable[[], Any], X: Any, y: Array, threads: int, repeats: int = 1) -> Timing:
    """Make and fit a model under both clocks, BLAS on as many threads; the best of `repeats` counts."""
    with threadpool_limits(threads, user_api="blas"):
        return best([timed(lambda: fit_quietly(make(), X, y)) for _ in range(repeats)])


def reset_peak() -> None:
    """Forget the largest resident size so far, where the system allows it."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        return


def resident(field: str = "VmRSS") -> float:
    """Return the resident size in GB; "VmHWM" is the largest since `reset_peak` (elsewhere: since the start)."""
    try:
        with open("/proc/self/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 / 1e9 for line in lines if line.startswith(field))
    except (OSError, StopIteration):
        return peak_memory() / 1e9


def shown(seconds: float, stopped: bool) -> str:
    """Return the seconds of a table's cell; a stopped run took longer than that."""
    return f"{STOPPED if stopped else ''}{seconds:.3g}"


def sizes_up_to(largest: int) -> list[int]:
    """Return the paper's sizes up to the largest asked for, which closes the list."""
    return [*(n for n in PAPER_SIZES if n < largest), largest]


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return a of the law ``seconds = c N^a`` that fits best; NaN from fewer than two sizes."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]) if len(sizes) > 1 else float("nan")


def grid(rows: Iterable[Row], line: str, column: str, value: str) -> list[Row]:
    """Return a wide table: one line for each value of `line`, one column for each value of `column`."""
    found = {(row[line], row[column]): row[value] for row in rows}
    columns = list(dict.fromkeys(name for _, name in found))
    lines = dict.fromkeys(name for name, _ in found)
    return [{line: at} | {str(name): found.get((at, name), SKIPPED) for name in columns} for at in lines]


def curves(
    ax: Any, rows: Sequence[Row], by: str, paper: Mapping[str, Mapping[int, float]], x: str = "n", y: str = "wall"
) -> None:
    """Draw seconds over N on logarithmic axes: ours solid, the paper's dashed and grey.

    Runs that were stopped are open marks, with no line to them: they say how long was allowed, not how long it takes.
    """
    for name, values in paper.items():
        known = [n for n in values if n <= max(row[x] for row in rows)]
        ax.plot(known, [values[n] for n in known], "--", color="#9A9A9A", linewidth=1)
        if known:
            ax.annotate(name, (known[-1], values[known[-1]]), (3, 0), textcoords="offset points", fontsize=7)
    for i, name in enumerate(dict.fromkeys(row[by] for row in rows)):
        mine, colour = [row for row in rows if row[by] == name], COLOURS[i % len(COLOURS)]
        style = {"color": colour, "linestyle": "-" if i < len(COLOURS) else ":", "linewidth": 1.3}
        done = [row for row in mine if not row["stopped"]]
        ax.plot([row[x] for row in done], [row[y] for row in done], label=str(name), **style)
        for row in mine:
            ax.plot(row[x], row[y], "o", color=colour, markersize=4, markerfacecolor="w" if row["stopped"] else colour)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("sequences")
    ax.set_ylabel("seconds")
    ax.legend(frameon=False, fontsize=7, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    quiet(ax)
