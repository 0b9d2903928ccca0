"""Files appear whole with the permissions that the user expects; pipes and devices are written to."""

from __future__ import annotations

import os
import stat
import threading

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.data.atomic import atomic_path, check_writable, open_aside

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
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "a") as aside:
        aside.write_text((tmp_path / "missing").read_text())
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
