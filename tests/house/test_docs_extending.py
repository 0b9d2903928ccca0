"""The tutorials of the manual run as they stand; what they enter into registries is taken out again."""

from __future__ import annotations

import sys

import pytest

from kernelweave.kernels.registry import ALIASES, KERNELS
from kernelweave.losses.registry import LOSSES
from kernelweave.solvers.choose import SVM_NEEDS
from kernelweave.solvers.svm import SVM_SOLVERS
from pages import ROOT, examples

sys.path.append(str(ROOT / "docs"))
import architecture


@pytest.fixture
def registries():
    before = [(table, dict(table)) for table in (ALIASES, KERNELS, LOSSES, SVM_NEEDS, SVM_SOLVERS)]
    yield
    for table, held in before:
        table.clear()
        table.update(held)


@pytest.mark.usefixtures("registries")
def test_the_tutorials_run_from_top_to_bottom():
    names = examples("docs/extending.md", 3)
    model, upper, slow = names["model"], names["upper"], names["slow"]
    assert model.duality_gap_ <= model.tol
    assert model.score(names["X"], names["y"]) > 0.9
    assert upper.duality_gap_ <= upper.tol
    assert abs((names["target"] < upper.predict(names["T"])).mean() - 0.9) < 0.03
    assert slow.converged_
    assert names["kw"].verify(slow, names["X"], names["y"]).verdict == "confirmed"


def test_the_drawing_has_every_room_and_follows_the_rules():
    rooms = {room for line in architecture.layers() for room in line}
    folders = {path.name for path in (ROOT / "src/kernelweave").iterdir() if (path / "__init__.py").exists()}
    assert folders <= rooms
    assert architecture.tenants()["_numba"] == ["numba", "llvmlite"]
    drawn = architecture.picture()
    assert all(f">{room}</text>" in drawn for room in rooms)
