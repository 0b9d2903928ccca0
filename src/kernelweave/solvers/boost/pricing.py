"""Which columns enter next (Bi, Zhang and Bennett, 2004, section 5), and what a scan proves.

Given prices u of the restricted problem, the score of column (p, i) is ``K_p[:, i]'u``; a column whose score passes the
problem's threshold by more than a slack would improve the objective: it violates the dual.

    regular      all columns of all kernels are scored, the worst violators enter
    paper        1. columns of error points (rows with a loss), kernel after kernel in order of priority: the first
                    kernel with a violator gives its worst ones, later ones are not scored
                 2. where there are none: the same over all rows
                 3. where there are none: nothing enters
    stratified   the same three steps, but 1 looks at samples, and goes by a level: see below

"paper" is Algorithm 5.1 as printed (with one column a round, the default there), but for the slack, which is 0 there.

What keeps the stratified rounds short:  Of each kernel a few columns are looked at: error points, other rows, both
those not looked at for longest, and the columns whose violation was largest when last looked at, since prices change
little from round to round.  (With error points alone, good columns of other rows are missed for long: on MNIST half as
many columns again entered.)  A kernel has its turn only while it has a violation above a level, which starts below the
largest one met and falls by stages to the slack: else the first kernel would be polished to the last digit before the
next is looked at.  A search among all rows begins with the likely ones.  And a column is scored once in a round, so
that the last round, which finds nothing, scores each column once: the proof.

With `candidates` only so many rows, drawn afresh each round, are looked at in 2.  Where nothing enters then, either all
rows are looked at after all (`verify`), or the round stands for the columns it has seen, and says so.

The slack is what keeps the gap below `tol` once nothing enters.  With the 1-norm the bound is the objective over
``max(1, largest score / threshold)``, so scores may pass by a share of tol; with the 2-norm the gap is half the sum of
squares of the scores outside, so each of N columns may have a share ``tol objective / N`` of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

import numpy as np

from kernelweave.solvers.boost.masters.restricted import Restricted
from kernelweave.solvers.boost.pricing_round import Priced, PricingRound, largest
from kernelweave.solvers.boost.problem import Array, BoostProblem

SLACK_SHARE = 0.5
"""Share of the tolerance that columns left outside may use up."""
ERROR_SLACK = 1e-7
"""A loss below this, relative to the largest target, is the rounding of a margin that holds exactly."""
SMALLEST_SLACK = 1e-10
"""Scores are not known more closely than this share of their threshold."""
ERRORS, OTHERS, GUESSES = (0.025, 0.25), (0.05, 0.25), (0.025, 1.0)
"""Columns of a kernel looked at in a round: this share of its columns, and so many for each column that may enter."""
FEWEST, SHARE_UP_TO = 24, 40_000
"""Columns looked at whatever the shares, and the rows from which on a share counts as that of so many."""
LIKELY = 0.3
"""Share of the rows of a search among all that are looked at first, by their last known violation."""
ENOUGH_SHARE = 0.5
"""Violations from this share of the level on count where it is asked if there are enough."""
DROP = 0.5
"""The level falls to this share of the largest violation met."""
STRATEGIES = ("stratified", "regular", "paper")


class Columns(Protocol):
    """Columns of m kernels on n rows (`operators.columns_pool.ColumnPool`)."""

    n: int
    m: int
    scored: Array
    made: Array
    capacity: int
    quick: bool

    def columns(self, kernel: int, rows: Array) -> Array:
        """Return ``K_p[:, rows]``, (n, len(rows))."""

    def scan(self, kernels: Sequence[int], u: Array, rows: Array | None = None) -> Array:
        """Return ``K_p[:, rows]'u`` for some kernels, (kernels, rows)."""


class Pricing:
    """Finds columns for a problem in a pool.

    Parameters
    ----------
    order : kernels by falling priority
    strategy : "stratified", "regular" or "paper"
    candidates : rows looked at in a round, or None for all
    verify : whether nothing may stay outside unseen when a round of candidates finds nothing
    tol : relative gap that is wanted once nothing enters
    """

    def __init__(
        self,
        problem: BoostProblem,
        pool: Columns,
        order: Sequence[int],
        strategy: str = "stratified",
        candidates: int | None = None,
        verify: bool = False,
        tol: float = 1e-3,
        rng: np.random.Generator | None = None,
    ):
        self.problem, self.pool, self.strategy, self.verify, self.tol = problem, pool, strategy, verify, tol
        self.order = [int(k) for k in order]
        self.candidates = pool.n if candidates is None else min(candidates, pool.n)
        self.rng = np.random.default_rng(0) if rng is None else rng
        self.inside = np.zeros((pool.m, pool.n), bool)
        self.seen, self.when = np.full((pool.m, pool.n), -np.inf), np.zeros((pool.m, pool.n), np.int32)
        self.round = 0
        self.share, self.level, self.entered = SLACK_SHARE, np.inf, 0

    def enter(self, kernels: Array, rows: Array) -> None:
        """Take note of columns that are in use from now on."""
        self.inside[kernels, rows], self.seen[kernels, rows] = True, -np.inf
        self.entered += len(rows)

    def price(self, found: Restricted, most: int, errors_only: bool = False) -> Priced:
        """Return up to `most` columns to enter; `errors_only` ends the search at the error points (TR1)."""
        scored, slack, self.round = PricingRound(self, found, most), self.slack(found), self.round + 1
        errors, chosen = self.errors(found), cast(list[int], [])
        search = self._one_by_one if self.strategy == "paper" else self._together
        if self.strategy == "stratified":
            search, chosen = self._by_parts, self._promising(scored, errors, errors_only, slack)
        if not chosen and (errors_only or self.strategy == "paper"):
            chosen, _ = search(scored, errors, slack)
        if chosen or errors_only:
            return scored.priced(scored.pick(chosen, slack), "errors", False)
        every = np.arange(self.pool.n)
        chosen, settled = search(scored, self._draw(every, self.candidates), slack)
        if self.verify and not chosen:
            chosen, settled = search(scored, every, slack)
        return scored.priced(scored.pick(chosen, slack), "all", settled)

    def errors(self, found: Restricted) -> Array:
        """Return the rows with a loss: inside the margin, outside the tube, or below rho; all where nothing is in use.

        (Problems with a rho start at f = 0 and rho = 0, where no row has a loss.)
        """
        if self.entered == 0:
            return np.arange(self.pool.n)
        losses = self.problem.losses(found.outputs, found.level)
        scale = max(1.0, float(np.abs(self.problem.y).max(initial=0.0)))
        return np.flatnonzero(losses > ERROR_SLACK * scale)

    def prove(self, found: Restricted) -> Priced:
        """Scan every column, for a bound and not for columns to enter."""
        scored = PricingRound(self, found, 0)
        scored.score(self.order, np.arange(self.pool.n))
        return scored.priced(scored.nothing(), "all", True)

    def bound(self, found: Restricted, priced: Priced) -> float:
        """Return the lower bound that a scan proves for the columns it has seen and for those in use.

        The latter are scored afresh where the scan has not met them all: the rounding of a master is part of the proof.
        """
        if priced.complete:
            return self.problem.bound(found.u, self.problem.merge(priced.measure, priced.inside))
        measure = priced.measure
        for kernel in self.order:
            rows = np.flatnonzero(self.inside[kernel])
            if len(rows):
                scores = self.pool.scan([kernel], found.u, rows)
                measure = self.problem.merge(measure, self.problem.measure(scores))
        return self.problem.bound(found.u, measure)

    def slack(self, found: Restricted) -> float:
        """Return by how much a score may pass the threshold before its column should enter."""
        share = self.share * self.tol
        if self.problem.penalty == "l1":
            return max(share, SMALLEST_SLACK) * found.threshold
        outside = max(1, self.inside.size - self.entered)
        return float(np.sqrt(2.0 * share * abs(found.objective) / outside))

    def _promising(self, scored: PricingRound, errors: Array, errors_only: bool, slack: float) -> list[int]:
        """Look at a few rows and the best guesses of each kernel until there is enough to enter; return the kernels.

        Where no kernel has a violation above the level, it falls.
        """
        n = min(self.pool.n, SHARE_UP_TO)
        few, others, guesses = (
            min(self.candidates, max(FEWEST, int(share * n), int(per_entry * scored.most)))
            for share, per_entry in (ERRORS, OTHERS, GUESSES)
        )
        chosen: list[int] = []
        for kernel in self.order:
            parts = [largest(self.seen[kernel], -np.inf, guesses), self._oldest(kernel, errors, few)]
            if not errors_only:
                parts.append(self._oldest(kernel, np.arange(self.pool.n), others))
            scored.score([kernel], np.unique(np.concatenate(parts)))
            if self.level == np.inf and scored.largest > slack:
                self.level = DROP * scored.largest
            if scored.worst(kernel) > max(self.level, slack):
                chosen.append(kernel)
                if scored.violators(chosen, ENOUGH_SHARE * self.level) >= scored.most:
                    return chosen
        if not chosen and scored.largest > slack:
            self.level = DROP * scored.largest
            chosen = [kernel for kernel in self.order if scored.worst(kernel) > max(self.level, slack)]
        return chosen

    def _oldest(self, kernel: int, rows: Array, size: int) -> Array:
        """Return some of the rows whose columns are outside, those that were looked at longest ago."""
        rows = self.rng.permutation(rows[~self.inside[kernel, rows]])
        return rows[np.argsort(self.when[kernel, rows], kind="stable")[:size]]

    def _by_parts(self, scored: PricingRound, rows: Array, slack: float) -> tuple[list[int], bool]:
        """Look at rows of all kernels, the likely ones first; return kernels with violators, and if all was seen."""
        left = {kernel: scored.left(kernel, rows) for kernel in self.order}
        for likely in (True, False):
            for kernel, some in left.items():
                first = np.sort(some[np.argsort(-self.seen[kernel, some], kind="stable")[: int(LIKELY * len(some))]])
                scored.score([kernel], first if likely else scored.left(kernel, some))
            chosen = [kernel for kernel in self.order if scored.worst(kernel) > slack]
            if chosen:
                self.level = DROP * scored.largest
                break
        return chosen, not likely

    def _one_by_one(self, scored: PricingRound, rows: Array, slack: float) -> tuple[list[int], bool]:
        """Look at rows of one kernel after the other; return the first one that has violators, and if all were seen."""
        for kernel in self.order:
            left = scored.left(kernel, rows)
            scored.score([kernel], left[~self.inside[kernel, left]])
            if scored.worst(kernel) > slack:
                return [kernel], False
        return [], True

    def _together(self, scored: PricingRound, rows: Array, slack: float) -> tuple[list[int], bool]:
        """Look at rows of all kernels at once; return the kernels that have violators."""
        scored.score(self.order, scored.left(self.order[0], rows))
        return [kernel for kernel in self.order if scored.worst(kernel) > slack], True

    def _draw(self, rows: Array, size: int) -> Array:
        """Return at most so many of the rows, drawn at random, in order."""
        return rows if len(rows) <= size else np.sort(self.rng.choice(rows, size, replace=False))
