"""A slice of the campaign, in this process, and that the campaign notices what fails: `make campaign` runs an hour."""

from __future__ import annotations

import csv

import pytest

from . import command
from .broken import ASLEEP
from .broken import STAGE as BROKEN
from .command import main
from .stage import Stage
from .stages import STAGES
from .workers import empty, guarded


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_no_trial_of_a_slice_fails(stage: Stage, tmp_path):
    for number in range(stage.slice):
        outcome = guarded(stage, number, tmp_path)
        assert not outcome.failed, f"{stage.name} {number}: {outcome}"
        for one in tmp_path.iterdir():
            if one.name != "traceback.txt":
                empty(tmp_path)
                break


def test_every_way_to_fail_is_counted(tmp_path, capsys):
    table, failures = tmp_path / "counts.csv", tmp_path / "failures"
    given = ["--minutes", "1", "--trials", "6", "--processes", "2", "--csv", str(table), "--failures", str(failures)]
    assert main(given, {"broken": BROKEN}) == 1
    with open(table, newline="") as file:
        found = sorted((row["outcome"], int(row["trials"])) for row in csv.DictReader(file))
    assert found == [("crash", 1), ("growth", 1), ("hang", 1), ("inner exception", 1), ("read", 2)]
    assert "6 trials      4 failures" in capsys.readouterr().out
    assert sorted(one.name for one in failures.iterdir()) == [f"broken-{number}" for number in (1, 2, 3, 4)]


def test_a_trial_that_uses_no_processor_hangs_by_the_clock(tmp_path, capsys):
    given = ["--trials", "1", "--processes", "1", "--failures", str(tmp_path / "f")]
    assert main(given, {"asleep": ASLEEP}) == 1
    assert "asleep 0 failed: trial, hang" in capsys.readouterr().out


def test_counts_of_several_runs_are_of_other_trials(tmp_path):
    good = Stage("good", BROKEN.trial, goal=1, slice=1, minutes=1)
    given = ["--trials", "1", "--processes", "1", "--failures", str(tmp_path / "f")]
    assert main([*given, "--first", "0"], {"good": good}) == 0
    assert main([*given, "--first", "1"], {"good": good}) == 1


def test_an_interrupt_keeps_what_was_counted(tmp_path, monkeypatch):
    def interrupted(stage, trials, seconds, failures, processes):
        yield 0, guarded(stage, 0, tmp_path)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run", interrupted)
    counts = tmp_path / "counts.csv"
    good = Stage("good", BROKEN.trial, goal=9, slice=1, minutes=1)
    assert main(["--trials", "9", "--csv", str(counts), "--failures", str(tmp_path / "f")], {"good": good}) == 0
    assert counts.read_text().splitlines()[1].startswith("good,good,read,1,0,9,")


def test_counts_of_several_stages_come_together_in_one_file(tmp_path, capsys):
    counts = tmp_path / "counts.csv"
    given = ["--processes", "1", "--csv", str(counts), "--failures", str(tmp_path / "f")]
    for name, trials in (("one", "1"), ("two", "2"), ("one", "2")):
        main([*given, "--trials", trials], {name: Stage(name, BROKEN.trial, goal=1, slice=1, minutes=1)})
    capsys.readouterr()
    assert main(["--table", str(counts)]) == 0
    said = capsys.readouterr().out.splitlines()[2:]
    assert said == [f"| {name} | 2 | 1 | inner exception 1, read 1 |" for name in ("two", "one")]
