"""Settings of one estimator, tried on folds that share its kernels.

Settings that differ in what kernels are, or in how they are held, need kernels of their own: they are bound one after
the other.  All others (C, norm, parameters of losses and solvers) share them, and form chains in which only C grows:
every solution starts from the one before.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kernelweave.engines import Engine, Remote, map_fits, one_blas_thread
from kernelweave.estimators.cv.bound import Bound, bound
from kernelweave.estimators.targets import Targets

Array = np.ndarray
Fold = tuple[Array, Array]
Setting = dict[str, Any]
SHARED = ("C", "norm", "epsilon", "sigma", "class_weight", "tol", "max_iter")
"""Parameters that say nothing about how kernels are bound to rows; beside them, those of solvers."""


class Held(NamedTuple):
    """What one fit says about the rows that its fold holds out.

    outputs (rows, outputs); weights (m,) of the kernels, None with one kernel
    """

    outputs: Array
    weights: Array | None
    converged: bool


@dataclass(frozen=True)
class Trial:
    """What all folds of some settings have in common."""

    model: Any
    bound: Bound
    targets: Targets
    folds: Sequence[Fold]
    chains: Sequence[Sequence[Setting]]
    bases: Sequence[Sequence[Any]]


def with_setting(model: Any, setting: Setting) -> Any:
    """Return a copy of an estimator, with all that it has learned, and other parameters.

    Names that are not parameters of the estimator are those of its solver.
    """
    known = model.get_params(deep=False)
    own = {name: value for name, value in setting.items() if name in known}
    of_solver = {name: value for name, value in setting.items() if name not in known}
    if of_solver:
        own["solver_params"] = {**(own.get("solver_params", known.get("solver_params")) or {}), **of_solver}
    return copy.copy(model).set_params(**own)


def chained(settings: Sequence[Setting]) -> list[list[int]]:
    """Return the numbers of settings in chains: all but C is the same in a chain, and C grows.

    Examples
    --------
    >>> chained([{"C": 10.0, "norm": 1.0}, {"C": 1.0, "norm": 2.0}, {"C": 1.0, "norm": 1.0}])
    [[2, 0], [1]]
    """
    chains: list[tuple[Setting, list[int]]] = []
    for number, setting in enumerate(settings):
        rest = {name: value for name, value in setting.items() if name != "C"}
        same = next((chain for other, chain in chains if _same(other, rest)), None)
        if same is None:
            chains.append((rest, [number]))
        else:
            same.append(number)
    return [sorted(chain, key=lambda number: settings[number].get("C", 0.0)) for _, chain in chains]


def binding(model: Any, settings: Sequence[Setting]) -> list[list[int]]:
    """Return the numbers of settings in groups that can share their kernels."""
    of_solver = set().union(*settings) - set(model.get_params(deep=False))
    groups: list[tuple[Setting, list[int]]] = []
    for number, setting in enumerate(settings):
        own = {name: value for name, value in setting.items() if name not in (*SHARED, *of_solver)}
        same = next((group for other, group in groups if _same(other, own)), None)
        if same is None:
            groups.append((own, [number]))
        else:
            same.append(number)
    return [group for _, group in groups]


def _same(left: Setting, right: Setting) -> bool:
    """Tell whether two settings are equal; values without a plain equality are the same if they are one object."""
    if left.keys() != right.keys():
        return False
    for name, value in left.items():
        if value is right[name]:
            continue
        equal = value == right[name]
        if not isinstance(equal, bool | np.bool_) or not equal:
            return False
    return True


def tried(
    model: Any, X: Any, targets: Targets, folds: Sequence[Fold], settings: Sequence[Setting],
    each: Callable[[int, int, Held], None],
) -> tuple[Any, Bound]:  # fmt: skip
    """Fit settings that share their kernels on every fold; return the estimator that has bound them, and the kernels.

    Parameters
    ----------
    model : an estimator with one kernel or with many, which has read the targets
    X : its checked rows
    each : called with the number of a setting, that of a fold, and what the fit says of the rows held out
    """
    base = with_setting(model, settings[0])
    made, chains = bound(base, X, targets), chained(settings)
    engine = base._engine()
    solver, ways = _for(engine, base), [[settings[i] for i in chain] for chain in chains]
    here = not isinstance(engine, Remote)  # what all folds begin with is not worth the way to other processes
    bases = [
        made.prepare([with_setting(base, setting) for setting in way], targets) if here else [None] * len(way)
        for way in ways
    ]
    trial = Trial(solver, made, targets, folds, ways, bases)
    jobs = [(c, j) for c in range(len(chains)) for j in range(len(folds))]
    for (c, j), found in zip(jobs, _every(engine, trial, jobs)):
        for number, held in zip(chains[c], found):
            each(number, j, held)
    return base, made


def _every(engine: Engine, trial: Trial, jobs: list[tuple[int, int]]) -> list[list[Held]]:
    """Return what every job finds; folds that share nothing but what they read have threads of their own."""
    if isinstance(engine, Remote) or not trial.bound.alone or engine.workers < 2:
        return map_fits(engine, along, trial, jobs)
    with one_blas_thread(), ThreadPoolExecutor(engine.workers, thread_name_prefix="folds") as pool:
        running = [pool.submit(along, trial, job) for job in jobs]
        try:
            return [one.result() for one in running]
        except BaseException:
            for one in running:
                one.cancel()
            raise


def along(trial: Trial, job: tuple[int, int]) -> list[Held]:
    """Return what the fits of one chain say on one fold, each started from the one before."""
    chain, (train, test) = trial.chains[job[0]], trial.folds[job[1]]
    train, test = _numbers(trial.targets, train), _numbers(trial.targets, test)
    starts, out = None, []
    for setting, base in zip(chain, trial.bases[job[0]]):
        model = with_setting(trial.model, setting)
        cost = np.zeros(len(trial.targets.y))
        cost[train] = model._learns.costs(model, trial.targets.y[train], trial.targets.weight[train])
        found = trial.bound.solve(model, cost, test, starts, base)
        starts = found.points
        out.append(Held(found.outputs, found.weights, found.converged))
    return out


def judging(targets: Targets, folds: Sequence[Fold]) -> Iterator[tuple[Array, Array]]:
    """Yield for every fold which of its held-out rows count, and their numbers; those of weight zero do not."""
    for number, (_, test) in enumerate(folds):
        rows = _numbers(targets, test)
        counts = targets.weight[rows] > 0
        if not counts.any():
            raise ValueError(
                f"Every row that fold {number} holds out has a weight of zero: nothing is left to judge by."
            )
        yield counts, rows[counts]


def _numbers(targets: Targets, rows: Any) -> Array:
    """Return row numbers, for a splitter may give slices or masks."""
    return np.arange(len(targets.y))[rows]


def _for(engine: Engine, model: Any) -> Any:
    """Return the estimator that solves the folds: a plain one for other processes, where nobody listens."""
    if not isinstance(engine, Remote):
        return model
    there = copy.copy(model).set_params(engine="serial", callbacks=(), verbose=0, checkpoint=None)
    there._record = None  # other processes do not write to the file of this one
    return there
