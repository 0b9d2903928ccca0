"""What a fit would do and take, without doing it: how kernels are held, by which solver, in which time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone

from kernelweave.data.kinds import n_rows
from kernelweave.estimators.base import Estimator
from kernelweave.estimators.planning.forecast import Forecast, forecast
from kernelweave.operators.planner.plan import Plan
from kernelweave.solvers.active.rounds import Rounds
from kernelweave.solvers.loop import Stop


@dataclass(frozen=True)
class FitPlan:
    """What a fit would do.

    Attributes
    ----------
    rows : to learn from
    outputs : problems to be solved, one after the other: one for each of several classes, else one
    memory : how the kernels would be held, as `memory_plan_` of a fitted model
    solver, solver_why : which solver, and why it is this one
    rounds : what rounds over parts are expected to take: parts, bytes, support vectors, rounds, seconds; None for other
        solvers, whose time is known when they have run
    warning : what speaks against the fit, or None
    """

    rows: int
    outputs: int
    memory: Plan
    solver: str
    solver_why: str
    rounds: Forecast | None = None
    warning: str | None = None

    def lines(self) -> list[tuple[str, str]]:
        """Return name and text of every line."""
        found = [
            ("rows", str(self.rows)), ("held", str(self.memory)), ("solver", f"{self.solver}, {self.solver_why}"),
        ]  # fmt: skip
        found += [] if self.rounds is None else self.rounds.lines(self.outputs)
        return found + ([] if self.warning is None else [("warning", self.warning)])

    def record(self) -> dict[str, Any]:
        """Return everything by name, as numbers, texts and lists."""
        known = {
            "rows": self.rows, "outputs": self.outputs, "held": self.memory.kind, "bytes": self.memory.bytes,
            "held_why": self.memory.why, "solver": self.solver, "solver_why": self.solver_why,
        }  # fmt: skip
        return {**known, **({} if self.rounds is None else self.rounds.record()), "warning": self.warning}

    def __str__(self) -> str:
        lines = self.lines()
        width = max(len(name) for name, _ in lines) + 2
        return "\n".join(f"{name:<{width}}{text}" for name, text in lines)


def plan(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> FitPlan:
    """Return what ``estimator.fit(X, y, sample_weight)`` would do and take, without doing it.

    Kernels are bound to the rows as for a fit, and the solver is chosen.  Where rows are worked through part by part, a
    pilot solves two small samples and scores one part: from them follow support vectors, rounds and time.  The
    estimator stays as it is, and nothing is written.

    Parameters
    ----------
    estimator : an estimator of this library, or a pipeline that ends with one
    X, y, sample_weight : as for its `fit`

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(300, random_state=0)
    >>> plan = kw.plan(kw.KernelClassifier(kw.WeightedDegree(10)), X, y)
    >>> plan.memory.kind, plan.memory.bytes, plan.solver
    ('dense', 720000, 'smo')
    >>> print(plan.lines()[0])
    ('rows', '300')
    """
    model = clone(estimator)
    if hasattr(model, "steps"):
        if len(model.steps) > 1:
            X = model[:-1].fit_transform(X, y)
        model = model[-1]
    if not isinstance(model, Estimator):
        raise TypeError(f"{type(model).__name__} is not an estimator of kernelweave, of which a plan can be made.")
    X = model._rows(X)
    begun = model._plan(X, model._learns.read(model, X, y, sample_weight))
    found = FitPlan(n_rows(X), begun.outputs, model.memory_plan_, model.solver_, model.solver_why_)
    if not isinstance(begun.solver, Rounds):
        return found
    begun.solver.init(begun.problem, None, Stop(model.tol))
    return replace(found, rounds=forecast(begun.solver), warning=begun.solver.warning)
