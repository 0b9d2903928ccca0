"""Losses on the command line: with a parameter, shown again, and wrong ones."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app


@pytest.fixture
def table(tmp_path):
    x = np.linspace(-3.0, 3.0, 40)
    path = tmp_path / "x.csv"
    path.write_text("a,target\n" + "".join(f"{a},{b}\n" for a, b in zip(x, np.sin(x))))
    return str(path)


def test_a_loss_with_its_parameter(table, tmp_path):
    model = str(tmp_path / "m.kw")
    done = CliRunner().invoke(app, ["train", table, "--task", "regress", "--loss", "huber:0.5", "--out", model])
    assert done.exit_code == 0
    assert kw.load(model).loss == "huber:0.5"
    shown = json.loads(CliRunner().invoke(app, ["inspect", model, "--json"]).stdout)["parameters"]
    assert shown["loss"] == "huber:0.5"
    assert "epsilon" not in shown  # it has no effect


def test_a_loss_of_another_task_is_answered_with_those_of_this_one(table, tmp_path):
    done = CliRunner().invoke(
        app, ["train", table, "--task", "regress", "--loss", "hinge", "--out", str(tmp_path / "m")]
    )
    assert done.exit_code == 1
    assert "choose one of epsilon_insensitive, squared, huber" in " ".join(done.stderr.split())
