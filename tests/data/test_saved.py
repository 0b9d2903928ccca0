"""Files of saved rows: damage and forgery are refused before a loop sees them; former versions are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelweave.data import Lattices, Sequences
from kernelweave.data.saved import ALIGN, FORMER, MAGIC, read_saved, write_saved
from kernelweave.io import read

X = Sequences.from_strings(["ACGT", "", "NAC"], unknown="mask", ids=["a", "b", "c"])
L = Lattices.from_arcs([([(0, 1, "x", 0.5), (0, 1, "y", 0.5)], [1]), ([(0, 1, "x", 1.0), (1, 2, "z", 1.0)], [2])])
ROWS = {"x.kwseq": X, "x.kwlat": L}


def parts(rows: Any, folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    rows.save(folder / "whole")
    return read_saved(folder / "whole", mmap=False)


@pytest.mark.parametrize("name", ROWS)
def test_every_changed_byte_is_refused_or_means_nothing(name: str, tmp_path: Path) -> None:
    path, rows = tmp_path / name, ROWS[name]
    rows.save(path)
    whole, refused = path.read_bytes(), 0
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        try:
            opened, said = type(rows).open(path), name
        except ValueError as error:
            opened, said, refused = rows, str(error), refused + 1
        assert opened == rows, "a byte between arrays"
        assert name in said
    assert refused > len(whole) // 2


FORGED: list[tuple[str, dict[str, Any]]] = [
    ("x.kwseq", {"codes": np.full(7, 200, np.uint8)}),
    ("x.kwseq", {"codes": np.zeros(7, np.uint16)}),
    ("x.kwseq", {"offsets": np.array([0, 4, 4, 8])}),
    ("x.kwseq", {"offsets": np.array([-1, 4, 4, 7])}),
    ("x.kwseq", {"offsets": np.array([0, 5, 4, 7])}),
    ("x.kwseq", {"offsets": np.zeros(0, np.int64)}),
    ("x.kwseq", {"id_offsets": np.array([0, 1])}),
    ("x.kwseq", {"id_bytes": np.full(3, 255, np.uint8)}),
    ("x.kwlat", {"source": np.array([0, 0, 0, 9], np.int32)}),
    ("x.kwlat", {"target": np.array([1, 1, 1, 0], np.int32)}),
    ("x.kwlat", {"labels": np.array([0, 1, 0, 77], np.int32)}),
    ("x.kwlat", {"weights": np.array([0.5, np.nan, 1.0, 1.0])}),
]


@pytest.mark.parametrize(("name", "changes"), FORGED)
def test_forged_files_with_right_sums_are_refused(name: str, changes: dict[str, Any], tmp_path: Path) -> None:
    meta, arrays = parts(ROWS[name], tmp_path)
    assert set(changes) <= set(arrays), "the forgery would be ignored"
    write_saved(tmp_path / name, meta, {**arrays, **changes})
    with pytest.raises(ValueError, match="its parts do not fit together"):
        read(tmp_path / name)


@pytest.mark.parametrize("meta", [{}, {"alphabet": []}, {"alphabet": {"name": "dna"}}, {"alphabet": "dna"}])
def test_descriptions_that_do_not_fit_are_refused(meta: dict[str, Any], tmp_path: Path) -> None:
    _, arrays = parts(X, tmp_path)
    write_saved(tmp_path / "x.kwseq", meta, arrays)
    with pytest.raises(ValueError, match="its parts do not fit together"):
        Sequences.open(tmp_path / "x.kwseq")


@pytest.mark.parametrize("header", ["[]", '{"arrays": 3, "meta": {}}', '{"arrays": [{}], "meta": []}', "[" * 5000])
def test_headers_of_another_form_are_refused(header: str, tmp_path: Path) -> None:
    path = tmp_path / "x.kwseq"
    path.write_bytes(FORMER + len(header).to_bytes(8, "little") + header.encode() + b"\0" * 200)
    with pytest.raises(ValueError, match="is damaged: its header cannot be read"):
        Sequences.open(path)


def former(rows: Any, folder: Path) -> bytes:
    """Return a file of version 1: no sum of the header, none of the arrays."""
    meta, arrays = parts(rows, folder)
    listed, body = [], b""
    for name, array in arrays.items():
        body += b"\0" * (-len(body) % ALIGN)
        listed.append({"name": name, "dtype": array.dtype.name, "size": int(array.size), "at": len(body)})
        body += array.tobytes()
    header = json.dumps({"meta": meta, "arrays": listed}).encode()
    whole = FORMER + len(header).to_bytes(8, "little") + header
    return whole + b"\0" * (-len(whole) % ALIGN) + body


@pytest.mark.parametrize("name", ROWS)
def test_files_of_version_1_are_read_and_their_letters_checked(name: str, tmp_path: Path) -> None:
    path, rows = tmp_path / name, ROWS[name]
    whole = former(rows, tmp_path)
    path.write_bytes(whole)
    assert rows == read(path).X
    assert not whole.startswith(MAGIC)
    if rows is X:
        at = whole.rindex(X.codes.tobytes())
        path.write_bytes(whole[:at] + b"\xc8" + whole[at + 1 :])
        with pytest.raises(ValueError, match="is damaged"):
            Sequences.open(path)
