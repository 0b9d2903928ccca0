"""Groups of options: what the command line sees of them, what the command gets, and how errors spell them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli import evaluate, predict
from kernelweave.cli.app import app, sentence
from kernelweave.cli.options import Learning, Reading, as_option, grouped
from kernelweave.cli.options.groups import option
from kernelweave.cli.training import train
from kernelweave.data.errors import Metavar, ParameterError
from kernelweave.io import write
from remote import dask_cluster


@dataclass(frozen=True)
class Inner:
    deep: Annotated[int, option("Panel", "Deep.")] = 1


@dataclass(frozen=True)
class Outer:
    first: Annotated[str | None, option("Panel", "First.")] = None
    inner: Inner = field(default_factory=Inner)
    hidden: Annotated[int, option("Panel", "Hidden.")] = 7
    last: Annotated[bool, option("Panel", "Last.", "--last")] = False


def called(*arguments):
    """Return what a command with groups is called with, None where the command line is refused."""
    got = []

    @grouped("hidden")
    def command(name: Annotated[str, typer.Argument()], outer: Outer, more: Annotated[int, option("P", "More.")] = 3):
        got.append((name, outer, more))

    program = typer.Typer()
    program.command()(command)
    result = CliRunner().invoke(program, [str(argument) for argument in arguments])
    assert list(inspect.signature(command).parameters) == ["name", "first", "deep", "last", "more"]
    return got[0] if result.exit_code == 0 else None


def test_groups_are_filled():
    assert called("x") == ("x", Outer(), 3)
    assert called("x", "--deep", 5, "--last", "--more", 4) == ("x", Outer(None, Inner(5), 7, True), 4)
    assert called("x", "--first", "f") == ("x", Outer("f"), 3)


def test_a_field_that_is_left_out_is_no_option():
    assert called("x", "--hidden", 1) is None


def test_commands_have_their_options_in_the_order_of_the_help():
    names = list(inspect.signature(train.train).parameters)
    assert names[:5] == ["data", "out", "kernel", "kernels", "method"]
    assert names[names.index("nu") + 1 : names.index("class_weight")] == [
        "penalty", "termination", "validation_fraction", "patience", "kernel_order", "positive",
    ]  # fmt: skip
    assert names[-3:] == ["json", "quiet", "debug"]
    assert {"labels", "negative"} <= set(inspect.signature(evaluate.evaluate).parameters)
    assert not {"labels", "negative"} & set(inspect.signature(predict.predict).parameters)


def test_commands_take_few_parameters():
    for command in (train.train, predict.predict, evaluate.evaluate):
        assert len(inspect.signature(inspect.unwrap(command)).parameters) <= 7


def test_learning_gives_the_parameters_of_an_estimator():
    given = {name: value for name, value in Learning(C=2.0, norm=1.5).given().items() if value is not None}
    assert given == {"C": 2.0, "norm": 1.5}
    assert set(Learning().given()) <= set(kw.CGBoostClassifier().get_params()) | set(
        kw.MKLClassifier().get_params()
    ) | set(kw.KernelRegressor().get_params())


def test_reading_gives_the_options_of_readers():
    assert Reading(text="title,body", raw_weights=True).given() == {"normalize": False, "text": ["title", "body"]}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("unknown", "mask", "--unknown mask"),
        ("validation_fraction", 0.5, "--validation-fraction 0.5"),
        ("normalize", None, "--normalize none"),
        ("normalize", True, "leaving out --raw-weights"),
        ("anchor", "A G@3", "--anchor 'A G@3'"),
        ("window", Metavar("N"), "--window N"),
        ("format", Metavar(), "--format"),
    ],
)
def test_spelling(name, value, expected):
    assert as_option(name, value) == expected
    assert sentence(ParameterError("{" + name + "} it is.", {name: value})) == f"{expected} it is."


def test_text_that_looks_like_a_parameter_is_left_alone():
    assert (
        sentence(ValueError("x.tsv:3: the id \"unknown='mask'\" is odd")) == "x.tsv:3: the id \"unknown='mask'\" is odd"
    )


def run(*arguments, code):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.stderr


def test_a_format_that_does_not_exist(tmp_path):
    rows = kw.Sequences.from_strings(["ACGT", "ACGA", "TTTT", "TTTA"] * 3, ids=[f"r{i}" for i in range(12)])
    write(tmp_path / "x.tsv", rows, np.array([1, 1, -1, -1] * 3))
    run("train", tmp_path / "x.tsv", "--kernel", "spectrum:2", "--out", tmp_path / "m.kw", "-q", code=0)
    for command in ("predict", "evaluate"):
        said = run(command, tmp_path / "m.kw", tmp_path / "x.tsv", "--format", "xls", code=1)
        assert said.startswith("error: There is no format 'xls'; known are ")
    said = run("train", tmp_path / "x.tsv", "--format", "xls", "--out", tmp_path / "n.kw", code=1)
    assert said.startswith("error: There is no format 'xls'; known are ")


def test_errors_spell_options(tmp_path):
    (tmp_path / "x.fa").write_text(">a\nACGT\n>a\nACGT\n")
    out = ("--out", tmp_path / "m.kw")
    assert "; --duplicates allow keeps both." in run("train", tmp_path / "x.fa", *out, code=1)
    (tmp_path / "x.jsonl").write_text('{"text": "ACGTN", "label": 1}\n')
    said = run("train", tmp_path / "x.jsonl", "--alphabet", "dna", *out, code=1)
    assert "(--unknown mask keeps such letters, matching nothing)." in said
    (tmp_path / "x").write_bytes(b"\x00\x01")
    assert "(name one by --format)." in run("train", tmp_path / "x", *out, code=1)


def test_work_runs_where_the_command_line_says(tmp_path):
    X, y = kw.datasets.make_splice(300, random_state=0)
    lines = [f"{label}\t{text}" for label, text in zip(y, X.to_strings())]
    (tmp_path / "sites.tsv").write_text("\n".join(lines) + "\n")
    address, model, told = dask_cluster().scheduler_address, str(tmp_path / "sites.kw"), []
    data = str(tmp_path / "sites.tsv")
    for where in (["--engine", "serial"], ["--scheduler", address], ["--scheduler", address, "--engine", "dask"]):
        done = CliRunner().invoke(app, ["train", data, "--kernel", "wd:5", "--out", model, *where])
        assert done.exit_code == 0, done.output
        for command in (["predict", model, data], ["evaluate", model, data, "--json"]):
            done = CliRunner().invoke(app, [*command, *where])
            assert done.exit_code == 0, done.output
            told.append(done.stdout)
    assert told[:2] == told[2:4] == told[4:]


@pytest.mark.parametrize("command", ["train", "predict", "evaluate"])
def test_places_that_are_none(command, tmp_path):
    (tmp_path / "x.tsv").write_text("1\tACGT\n-1\tTTTT\n")
    files = [str(tmp_path / "x.tsv")] if command == "train" else [str(tmp_path / "x.tsv")] * 2
    more = ["--out", str(tmp_path / "x.kw")] if command == "train" else []
    done = CliRunner().invoke(app, [command, *files, *more, "--scheduler", "10.0.0.1"])
    assert "--scheduler 10.0.0.1 is not an address; write it as 'dask scheduler' prints it" in done.output
    done = CliRunner().invoke(
        app, [command, *files, *more, "--scheduler", "tcp://10.0.0.1:8786", "--engine", "threads"]
    )
    assert "--scheduler needs --engine dask, not --engine threads." in done.output


@pytest.mark.parametrize(("words", "found"), [("kernelweave tr", "train"), ("kernelweave train --kern", "--kernel")])
def test_the_shell_completes(words, found):
    asked = {"_KERNELWEAVE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    result = CliRunner(env=asked).invoke(app, [], prog_name="kernelweave")
    assert found in result.stdout.split()
