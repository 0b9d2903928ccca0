"""Model files of the former version load and predict what they did."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.estimators.files.persistence import VERSION, read_header

FOLDER = Path(__file__).parent / "models"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


def values(model, rows):
    """Decision values, or the numbers that a regressor predicts."""
    return model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)


@pytest.mark.parametrize("name", EXPECTED)
def test_models_of_version_1_predict_what_they_did(name, tmp_path):
    path, known = FOLDER / f"{name}.kw", EXPECTED[name]
    assert read_header(path)["version"] == 1
    model = kw.load(path)
    rows = known["rows"] if isinstance(known["rows"][0], str) else np.array(known["rows"])
    np.testing.assert_allclose(values(model, rows), known["decision"], rtol=1e-12, atol=1e-12)
    kw.save(model, tmp_path / "new.kw")
    assert read_header(tmp_path / "new.kw")["version"] == VERSION
    again = kw.load(tmp_path / "new.kw")
    assert np.array_equal(values(again, rows), values(model, rows))


def test_a_process_that_has_loaded_no_estimator_reads_models():
    code = f"import kernelweave as kw; print(type(kw.load({str(FOLDER / 'cgboost.kw')!r})).__name__)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "CGBoostRegressor"
