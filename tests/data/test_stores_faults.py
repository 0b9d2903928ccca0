"""Stores that are damaged, forged or half written: one sentence, with the name of the part."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib

import numpy as np
import pytest

from kernelweave.data import Sequences
from kernelweave.data.atomic import open_aside
from kernelweave.data.stores import Stored, StoreWriter, write_store
from kernelweave.data.stores import files as part_files
from kernelweave.data.stores.manifest import MANIFEST, read_manifest

ROWS = Sequences.from_strings(["ACGTA", "C", "GGG", "TTTTTTTTT", "ACN"], unknown="mask", ids=list("abcde"))


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "x.kws"
    with StoreWriter(path, part_rows=2) as writer:
        writer.add(ROWS, ["p", "q", "p", "q", "p"], np.arange(5.0))
    return path


def said(call):
    """Return the one sentence of an error."""
    with pytest.raises((ValueError, OSError)) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    return text


def second_part(store):
    return store / Stored(store).manifest.parts[1].file


def test_a_part_that_is_missing(store):
    name = second_part(store)
    S = Stored(store)
    assert S[0] == "ACGTA"
    name.unlink()
    assert f"The part {name.name} of {store} is missing" in said(lambda: S[2:4])
    assert f"The part {name.name} of {store} is missing" in said(lambda: Stored(store)[:])
    assert S[[0, 4]].to_strings() == ["ACGTA", "ACN"]


def test_a_part_that_is_truncated(store):
    name = second_part(store)
    S = Stored(store)
    assert S[2] == "GGG"
    os.truncate(name, 64)
    assert f"The part {name.name} of {store} is truncated: it has 64 bytes instead of" in said(lambda: S[2])


@pytest.mark.parametrize("section", ["letters", "offsets", "label_codes", "row_weights", "id_bytes", "id_offsets"])
def test_a_part_that_has_changed(store, section):
    name = second_part(store)
    part = Stored(store).manifest.parts[1]
    with open(name, "rb+") as file:
        file.seek(part.sections[section].at)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    message = f"The part {name.name} of {store} is changed: the checksum of its section {section!r}"
    assert message in said(lambda: Stored(store)[:])
    assert Stored(store)[:2] == ROWS[:2]


def test_a_part_that_changes_under_our_feet(store):
    S, name = Stored(store), second_part(store)
    assert S[:] == ROWS
    data = bytearray(name.read_bytes())
    data[64] ^= 255
    name.write_bytes(data)
    os.utime(name, ns=(0, 0))
    assert "the checksum of its section 'letters'" in said(lambda: S[2:4])


def test_a_part_is_checked_once_in_a_process(store, monkeypatch):
    counted = []
    crc = zlib.crc32
    monkeypatch.setattr(part_files.zlib, "crc32", lambda data: counted.append(1) or crc(data))
    for _ in range(3):
        assert Stored(store)[:] == ROWS
    assert len(counted) == sum(len(part.sections) for part in read_manifest(store).parts)


def test_a_file_that_is_something_else(store):
    name = second_part(store)
    name.write_bytes(b"\0" * name.stat().st_size)
    assert "is changed: it is not the file that was written" in said(lambda: Stored(store)[:])


def changed(store, change, sealed=False):
    """Change a manifest, and if asked for give it the fingerprint that belongs to it."""
    path = store / MANIFEST
    found = json.loads(path.read_text())
    change(found)
    if sealed:
        found["fingerprint"] = fingerprint(found)
    path.write_text(json.dumps(found))


def fingerprint(found):
    import hashlib

    plain = {name: found[name] for name in ("kind", "head", "part_rows", "classes", "parts")}
    plain["parts"] = [{name: value for name, value in part.items() if name != "file"} for part in plain["parts"]]
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def setting(*path_and_value):
    *path, name, value = path_and_value

    def change(found):
        for key in path:
            found = found[key]
        found[name] = value

    return change


HOSTILE = {
    "path with ..": (setting("parts", 0, "file", "../../etc/passwd"), "file"),
    "absolute path": (setting("parts", 0, "file", "/etc/passwd"), "file"),
    "negative rows": (setting("parts", 0, "rows", -2), "rows"),
    "other rows": (setting("rows", 6), "rows"),
    "rows that are no number": (setting("rows", "5"), "rows"),
    "rows as a truth value": (setting("rows", True), "rows"),
    "huge rows": (setting("parts", 0, "rows", 1 << 70), "rows"),
    "no parts": (setting("parts", {}), "parts"),
    "part of rows": (setting("part_rows", 3), "part_rows"),
    "no rows a part": (setting("part_rows", 0), "part_rows"),
    "negative size": (setting("parts", 1, "sections", "letters", "size", -1), "size"),
    "huge size": (setting("parts", 1, "sections", "letters", "size", 1 << 61), "sections"),
    "huge place": (setting("parts", 1, "sections", "letters", "at", 1 << 60), "sections"),
    "crooked place": (setting("parts", 1, "sections", "letters", "at", 65), "sections"),
    "objects": (setting("parts", 1, "sections", "letters", "dtype", "object"), "dtype"),
    "negative letters": (setting("parts", 1, "facts", "longest", -1), "longest"),
    "unknown kind": (setting("kind", "graphs"), "kind"),
    "kind without stores": (setting("kind", "views"), "kind"),
    "no alphabet": (setting("head", {}), "head"),
    "alphabet of numbers": (setting("head", "alphabet", "letters", [1, 2]), "head"),
    "classes": (setting("classes", [["p"], "q"]), "classes"),
    "classes that are none": (setting("classes", None), "classes"),
    "changed afterwards": (setting("classes", ["q", "p"]), "fingerprint"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_manifests(case, store):
    change, entry = HOSTILE[case]
    changed(store, change)
    message = f"manifest.json is damaged: its entry {entry!r} is not sound; convert the rows again."
    assert said(lambda: Stored(store)).endswith(message)


FORGED = {
    "rows in a longer part": setting("parts", 1, "facts", "longest", 1000),
    "letters beyond the section": setting("parts", 1, "facts", "letters", 10**6),
    "fewer letters": setting("parts", 1, "sections", "letters", "size", 1),
    "fewer offsets": setting("parts", 1, "sections", "offsets", "size", 2),
    "offsets of another type": setting("parts", 1, "sections", "offsets", "dtype", "uint64"),
    "no letters": lambda found: found["parts"][1]["sections"].pop("letters"),
    "no offsets": lambda found: found["parts"][1]["sections"].pop("offsets"),
    "fewer labels": setting("parts", 1, "sections", "label_codes", "size", 1),
    "fewer classes": setting("classes", ["p"]),
    "fewer ids": setting("parts", 1, "sections", "id_bytes", "size", 1),
    "no ids": lambda found: found["parts"][1]["sections"].pop("id_bytes"),
    "fewer weights": setting("parts", 1, "sections", "row_weights", "size", 1),
    "a larger alphabet": setting("head", "alphabet", "letters", list("ACGTXYZ")),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_manifests(case, store):
    def change(found):
        FORGED[case](found)
        if "alphabet" in case:
            found["head"]["alphabet"]["complement"] = None
        data = second_part(store).read_bytes()
        for one in found["parts"][1]["sections"].values():
            size = one["size"] * np.dtype(one["dtype"]).itemsize
            one["crc32"] = zlib.crc32(data[one["at"] : one["at"] + size])

    changed(store, change, sealed=True)
    text = said(lambda: Stored(store)[:])
    assert "do not fit together" in text or "is not sound" in text


def test_the_fingerprint_of_this_file_is_that_of_the_library(store):
    assert fingerprint(json.loads((store / MANIFEST).read_text())) == Stored(store).fingerprint


def test_manifests_that_are_none(store, monkeypatch):
    path = store / MANIFEST
    whole = path.read_text()
    for text, message in (
        (whole[:100], "manifest.json is damaged: it is not JSON"),
        ("[" * 100_000, "manifest.json is damaged: it is not JSON"),
        ("[]", "is not the manifest of a store"),
        ('{"format": "zarr"}', "is not the manifest of a store"),
        (whole.replace('"version": 1', '"version": 2'), "has version 2 of the format of stores, but this kernelweave"),
    ):
        path.write_text(text)
        assert message in said(lambda: Stored(store))
    monkeypatch.setattr("kernelweave.data.stores.manifest.MAX_MANIFEST", 10)
    assert "is damaged: no manifest has" in said(lambda: Stored(store))
    path.unlink()
    assert f"{store} is not a store: it has no manifest.json" in said(lambda: Stored(store))
    assert "nowhere does not exist" in said(lambda: Stored(store / "nowhere"))


def test_targets_that_cannot_be_written(store, tmp_path):
    (tmp_path / "file").touch()
    assert "it is a file, but a store is a directory" in said(lambda: write_store(tmp_path / "file", ROWS))
    assert "it is a directory that holds other files, such as" in said(lambda: write_store(tmp_path, ROWS))
    assert "none does not exist" in said(lambda: write_store(tmp_path / "none" / "x.kws", ROWS))
    (tmp_path / "empty").mkdir()
    assert write_store(tmp_path / "empty", ROWS)[:] == ROWS


def full_after(monkeypatch, n):
    """Let the disk be full after n parts."""
    written = []
    write = part_files.open_aside

    def limited(path, size):
        written.append(path)
        return open_aside("/dev/full") if len(written) > n else write(path, size)

    monkeypatch.setattr(part_files, "open_aside", limited)


@pytest.mark.parametrize("append", [False, True])
def test_a_full_disk_leaves_the_store_as_it_was(append, store, monkeypatch):
    before = {path.name: path.read_bytes() for path in store.iterdir()}

    def write():
        with StoreWriter(store, append=append, part_rows=1) as writer:
            writer.add(ROWS[::-1], list("ppppp"), np.ones(5))

    full_after(monkeypatch, 1)
    message = f"Cannot write {store}: no space left on device; what was written of it is removed."
    assert said(write) == message
    assert {path.name: path.read_bytes() for path in store.iterdir()} == before


def test_a_full_disk_leaves_no_new_store(tmp_path, monkeypatch):
    full_after(monkeypatch, 0)
    assert "no space left on device" in said(lambda: write_store(tmp_path / "new.kws", ROWS))
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys
from kernelweave.data import Sequences
from kernelweave.data.atomic import open_aside
from kernelweave.data.stores import StoreWriter
writer = StoreWriter(sys.argv[1], append=len(sys.argv) > 2, part_rows=2)
writer.add(Sequences.from_strings(["AAAA"] * 5, ids=list("fghij")), ["p"] * 5, [1.0] * 5)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_leaves_the_old_store(store):
    for options in ((), ("append",)):
        assert subprocess.run([sys.executable, "-c", KILLED, store, *options], check=False).returncode == -9
        assert Stored(store)[:] == ROWS
        Stored(store).verify()
    assert len(list(store.iterdir())) > 4
    write_store(store, ROWS)
    assert len(list(store.iterdir())) == 2


def test_a_killed_writer_leaves_no_new_store(tmp_path):
    path = tmp_path / "new.kws"
    subprocess.run([sys.executable, "-c", KILLED, path], check=False)
    assert "is not a store: it has no manifest.json; a conversion that was interrupted" in said(lambda: Stored(path))
    assert write_store(path, ROWS)[:] == ROWS
