"""`kernelweave cv`: choosing, judging, groups, held-out predictions, the saved model."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.interpret import auroc


def run(*arguments, code=0):
    done = CliRunner().invoke(app, ["cv", *map(str, arguments)])
    assert done.exit_code == code, done.output + done.stderr
    return done


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    X, y = kw.datasets.make_splice(240, random_state=0)
    path = tmp_path_factory.mktemp("cv") / "sites.tsv"
    lines = zip(y, X.to_strings(), range(len(y)))
    path.write_text("".join(f"{label}\t{text}\tchr{1 + i % 6}:{i}\n" for label, text, i in lines))
    return path


def test_the_chosen_model_is_saved_and_held_out_rows_are_written(sites, tmp_path):
    out, held = tmp_path / "m.kw", tmp_path / "held.tsv"
    options = ["--kernel", "wd:8", "--grid", "C=0.1,1", "--folds", 3, "--score", "auprc", "--json"]
    found = json.loads(run(sites, *options, "--out", out, "--predictions", held).stdout)
    model = kw.load(out)
    assert found["best"] == {"C": model.C}
    assert model.converged_
    assert [one["params"] for one in found["settings"]] == [{"C": 0.1}, {"C": 1.0}]
    assert set(found["scores"]) == {"accuracy", "auroc", "auprc", "f1", "mcc"}
    assert found["scores"]["auprc"]["value"] == pytest.approx(found["best_score"])
    lines = [line.split("\t") for line in held.read_text().splitlines()]
    assert lines[0] == ["id", "fold", "label", "decision"]
    assert {line[1] for line in lines[1:]} == {"0", "1", "2"}
    values, labels = np.array([[float(line[3]), float(line[2])] for line in lines[1:]]).T
    assert auroc(labels, values) > 0.85


def test_groups_by_rule_and_by_file(sites, tmp_path):
    options = ["--kernel", "wd:8", "-C", 1, "--folds", 3, "--json", "--folds-by"]
    found = json.loads(run(sites, *options, "chromosome", "--predictions", tmp_path / "p.tsv").stdout)
    assert found["groups"] == 6
    folds = {}
    for line in (tmp_path / "p.tsv").read_text().splitlines()[1:]:
        name, fold = line.split("\t")[:2]
        folds.setdefault(name.split(":")[0], set()).add(fold)
    assert all(len(each) == 1 for each in folds.values())
    groups = tmp_path / "groups.tsv"
    ids = [line.split("\t")[2] for line in sites.read_text().splitlines()]
    groups.write_text("".join(f"{name}\t{i % 4}\n" for i, name in enumerate(ids)))
    assert json.loads(run(sites, *options, groups).stdout)["groups"] == 4


def test_kernels_to_choose_from_and_weights_to_learn(sites):
    tried = json.loads(run(sites, "--try", "spectrum:3", "--try", "wd:8", "-C", 1, "--folds", 3, "--json").stdout)
    assert tried["best"]["kernel"] == "WeightedDegree(8)"
    many = ["--kernel", "spectrum:3", "--kernel", "wd:8", "--grid", "norm=1,2", "-C", 1, "--folds", 2, "--json"]
    assert [one["params"] for one in json.loads(run(sites, *many).stdout)["settings"]] == [{"norm": 1}, {"norm": 2}]


def test_tables_classes_and_numbers(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2)) * [1, 50]
    table = tmp_path / "t.csv"
    kinds = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    table.write_text("a,b,kind,size\n" + "".join(f"{a},{b},{kind},{a + 1}\n" for (a, b), kind in zip(X, kinds)))
    shown = run(table, "--label", "kind", "--standardize", "--grid", "C=1,10", "--folds", 3)
    assert "macro F1" in shown.stdout
    assert "MCC" in shown.stdout
    options = ["--label", "size", "--task", "regress", "-C", 1, "--folds", 3, "--json", "--standardize"]
    plain = tmp_path / "n.csv"
    plain.write_text("a,b,size\n" + "".join(f"{a},{b},{a + 1}\n" for a, b in X))
    assert json.loads(run(plain, *options).stdout)["scores"]["r2"]["value"] > 0.8


def test_copies_on_both_sides_get_a_note(sites, tmp_path):
    twice = tmp_path / "twice.tsv"
    twice.write_text(sites.read_text() + sites.read_text().replace("chr", "again_chr"))
    note = run(twice, "--kernel", "wd:4", "-C", 1, "--folds", 2).stderr
    assert "480 of 480 rows are near copies of other rows" in " ".join(note.split())
    assert "near copies" not in run(sites, "--kernel", "wd:4", "-C", 1, "--folds", 2).stderr


WRONG = [
    (["--grid", "C"], "--grid C must be a parameter and its values"),
    (["--grid", "C=1,2", "-C", "3"], "both say what C is"),
    (["--grid", "kernel=wd:3"], "given with --try"),
    (["--try", "wd:3", "--kernel", "wd:4"], "give one of them"),
    (["--folds-by", "nowhere"], "is not one of chromosome, prefix, clusters, and there is no such file"),
    (["--score", "goodness"], "scoring='goodness' is unknown"),
    (["--task", "novelty"], "--task novelty has none"),
    (["--grid", "smoothing=1", "--kernel", "wd:4"], "smoothing"),
]


@pytest.mark.parametrize(("options", "words"), WRONG)
def test_mistakes_get_one_sentence(sites, options, words):
    assert words in " ".join(run(sites, *options, code=1).stderr.split())
