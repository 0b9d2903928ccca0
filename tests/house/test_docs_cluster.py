"""The examples of the manual's page on clusters run as one script, its commands with a scheduler of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from pages import ROOT

PAGE = (ROOT / "docs" / "cluster.md").read_text()
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@pytest.mark.slow
def test_the_examples_run_from_top_to_bottom(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    check = 'if __name__ == "__main__":\n    print(scores.shape)\n'
    (tmp_path / "page.py").write_text("\n".join([*blocks, check]))
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    first, second, *plan, rounds, last = done.stdout.splitlines()
    assert float(first.split()[2]) > 0.8
    assert second == "True"
    assert [line.split()[0] for line in plan[:3]] == ["rows", "held", "solver"]
    assert float(rounds.split()[1]) < 1e-3
    assert last == "(2000,)"
    assert list((tmp_path / "shared").iterdir()) == []


def test_a_store_is_planned_and_trained_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = kw.datasets.make_splice(300, random_state=0)
    X.to_store("sites.kws", y)
    section = PAGE.split("## Training on more rows")[1].split("## What travels")[0]
    plan, train = re.findall(r"^    kernelweave (.*)$", section, flags=re.MULTILINE)
    said = CliRunner().invoke(app, plan.split())
    assert said.exit_code == 0, said.output
    assert "working set" in said.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["sites.kws"]
    assert CliRunner().invoke(app, train.split()).exit_code == 0
    assert kw.load("sites.kw").solver_ == "active_set"


@pytest.mark.slow
def test_the_commands_run_as_written(tmp_path):
    X, y = kw.datasets.make_splice(400, random_state=0)
    (tmp_path / "sites.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in zip(y, X.to_strings())))
    section = PAGE.split("## By hand")[1].split("### SLURM")[0]
    scheduler, worker, *commands = re.findall(r"^    ((?:dask|kernelweave) .*)$", section, flags=re.MULTILINE)
    assert len(commands) == 4
    port = str(20_000 + os.getpid() % 40_000)

    def start(line, **options):
        name, *words = line.replace("8786", port).split()
        command = [sys.executable, "-m", name, *words]
        return subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, **options)

    running = [start(scheduler), start(worker)]
    try:
        for line in commands:
            done = start(line, stdout=subprocess.PIPE)
            out, error = done.communicate(timeout=200)
            assert done.returncode == 0, (line, out, error)
    finally:
        for process in reversed(running):
            process.terminate()
            process.communicate(timeout=60)
    assert (tmp_path / "predictions.tsv").read_text().count("\n") == 401
