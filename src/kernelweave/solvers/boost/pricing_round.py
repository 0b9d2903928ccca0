"""What a round of pricing sees of the columns, and which of them it lets enter.

At prices u each column is scored at most once; the bound needs the measure of all scores (`problem`), the columns to
enter are the worst violators that differ (`diverse`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelweave.solvers.boost.diverse import spread
from kernelweave.solvers.boost.masters.restricted import Restricted
from kernelweave.solvers.boost.problem import Array
from kernelweave.solvers.state import record

if TYPE_CHECKING:
    from kernelweave.solvers.boost.pricing import Pricing

CHOICE, MOST_VALUES = 3, 2e7
"""Columns to choose from, for each that may enter, and the numbers that they may take."""


@record
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


class PricingRound:
    """What was seen of the columns at one u; a column is looked at once."""

    def __init__(self, pricing: Pricing, found: Restricted, most: int):
        self.pricing, self.found, self.most = pricing, found, most
        self.looked = np.zeros((pricing.pool.m, pricing.pool.n), bool)
        self.measure, self.inside, self.scanned, self.largest = 0.0, 0.0, 0, -np.inf

    @property
    def worst_enter(self) -> bool:
        """Whether the worst violators enter, whether or not they are alike."""
        return self.most == 1 or self.pricing.problem.penalty == "l2" or self.pricing.strategy == "paper"

    def score(self, kernels: list[int], rows: Array) -> None:
        """Score some rows of kernels."""
        if len(rows) == 0:
            return
        pricing, problem, place = self.pricing, self.pricing.problem, np.ix_(np.array(kernels), rows)
        scores = pricing.pool.scan(kernels, self.found.u, None if len(rows) == pricing.pool.n else rows)
        inside = pricing.inside[place]
        self.measure = problem.merge(self.measure, problem.measure(scores[~inside]))
        self.inside = problem.merge(self.inside, problem.measure(scores[inside]))
        self.scanned += int((~inside).sum())
        violation = np.where(inside, -np.inf, problem.violation(scores, self.found.threshold))
        self.largest = max(self.largest, float(violation.max(initial=-np.inf)))
        pricing.seen[place], pricing.when[place], self.looked[place] = violation, pricing.round, True

    def left(self, kernel: int, rows: Array) -> Array:
        """Return those of some rows that were not looked at."""
        return rows[~self.looked[kernel, rows]]

    def violations(self, kernel: int) -> Array:
        """Return the violation of each column of a kernel, where it was looked at."""
        return np.where(self.looked[kernel], self.pricing.seen[kernel], -np.inf)

    def worst(self, kernel: int) -> float:
        """Return the largest violation of a kernel."""
        return float(self.violations(kernel).max(initial=-np.inf))

    def violators(self, kernels: list[int], slack: float) -> int:
        """Return how many columns of some kernels pass the threshold by more than a slack."""
        return sum(int(np.count_nonzero(self.violations(k) > slack)) for k in kernels)

    def pick(self, kernels: list[int], slack: float) -> tuple[Array, Array, Array]:
        """Return kernels, rows and columns that violate the dual most and in different ways."""
        if self.most == 0 or not kernels:
            return self.nothing()
        size = self._candidates(len(kernels))
        places = {k: largest(self.violations(k), slack, size) for k in sorted(kernels)}
        numbers = np.repeat(list(places), [len(rows) for rows in places.values()])
        rows = np.concatenate(list(places.values()))
        return self._chosen(numbers, rows) if len(rows) else self.nothing()

    def nothing(self) -> tuple[Array, Array, Array]:
        """Return no columns."""
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty((self.pricing.pool.n, 0))

    def _candidates(self, kernels: int) -> int:
        """Return how many columns of each kernel to choose from."""
        if self.worst_enter:
            return self.most
        pool = self.pricing.pool
        share = min(CHOICE * self.most, int(MOST_VALUES / pool.n), pool.capacity // CHOICE) // kernels
        return max(self.most // min(kernels, 2), share, 1)

    def _chosen(self, numbers: Array, rows: Array) -> tuple[Array, Array, Array]:
        """Return the columns to enter out of candidates."""
        pool, problem = self.pricing.pool, self.pricing.problem
        if self.worst_enter:
            best = np.lexsort((rows, numbers, -self.pricing.seen[numbers, rows]))[: self.most]
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
        complete = bool((self.looked | self.pricing.inside).all())
        for kernel in self.pricing.order if complete else ():
            self.score([kernel], self.left(kernel, np.flatnonzero(self.pricing.inside[kernel])))
        return Priced(*picked, stage, self.measure, self.scanned, self.inside, settled or complete, complete)


def largest(values: Array, least: float, most: int) -> Array:
    """Return the places of the largest values above a limit, at most so many, the largest first."""
    places = np.flatnonzero(values > least)
    if len(places) > most:
        places = places[np.argpartition(-values[places], most)[:most]]
    return places[np.lexsort((places, -values[places]))]
