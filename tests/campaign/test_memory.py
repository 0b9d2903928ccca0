"""A few cells of the memory matrix; `make campaign` runs all of them."""

from __future__ import annotations

import csv

from .command import main
from .memory import FIRST, STAGE, Cell, cells


def test_fits_stay_within_their_memory_limit_or_are_refused(tmp_path):
    table = tmp_path / "counts.csv"
    given = ["--trials", "4", "--processes", "1", "--csv", str(table), "--failures", str(tmp_path / "failures")]
    assert main(given, {STAGE.name: STAGE}) == 0
    with open(table, newline="") as file:
        found = {row["kind"]: row["outcome"] for row in csv.DictReader(file)}
    assert list(found) == sorted(cell.name for cell in FIRST[:4])
    assert found["GappedKmer, smo"] == "refused"
    assert found["Linear, dual_coordinate"] == "fitted"


def test_the_matrix_has_every_cell_once():
    assert len(set(cells())) == len(cells())
    assert cells()[: len(FIRST)] == list(FIRST)
    assert {cell.limit for cell in cells()} == {"1MB", "20MB", "150MB"}
    assert Cell("dna", "strings", "silp", "20MB") in cells()
