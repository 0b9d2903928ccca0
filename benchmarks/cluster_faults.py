"""Kill -9 of workers, clients and schedulers in every phase of a fit; what is learned must keep its bits.

    python benchmarks/cluster_faults.py                      # 20 workers, 10 clients, 5 schedulers, 9 minutes
    python benchmarks/cluster_faults.py --workers 3 --clients 1 --schedulers 1
    python benchmarks/cluster_faults.py --work active_set_mkl --workers 4 --clients 2 --schedulers 2
    python benchmarks/cluster_faults.py --checkpoints 5      # clients alone, with the solvers of rows in memory

A scheduler and two workers are started by hand, as on a real cluster, and a client in a process of its own fits a store
of simulated splice sites by rounds over its parts, with a checkpoint after each round.  A trial kills one of these
processes: the phases of an undisturbed run take turns, and the moment within one is random; clients and schedulers are
killed after the first checkpoint three times out of four.  A killed worker is started again after
two seconds; after the death of the client, or of the scheduler under it, the same command is run again and
goes on from the checkpoint.  A strike that comes after the end of the fit does not count and is repeated.

Columns: what was killed, in which phase it struck, the longest silence of the client from there to its end, whether the
command was run again, whether there was a checkpoint then and the run went on from it (its first round says so), and
whether the objective and the coefficients have the bits of the undisturbed run.  What else can go wrong, with the
sentence that a user reads, is in `cluster_sentences.py`.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from cluster_data import write_sites
from cluster_fits import STORED, WORKS
from cluster_processes import Cluster, Line, Run
from common import Row, conditions, show, write_csv

LIMIT = 60.0
"""Seconds of silence that count as a hang."""
LONGEST = 180.0
"""Seconds after which a run is ended."""
RESTART = 2.0
"""Seconds until somebody starts a killed worker again."""
SHARE = 0.8
"""Strikes come within this share of a phase: it may be shorter than in the undisturbed run."""
ATTEMPTS = 5
"""Strikes in a trial, should they come after the end."""
PHASES = ("connecting", "starting", "pilot", "master", "scoring", "writing")
LATER = "later "
RESUMABLE = ("pilot", "later master", "later scoring", "later writing")
"""Phases in which clients and schedulers are killed: most strikes find a checkpoint."""
IN_MEMORY = ("round", "writing")
"""Phases of fits to rows in memory, where a checkpoint is what is tried: after the first round."""
KILLED = {"worker": "workers", "client": "clients", "scheduler": "schedulers"}


@dataclass(frozen=True)
class Moment:
    """When to strike: so many seconds after a phase began for the n-th time."""

    phase: str
    times: int
    seconds: float

    @classmethod
    def drawn(cls, phase: str, lines: list[Line]) -> Moment:
        """Return a random moment of a phase of an undisturbed run; "later X" is X after the first checkpoint."""
        word, written = phase.removeprefix(LATER), [line[1] for line in lines].index("writing") + 1
        places = [place for place, line in enumerate(lines[:-1]) if line[1] == word]
        number = random.choice([n for n, place in enumerate(places) if word == phase or place > written])
        length = lines[places[number] + 1][0] - lines[places[number]][0]
        return cls(word, number + 1, random.uniform(0.0, SHARE * length))


class Trials:
    """Fits of one kind that are struck.

    Parameters
    ----------
    work : which of `cluster_fits.WORKS`
    folder : for the store, the checkpoint and what clients say
    rows : of the store, or in memory
    """

    def __init__(self, work: str, folder: Path, rows: int):
        self.work, self.folder, self.out, self.checkpoint = work, folder, folder / "out.txt", folder / "fit.kwc"
        self.given: dict[str, Any] = {"work": work, "checkpoint": self.checkpoint, "rows": rows}
        self.cluster = None
        if work in STORED:
            write_sites(folder / "sites.kws", rows, seed=1)
            self.cluster = Cluster(folder)
            self.given |= {"store": folder / "sites.kws", "address": self.cluster.address}

    def run(self) -> Run:
        """Start a fit, or one that goes on."""
        return Run(self.out, self.given)

    def fresh(self) -> Run:
        """Start a fit without a checkpoint."""
        for path in (self.checkpoint, self.out, self.out.with_suffix(".err")):
            path.unlink(missing_ok=True)
        return self.run()

    def undisturbed(self) -> list[Line]:
        """Return what a fit says that nobody strikes; the first one compiles."""
        for _ in range(2):
            run = self.fresh()
            assert run.ends(LONGEST), "the undisturbed fit hangs"
            assert run.process.returncode == 0, run.said()
        return run.lines()

    def trial(self, what: str, phase: str, plain: list[Line]) -> Row:
        """Kill something once before the end of a fit, and return what came of it."""
        for _ in range(ATTEMPTS):
            run, moment = self.fresh(), Moment.drawn(phase, plain)
            reached = run.reaches(moment.phase, moment.times, LONGEST)
            time.sleep(moment.seconds)
            row = self._struck(what, run, plain) if reached and not run.named("fitted") else {}
            if row:
                return row
            run.kill()
        raise RuntimeError(f"no strike at the {what} came before the end of a fit in {ATTEMPTS} attempts")

    def _struck(self, what: str, run: Run, plain: list[Line]) -> Row:
        """Strike, wait for the end, run again where that is needed; return nothing if the strike came too late."""
        struck = time.time()
        if what == "client":
            run.kill()
        else:
            assert self.cluster is not None
            self.cluster.strike(what)
        if what == "worker":
            time.sleep(RESTART)
            self.cluster.mend()
        ended, at = run.ends(LONGEST), time.time()
        if any(line[0] < struck for line in run.named("fitted")):
            return {}
        times = [struck, *(line[0] for line in run.lines() if line[0] > struck), at]
        row = {
            "killed": what, "phase": _phase(run.lines(), struck), "at": round(struck - run.lines()[0][0], 2),
            "stall": round(max(b - a for a, b in pairwise(times)), 2), "ended": ended, "said": run.said(),
        }  # fmt: skip
        last = run
        if run.process.returncode != 0:
            last = self._again()
        elif self.cluster is not None:
            self.cluster.mend()
        row |= {"run_again": last is not run, **self._went_on(run, last), **_compared(last, plain)}
        return row

    def _again(self) -> Run:
        """Mend what is dead and run the same command; a checkpoint is there or it is not."""
        if self.cluster is not None:
            self.cluster.mend()
        self.known = self.checkpoint.exists()
        run = self.run()
        run.ends(LONGEST)
        return run

    def _went_on(self, first: Run, last: Run) -> Row:
        """Return whether there was a checkpoint for the second run, and whether it says that it went on."""
        if last is first:
            return {"checkpoint": "", "resumed": ""}
        rounds = last.named("round")
        return {"checkpoint": self.known, "resumed": bool(rounds and rounds[0][3])}

    def close(self) -> None:
        """End the cluster."""
        if self.cluster is not None:
            self.cluster.close()


def _phase(lines: list[Line], struck: float) -> str:
    """Return the phase in which a strike came."""
    return [line[1] for line in lines if line[0] <= struck][-1]


def _compared(run: Run, plain: list[Line]) -> Row:
    result, expected = (run.named("result") or [[0.0, "", "", "", 1.0]])[-1], plain[-1]
    return {"same_objective": result[3] == expected[3], "same_bits": result[2] == expected[2]}


def struck(work: str, rows: int, counts: dict[str, int]) -> Iterator[Row]:
    """Yield the trials of one kind of fit."""
    with tempfile.TemporaryDirectory() as name:
        trials = Trials(work, Path(name), rows)
        try:
            plain = trials.undisturbed()
            print(f"{work}, undisturbed: {plain[-1][2][:12]}, {plain[-1][0] - plain[0][0]:.1f} s", flush=True)
            for what, times in counts.items():
                phases = IN_MEMORY if work not in STORED else PHASES if what == "worker" else RESUMABLE
                for number in range(times):
                    yield {"work": work, **trials.trial(what, phases[number % len(phases)], plain)}
        finally:
            trials.close()


def summary(rows: list[Row]) -> list[Row]:
    """Return one line for each kind of fit and of process."""
    lines = []
    for work, what in dict.fromkeys((row["work"], row["killed"]) for row in rows):
        some = [row for row in rows if (row["work"], row["killed"]) == (work, what)]
        lines.append({
            "work": work, "killed": what, "trials": len(some), "phases": len({row["phase"] for row in some}),
            "run_again": sum(row["run_again"] for row in some),
            "with_checkpoint": sum(row["checkpoint"] is True for row in some),
            "resumed": sum(row["resumed"] is True for row in some),
            "same_objective": sum(row["same_objective"] for row in some),
            "same_bits": sum(row["same_bits"] for row in some),
            "hangs": sum(not row["ended"] or row["stall"] > LIMIT for row in some),
            "longest_stall": max(row["stall"] for row in some),
        })  # fmt: skip
    return lines


def main() -> None:
    """Run the campaign, print and write its tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", choices=STORED, default=STORED[0])
    parser.add_argument("--rows", type=int, default=50_000, help="of the store")
    parser.add_argument("--seed", type=int, default=0)
    for name, default in (("workers", 20), ("clients", 10), ("schedulers", 5)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{name} to kill")
    parser.add_argument("--checkpoints", type=int, default=0, help="clients to kill for each solver in memory, alone")
    parser.add_argument("--memory-rows", type=int, default=4000, help="rows in memory")
    asked = parser.parse_args()
    print(conditions("distributed"))
    random.seed(asked.seed)
    if asked.checkpoints:
        name, works = "cluster_faults_checkpoints", [work for work in WORKS if work not in STORED]
        trials = [struck(work, asked.memory_rows, {"client": asked.checkpoints}) for work in works]
    else:
        name, counts = f"cluster_faults_{asked.work}", {what: vars(asked)[many] for what, many in KILLED.items()}
        trials = [struck(asked.work, asked.rows, counts)]
    rows: list[Row] = []
    for row in chain.from_iterable(trials):
        rows.append(row)
        print({column: value for column, value in row.items() if column != "said"}, flush=True)
        write_csv(name, rows)
        write_csv(f"{name}_counts", summary(rows))
    print(show(summary(rows)))


if __name__ == "__main__":
    main()
