"""`kernelweave train --dry-run`: the plan of a training, and nothing else."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.io import write
from kernelweave.operators.sharded import operator as sharded
from kernelweave.solvers.active import rounds


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.setattr(sharded, "SMALLEST_PART", 64)
    monkeypatch.setattr(rounds, "PILOT", 64)
    write(tmp_path / "rows.tsv", *kw.datasets.make_splice(300, random_state=0))
    return tmp_path / "rows.tsv"


def run(*arguments, code=0):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.stderr


def test_a_plan_is_shown_and_nothing_is_written(rows):
    out, checkpoint = rows.with_name("m.kw"), rows.with_name("m.kwc")
    said = run("train", rows, "--kernel", "wd:5", "--dry-run", "--out", out, "--checkpoint", checkpoint)
    names = [line.split("  ")[0] for line in said.splitlines()]
    assert names == ["rows", "held", "solver"]
    assert "dense, 720 kB" in said
    assert sorted(path.name for path in rows.parent.iterdir()) == ["rows.tsv"]


def test_rounds_over_parts_are_planned(rows):
    given = ("train", rows, "--kernel", "wd:5", "--solver", "active_set", "--jobs", 1, "--dry-run")
    said = run(*given)
    for name in (
        "parts        4 of up to 75 rows, 1 at a time",
        "travels",
        "support      about",
        "working set",
        "rounds",
    ):
        assert name in said
    found = json.loads(run(*given, "--json"))
    assert (found["rows"], found["parts"], found["solver"], found["held"]) == (300, 4, "active_set", "sharded")
    assert found["working_set"] <= found["largest_set"] == 300
    assert found["expected_rounds"] == [1, 2]  # most rows are support vectors
    assert found["expected_seconds"][0] > 0


@pytest.mark.parametrize(
    "more", [("--kernel", "wd:3", "--kernel", "spectrum:2"), ("--model", "cgboost"), ("--task", "novelty")]
)
def test_every_model_can_be_planned(rows, more):
    assert json.loads(run("train", rows, *more, "--dry-run", "--json"))["rows"] == 300


def test_a_training_needs_a_place_for_its_model(rows):
    assert "--dry-run" in run("train", rows, code=2)
