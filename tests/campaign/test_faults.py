"""Every fault in the table of README.md has tests, and they are there; the table of stages has every stage."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .report import table
from .stages import STAGES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "tests" / "campaign" / "README.md").read_text()
FAULTS = dict(re.findall(r"^\| ([RUD]\d+) \|[^|]*\|([^|]*)\|$", PAGE, re.M))


def test_all_faults_are_listed():
    assert set(FAULTS) == {*(f"R{n}" for n in range(1, 14)), "U1", "D4"}
    assert set(re.findall(r"^\| ([a-z ]+) \| [a-z]", PAGE, re.M)) >= set(STAGES)


@pytest.mark.parametrize("name", ["campaign", "campaign_bounds"])
def test_the_counts_of_the_page_are_those_of_the_file(name):
    assert "\n".join(table(ROOT / "benchmarks" / "results" / f"{name}.csv")) in PAGE


@pytest.mark.parametrize("fault", FAULTS)
def test_the_tests_of_a_fault_are_there(fault):
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", FAULTS[fault])
    assert named
    for path, test in named:
        assert f"def {test}" in (ROOT / path).read_text(), f"{path} has no {test}"
