"""What a fit by rounds over parts will take, judged by its pilot: parts, bytes, rounds and time.

    a round = master on its working set + all parts, spread over the workers

    master      seconds of the larger sample, times the power of the rows by which the two samples differ, times what a
                finer gap than the pilot's costs
    part        one part is scored with few and with many kept rows; a straight line through both gives the seconds
                for as many as are expected to be support vectors
    bytes       targets, numbers and coefficients of the support there; rows with the largest losses back

Everything is measured in the calling process: workers on other machines may be faster or slower.
"""

from __future__ import annotations

import math
import time
import tracemalloc
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from kernelweave.operators.memory import show_bytes
from kernelweave.operators.sharded.operator import ShardedRows
from kernelweave.solvers.active.pilot import Pilot
from kernelweave.solvers.active.rounds import Rounds
from kernelweave.solvers.active.working_set import PILOT_TIMES, RETURNED, RETURNED_MORE
from kernelweave.solvers.problems import Array

ALL_AT_ONCE = 1, 2
"""Rounds where the working set has all rows."""
USUAL_ROUNDS = 3, 6
"""Rounds to a gap of 1e-3: 3 to 5 from 10,000 to 10,000,000 rows (benchmarks/cluster_scale.py), and one for harder
problems."""
SLOWEST_MASTER, FASTEST_MASTER = 2.0, 1.2
"""Powers of its rows between which the master's time is taken to grow."""
FINER = 2.5
"""How many times as long as a pilot sample a working set of the same size takes: its gap is finer, and its rows are the
hard ones.  Measured on simulated splice sites: 0.9, 1.7 and 2.0 on average with 10,000, 100,000 and 1,000,000 rows."""
LOOP_BYTES = 32
"""Bytes a row of what compiled loops hold for themselves while they score a part."""


@dataclass(frozen=True)
class Forecast:
    """What rounds over parts are expected to take; all numbers but those of the parts are estimates.

    Attributes
    ----------
    parts, part_rows : into how many parts rows are cut, and the rows of the largest
    workers : that work on parts
    pilot : the samples, the expected support and the size of the working set
    rounds : least and most
    worker_bytes : of a part while it is scored, with the model
    round_bytes : that go to the parts and come back
    part_seconds : to score one part
    master_seconds : to solve a working set
    """

    parts: int
    part_rows: int
    workers: int
    pilot: Pilot
    rounds: tuple[int, int]
    worker_bytes: float
    round_bytes: float
    part_seconds: float
    master_seconds: float

    @property
    def round_seconds(self) -> float:
        """Seconds of a round."""
        return self.master_seconds + math.ceil(self.parts / self.workers) * self.part_seconds

    @property
    def seconds(self) -> tuple[float, float]:
        """Least and most seconds of all rounds."""
        return self.rounds[0] * self.round_seconds, self.rounds[1] * self.round_seconds

    @property
    def _why(self) -> str:
        if self.rounds == ALL_AT_ONCE:
            return "so many rows would be support vectors that all are solved at once"
        return "3 to 5 were measured from 10,000 to 10,000,000 sequences"

    def lines(self, outputs: int = 1) -> list[tuple[str, str]]:
        """Return name and text of what is worth a line; every output has rounds of its own."""
        pilot, (few, most) = self.pilot, self.rounds
        each = f", for each of {outputs} outputs" if outputs > 1 else ""
        low, high = (outputs * seconds for seconds in self.seconds)
        parts = self.round_seconds - self.master_seconds
        return [
            ("parts", f"{self.parts} of up to {self.part_rows} rows, {self.workers} at a time"),
            ("memory", f"about {show_bytes(self.worker_bytes)} for each part while it is scored"),
            ("travels", f"about {show_bytes(self.round_bytes)} a round"),
            ("support", str(pilot)),
            ("working set", f"{pilot.capacity} rows, at most {pilot.largest_set}"),
            ("rounds", f"{few} to {most}{each} (an estimate: {self._why})"),
            ("time", f"{shown_seconds(low, high)} (an estimate: a round takes {self.master_seconds:.2g} s on the "
                     f"working set and {parts:.2g} s on the parts)"),
        ]  # fmt: skip

    def record(self) -> dict[str, Any]:
        """Return the numbers by name."""
        pilot = self.pilot
        return {
            "parts": self.parts, "part_rows": self.part_rows, "workers": self.workers,
            "worker_bytes": int(self.worker_bytes), "round_bytes": int(self.round_bytes),
            "expected_support": round(pilot.expected), "support_power": pilot.power,
            "pilot_rows": list(pilot.sizes), "pilot_support": list(pilot.support),
            "working_set": pilot.capacity, "largest_set": pilot.largest_set, "expected_rounds": list(self.rounds),
            "master_seconds": self.master_seconds, "part_seconds": self.part_seconds,
            "expected_seconds": list(self.seconds),
        }  # fmt: skip


def forecast(solver: Rounds) -> Forecast:
    """Return what the rounds of a solver will take that has just begun: it has its pilot, and no round behind it."""
    operator = cast(ShardedRows, solver.operator)
    again = tuple(solver.try_sample(size).seconds for size in solver.pilot.sizes)  # the first time, code is loaded
    pilot = replace(solver.pilot, seconds=(again[0], again[1]))
    seconds, worker_bytes = _part(solver)
    rounds = ALL_AT_ONCE if pilot.capacity == solver.n else USUAL_ROUNDS
    part_rows = operator.parts[0].stop - operator.parts[0].start
    return Forecast(
        len(operator.parts), part_rows, operator.engine.workers, pilot, rounds, worker_bytes,
        _round_bytes(solver), seconds, _master(pilot),
    )  # fmt: skip


def _master(pilot: Pilot) -> float:
    """Return the seconds of a working set."""
    (small, large), (quick, slow) = pilot.sizes, pilot.seconds
    power = math.log(slow / quick) / math.log(large / small) if large > small and quick > 0 else FASTEST_MASTER
    power = min(max(power, FASTEST_MASTER), SLOWEST_MASTER)
    return FINER * slow * float(pilot.capacity / large) ** power


def _part(solver: Rounds) -> tuple[float, float]:
    """Return the seconds and bytes of a part with as many kept rows as are expected."""
    expected, last = solver.pilot.expected, solver.tried[-1]
    few, many = last.rows, _more(last.rows, solver.n)
    part = solver.operator.parts[0]
    _scored(solver, few[:2], last.weights, slice(part.start, part.start + 2))  # compiles
    low, _ = _scored(solver, few, last.weights, part)
    high, size = _scored(solver, many, last.weights, part)
    slope = max(0.0, high - low) / max(1, len(many) - len(few))
    rows = part.stop - part.start
    grown = (rows + expected) / (rows + len(many))
    return low + slope * max(0.0, expected - len(few)), size * grown + LOOP_BYTES * (rows + expected)


def _more(rows: Array, n: int) -> Array:
    """Return some times as many rows, all others at even distances."""
    wanted = min(n, PILOT_TIMES * len(rows))
    return np.union1d(rows, np.linspace(0, n - 1, wanted - len(rows)).astype(np.int64))


def _scored(solver: Rounds, rows: Array, weights: Array, part: slice) -> tuple[float, int]:
    """Score a part with a classifier that keeps some rows; return seconds and the most bytes of arrays meanwhile."""
    operator = cast(ShardedRows, solver.operator)
    model = operator.model(weights, rows, np.ones(len(rows)))
    traced = tracemalloc.is_tracing()
    if not traced:
        tracemalloc.start(1)
    before, began = tracemalloc.get_traced_memory()[0], time.perf_counter()
    tracemalloc.reset_peak()
    model.scores(operator.X, part)
    seconds, size = time.perf_counter() - began, tracemalloc.get_traced_memory()[1] - before
    if not traced:
        tracemalloc.stop()
    return seconds, max(0, size)


def _round_bytes(solver: Rounds) -> float:
    """Return the bytes of a round: targets and support there, the rows with the largest losses back."""
    pilot, told = solver.pilot, solver.told
    there = told.y.nbytes + (told.cost.nbytes if len(told.cost) > 1 else 0) + 24.0 * pilot.expected
    back = RETURNED * max(0.0, pilot.capacity - pilot.expected) + RETURNED_MORE * len(solver.operator.parts)
    return there + 8.0 * min(back, solver.n)


def shown_seconds(low: float, high: float) -> str:
    """Return a span of time for people.

    Examples
    --------
    >>> shown_seconds(20, 30), shown_seconds(600, 900), shown_seconds(5000, 7500)
    ('20 to 30 seconds', '10 to 15 minutes', '1.4 to 2.1 hours')
    """
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if high > 1.5 * size:
            digits = 0 if low >= 10 * size else 1
            return f"{low / size:.{digits}f} to {high / size:.{digits}f} {unit}"
    return f"{low:.2g} to {high:.2g} seconds"
