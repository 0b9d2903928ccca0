"""Counts by stage, kind and outcome: the table that a campaign prints, and its CSV."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from .stage import Outcome, Stage

LONGEST = 500
"""Letters that are printed of what is said of a failure; the rest is in the folder of failures."""
MOST_KINDS = 40
"""Lines of a stage in the printed table; the CSV has all."""


@dataclass
class Tally:
    """What came out of the trials of a stage."""

    stage: Stage
    wanted: int
    seconds: float = 0.0
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[tuple[int, Outcome]] = field(default_factory=list)

    def add(self, number: int, outcome: Outcome) -> None:
        """Count a trial."""
        self.counts[outcome.kind, outcome.outcome] += 1
        if outcome.failed:
            self.failures.append((number, outcome))

    @property
    def trials(self) -> int:
        """Number of trials that ended."""
        return self.counts.total()

    @property
    def short(self) -> bool:
        """Whether trials are missing."""
        return self.trials < self.wanted

    def lines(self) -> list[str]:
        """Return the lines of the printed table."""
        head = f"{self.stage.name}: {self.trials:,} of {self.wanted:,} trials in {self.seconds:.0f} s, "
        head += f"{len(self.failures)} failures"
        kinds = sorted({kind for kind, _ in self.counts})
        outcomes = sorted({outcome for _, outcome in self.counts})
        wide = max((len(kind) for kind in kinds), default=4)
        table = [f"  {'':{wide}}" + "".join(f"  {outcome:>12}" for outcome in outcomes)]
        rows = [[self.counts[kind, outcome] for outcome in outcomes] for kind in kinds]
        for kind, row in list(zip(kinds, rows))[:MOST_KINDS]:
            table.append(f"  {kind:{wide}}" + "".join(f"  {count or '':>12}" for count in row))
        if len(kinds) > 1:
            sums = [sum(column) for column in zip(*rows)]
            table.append(f"  {'all':{wide}}" + "".join(f"  {count:>12,}" for count in sums))
        return [head, *table]

    def told(self) -> list[str]:
        """Return what is said of failures: the first of each group that differs in numbers and names only."""
        groups: dict[tuple[str, str, str], list[tuple[int, Outcome]]] = {}
        for number, one in self.failures:
            alike = re.sub(r"'[^']*'|\d+|campaign-\w+| \[.*", "", one.text.partition("\n")[0])
            groups.setdefault((one.kind, one.outcome, alike), []).append((number, one))
        return [
            f"  {self.stage.name} {group[0][0]} (of {len(group)} alike): {kind}, {outcome}: "
            f"{group[0][1].text[:LONGEST]}"
            for (kind, outcome, _), group in groups.items()
        ]


NAMES = ("stage", "kind", "outcome", "trials", "failure", "wanted", "seconds")


def write_csv(path: Path, tallies: list[Tally]) -> None:
    """Write the counts, in the place of those that the file has of the same stages."""
    run = {tally.stage.name for tally in tallies}
    kept = [row for row in read_csv(path) if row["stage"] not in run] if path.exists() else []
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, NAMES, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)
        for tally in tallies:
            for (kind, outcome), count in sorted(tally.counts.items()):
                failed = int(Outcome(kind, outcome).failed)
                row = (tally.stage.name, kind, outcome, count, failed, tally.wanted, round(tally.seconds, 1))
                writer.writerow(dict(zip(NAMES, row)))


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the lines of a file of counts."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def table(path: Path) -> list[str]:
    """Return the sums of a file of counts as lines of Markdown."""
    sums: dict[str, Counter[str]] = {}
    for row in read_csv(path):
        sums.setdefault(row["stage"], Counter())[row["outcome"]] += int(row["trials"])
    lines = ["| stage | trials | failures | outcomes |", "|---|---|---|---|"]
    for stage, counts in sums.items():
        failures = sum(count for outcome, count in counts.items() if Outcome("", outcome).failed)
        told = ", ".join(f"{outcome} {count:,}" for outcome, count in sorted(counts.items()))
        lines.append(f"| {stage} | {counts.total():,} | {failures:,} | {told} |")
    return lines
