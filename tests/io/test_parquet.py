"""Parquet files through pyarrow, and what is said where it is not installed."""

from __future__ import annotations

import sys
from importlib import import_module
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
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


class StandIn:
    """What is asked of `pyarrow.parquet.ParquetFile`, of columns that are held as lists."""

    columns: ClassVar[dict[str, list]] = {}

    def __init__(self, path):
        kinds = {name: SimpleNamespace(type=self._type(values)) for name, values in self.columns.items()}
        self.schema_arrow = SimpleNamespace(names=list(self.columns), field=kinds.__getitem__)

    @staticmethod
    def _type(values):
        return "string" if isinstance(values[0], str) else "double"

    def iter_batches(self, size):
        for start in range(0, len(next(iter(self.columns.values()))), size):
            yield SimpleNamespace(
                column=lambda name, start=start: self._column(self.columns[name][start : start + size])
            )

    def _column(self, values):
        made = np.array(values, object if self._type(values) == "string" else float)
        return SimpleNamespace(to_pylist=lambda: values, to_numpy=lambda zero_copy_only: made, type=self._type(values))


@pytest.fixture(params=["pyarrow", "stand-in"])
def written(request, tmp_path, monkeypatch):
    """Return what writes columns to a file: pyarrow, or a stand-in for what is asked of it where it is missing."""
    path = tmp_path / "w.parquet"

    def write(**columns):
        if request.param == "pyarrow":
            pyarrow = pytest.importorskip("pyarrow")
            import_module("pyarrow.parquet").write_table(pyarrow.table(columns), path)
        else:
            path.write_bytes(b"PAR1" + b"\0" * 20 + b"PAR1")
            monkeypatch.setattr(StandIn, "columns", columns)
            monkeypatch.setitem(sys.modules, "pyarrow.parquet", SimpleNamespace(ParquetFile=StandIn))
        return path

    return write


def test_groups_of_a_table(written, monkeypatch):
    monkeypatch.setattr("kernelweave.io.formats.parquet.ROWS_AT_ONCE", 2)
    path = written(**TABLE, gene=["g1", "g1", "g2"])
    data = kw.read(path, group="gene")
    assert (data.groups.tolist(), data.feature_names) == (["g1", "g1", "g2"], ("a", "b"))
    assert kw.read(path, group="4", label="2").groups.tolist() == ["g1", "g1", "g2"]
    with pytest.raises(ValueError, match="has no column 'chrom' for the group; it has a, b, label, id, gene"):
        kw.read(path, group="chrom")


def test_a_column_of_sequences(written, monkeypatch):
    monkeypatch.setattr("kernelweave.io.formats.parquet.ROWS_AT_ONCE", 2)
    path = written(id=["p", "q", "r"], dna=["ACTT", "GG", "TTA"], label=[1, -1, 1], chrom=["c1", "c2", "c1"])
    for data in (kw.read(path, group="chrom"), kw.read(path, sequence="dna", group="chrom")):
        assert (data.X.to_strings(), data.X.alphabet.name) == (["ACTT", "GG", "TTA"], "dna")
        assert (data.y.tolist(), data.ids.tolist(), data.groups.tolist()) == (
            [1, -1, 1],
            ["p", "q", "r"],
            ["c1", "c2", "c1"],
        )
    with pytest.raises(ValueError, match=r"w\.parquet:2: row 1 \(q\) has the unknown letter 'G'"):
        kw.read(path, alphabet=kw.Alphabet("mine", "ACT"))
    S = store_blocks(path.with_suffix(".kws"), table_blocks(path, "parquet")[1])
    assert (S[:].to_strings(), S.y.tolist()) == (["ACTT", "GG", "TTA"], [1, -1, 1])


def test_cells_without_a_sequence(written):
    with pytest.raises(ValueError, match=r"w\.parquet: row 2: the sequence is empty"):
        kw.read(written(seq=["ACGT", ""], label=[1, -1]))


def test_folds_by_a_column_from_the_shell(written, tmp_path):
    X, y = kw.datasets.make_splice(40, random_state=0)
    path = written(sequence=X.to_strings(), label=y.tolist(), gene=[f"g{i % 8}" for i in range(40)])
    result = CliRunner().invoke(app, ["cv", str(path), "--kernel", "spectrum:2", "--group", "gene", "--folds", "2"])
    assert result.exit_code == 0, result.output
    assert "8, each on one side of every fold" in result.stderr


def test_a_damaged_file(path):
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(ValueError, match=r"t\.parquet cannot be read as parquet: "):
        kw.read(path)


def test_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1" + b"\0" * 20 + b"PAR1")
    with pytest.raises(ImportError, match=r"needs pyarrow, which is not installed; get it with pip install 'kernelwe"):
        kw.read(tmp_path / "t.parquet")
