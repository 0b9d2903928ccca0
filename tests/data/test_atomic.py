"""Files appear whole with the permissions that the user expects; pipes and devices are written to."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

import kernelweave as kw
from disks import small_disk
from kernelweave.data.atomic import NotWritten, check_writable, open_aside, remove_stale
from kernelweave.data.stores import write_store

MODEL = kw.KernelClassifier(kw.RBF(width=1.0)).fit([[0.0], [1.0], [2.0]], [0, 0, 1])


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    """Set the umask for one test."""
    before = os.umask(0)
    yield os.umask
    os.umask(before)


def pipe_of(tmp_path):
    """Return a pipe, a list for what comes out of it, and the thread that reads it."""
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()
    return path, read, reader


@pytest.mark.parametrize(("mask", "expected"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_models_and_tables_have_the_permissions_that_the_umask_leaves(tmp_path, umask, mask, expected):
    umask(mask)
    kw.save(MODEL, tmp_path / "m.kw")
    with open_aside(tmp_path / "t.tsv") as file:
        file.write(b"a")
    assert (mode(tmp_path / "m.kw"), mode(tmp_path / "t.tsv")) == (expected, expected)


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, umask):
    umask(0o022)
    (tmp_path / "m.kw").touch()
    (tmp_path / "m.kw").chmod(0o660)
    kw.save(MODEL, tmp_path / "m.kw")
    assert mode(tmp_path / "m.kw") == 0o660
    assert kw.load(tmp_path / "m.kw").predict([[2.0]]) == [1]


def test_a_failure_leaves_what_was_there(tmp_path):
    (tmp_path / "a").write_text("before")
    with pytest.raises(FileNotFoundError, match="missing"), open_aside(tmp_path / "a") as file:
        file.write((tmp_path / "missing").read_bytes())
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "before")]


def test_a_pipe_stays_and_its_reader_gets_the_model(tmp_path):
    path, read, reader = pipe_of(tmp_path)
    kw.save(MODEL, path)
    reader.join(60)
    assert stat.S_ISFIFO(path.stat().st_mode)
    (tmp_path / "m.kw").write_bytes(read[0])
    np.testing.assert_array_equal(kw.load(tmp_path / "m.kw").predict([[0.0], [2.0]]), [0, 1])
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["m.kw", "pipe"]


def test_a_symbolic_link_to_a_pipe_is_written_through(tmp_path):
    path, read, reader = pipe_of(tmp_path)
    (tmp_path / "link").symlink_to(path)
    with open_aside(tmp_path / "link") as file:
        file.write(b"text")
    reader.join(60)
    assert read == [b"text"]
    assert (tmp_path / "link").is_symlink()


def test_a_device_stays(tmp_path):
    """A copy of /dev/null, so that a failure breaks nothing."""
    node = tmp_path / "null"
    try:
        os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        node.write_bytes(b"")
    except OSError:
        pytest.skip("device nodes cannot be made or opened here")
    check_writable(node)
    kw.save(MODEL, node)
    assert stat.S_ISCHR(node.stat().st_mode)


def test_a_pipe_without_a_name_is_written_to():
    """As --out /dev/stdout is, where standard output is a pipe: its real path is no path."""
    end, start = os.pipe()
    try:
        with open_aside(f"/dev/fd/{start}") as file:
            file.write(b"text")
        assert os.read(end, 10) == b"text"
    finally:
        os.close(end)
        os.close(start)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_disk_that_becomes_full_keeps_the_old_file(tmp_path):
    with small_disk(tmp_path / "disk", 64) as disk:
        (disk / "a").write_bytes(b"before")
        told = rf"^Cannot write {disk}/a: no space left on device\.$"
        with pytest.raises(NotWritten, match=told), open_aside(disk / "a") as file:
            file.writelines([b"x" * 1000] * 100)
        assert [(path.name, path.read_bytes()) for path in disk.iterdir()] == [("a", b"before")]


def test_what_is_known_to_be_too_large_is_not_begun(tmp_path):
    with small_disk(tmp_path / "disk", 64) as disk:
        told = r"a: it takes 70,000 bytes, but the disk of .*disk has 65,536 left\."
        with pytest.raises(NotWritten, match=told), open_aside(disk / "a", 70_000):
            pytest.fail("begun")
        with open_aside(disk / "a", 60_000) as file:
            file.write(b"x" * 60_000)
        model = kw.KernelNovelty("linear").fit(np.random.default_rng(0).normal(size=(3000, 3)))
        with pytest.raises(NotWritten, match="it takes"):
            kw.save(model, disk / "m.kw")
        assert names(disk) == ["a"]


def test_a_disk_that_is_read_only(tmp_path):
    told = r"no file can be made in .* \(read-only file system\)\.$"
    with small_disk(tmp_path / "disk", 64, ",ro") as disk, pytest.raises(PermissionError, match=told):
        check_writable(disk / "a")


def test_a_file_that_is_read_only_stays(tmp_path):
    (tmp_path / "a").write_text("before")
    (tmp_path / "a").chmod(0o444)
    with pytest.raises(PermissionError, match="it is read-only"), open_aside(tmp_path / "a") as file:
        file.write(b"after")
    assert (tmp_path / "a").read_text() == "before"


def test_a_directory_that_vanishes(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(NotWritten, match=r"a: the directory .*folder is gone\.$"), open_aside(folder / "a"):
        shutil.rmtree(folder)


def test_a_full_device_says_so():
    with pytest.raises(NotWritten, match=r"^Cannot write /dev/full: no space left on device\.$"):
        kw.save(MODEL, "/dev/full")


HALF = """
import sys, time
from kernelweave.data.atomic import open_aside
with open_aside(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(600)
"""


def half_written(path):
    """Return a process that has written half of a file."""
    process = subprocess.Popen([sys.executable, "-c", HALF, str(path)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"writing\n"
    return process


def test_files_of_dead_processes_are_removed_and_those_of_living_ones_are_not(tmp_path):
    (tmp_path / "a").write_text("before")
    alive, dead = half_written(tmp_path / "a"), half_written(tmp_path / "b")
    try:
        assert len(names(tmp_path)) == 3
        dead.kill()
        dead.wait()
        remove_stale(tmp_path, again=True)
        left = names(tmp_path)
        assert left[0].startswith(".a.")
        assert left[1:] == ["a"]
    finally:
        alive.kill()
        alive.wait()
    with open_aside(tmp_path / "c") as file:  # swept once already in this process
        file.write(b"c")
    remove_stale(tmp_path, again=True)
    assert names(tmp_path) == ["a", "c"]
    assert (tmp_path / "a").read_text() == "before"


def test_a_first_write_removes_what_a_dead_process_left(tmp_path):
    dead = half_written(tmp_path / "b")
    dead.kill()
    dead.wait()
    assert len(names(tmp_path)) == 1
    kw.save(MODEL, tmp_path / "m.kw")
    assert names(tmp_path) == ["m.kw"]


def test_a_store_whose_manifest_was_not_finished_is_written_again(tmp_path):
    folder = tmp_path / "x.kws"
    folder.mkdir()
    (folder / "part-00000-0123456789abcdef.kwp").write_bytes(b"left")
    dead = half_written(folder / "manifest.json")
    dead.kill()
    dead.wait()
    np.testing.assert_array_equal(write_store(folder, np.eye(3))[:], np.eye(3))
    assert [name[:5] for name in names(folder)] == ["manif", "part-"]
