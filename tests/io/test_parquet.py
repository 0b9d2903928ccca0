"""Parquet files through pyarrow, and what is said where it is not installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.io import sniff
from kernelweave.io.formats.parquet import blocks
from kernelweave.io.stores import store_blocks, table_blocks

TABLE = {"a": [1.0, 2.0, 3.0], "b": [4, 5, 6], "label": ["u", "v", "u"], "id": ["p", "q", "r"]}


@pytest.fixture
def path(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    parquet.write_table(pyarrow.table(TABLE), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_read(path):
    data = kw.read(path)
    assert sniff(path) == "parquet"
    assert data.X.tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    assert (data.y.tolist(), data.ids.tolist()) == (TABLE["label"], TABLE["id"])
    assert data.feature_names == ("a", "b")


def test_blocks_flow_into_a_store(path, tmp_path, monkeypatch):
    monkeypatch.setattr("kernelweave.io.formats.parquet.ROWS_AT_ONCE", 2)
    assert [len(block.X) for block in blocks(path)] == [2, 1]
    names, found = table_blocks(path, "parquet")
    S = store_blocks(tmp_path / "t.kws", found, names=names)
    assert np.array_equal(S[:], kw.read(path).X)
    assert (S.y.tolist(), S.ids.tolist(), S.feature_names) == (TABLE["label"], TABLE["id"], ("a", "b"))


def test_columns_that_are_wrong(path):
    with pytest.raises(ValueError, match="has no column 'c' for the label; it has a, b, label, id"):
        kw.read(path, label="c")
    with pytest.raises(ValueError, match="the column 'label' holds string, expected numbers"):
        kw.read(path, label="b")


def test_a_damaged_file(path):
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(ValueError, match=r"t\.parquet cannot be read as parquet: "):
        kw.read(path)


def test_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1" + b"\0" * 20 + b"PAR1")
    with pytest.raises(ImportError, match=r"needs pyarrow, which is not installed; get it with pip install 'kernelwe"):
        kw.read(tmp_path / "t.parquet")
