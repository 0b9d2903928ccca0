"""Which solver: the one that was named, or for "auto" the fastest measured; with the reason.

What a solver needs of a kernel is asked before kernels are bound to rows (`svm_need`, `mkl_need`); the solver itself is
chosen for the problem that comes of it.  Registries are imported when asked for: their solvers use this module.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kernelweave.operators.base import (
    DESCENT_STORES,
    KMER_STORES,
    AtOnce,
    Dense,
    Factored,
    HasDesign,
    OnDemand,
    PrimalOperator,
    Ranked,
    RankOneVectors,
    Sharded,
)
from kernelweave.solvers.cost import (
    Columns,
    block_seconds,
    coordinate_seconds,
    direct_rank,
    directions,
    interior_seconds,
    nearly_linear,
    programmable,
    svrg_seconds,
    values_seconds,
)
from kernelweave.solvers.problems import Problem

if TYPE_CHECKING:
    from kernelweave.losses import Loss
    from kernelweave.solvers.boost.problem import BoostProblem
    from kernelweave.solvers.mkl.problem import MKLProblem

SVM_NEEDS = {
    "smo": "values",
    "chunking": "products",
    "dual_coordinate": "features",
    "interior_point": "features",
    "newton": "values",
    "quasi_newton": "whole",
    "active_set": "shards",
    "auto": "any",
}
"""What each solver needs of one kernel."""
DIRECTIONS, FEW = 0.65, 0.03
"""Directions for each row of the sample from which on coordinate descent is the faster: where working sets go through
tables of k-mers, and where they go through sparse features, which makes them several times more expensive."""
ENOUGH = 0.5
"""Share of the rows whose Gram matrix must fit for pair steps among those that count."""
GROUPED_FROM = 3000
"""Rows from which on those far from the margin are grouped in the restricted problems of CG-Boost."""
AS_ASKED = "as asked"
BY_PARTS = "rows are worked through part by part: a working set as large as the support takes the fewest rounds"


class Chosen(NamedTuple):
    """A solver by name, why it is this one, and the solver itself."""

    name: str
    why: str
    solver: Any


def svm_need(name: str, params: dict[str, Any] | None = None) -> tuple[str, str | None]:
    """Return what a solver needs of one kernel, and the store of k-mers or strings that its parameters ask for."""
    _check_name(name, SVM_NEEDS)
    asked = _as_dict(params).get("store")
    if name == "dual_coordinate" and asked in DESCENT_STORES and asked != "indexed":
        return "automata", asked
    store = asked if name == "chunking" else None
    if store not in (None, *KMER_STORES):
        known = ", ".join(repr(one) for one in KMER_STORES)
        raise ValueError(f"store={store!r} is not one of {known}, in which solver='chunking' can keep k-mers.")
    return SVM_NEEDS[name], store


def choose_svm_solver(name: str, problem: Problem, params: dict[str, Any] | None = None) -> Chosen:
    """Return a solver: the named one, or for "auto" what is fastest.

    Where rows have explicit features, an interior-point method for few and coordinate descent for many of them
    (`cost`); quasi-Newton steps where products move all rows at once; elsewhere Newton for smooth losses, SMO where the
    Gram matrix of at least half of the rows fits the memory, since it takes less CPU time there than working sets of
    any size from 5,000 rows on (benchmarks/svm_vs_sklearn.py --solvers), and chunking for what is left.
    """
    from kernelweave.solvers.svm import SVM_SOLVERS

    _check_name(name, SVM_SOLVERS)
    found, why = _fastest_svm(problem) if name == "auto" else (name, AS_ASKED)
    given = _as_dict(params)
    if found == "chunking" and name == found:
        given.pop("store", None)  # the planner has bound the kernel to it
    return Chosen(found, why, _made(SVM_SOLVERS[found], name, found, given, params))


def _fastest_svm(problem: Problem) -> tuple[str, str]:
    operator = problem.operator
    if isinstance(operator, Sharded):
        return "active_set", BY_PARTS
    if isinstance(operator, AtOnce) and problem.loss.boxed:
        return "quasi_newton", f"a product of all rows takes about {operator.product_seconds:.2g} s, however few move"
    if isinstance(operator, PrimalOperator):
        share = directions(operator)
        if isinstance(operator, Factored) and problem.loss.boxed:
            inside, along = interior_seconds(operator), coordinate_seconds(operator, problem, share)
            if inside < along:
                what = f"{operator.rank} features of {operator.n} rows take about {inside:.2g} s"
                return "interior_point", f"{what}, coordinate descent about {along:.2g} s"
        if share >= (FEW if isinstance(operator, Ranked) else DIRECTIONS) and not _direct(problem):
            return "dual_coordinate", "rows have explicit features and lie in many directions"
    if problem.loss.smooth:
        return "newton", f"{problem.loss.name} loss is smooth"
    if isinstance(operator, OnDemand):
        if operator.most_rows == operator.n:
            return "smo", "the Gram matrix fits the memory"
        if operator.most_rows >= ENOUGH * operator.n:
            return "smo", "the Gram matrix of most support vectors fits the memory"
    elif isinstance(operator, Dense):
        return "smo", "the Gram matrix is in memory"
    return "chunking", "the Gram matrix is not in memory"


def _direct(problem: Problem) -> bool:
    """Tell whether Newton's method solves its systems in the few features of the rows."""
    return problem.loss.smooth and isinstance(problem.operator, Factored) and direct_rank(problem.operator)


def mkl_need(name: str, loss: Loss, facts: Columns | None) -> tuple[str, bool]:
    """Return what a solver needs of many kernels, and whether in double precision whatever the tolerance.

    It is "design" for their features side by side, "vectors" for one number a row, else "parts".

    Parameters
    ----------
    name, loss : of the solver, and the loss
    facts : of kernels whose features are columns; None where some have none, or outputs share their weights
    """
    from kernelweave.solvers.mkl import MKL_SOLVERS

    if name == "auto" and facts is not None and facts.columns == facts.m:
        name = "linear_program" if programmable(facts.n, facts.m, facts.p, loss) else name
    if name == "auto":
        name = "hessian" if facts is None or not loss.smooth else _on_columns(facts)[0]
    entry = MKL_SOLVERS[name]
    need = "design" if entry.primal else "vectors" if entry.rank_one else "shard_parts" if entry.sharded else "parts"
    return need, entry.double


def _on_columns(facts: Columns) -> tuple[str, str]:
    """Return the quickest for a smooth loss on kernels that are columns of tables, and why."""
    seconds = {
        "block_coordinate": block_seconds(facts), "svrg": svrg_seconds(facts), "hessian": values_seconds(facts)
    }  # fmt: skip
    best, next_one = sorted(seconds, key=lambda name: seconds[name])[:2]
    what = f"{facts.columns} columns of {facts.n} rows take about {seconds[best]:.2g} s"
    return best, f"{what}, solver={next_one!r} about {seconds[next_one]:.2g} s"


def choose_mkl_solver(name: str, problem: MKLProblem, params: dict[str, Any] | None = None) -> Chosen:
    """Return a solver: the named one, or for "auto" the fastest measured for this norm.

    Block coordinate descent or stochastic steps where kernels are held by their features (see `mkl_need`); else
    second-order steps for p = 1 and closed-form weights for p > 1 (benchmarks/auto_choice.py).
    """
    from kernelweave.solvers.mkl import MKL_SOLVERS, check_mkl_solver

    found, why = _fastest_mkl(problem) if name == "auto" else (name, AS_ASKED)
    check_mkl_solver(found, problem.loss, problem.ball.p)
    entry = MKL_SOLVERS[found]
    if len(problem.targets) > 1 and not entry.shared_weights:
        raise ValueError(
            f"solver={found!r} learns weights for each class; weights shared by classes need another solver."
        )
    return Chosen(found, why, _made(entry.make, name, found, _as_dict(params), params))


def _fastest_mkl(problem: MKLProblem) -> tuple[str, str]:
    operators, p = problem.operators, problem.ball.p
    if isinstance(operators, Sharded):
        return "active_set", BY_PARTS
    if isinstance(operators, HasDesign):
        design = operators.design
        size = float(design.squares()[:, 0].mean()) * float(problem.cost.mean())
        name, why = _on_columns(Columns(design.n, design.m, design.width, p, size))
        if name == "block_coordinate" and not design.streamed and design.widest <= design.affordable():
            return name, why
        return "svrg", why if name == "svrg" else "kernels are held by their features, and rows are many"
    if p == 1.0 and isinstance(operators, AtOnce):
        return "level", "norm=1: cuts need no kernel values, which are expensive here"
    single = isinstance(operators, RankOneVectors) and len(problem.targets) == 1
    if single and programmable(operators.n, operators.m, p, problem.loss):
        return "linear_program", "kernels of rank one and a loss of straight pieces: one programme has it all"
    if p == 1.0 and isinstance(operators, RankOneVectors) and operators.m > operators.n and not problem.loss.smooth:
        return "lp", "more kernels of rank one than rows: second-order steps see too little of them"
    if p == 1.0 and isinstance(operators, Ranked) and direct_rank(operators):
        return "lp", f"SVMs on {operators.rank} features are quick, and second derivatives on so few singular"
    if p == 1.0 and problem.loss.boxed and not problem.loss.smooth and nearly_linear(problem):
        return "silp", "C is so small that the objective is nearly linear in the weights"
    if p == 1.0:
        return "hessian", "norm=1: second-order steps take the fewest solutions"
    return "lp", f"norm={p:g}: weights have a closed form"


def master_name(penalty: str) -> tuple[str, str]:
    """Return which method solves the problem of the columns in use, and why."""
    if penalty == "l1":
        return "simplex", "penalty='l1' is a linear programme"
    return "interior_point", "penalty='l2' is a quadratic programme"


def choose_master(problem: BoostProblem, many_rounds: bool = True) -> Chosen:
    """Return a master without columns: the simplex method for the 1-norm, the interior-point method for the 2-norm.

    The latter took 0.9 to 3.1 times as long for the 1-norm (covertype and MNIST, 1,000 and 4,000 rows).
    With few rows, or where columns do not come in many rounds, it holds all rows: linear programmes of 2,000 rows of
    covertype took 0.7 CPU seconds so, and 0.9 with groups.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.solvers.boost.problem import BoostProblem
    >>> problem = BoostProblem("epsilon_insensitive", np.array([0.0, 1.0, 2.0]), np.ones(3), "l2", epsilon=0.0)
    >>> name, why, master = choose_master(problem)
    >>> master.add(np.array([[0.0], [1.0], [2.0]]))
    >>> name, round(master.solve(1e-8).objective, 6)
    ('interior_point', 0.5)
    """
    from kernelweave.solvers.boost.masters.grouped import GroupedMaster
    from kernelweave.solvers.boost.masters.interior import InteriorMaster
    from kernelweave.solvers.boost.masters.lp import LPMaster

    name, why = master_name(problem.penalty)
    make = LPMaster if name == "simplex" else InteriorMaster
    grouped = many_rounds and problem.n >= GROUPED_FROM
    return Chosen(name, why, GroupedMaster(problem, make) if grouped else make(problem))


def _check_name(name: str, known: dict[str, Any]) -> None:
    if name != "auto" and name not in known:
        names = ", ".join(one for one in known if one != "auto")
        raise ValueError(f"solver={name!r} is unknown; choose one of auto, {names}.")


def _as_dict(params: dict[str, Any] | None) -> dict[str, Any]:
    if params is not None and not isinstance(params, dict):
        raise ValueError(f"solver_params={params!r} must be a dict of names and values.")
    return dict(params or {})


@cache
def _parameters(make: type) -> tuple[str, ...]:
    """Return what a solver takes."""
    return tuple(inspect.signature(make).parameters)


def _made(make: type, asked: str, name: str, given: dict[str, Any], params: dict[str, Any] | None) -> Any:
    """Return a solver with its parameters; say which it takes where they do not fit."""
    known = _parameters(make)
    if not set(given) <= set(known):
        takes = ", ".join((*known, *(("store",) if name == "chunking" else ()))) or "no parameters"
        chosen = f"solver={name!r}" if asked == name else f"the solver {name!r} that 'auto' has chosen"
        raise ValueError(f"solver_params={params!r} do not fit {chosen}, which takes {takes}.")
    return make(**given)
