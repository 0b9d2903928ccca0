"""What would help a fit that ended above its tolerance, judged by what was seen of it.

A run ends at its limit, while the gap still falls or not, or because nothing moved any more.  Behind that there may be
rows of huge or uneven scale, costs that make the problem nearly a hard margin, a solver that is not for such problems,
or rounding.  One sentence says what was seen and names the remedies, the likeliest first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave.losses import Loss
from kernelweave.solvers.loop import limits_of
from kernelweave.solvers.result import Result, Trace
from kernelweave.solvers.svm import SVM_SOLVERS

Array = np.ndarray
HUGE = 1e5
"""Cost times kernel value from which on a problem is so badly conditioned that most solvers take very long."""
UNEVEN = 1e6
"""Ratio of the largest to the median of K(x, x) that scaling the columns or the kernel would help."""
ROUNDING = 1e-9
"""Gaps below this are at the limits of double precision."""
USEFUL = 0.5
"""A larger gap says too little of a model to be accepted."""
LONGEST = 1e15
"""Longer estimates are no numbers."""
FAR = 20.0
"""An estimate of more than so many times the iterations done is not worth being named."""


@dataclass(frozen=True)
class Facts:
    """What is known of a fit beside its results.

    tol, limit : as the user set them; limit -1 where the solver's own one held
    solver : its name
    diagonal : (n,) values K(x, x), of the mean kernel where there are many
    cost : (n,) costs
    loss : the loss
    norm : p of the kernel weights; None with one kernel
    cramped : whether kernel values are in single precision because there was no memory for double
    """

    tol: float
    limit: int
    solver: str
    diagonal: Array
    cost: Array
    loss: Loss
    norm: float | None = None
    cramped: bool = False


def sentence(results: Sequence[Result], facts: Facts) -> str:
    """Return what was seen of a fit above its tolerance and what would help."""
    worst = max((result for result in results if not result.converged), key=lambda result: result.gap)
    seen, cause = course(worst, facts), causes(facts)
    found = cause[1] + remedies(worst, facts, not cause[1])
    because = f" ({cause[0]})" if cause[0] else ""
    start = f"The duality gap is {worst.gap:.2g}, above tol={facts.tol:g}, after {counted(worst.n_iter)}"
    return f"{start}{seen}{because}; {joined(found)}."


def course(result: Result, facts: Facts) -> str:
    """Say how the run ended."""
    if result.ended == "stalled":
        return " and no longer falls"
    if facts.limit == -1 or result.ended == "effort" or math.isinf(result.gap):
        return ", the limit of " + f"solver={facts.solver!r}"
    return ""


def causes(facts: Facts) -> tuple[str, list[str]]:
    """Return what makes the problem hard, if anything is seen, and what removes it."""
    kernel = facts.diagonal[facts.cost > 0]
    if len(kernel) == 0 or not kernel.max() > 0:
        return "", []
    middle, stiff = float(np.median(kernel)), float(np.max(kernel * facts.cost[facts.cost > 0]))
    if kernel.max() > UNEVEN * max(middle, np.finfo(float).tiny):
        return f"K(x, x) of some row is {kernel.max() / max(middle, 1e-300):.1g} times the median", [
            "scale the columns, or set normalize='cosine'"
        ]
    if stiff > HUGE and middle > HUGE:
        return f"K(x, x) is about {middle:.1g}", ["scale the columns, or set normalize='trace'", "take a smaller C"]
    if stiff > HUGE:
        return f"C times K(x, x) is about {stiff:.1g}", ["take a smaller C"]
    return "", []


def remedies(result: Result, facts: Facts, alone: bool) -> list[str]:
    """Return what helps whatever the cause: a longer run, another solver, a larger tolerance."""
    found = []
    if facts.cramped:
        found.append("raise memory_limit, within which kernel values are held in single precision")
    if result.ended == "limit":
        needed = expected(result.trace, facts.tol)
        if needed is not None and needed <= FAR * result.n_iter:
            found.append(f"raise max_iter (at this rate to about {needed})")
        elif facts.limit != -1:
            found.append("raise max_iter")
    if result.gap > ROUNDING:
        other = another(facts)
        found += [f"try solver={other!r}"] if other else []
    if result.gap <= USEFUL or (alone and not found):
        found.append(f"accept the gap with tol={rounded_up(result.gap)}" if math.isfinite(result.gap) else "raise tol")
    return found


def expected(trace: Trace, tol: float) -> int | None:
    """Return after how many iterations the gap would be closed if it went on falling as in its last half."""
    gaps = trace["gap"]
    known = np.flatnonzero(np.isfinite(gaps))
    if len(known) < 2:
        return None
    last, first = known[-1], known[np.searchsorted(known, len(gaps) // 2, side="right") - 1]
    first = min(first, last - 1) if first >= last else max(first, 0)
    rate = math.log(gaps[first] / gaps[last]) if gaps[last] > 0 and gaps[first] > gaps[last] else 0.0
    if rate <= 0.0:
        return None
    more = (last - first) * math.log(gaps[last] / tol) / rate
    return int(float(f"{len(gaps) + more:.1e}")) + 1 if math.isfinite(more) and more < LONGEST else None


def another(facts: Facts) -> str | None:
    """Return a solver that may do better on the same problem."""
    if facts.norm is None:
        return next((name for name in limits_of(SVM_SOLVERS[facts.solver]).instead if _svm(name, facts)), None)
    from kernelweave.solvers.mkl import MKL_SOLVERS  # which one kernel can do without

    if facts.solver not in MKL_SOLVERS:
        return None
    for name in limits_of(MKL_SOLVERS[facts.solver].make).instead:
        entry = MKL_SOLVERS[name]
        if name != facts.solver and facts.norm <= entry.largest_p and entry.suits(facts.loss):
            return name
    return None


def _svm(name: str, facts: Facts) -> bool:
    """Tell whether a solver for one kernel is for this loss and needs no other form of the kernel."""
    return name != facts.solver and (facts.loss.smooth if name == "newton" else facts.loss.boxed and name == "smo")


def rounded_up(gap: float) -> str:
    """Return a gap with one digit, not below it.

    >>> rounded_up(0.0123), rounded_up(0.3)
    ('0.02', '0.3')
    """
    digit = 10.0 ** math.floor(math.log10(max(gap, 1e-300)))
    return f"{math.ceil(gap / digit * (1 - 1e-9)) * digit:.1g}"


def counted(iterations: int) -> str:
    """Return a number of iterations in words."""
    return "1 iteration" if iterations == 1 else f"{iterations} iterations"


def joined(remedies: Sequence[Any]) -> str:
    """Return remedies as a list in words.

    >>> joined(["a", "b", "c"])
    'a, b, or c'
    """
    return remedies[0] if len(remedies) == 1 else ", ".join(remedies[:-1]) + f", or {remedies[-1]}"
