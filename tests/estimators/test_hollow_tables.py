"""Sparse tables that declare more columns than anything can hold: what a file declares costs nothing to declare."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import kernelweave as kw

RNG = np.random.default_rng(0)
ROWS, COLUMNS, WIDE = 30, 50, 1 << 50
NARROW = sparse.csr_array(RNG.normal(size=(ROWS, COLUMNS)) * (RNG.random((ROWS, COLUMNS)) < 0.1))
HOLLOW = sparse.csr_array((NARROW.data, NARROW.indices, NARROW.indptr), shape=(ROWS, WIDE))
Y = np.where(np.arange(ROWS) % 2, 1, -1)
MODELS = [
    kw.KernelClassifier(kw.Linear()),
    kw.KernelRegressor(kw.Linear(), loss="squared"),
    kw.MKLClassifier([kw.Linear(), kw.RBF(width=1.0)]),
    kw.CGBoostClassifier([kw.Linear(), kw.RBF(width=1.0)]),
    kw.KernelClassifier(kw.Nystrom(kw.RBF(width=1.0), n_components=8)),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:40])
def test_empty_columns_cost_nothing_and_change_nothing(model, tmp_path):
    wanted = model.fit(NARROW, Y).predict(NARROW)
    model.fit(HOLLOW, Y)
    np.testing.assert_allclose(model.predict(HOLLOW), wanted, rtol=1e-6, atol=1e-8)
    kw.save(model, tmp_path / "model.kw")
    assert np.array_equal(kw.load(tmp_path / "model.kw").predict(HOLLOW), model.predict(HOLLOW))


def test_features_of_every_column_are_refused():
    with pytest.raises(ValueError, match="nearly all of the 1125899906842624 columns are empty; use Nystrom"):
        kw.KernelClassifier(kw.Fourier(kw.RBF(width=1.0), n_components=8)).fit(HOLLOW, Y)


def test_a_store_that_declares_them_is_read_or_refused(tmp_path):
    from kernelweave.data.stores import write_store

    write_store(tmp_path / "x.kws", HOLLOW)
    found = kw.read(tmp_path / "x.kws").X
    assert found.shape == (ROWS, WIDE)
    assert (found[:] != HOLLOW).nnz == 0
    manifest = tmp_path / "x.kws" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(str(WIDE), str(WIDE + 1)))
    with pytest.raises(ValueError, match="its entry 'fingerprint' is not sound"):
        kw.read(tmp_path / "x.kws")
