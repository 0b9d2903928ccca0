"""Files of every version of the formats, as `former/make.py` wrote them: models, saved rows, stores, checkpoints."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.data.kinds import KINDS
from kernelweave.data.stores.manifest import VERSION as STORES
from kernelweave.estimators.files.persistence import VERSION as MODELS

FOLDER = Path(__file__).parent / "former"
sys.path.insert(0, str(FOLDER))
from make import checkpointed, models, rows, scores, targets  # noqa: E402

sys.path.pop(0)
VERSIONS = sorted(path for path in FOLDER.iterdir() if path.name.startswith("v"))
NAMES = {path.name: json.loads((path / "expected.json").read_text())["scores"] for path in VERSIONS}


@pytest.fixture(scope="module")
def given():
    return rows()


@pytest.mark.parametrize(
    ("version", "name"), [(v, name) for v, some in NAMES.items() for name in some if name != "fit"]
)
def test_models_predict_what_they_did(version, name, given, tmp_path):
    X, known = given[models()[name][0]], NAMES[version][name]
    model = kw.load(FOLDER / version / f"{name}.kw")
    np.testing.assert_allclose(scores(model, X), known, rtol=1e-9, atol=1e-9)
    kw.save(model, tmp_path / "again.kw")
    assert np.array_equal(scores(kw.load(tmp_path / "again.kw"), X), scores(model, X))


@pytest.mark.parametrize("version", NAMES)
def test_saved_rows_are_what_they_were(version, given):
    home = FOLDER / version
    assert kw.Sequences.open(home / "dna.kwseq") == given["dna"]
    assert kw.Sequences.open(home / "words.kwseq") == given["words"]
    assert kw.Lattices.open(home / "lattices.kwlat") == given["lattices"]


@pytest.mark.parametrize("version", NAMES)
@pytest.mark.parametrize("name", ["table", "sparse", "dna", "lattices"])
def test_stores_hold_what_they_did(version, name, given):
    data = kw.read(FOLDER / version / f"{name}.kws")
    data.X.verify()
    found, wanted = data.X[:], given[name]
    if name == "sparse":
        assert (found != wanted).nnz == 0
    else:
        assert np.all(found == wanted) if name == "table" else found == wanted
    assert np.array_equal(np.asarray(data.y), targets())


@pytest.mark.parametrize("version", NAMES)
def test_runs_go_on_from_their_checkpoints(version, given, tmp_path):
    shutil.copy(FOLDER / version / "fit.kwc", tmp_path / "fit.kwc")
    steps = []
    model = checkpointed(tmp_path / "fit.kwc", callbacks=(steps.append,)).fit(given["table"], targets())
    assert model.converged_
    assert len(steps) <= 1  # the run was over when it was written
    np.testing.assert_allclose(scores(model, given["table"]), NAMES[version]["fit"], rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="checkpoint"):
        checkpointed(tmp_path / "fit.kwc").fit(given["table"][:, :2], targets())


def test_there_are_files_of_the_present_version():
    assert f"v{MODELS}" in NAMES
    assert STORES == 1  # a new version of the format of stores needs new files
    assert all(KINDS[name].packing is not None for name in ("table", "sequences", "lattices"))
