"""What the program does as a process: requests to end, standard output that is closed or full, faults of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli import show
from kernelweave.cli.app import app

PROGRAM = [sys.executable, "-m", "kernelweave"]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
Y = (X[:, 0] + 0.5 * np.sin(3 * X[:, 1]) > 0).astype(int)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    np.savez(folder / "x.npz", X=X, y=Y)
    kw.save(kw.KernelClassifier("rbf:1").fit(X[:60], Y[:60]), folder / "m.kw")
    return folder


def program(*given, redirect=""):
    command = " ".join([*PROGRAM, *map(str, given)])
    return subprocess.run(["sh", "-c", f"{command} {redirect}"], capture_output=True, text=True, timeout=120)


def test_a_request_to_end_saves_the_best_model_and_leaves_no_other_file(files, tmp_path):
    command = ["train", files / "x.npz", "--kernel", "rbf:1", "-C", "1000", "--solver", "chunking", "--tol", "1e-12"]
    command += ["--max-iter", "1000000", "--out", tmp_path / "m.kw"]
    with subprocess.Popen([*PROGRAM, *map(str, command)], stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.startswith("training"):
                break
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
    assert process.returncode in (130, 0), said  # a fit that was quicker than the signal is whole
    assert process.returncode == 0 or "the best model so far" in said
    assert kw.load(tmp_path / "m.kw").predict(X[:5]).shape == (5,)
    assert os.listdir(tmp_path) == ["m.kw"]


def test_a_request_to_end_while_rows_are_read_saves_nothing(files, tmp_path):
    pipe = tmp_path / "rows.tsv"
    os.mkfifo(pipe)
    command = [*PROGRAM, "train", str(pipe), "--out", str(tmp_path / "m.kw")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        with open(pipe, "w"):  # it waits for rows now
            process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert os.listdir(tmp_path) == ["rows.tsv"]


def test_closed_standard_output_is_one_sentence_where_it_is_needed(files):
    done = program("predict", files / "m.kw", files / "x.npz", redirect=">&-")
    assert done.returncode == 1
    assert done.stderr.strip() == "error: Standard output is closed; name a file with --out."
    done = program("inspect", files / "m.kw", redirect=">&-")
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
@pytest.mark.parametrize(
    "command", [["predict", "m.kw", "x.npz"], ["--help"], ["train", "--help"], ["inspect", "m.kw"]]
)
def test_full_standard_output_is_one_sentence(files, command):
    given = [files / word if "." in word else word for word in command]
    done = program(*given, redirect="> /dev/full")
    assert done.returncode == 1
    assert re.fullmatch(r"error: Cannot write standard output: no space left on device; .*\n", done.stderr)


def test_a_reader_that_leaves_is_no_fault_to_tell(files):
    done = program("predict", files / "m.kw", files / "x.npz", redirect="| true")
    assert done.stderr == ""


def test_an_interrupt_during_imports_is_no_traceback():
    script = (
        "import sys, builtins\n"
        "plain = builtins.__import__\n"
        "def stop(name, *rest):\n"
        "    if name.startswith('typer'):\n        raise KeyboardInterrupt\n"
        "    return plain(name, *rest)\n"
        "from kernelweave.cli.entry import main\n"
        "builtins.__import__ = stop\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "")


def test_a_model_that_cannot_be_written_where_it_should_is_kept_elsewhere(files, tmp_path, monkeypatch):
    folder, elsewhere = tmp_path / "gone", tmp_path / "tmp"
    folder.mkdir()
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))

    def vanish(self, progress):
        shutil.rmtree(folder, ignore_errors=True)
        return False

    monkeypatch.setattr(show.ProgressLine, "__call__", vanish)
    result = CliRunner().invoke(
        app, ["train", str(files / "x.npz"), "--kernel", "rbf:1", "--out", str(folder / "m.kw")]
    )
    assert result.exit_code == 1
    said = re.search(r"error: Cannot write .*m\.kw: .*; the model is kept in (\S+)\.", result.stderr)
    assert kw.load(said[1]).predict(X[:5]).shape == (5,)


@pytest.mark.parametrize(
    "fault", [KeyError("rows"), ZeroDivisionError("division by zero"), RecursionError(), OSError(5, "x")]
)
def test_a_fault_of_the_program_shows_no_inner_name(files, monkeypatch, fault):
    def fail(*given):
        raise fault

    monkeypatch.setattr("kernelweave.cli.rows.read_new", fail)
    result = CliRunner().invoke(app, ["predict", str(files / "m.kw"), str(files / "x.npz")])
    assert result.exit_code == 1
    if not isinstance(fault, OSError):
        assert result.stderr.startswith("error: Something unexpected went wrong")
        assert not re.search(r"[A-Z]\w*Error", result.stderr)


def test_very_many_classes_are_noted():
    y = np.arange(1200)
    with pytest.warns(UserWarning, match="y has 1,200 classes"):
        kw.KernelClassifier("linear", max_iter=1)._learns.read(kw.KernelClassifier(), y[:, None], y, None)
