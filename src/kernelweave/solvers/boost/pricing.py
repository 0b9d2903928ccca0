"""Which columns enter next (Bi, Zhang and Bennett, 2004, section 5), and what a scan proves.

Given prices u of the restricted problem, the score of column (p, i) is ``K_p[:, i]'u``; a column whose score passes the
problem's threshold by more than a slack would improve the objective: it violates the dual.

    regular      all columns of all kernels are scored, the worst violators enter
    stratified   1. columns of error points (rows with a loss), kernel after kernel in order of priority: the worst
                    violators of the first kernel that has any enter, and no dearer kernel is looked at
                 2. where there are none: the same over all rows
                 3. where there are none: nothing enters

What keeps the stratified rounds short:  Of the error points, a few drawn at random are looked at: among 64 there is one
of the best twentieth with probability 0.96.  Violators that a scan has met and that did not enter are looked at again.
A kernel has its turn only while it has a violation above a level, which starts below the largest one met and falls by
stages to the slack: else the first kernel would be polished to the last digit before the next is looked at.  And a scan
of all rows begins with the kernel where the last one found something.

With `candidates` only so many rows, drawn afresh each round, are looked at in 2.  Where nothing enters then, either all
rows are looked at after all (`verify`), or the round stands for the columns it has seen, and says so.

The slack is what keeps the gap below `tol` once nothing enters.  With the 1-norm the bound is the objective over
``max(1, largest score / threshold)``, so scores may pass by a share of tol; with the 2-norm the gap is half the sum of
squares of the scores outside, so each of N columns may have a share ``tol objective / N`` of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kernelweave.solvers.boost.diverse import spread
from kernelweave.solvers.boost.problem import Array, BoostProblem
from kernelweave.solvers.boost.restricted import Restricted

SLACK_SHARE = 0.5
"""Share of the tolerance that columns left outside may use up."""
ERROR_SLACK = 1e-7
"""A loss below this, relative to the largest target, is the rounding of a margin that holds exactly."""
SMALLEST_SLACK = 1e-10
"""Scores are not known more closely than this share of their threshold."""
FEW, FEW_PER_ENTRY = 64, 1
"""Error points looked at in a round: at least so many, and so many for each column that may enter."""
KEPT, KEPT_PER_ENTRY = 32, 3
"""Violators of a kernel that are looked at again: at least so many, and so many for each column that may enter."""
CHOICE, MOST_VALUES = 3, 2e7
"""Columns to choose from, for each that may enter, and the numbers that they may take."""
DROP = 0.5
"""The level falls to this share of the largest violation met."""
STRATEGIES = ("stratified", "regular")


class Columns(Protocol):
    """Columns of m kernels on n rows (`operators.columns_pool.ColumnPool`)."""

    n: int
    m: int
    scored: Array
    made: Array
    room: int

    def columns(self, kernel: int, rows: Array) -> Array:
        """Return ``K_p[:, rows]``, (n, len(rows))."""

    def scan(self, kernels: Sequence[int], u: Array, rows: Array | None = None) -> Array:
        """Return ``K_p[:, rows]'u`` for some kernels, (kernels, rows)."""


@dataclass(frozen=True)
class Priced:
    """What a round of pricing found.

    Parameters
    ----------
    kernels, rows : (k,) the columns that should enter, kernel after kernel
    columns : (n, k) their values
    stage : "errors" where columns of error points were looked at, "all" for all rows
    measure : the problem's measure of the scores of `scanned` columns outside the restricted problem
    inside : the measure of those inside that were scanned on the way
    settled : whether every kernel was scanned, so that a gap within the tolerance ends the run
    complete : whether every column outside was scanned
    """

    kernels: Array
    rows: Array
    columns: Array
    stage: str
    measure: float
    scanned: int
    inside: float
    settled: bool = False
    complete: bool = False


class Pricing:
    """Finds columns for a problem in a pool.

    Parameters
    ----------
    order : kernels by falling priority
    strategy : "stratified" or "regular"
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
        self.again: list[Array] = [np.empty(0, np.int64)] * pool.m
        self.share, self.level, self.turn, self.entered = SLACK_SHARE, np.inf, 0, 0

    def enter(self, kernels: Array, rows: Array) -> None:
        """Take note of columns that are in use from now on."""
        self.inside[kernels, rows] = True
        self.entered += len(rows)

    def price(self, found: Restricted, most: int, errors_only: bool = False) -> Priced:
        """Return up to `most` columns to enter; `errors_only` ends the search at the error points (TR1)."""
        if self.strategy == "stratified":
            errors = self.errors(found)
            few = self._draw(errors, max(FEW, FEW_PER_ENTRY * most))
            priced = self._by_priority(found, most, [np.union1d(few, rows) for rows in self.again], "errors")
            if len(priced.rows) == 0 and errors_only:
                priced = self._by_priority(found, most, [errors] * self.pool.m, "errors")
            if len(priced.rows) or errors_only:
                return priced
        every = np.arange(self.pool.n)
        search = self._by_priority if self.strategy == "stratified" else self._together
        priced = search(found, most, [self._draw(every, self.candidates)] * self.pool.m, "all")
        if self.verify and not priced.complete and len(priced.rows) == 0:
            priced = search(found, most, [every] * self.pool.m, "all")
        return priced

    def errors(self, found: Restricted) -> Array:
        """Return the rows with a loss: inside the margin, outside the tube, or below rho."""
        losses = self.problem.losses(found.outputs, found.level)
        scale = max(1.0, float(np.abs(self.problem.y).max(initial=0.0)))
        return np.flatnonzero(losses > ERROR_SLACK * scale)

    def prove(self, found: Restricted) -> Priced:
        """Scan every column, for a bound and not for columns to enter."""
        look = Look(self, found, 0)
        look.at(self.order, np.arange(self.pool.n))
        return look.priced(look.nothing(), "all", True)

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

    def _by_priority(self, found: Restricted, most: int, rows: list[Array], stage: str) -> Priced:
        """Look at some rows of each kernel until there are enough columns to enter; where none is, the level falls."""
        look, slack = Look(self, found, most), self.slack(found)
        order = self.order if stage == "errors" else self.order[self.turn :] + self.order[: self.turn]
        chosen: list[int] = []
        for kernel in order:
            look.at([kernel], rows[kernel])
            if self.level == np.inf and look.largest > slack:
                self.level = DROP * look.largest
            if look.worst(kernel) > max(self.level, slack):
                chosen.append(kernel)
                if look.violators(chosen, slack) >= most:
                    break
        every = len(look.violations) == len(order)
        if not chosen and look.largest > slack:
            self.level = DROP * look.largest
            chosen = [next(kernel for kernel in self.order if look.worst(kernel) > max(self.level, slack))]
        elif stage == "all" and chosen:
            self.turn, self.level = self.order.index(chosen[0]), DROP * look.largest
        return look.priced(look.pick(chosen, slack), stage, stage == "all" and every)

    def _together(self, found: Restricted, most: int, rows: list[Array], stage: str) -> Priced:
        """Look at some rows of all kernels at once; the worst violators enter, whatever their kernel."""
        look, slack = Look(self, found, most), self.slack(found)
        look.at(self.order, rows[0])
        return look.priced(look.pick(self.order, slack), stage, True)

    def _draw(self, rows: Array, size: int) -> Array:
        """Return at most so many of the rows, drawn at random, in order."""
        return rows if len(rows) <= size else np.sort(self.rng.choice(rows, size, replace=False))


class Look:
    """What was seen of the columns at one u."""

    def __init__(self, pricing: Pricing, found: Restricted, most: int):
        self.pricing, self.found, self.most = pricing, found, most
        self.violations: dict[int, tuple[Array, Array]] = {}
        self.measure, self.inside, self.scanned, self.largest, self.whole = 0.0, 0.0, 0, -np.inf, True

    def at(self, kernels: list[int], rows: Array) -> None:
        """Score some rows of kernels."""
        pricing, problem = self.pricing, self.pricing.problem
        full = len(rows) == pricing.pool.n
        scores = pricing.pool.scan(kernels, self.found.u, None if full else rows)
        inside = pricing.inside[np.ix_(np.array(kernels), rows)]
        self.measure = problem.merge(self.measure, problem.measure(scores[~inside]))
        self.inside = problem.merge(self.inside, problem.measure(scores[inside]))
        self.scanned += int((~inside).sum())
        self.whole = self.whole and full
        violation = np.where(inside, -np.inf, problem.violation(scores, self.found.threshold))
        self.largest = max(self.largest, float(violation.max(initial=-np.inf)))
        for kernel, line in zip(kernels, violation):
            self.violations[kernel] = rows, line

    def worst(self, kernel: int) -> float:
        """Return the largest violation of a kernel."""
        return float(self.violations[kernel][1].max(initial=-np.inf))

    def violators(self, kernels: list[int], slack: float) -> int:
        """Return how many columns of some kernels should enter."""
        return sum(int(np.count_nonzero(self.violations[k][1] > slack)) for k in kernels)

    def pick(self, kernels: list[int], slack: float) -> tuple[Array, Array, Array]:
        """Return kernels, rows and columns that violate the dual most and in different ways; keep others in mind."""
        if self.most == 0 or not kernels:
            return self.nothing()
        size = self._candidates(len(kernels))
        lines = {k: _largest(self.violations[k][1], slack, size) for k in sorted(kernels)}
        numbers = np.repeat(list(lines), [len(places) for places in lines.values()])
        rows = np.concatenate([self.violations[k][0][places] for k, places in lines.items()])
        violation = np.concatenate([self.violations[k][1][places] for k, places in lines.items()])
        picked = self._chosen(numbers, rows, violation) if len(rows) else self.nothing()
        self._keep(slack, *picked[:2])
        return picked

    def _keep(self, slack: float, numbers: Array, rows: Array) -> None:
        """Keep in mind the worst violators that do not enter now."""
        size = max(KEPT, KEPT_PER_ENTRY * self.most)
        for k, (some, line) in self.violations.items():
            entered = rows[numbers == k]
            worst = some[_largest(line, slack, size + len(entered))]
            self.pricing.again[k] = worst[~np.isin(worst, entered)][:size]

    def nothing(self) -> tuple[Array, Array, Array]:
        """Return no columns."""
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty((self.pricing.pool.n, 0))

    def _candidates(self, kernels: int) -> int:
        """Return how many columns of each kernel to choose from."""
        if self.most == 1 or self.pricing.problem.penalty == "l2":
            return self.most
        share = min(CHOICE * self.most, int(MOST_VALUES / self.pricing.pool.n)) // kernels
        return max(self.most // min(kernels, 2), share, 1)

    def _chosen(self, numbers: Array, rows: Array, violation: Array) -> tuple[Array, Array, Array]:
        """Return the columns to enter out of candidates."""
        pool, problem = self.pricing.pool, self.pricing.problem
        if self.most == 1 or problem.penalty == "l2":
            best = np.lexsort((rows, numbers, -violation))[: self.most]
            best = best[np.argsort(numbers[best], kind="stable")]
            numbers, rows = numbers[best], rows[best]
        columns = np.hstack([pool.columns(int(k), rows[numbers == k]) for k in np.unique(numbers)])
        if len(rows) > self.most:
            scores = columns.T @ self.found.u
            best = np.sort(spread(columns, scores, self.found.threshold, self.most, problem.free, problem.positive))
            numbers, rows, columns = numbers[best], rows[best], columns[:, best]
        return numbers, rows, columns

    def priced(self, picked: tuple[Array, Array, Array], stage: str, settled: bool) -> Priced:
        """Return what a round has found."""
        complete = settled and self.whole
        return Priced(*picked, stage, self.measure, self.scanned, self.inside, settled, complete)


def _largest(values: Array, least: float, most: int) -> Array:
    """Return the places of the largest values above a limit, at most so many, the largest first."""
    places = np.flatnonzero(values > least)
    if len(places) > most:
        places = places[np.argpartition(-values[places], most)[:most]]
    return places[np.lexsort((places, -values[places]))]
