"""`kernelweave explain`: tables, bedGraph and arrays add up; what cannot be is said in one sentence."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app

X, Y = kw.datasets.make_splice(120, length=70, random_state=0)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    place = tmp_path_factory.mktemp("explain")
    for name, kernel in (("wd.kw", "wd:4"), ("spectrum.kw", "spectrum:3")):
        kw.save(kw.KernelClassifier(kernel).fit(X, Y), str(place / name))
    names = ["chr1:100-170", "chr2:30-100(-)", "other"]
    (place / "new.fa").write_text("".join(f">{name}\n{text}\n" for name, text in zip(names, X[:3])))
    return place


def run(*arguments: object, code: int = 0):
    result = CliRunner().invoke(app, ["explain", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def table(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def test_the_table_adds_up_to_the_decision_value(files):
    header, *lines = table(run(files / "wd.kw", files / "new.fa").stdout)
    assert header == ["id", "position", "place", "adds"]
    decision = kw.load(str(files / "wd.kw")).decision_function(X[:3])
    for row, name in enumerate(dict.fromkeys(line[0] for line in lines)):
        own = [line for line in lines if line[0] == name]
        assert "".join(line[2] for line in own[:-1]) == X[row]
        assert sum(float(line[3]) for line in own) == pytest.approx(decision[row], abs=1e-9)


def test_top_compact_and_json(files):
    lines = table(run(files / "wd.kw", files / "new.fa", "--top", 2).stdout)
    assert len(lines) == 1 + 6
    told = kw.explain(kw.load(str(files / "wd.kw")), X[:1]).top(0, 2)
    assert [(int(a[1]), a[2]) for a in lines[1:3]] == [(place.position, place.name) for place in told]
    header, first, *_ = table(run(files / "wd.kw", files / "new.fa", "--compact").stdout)
    assert header == ["id", "decision", "letters", "adds"]
    assert len(first[3].split(",")) == 70
    assert '"rows": 3' in run(files / "wd.kw", files / "new.fa", "--json", "--top", 1).stdout


def test_bedgraph_stands_at_the_place_that_ids_name(files):
    run(files / "wd.kw", files / "new.fa", "--out", files / "x.bedgraph")
    lines = table((files / "x.bedgraph").read_text())
    values = kw.explain(kw.load(str(files / "wd.kw")), X[:3]).matrix()
    assert lines[0][:3] == ["chr1", "100", "101"]
    assert float(lines[0][3]) == pytest.approx(values[0, 0], rel=1e-5)
    assert lines[70][:3] == ["chr2", "30", "31"]
    assert float(lines[70][3]) == pytest.approx(values[1, -1], rel=1e-5)
    assert lines[140][:3] == ["other", "0", "1"]


def test_arrays_hold_everything(files):
    run(files / "spectrum.kw", files / "new.fa", "--out", files / "x.npz")
    with np.load(files / "x.npz") as found:
        sums = np.add.reduceat(found["values_0"][:, 0], found["offsets_0"][:-1]) + found["base"]
        np.testing.assert_allclose(sums, found["decision"][:, 0])
        assert found["tracks"].tolist() == ["letter::"]


def test_mutations_are_those_of_rescoring(files):
    header, *lines = table(run(files / "spectrum.kw", files / "new.fa", "--mutate").stdout)
    assert header == ["id", "position", "letter", "A", "C", "G", "T"]
    model = kw.load(str(files / "spectrum.kw"))
    text = X[1]
    changed = [text[:5] + letter + text[6:] for letter in "ACGT"]
    expected = model.decision_function(changed) - model.decision_function([text])
    np.testing.assert_allclose([float(value) for value in lines[75][3:]], expected, rtol=1e-9, atol=1e-12)


def test_another_model_is_compared(files):
    header, *lines = table(run(files / "wd.kw", files / "new.fa", "--compare", files / "spectrum.kw").stdout)
    assert header[3:6] == ["this_model", "other_model", "difference"]
    assert len(lines) == 30
    for line in lines:
        assert float(line[4]) - float(line[3]) == pytest.approx(float(line[5]))
    same = table(run(files / "wd.kw", files / "new.fa", "--compare", files / "wd.kw").stdout)
    assert float(same[1][6]) == pytest.approx(1.0)
    assert float(same[1][5]) == 0.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--mutate", "--compare", "wd.kw"], "--mutate and --compare are two different reports"),
        (["--mutate", "--top", "3"], "leave out --top"),
        (["--mutate", "--out", "x.npz"], "written as tables only"),
        (["--class", "-1"], "speaks for 1"),
        (["--compare", "nothing.kw"], "nothing.kw does not exist"),
    ],
)
def test_what_does_not_fit_is_said(files, arguments, sentence, monkeypatch):
    monkeypatch.chdir(files)
    result = run("wd.kw", "new.fa", *arguments, code=1)
    assert sentence in result.output
