"""Model files of version 1 that hold every kind of rows: views, lattices, sparse tables, Gram matrices, pipelines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import kernelweave as kw

FOLDER = Path(__file__).parent / "models" / "rows"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
TABLE = np.array(EXPECTED["T"])
COUNTS = sparse.csr_array(np.where(TABLE > 0, TABLE, 0))
ROWS = {
    "views": {"size": TABLE, "dna": EXPECTED["dna"], "sparse": COUNTS, "spare": TABLE[:, :1]},
    "lattices": kw.Lattices.from_sequences(kw.Sequences.from_tokens([text.split() for text in EXPECTED["words"]])),
    "sparse": COUNTS,
    "given": {"k": TABLE @ TABLE.T, "t": TABLE},
    "pipeline": TABLE,
}
KINDS = {
    "views": "views named size, dna, sparse, spare",
    "lattices": "lattices of words (4 of them)",
    "sparse": "a table of 3 columns",
    "given": "views named k, t",
    "pipeline": "a table of 3 columns",
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_former_models(name, tmp_path):
    model = kw.load(FOLDER / f"{name}.kw")
    for fitted in (model, again(model, tmp_path / "again.kw")):
        core = fitted[-1] if name == "pipeline" else fitted
        assert str(core._input) == KINDS[name]
        scores = fitted.predict(ROWS[name]) if name == "pipeline" else fitted.decision_function(ROWS[name])
        np.testing.assert_allclose(scores, EXPECTED[name], rtol=1e-12, atol=1e-12)


def again(model, path):
    kw.save(model, path)
    return kw.load(path)
