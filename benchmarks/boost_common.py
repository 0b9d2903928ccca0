"""What the benchmarks of sparse mixtures of kernels share: data, the library of three kernels, fits and their tables.

Data: covertype 1 against 2 (8,566 rows, 54 columns) and MNIST odd against even (13,000 rows, 784 columns).  Each column
has mean 0 and standard deviation 1 over all rows, as in the paper.  A split draws training and validation rows; the
rest, or so many of it, is for testing.

Kernels, as they are, none of them scaled; inner products are those of a mean over the columns, so that all are of one
order (on the diagonal about 1, 4 and 1):

    L   <x, z> / columns      Q   (<x, z> / columns + 1)^2      R   exp(-|x - z|^2 / width), width = mean |x - z|^2

Names: "L+R" is one kernel, the sum of two (a composite); "L,Q,R" are three kernels, a mixture: each kernel and each row
has a coefficient of its own.  Paper: Bi, Zhang and Bennett (2004).  Both sides of a comparison run on one thread.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import kernelweave as kw
from common import Row, Timing, timed
from kernelweave.kernels import Kernel
from mkl_common import DATA, time_cap

Array = np.ndarray
L_Q_R = ("L", "Q", "R")
MIXTURE = "L,Q,R"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The Okabe-Ito palette without its yellow."""
TOL = 1e-4
"""Relative gap of fits that are to be optimal."""
WARM_UP_ROWS = 120
EARLY: dict[str, Any] = {}
"""Parameters of fits that end by TR3, from the options --patience and --early-columns; else the estimator's own."""
FILES = {"covertype": "covtype_10000_a", "mnist": "mnist_13000_a"}


@dataclass(frozen=True)
class Split:
    """Rows to train on, to choose C and the round by, and to test on; labels are -1 and 1."""

    X: Array
    y: Array
    X_val: Array
    y_val: Array
    X_test: Array
    y_test: Array

    def few(self, n: int = WARM_UP_ROWS) -> Split:
        """Return the first rows of each part."""
        parts = (self.X, self.y, self.X_val, self.y_val, self.X_test, self.y_test)
        return Split(*(part[:n] for part in parts))


def standardized(X: Array) -> Array:
    """Return columns of mean 0 and standard deviation 1; constant ones become 0."""
    X = X.astype(float)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def dense(name: str) -> tuple[Array, Array]:
    """Return all rows of "covertype" or "mnist", standardised, and labels of -1 and 1."""
    path = DATA / "dense" / f"{FILES[name]}.npz"
    if not path.exists():
        raise SystemExit(f"This benchmark reads {path}, which is not there.")
    with np.load(path) as file:
        X, y = file["X"], file["y"].astype(int)
    if name == "covertype":
        X, y = X[y <= 2], y[y <= 2]
    return standardized(X), np.where(y % 2 == 1, 1.0, -1.0)


def split(X: Array, y: Array, sizes: tuple[int, int, int], seed: int = 0) -> Split:
    """Draw rows for training, validation and testing; the last size may be larger than what is left."""
    order = np.random.default_rng(seed).permutation(len(y))
    ends = np.cumsum(sizes)
    parts = [order[: ends[0]], order[ends[0] : ends[1]], order[ends[1] : ends[2]]]
    if not all(len(part) for part in parts):
        raise SystemExit(f"{len(y)} rows are too few for {sizes} of training, validation and testing.")
    return Split(*(part for rows in parts for part in (X[rows], y[rows])))


def mean_squared_distance(X: Array) -> float:
    """Return the mean of ``|x_i - x_j|^2`` over all pairs: twice the sum of the variances."""
    return float(2.0 * X.var(axis=0).sum())


def unit(kernel: Kernel, X: Array) -> Kernel:
    """Return a kernel divided by its mean on the diagonal."""
    return (1.0 / float(kernel.diag(X).mean())) * kernel


def library(names: str, X: Array) -> list[Kernel]:
    """Return the kernels of a name such as "R", "L+Q" (one kernel) or "L,Q,R" (three)."""
    gamma = 1.0 / X.shape[1]
    known = {"L": gamma * kw.Linear(), "Q": kw.Polynomial(2, gamma=gamma), "R": kw.RBF(width=mean_squared_distance(X))}
    found = []
    for group in names.split(","):
        parts = [known[letter] for letter in group.split("+")]
        found.append(parts[0] if len(parts) == 1 else kw.Sum(parts))
    return found


def mixture(kernels: Sequence[Kernel], C: float, penalty: str, rule: Any, limit: float, **params: Any) -> Any:
    """Return a classifier that is not fitted yet; `limit` are seconds, after which a fit ends with its round."""
    usual = {"tol": TOL, "n_jobs": 1, "normalize": None, "callbacks": (time_cap(limit),)}
    early = EARLY if rule == "TR3" else {}
    return kw.CGBoostClassifier(list(kernels), C=C, penalty=penalty, termination=rule, **(usual | params | early))


def quietly(model: Any, X: Array, y: Array, **more: Any) -> Any:
    """Fit without warnings: gaps and the rules that ended fits are columns of the tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, **more)


def fitted(
    names: str, part: Split, C: float, penalty: str, rule: Any, limit: float, judged: bool = False, **params: Any
) -> Timing:
    """Fit a mixture, kernels included in its time; the validation rows are given where a rule or `judged` asks."""
    wanted = judged or "TR3" in (rule if isinstance(rule, tuple) else (rule,))
    more = {"validation": (part.X_val, part.y_val)} if wanted else {}

    def fit() -> Any:
        return quietly(mixture(library(names, part.X), C, penalty, rule, limit, **params), part.X, part.y, **more)

    return timed(fit)


def error(model: Any, X: Array, y: Array) -> float:
    """Return the share of wrong labels, in per cent."""
    return 100.0 * float((model.predict(X) != y).mean())


def per_letter(names: str, model: Any) -> dict[str, Any]:
    """Return the columns of L, Q and R as cells; those of a composite count for each of its kernels."""
    cells: dict[str, Any] = {f"columns_{letter}": "-" for letter in L_Q_R}
    for group, count in zip(names.split(","), model.n_columns_per_kernel_):
        cells |= {f"columns_{letter}": int(count) for letter in group.split("+")}
    return cells


def ending(model: Any) -> dict[str, Any]:
    """Return how a fit ended, as cells."""
    return {"ended": model.stopped_by_[0], "gap": float(model.duality_gap_), "rounds": int(model.n_iter_)}


def compile_all(part: Split, names: Iterable[str] = (MIXTURE, "L+R"), rules: Sequence[Any] = ("TR2", "TR3")) -> None:
    """Fit and predict a few rows in every way, so that nothing that is timed compiles."""
    few = part.few()
    for name in names:
        for penalty in ("l1", "l2"):
            for rule in rules:
                model = fitted(name, few, 1.0, penalty, rule, 60.0).result
                model.predict(few.X_test)


def one_thread() -> threadpool_limits:
    """Hold BLAS to one thread; fits have n_jobs=1."""
    return threadpool_limits(1)


def mean_rows(lines: Sequence[Row], keys: Sequence[str], skip: Sequence[str] = ()) -> list[Row]:
    """Return one line for each value of the keys: means over the splits (of gaps the largest), texts from the first."""
    groups: dict[tuple, list[Row]] = {}
    for line in lines:
        groups.setdefault(tuple(line[key] for key in keys), []).append(line)
    found = []
    for some in groups.values():
        mean: Row = {}
        for name, value in some[0].items():
            if name not in skip:
                number = isinstance(value, int | float) and name not in keys
                over = np.max if name == "gap" else np.mean
                mean[name] = float(over([line[name] for line in some])) if number else value
        found.append(mean)
    return found


def shorter(lines: Sequence[Row], digits: int = 4) -> list[Row]:
    """Return the lines with few digits, for the screen."""
    return [{k: float(f"{v:.{digits}g}") if isinstance(v, float) else v for k, v in line.items()} for line in lines]


def file_name(name: str, options: argparse.Namespace) -> str:
    """Return the name of result files: a quick run has its own, so that it never takes the place of a full one."""
    return f"{name}_quick" if options.quick else name


class _Early(argparse.Action):
    """Keeps an option for all fits by TR3."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, value: Any, option: str | None = None) -> None:
        setattr(namespace, self.dest, value)
        EARLY["patience" if self.dest == "patience" else "columns_per_round"] = value


def arguments(doc: str | None, limit: float = 600.0) -> argparse.ArgumentParser:
    """Return the options that all scripts have."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, to look at; files are called *_quick")
    parser.add_argument("--limit", type=float, default=limit, help="seconds for each fit")
    parser.add_argument("--patience", type=int, action=_Early, help="rounds without a better error that end TR3 fits")
    parser.add_argument("--early-columns", type=int, action=_Early, help="columns that enter in a round of TR3 fits")
    return parser


def verdict(good: bool | None, text: str) -> str:
    """Return a line that says whether an aim was met; None where the run does not tell."""
    return f"{'not measured' if good is None else 'reached' if good else 'MISSED'}: {text}"


def tell(lines: Sequence[str], options: argparse.Namespace) -> None:
    """Print verdicts; a quick run is too small for any."""
    for line in lines:
        head, _, text = line.partition(": ")
        print(f"not measured (quick): {text}" if options.quick and head in ("reached", "MISSED") else line)


def plain(*axes: Any) -> None:
    """Label logarithmic axes with 1, 2 and 5 times powers of ten, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis in axes:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope of log(value) over log(size), NaN for fewer than two sizes."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0]) if len(set(sizes)) > 1 else float("nan")
