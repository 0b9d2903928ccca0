"""What happens around every fit: progress, traces, the certificate, and warnings."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernelweave._numba import listen
from kernelweave.estimators.advice import Facts, sentence
from kernelweave.solvers.loop import Monitor, Progress
from kernelweave.solvers.result import Result, Trace

Array = np.ndarray
logger = logging.getLogger("kernelweave")
LONG = 5.0
"""Seconds after which idle cores are worth a line of the log."""
ROUNDING = 1e-9
"""How far a dual objective may lie above the primal one and count as zero, relative to it."""


class Begun(NamedTuple):
    """A fit before its first iteration: the first problem, the solver for it, and how many outputs are to be learned.

    Mixtures of kernel columns are solved by another loop, and have neither.
    """

    problem: Any
    solver: Any
    outputs: int


@dataclass(frozen=True)
class Certificate:
    """A feasible dual point for each output, with the intercepts: enough to recompute the gap.

    alpha (outputs, n); intercept (outputs,); primal and dual objectives, one for each problem that was solved;
    beta, the kernel weights of each problem, (problems, m), or None with one kernel.
    """

    alpha: Array
    intercept: Array
    primal: Array
    dual: Array
    beta: Array | None = None


def keep_certificate(estimator: Any, results: list[Result]) -> None:
    """Set objective, bound and gap, and the points that prove them."""
    primal = np.array([result.primal.value for result in results])
    duals = [result.dual for result in results]
    dual = np.array([-np.inf if point is None else point.value for point in duals])
    alpha = np.concatenate([np.atleast_2d((point or r.primal).alpha) for r, point in zip(results, duals)])
    intercept = np.concatenate([np.atleast_1d(r.primal.intercept) for r in results])
    weights = [r.primal.beta for r in results]
    beta = None if weights[0] is None else np.stack([np.asarray(weight) for weight in weights])
    estimator.objective_, estimator.dual_objective_ = float(primal.sum()), float(dual.sum())
    estimator.duality_gap_ = max(honest_gap(float(result.gap)) for result in results)
    estimator.certificate_ = Certificate(alpha, intercept, primal, dual, beta)
    estimator.converged_ = all(r.converged and honest_gap(float(r.gap)) <= estimator.tol for r in results)


def honest_gap(gap: float) -> float:
    """Return what may be said of a gap: one below zero is rounding, which says as much of either objective.

    Examples
    --------
    >>> honest_gap(1e-3), honest_gap(-1e-16), honest_gap(-6e-7)
    (0.001, 0.0, 6e-07)
    """
    return abs(gap) if gap < -ROUNDING else max(gap, 0.0)


def join_traces(results: list[Result]) -> Trace:
    """Return one trace; with several outputs a column says which one a line belongs to."""
    if len(results) == 1:
        return results[0].trace
    joined = Trace()
    for output, result in enumerate(results):
        for line in range(len(result.trace)):
            joined.add(output=output, **{name: column[line] for name, column in result.trace.columns.items()})
    return joined


class StoppedEarly(ConvergenceWarning):
    """A fit was interrupted, by the user or by a callback; the best model so far is kept."""


def warn_unless_converged(results: list[Result], facts: Callable[[], Facts]) -> None:
    """Warn with the gap that was reached and with what would help, for which `facts` are asked."""
    gap = max(result.gap for result in results)
    if any(result.interrupted for result in results):
        text = f"Stopped early at a duality gap of {gap:.2g}: the best model so far is kept."
        warnings.warn(text, StoppedEarly, stacklevel=4)
    elif not all(result.converged for result in results):
        warnings.warn(sentence(results, facts()), ConvergenceWarning, stacklevel=4)


def warn_beforehand(solver: Any) -> None:
    """Warn of what a solver knows before its first iteration, where it has a `warning`."""
    text = getattr(solver, "warning", None)
    if text:
        warnings.warn(text, UserWarning, stacklevel=6)


def show_compilation(verbose: int) -> None:
    """Let the log say once, if it is asked for, that this fit compiles its loops."""
    if not verbose:
        listen("verbose", None)
        return
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
        logger.setLevel(logging.INFO)

    def say() -> None:
        listen("verbose", None)
        logger.info("compiling (once)")

    listen("verbose", say)


def show_plan(plan: Any, verbose: int) -> None:
    """Let the log say, if it is asked for, how the kernels are held, and in how many bytes."""
    if verbose:
        logger.info("held as %s", plan)


def make_monitor(callbacks: Iterable[Monitor], verbose: int, idle: int = 0, bridge: Monitor | None = None) -> Monitor:
    """Return one monitor that logs and asks every callback; a true answer of any stops the run.

    Parameters
    ----------
    idle : cores that nobody asked for; the log says once of a run that takes long that they would help
    bridge : one more callback, for those of scikit-learn
    """
    if callable(callbacks):
        raise TypeError(f"callbacks={callbacks!r} is one function; give a list, callbacks=[...].")
    callbacks, hints = (*callbacks, *([] if bridge is None else [bridge])), [idle] if idle else []

    def monitor(progress: Progress) -> bool:
        if verbose and hints and progress.seconds > LONG:
            logger.info("%d more cores are idle: n_jobs=-1 uses them all", hints.pop())
        if verbose:
            bound = f"dual {progress.dual:.6g}  gap {progress.gap:.2g}"
            known = bound if math.isfinite(progress.gap) else "no bound yet"
            logger.info(
                "iteration %d  %.1f s  primal %.6g  %s%s",
                progress.iteration, progress.seconds, progress.primal, known, progress.further(),
            )  # fmt: skip
        answers = [bool(callback(progress)) for callback in callbacks]
        return any(answers)

    return monitor
