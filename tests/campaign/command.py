"""The command line of the campaign: which stages, for how long, and what is printed."""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

from .report import Tally, table, write_csv
from .stage import Stage
from .stages import STAGES
from .workers import empty, guarded, run

HOUR = 60.0
PACE = 30.0
"""Seconds between two lines of progress."""


def main(words: list[str] | None = None, stages: dict[str, Stage] = STAGES) -> int:
    """Run the campaign; return 0 if nothing failed."""
    given = parsed(words, stages)
    if given.table:
        print(*table(given.table), sep="\n")
        return 0
    if given.trial is not None:
        return alone(stages[given.only[0]], given.trial)
    failures = given.failures or Path(tempfile.mkdtemp(prefix="campaign-failures-"))
    failures.mkdir(parents=True, exist_ok=True)
    chosen = [stages[name] for name in given.only or stages]
    began, tallies = time.monotonic(), []
    for place, stage in enumerate(chosen):
        left = given.minutes * 60 - (time.monotonic() - began)
        share = stage.minutes / sum(one.minutes for one in chosen[place:])
        tallies.append(carried_out(stage, trials_of(stage, given), max(1.0, left * share), failures, given.processes))
    if given.csv:
        write_csv(given.csv, tallies)
    return conclusion(tallies, failures)


def parsed(words: list[str] | None, stages: dict[str, Stage]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=HOUR, help="at most (default 60); trials shrink with it")
    parser.add_argument("--only", action="append", choices=list(stages), help="one stage (may be repeated)")
    parser.add_argument("--trials", type=int, help="so many of each stage, in place of its share")
    parser.add_argument("--first", type=int, default=0, help="number of the first trial: counts of several runs add up")
    parser.add_argument("--trial", type=int, help="run one trial of the stage named by --only here, and tell of it")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="at a time (default: all cores)")
    parser.add_argument("--csv", type=Path, help="write the counts to this file, which keeps those of other stages")
    parser.add_argument("--table", type=Path, help="print the sums of such a file, and do nothing else")
    parser.add_argument("--failures", type=Path, help="folder for the files of trials that failed")
    given = parser.parse_args(words)
    if given.trial is not None and len(given.only or []) != 1:
        parser.error("--trial needs one --only.")
    return given


def trials_of(stage: Stage, given: argparse.Namespace) -> range:
    """Return the numbers of the trials of a stage."""
    wanted = given.trials or max(1, math.ceil(stage.goal * min(1.0, given.minutes / HOUR)))
    return range(given.first, given.first + wanted)


def carried_out(stage: Stage, trials: range, seconds: float, failures: Path, processes: int) -> Tally:
    """Run a stage, tell how it goes, and return its counts; an interrupt ends the stage, and what it counted stays."""
    wanted = len(trials)
    tally, began = Tally(stage, wanted), time.monotonic()
    told = began
    with suppress(KeyboardInterrupt), closing(run(stage, trials, seconds, failures, processes)) as outcomes:
        for number, outcome in outcomes:
            tally.add(number, outcome)
            if outcome.failed:
                print(f"{stage.name} {number} failed: {outcome.kind}, {outcome.outcome}", flush=True)
            if time.monotonic() - told > PACE:
                told = time.monotonic()
                print(f"{stage.name}: {tally.trials:,} of {wanted:,}, {len(tally.failures)} failures", flush=True)
    tally.seconds = time.monotonic() - began
    print(*tally.lines(), "", sep="\n", flush=True)
    return tally


def alone(stage: Stage, number: int) -> int:
    """Run one trial in this process, and leave its files."""
    folder = Path(tempfile.mkdtemp(prefix="campaign-trial-"))
    stage.warm(folder)
    empty(folder)
    outcome = guarded(stage, number, folder)
    print(f"{stage.name} {number}: {outcome.kind}, {outcome.outcome}\n{outcome.text}\nIts files are in {folder}.")
    return int(outcome.failed)


def conclusion(tallies: list[Tally], failures: Path) -> int:
    """Print the sums, and what failed; return 1 if anything did."""
    failed = [tally for tally in tallies if tally.failures]
    for tally in failed:
        print(*tally.told(), sep="\n")
    for tally in tallies:
        missing = f" (of {tally.wanted:,}: time was up)" if tally.short else ""
        print(f"{tally.stage.name:24} {tally.trials:>10,} trials {len(tally.failures):>6} failures{missing}")
    if failed:
        print(f"Files of trials that failed are in {failures}.")
    elif not any(failures.iterdir()):
        failures.rmdir()
    return int(bool(failed))
