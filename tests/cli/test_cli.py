"""The commands: what they write, what they say and how they end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from threading import Timer

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli import show
from kernelweave.cli.app import app
from kernelweave.io import read, write

SITES, SITE_LABELS = kw.datasets.make_splice(160, random_state=3)
RNG = np.random.default_rng(5)
TABLE = RNG.normal(size=(90, 3)) * [1.0, 1000.0, 0.01]
COLOURS = np.array(["blue", "green", "red"])[np.digitize(TABLE[:, 0], [-0.5, 0.5])]


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def answer(*arguments, code=0):
    """Run with --json: standard output is one JSON object and nothing else."""
    found = json.loads(run(*arguments, "--json", code=code).stdout)
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """A folder with training and test lines, and a model trained by the command line."""
    folder = tmp_path_factory.mktemp("sites")
    write(folder / "train.tsv", SITES[:120], SITE_LABELS[:120], ids=[f"s{i}" for i in range(120)])
    write(folder / "test.tsv", SITES[120:], SITE_LABELS[120:], ids=[f"t{i}" for i in range(40)])
    run("train", folder / "train.tsv", "--out", folder / "model.kw", "--kernel", "wd:5", "-q")
    return folder


def csv(path, X, names, **columns):
    """Write a table with further columns of text or numbers behind the features."""
    rows = [[*map(repr, row.tolist()), *(str(values[i]) for values in columns.values())] for i, row in enumerate(X)]
    path.write_text("\n".join(",".join(row) for row in [[*names, *columns], *rows]) + "\n")
    return path


def columns_of(path):
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    return dict(zip(rows[0], np.array(rows[1:]).T))


@pytest.mark.parametrize("command", ["train", "predict", "evaluate", "inspect", "negatives", "convert"])
def test_help_teaches_by_example(command):
    text = run(command, "--help").stdout
    assert f"kernelweave {command} " in text
    assert "--json" in text


def test_help_starts_without_heavy_libraries():
    script = (
        "import sys\nfrom kernelweave.cli.app import main\nsys.argv = ['kernelweave', 'train', '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print([m for m in ('numba', 'sklearn', 'scipy', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_version():
    assert run("--version").stdout == f"kernelweave {kw.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["train"], ["train", "x"], ["train", "x", "--out", "m", "--task", "sing"], ["fly"]]
)
def test_a_command_that_is_not_understood_ends_with_2(arguments):
    assert "Usage" in run(*arguments, code=2).stderr


# sequences


def test_a_trained_model_is_the_library_model(sites):
    same = kw.KernelClassifier("wd:5", normalize="trace").fit(SITES[:120], SITE_LABELS[:120])
    loaded = kw.load(sites / "model.kw")
    assert np.array_equal(loaded.decision_function(SITES), same.decision_function(SITES))
    assert loaded.callbacks == ()


def test_training_says_what_it_did(sites, tmp_path):
    result = run("train", sites / "train.tsv", "--out", tmp_path / "m.kw")
    assert "120 sequences" in result.stderr
    assert "their place do best on a sample (mean of auROC and auPRC " in result.stderr
    assert "iteration 1" in result.stderr
    assert "certificate" in result.stdout
    assert "held" in result.stdout
    assert "dense, 115 kB: the 120 x 120 Gram matrix in float64 takes 115 kB; solved by smo, the Gram" in result.stdout
    assert "m.kw" in result.stdout


def test_training_as_json(sites, tmp_path):
    found = answer("train", sites / "train.tsv", "--out", tmp_path / "m.kw", "--kernel", "wd:5", "--C", "2")
    model = kw.load(tmp_path / "m.kw")
    assert found["objective"] == model.objective_
    assert found["support_vectors"] == len(model.support_)
    assert found["training_rows"] == 120
    assert found["parameters"]["C"] == 2.0
    assert (found["converged"], found["interrupted"], found["warnings"]) == (True, False, [])
    assert sum(found["labels"].values()) == 120


def test_quiet_training_says_nothing(sites, tmp_path):
    result = run("train", sites / "train.tsv", "--out", tmp_path / "m.kw", "--quiet")
    assert (result.stdout, result.stderr) == ("", "")
    assert (tmp_path / "m.kw").exists()


def test_predictions_are_those_of_the_model(sites, tmp_path):
    run("predict", sites / "model.kw", sites / "test.tsv", "--out", tmp_path / "p.tsv")
    found, model = columns_of(tmp_path / "p.tsv"), kw.load(sites / "model.kw")
    assert list(found) == ["id", "decision", "label"]
    assert found["id"].tolist() == [f"t{i}" for i in range(40)]
    assert np.array_equal(found["decision"].astype(float), model.decision_function(SITES[120:]))
    assert np.array_equal(found["label"].astype(int), model.predict(SITES[120:]))
    assert run("predict", sites / "model.kw", sites / "test.tsv").stdout == (tmp_path / "p.tsv").read_text()


def test_predictions_as_json(sites, tmp_path):
    listed = answer("predict", sites / "model.kw", sites / "test.tsv")["predictions"]
    assert [row["id"] for row in listed] == [f"t{i}" for i in range(40)]
    assert listed[0]["decision"] == kw.load(sites / "model.kw").decision_function(SITES[120:])[0]
    found = answer("predict", sites / "model.kw", sites / "test.tsv", "--out", tmp_path / "p.tsv")
    assert sum(found["labels"].values()) == 40


def test_evaluation_of_two_classes(sites):
    from kernelweave.interpret import bootstrap_scores

    found = answer("evaluate", sites / "model.kw", sites / "test.tsv")
    model = kw.load(sites / "model.kw")
    expected = bootstrap_scores(SITE_LABELS[120:], model.decision_function(SITES[120:]), positive=model.classes_[1])
    for name, interval in expected.items():
        assert found[name] == {"value": interval.value, "low": interval.low, "high": interval.high}
    text = run("evaluate", sites / "model.kw", sites / "test.tsv").stdout
    assert f"auROC        {expected['auroc'].value:.4f}  [{expected['auroc'].low:.4f}" in text


def test_evaluation_draws_the_curves(sites, tmp_path):
    found = answer("evaluate", sites / "model.kw", sites / "test.tsv", "--plot", tmp_path / "c.png", "--resamples", 50)
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    assert found["plot"] == str(tmp_path / "c.png")
    assert found["auroc"]["value"] == answer("evaluate", sites / "model.kw", sites / "test.tsv")["auroc"]["value"]


def test_inspection(sites):
    found = answer("inspect", sites / "model.kw")
    model = kw.load(sites / "model.kw")
    assert (found["format"], found["format_version"], found["library"]) == ("kernelweave-model", 2, kw.__version__)
    assert found["estimator"] == "KernelClassifier"
    assert found["kernel"].startswith("Scaled(WeightedDegree(5), ")
    assert found["input"] == {"kind": "sequences", "alphabet": "dna", "letters": 4}
    assert found["duality_gap"] == model.duality_gap_
    text = run("inspect", sites / "model.kw").stdout
    for word in ("KernelClassifier", "WeightedDegree(5)", "dna", "120 rows", "model format 2", ">= optimum >="):
        assert word in text


def test_inspection_lists_kernels_by_weight(tmp_path):
    model = kw.MKLClassifier([kw.RBF(width=0.5), kw.RBF(width=5.0), kw.Linear()]).fit(TABLE, COLOURS)
    kw.save(model, tmp_path / "m.kw")
    found = answer("inspect", tmp_path / "m.kw")
    assert [kernel["name"] for kernel in found["kernel"]] == model.kernel_names_.tolist()
    assert found["training_rows"] == 90
    text = run("inspect", tmp_path / "m.kw").stdout
    assert "of 3 have a weight: " in text


def test_two_fasta_files(tmp_path):
    positive, negative = SITES[SITE_LABELS == 1], SITES[SITE_LABELS != 1]
    write(tmp_path / "pos.fa", positive)
    write(tmp_path / "neg.fa.gz", negative)
    run("train", tmp_path / "pos.fa", "--negative", tmp_path / "neg.fa.gz", "--out", tmp_path / "m.kw")
    assert kw.load(tmp_path / "m.kw").classes_.tolist() == [-1, 1]
    found = answer("evaluate", tmp_path / "m.kw", tmp_path / "pos.fa", "--negative", tmp_path / "neg.fa.gz")
    assert found["rows"] == 160
    assert found["auroc"]["value"] > 0.9
    assert len(answer("predict", tmp_path / "m.kw", tmp_path / "pos.fa")["predictions"]) == len(positive)


def test_labels_in_a_file_of_their_own(tmp_path):
    write(tmp_path / "x.fa", SITES, ids=[f"s{i}" for i in range(160)])
    names = np.where(SITE_LABELS == 1, "site", "decoy")
    (tmp_path / "y.tsv").write_text("".join(f"s{i}\t{names[i]}\n" for i in reversed(range(160))))
    found = answer(
        "train", tmp_path / "x.fa", "--labels", tmp_path / "y.tsv", "--out", tmp_path / "m.kw", "--kernel", "wd:20"
    )
    assert found["labels"] == {"decoy": int(np.sum(SITE_LABELS != 1)), "site": int(np.sum(SITE_LABELS == 1))}
    direct = kw.KernelClassifier("wd:20", normalize="trace").fit(SITES, names)
    assert found["objective"] == direct.objective_


def test_sequences_of_different_lengths_get_gapped_kmers(tmp_path):
    rows = kw.Sequences.from_strings([row[: 20 + i % 7] for i, row in enumerate(SITES)])
    write(tmp_path / "x.tsv", rows, SITE_LABELS)
    result = run("train", tmp_path / "x.tsv", "--out", tmp_path / "m.kw")
    assert "GappedKmer(10, 6" in result.stderr
    assert "normalized: cosine" in result.stderr


def test_words_that_were_not_met_in_training_match_nothing(tmp_path):
    lines = [{"text": "good fine", "label": "yes"}, {"text": "bad poor sad", "label": "no"}] * 5
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "new.jsonl").write_text('{"text": "fine weather"}\n{"text": "sad news"}\n')
    run("train", tmp_path / "x.jsonl", "--alphabet", "words", "--out", tmp_path / "m.kw")
    listed = answer("predict", tmp_path / "m.kw", tmp_path / "new.jsonl")["predictions"]
    assert [row["label"] for row in listed] == ["yes", "no"]


def test_reading_is_remembered(tmp_path):
    rows = kw.Sequences.from_strings([row[:10] + "N" for row in SITES], unknown="mask", ids=["twin"] * 160)
    write(tmp_path / "x.tsv", rows, SITE_LABELS)
    options = ["--unknown", "mask", "--duplicates", "allow"]
    run("train", tmp_path / "x.tsv", "--out", tmp_path / "m.kw", *options)
    assert answer("evaluate", tmp_path / "m.kw", tmp_path / "x.tsv")["rows"] == 160


# tables


def test_several_classes(tmp_path):
    path = csv(tmp_path / "x.csv", TABLE, ["a", "b", "c"], outcome=COLOURS)
    found = answer("train", path, "--label", "outcome", "--standardize", "--C", 100, "--out", tmp_path / "m.kw")
    assert found["standardized"] is True
    result = answer("evaluate", tmp_path / "m.kw", path)
    counts = np.array(result["confusion"]["counts"])
    assert result["confusion"]["labels"] == ["blue", "green", "red"]
    assert counts.sum() == 90
    assert result["accuracy"]["value"] == np.trace(counts) / 90 > 0.9
    assert "true \\ said" in run("evaluate", tmp_path / "m.kw", path).stdout
    run("predict", tmp_path / "m.kw", path, "--out", tmp_path / "p.tsv")
    predicted = columns_of(tmp_path / "p.tsv")
    assert list(predicted) == ["id", "decision_blue", "decision_green", "decision_red", "label"]
    assert np.mean(predicted["label"] == COLOURS) == result["accuracy"]["value"]


def test_columns_of_very_different_scale_are_noted(tmp_path):
    path = csv(tmp_path / "x.csv", TABLE, ["a", "b", "c"], label=COLOURS)
    assert "--standardize makes them alike" in run("train", path, "--out", tmp_path / "m.kw").stderr
    assert "--standardize" not in run("train", path, "--standardize", "--out", tmp_path / "m.kw").stderr


def test_new_tables_may_lack_the_labels_and_order_their_columns_otherwise(tmp_path):
    path = csv(tmp_path / "x.csv", TABLE, ["a", "b", "c"], outcome=COLOURS)
    run("train", path, "--label", "outcome", "--out", tmp_path / "m.kw")
    full = run("predict", tmp_path / "m.kw", path).stdout
    bare = csv(tmp_path / "bare.csv", TABLE, ["a", "b", "c"])
    turned = csv(tmp_path / "turned.csv", TABLE[:, ::-1], ["c", "b", "a"], further=np.arange(90))
    assert run("predict", tmp_path / "m.kw", bare).stdout == full
    assert run("predict", tmp_path / "m.kw", turned).stdout == full


def test_tables_without_names_may_lack_the_labels_too(tmp_path):
    lines = [",".join(map(repr, row)) for row in TABLE.tolist()]
    (tmp_path / "bare.csv").write_text("\n".join(lines) + "\n")
    signs = np.sign(TABLE[:, 0]).astype(int)
    (tmp_path / "x.csv").write_text("\n".join(f"{line},{sign}" for line, sign in zip(lines, signs)) + "\n")
    run("train", tmp_path / "x.csv", "--label", "-1", "--out", tmp_path / "m.kw")
    full = run("predict", tmp_path / "m.kw", tmp_path / "x.csv").stdout
    assert run("predict", tmp_path / "m.kw", tmp_path / "bare.csv").stdout == full


def test_sparse_tables_keep_their_width(tmp_path):
    X = np.where(RNG.random((60, 5)) < 0.3, 1.0, 0.0)
    X[0, 4] = 1.0
    y = np.where(X[:, 0] > 0, 1, -1)
    write(tmp_path / "x.svm", X, y)
    write(tmp_path / "new.svm", X[:, :3], y)
    run("train", tmp_path / "x.svm", "--kernel", "linear", "--out", tmp_path / "m.kw")
    assert len(answer("predict", tmp_path / "m.kw", tmp_path / "new.svm")["predictions"]) == 60


def test_regression(tmp_path):
    y = np.sin(TABLE[:, 0])
    path = csv(tmp_path / "x.csv", TABLE[:, :1], ["a"], target=y)
    run("train", path, "--task", "regress", "--C", 10, "--epsilon", 0.01, "--out", tmp_path / "m.kw")
    found = answer("evaluate", tmp_path / "m.kw", path)
    assert found["r2"]["value"] == pytest.approx(kw.load(tmp_path / "m.kw").score(TABLE[:, :1], y))
    assert found["mae"]["value"] < 0.05
    assert "R2" in run("evaluate", tmp_path / "m.kw", path).stdout
    assert run("predict", tmp_path / "m.kw", path).stdout.startswith("id\tprediction\n0\t")


def test_novelty(tmp_path):
    inside, outside = RNG.normal(size=(80, 2)), RNG.normal(size=(20, 2)) + 9
    path = csv(tmp_path / "x.csv", inside, ["a", "b"])
    test = csv(tmp_path / "t.csv", np.vstack([inside, outside]), ["a", "b"], label=np.repeat([1, -1], [80, 20]))
    run("train", path, "--task", "novelty", "--nu", 0.05, "--out", tmp_path / "m.kw")
    assert answer("evaluate", tmp_path / "m.kw", test)["auroc"]["value"] > 0.99
    labels = [row["label"] for row in answer("predict", tmp_path / "m.kw", test)["predictions"]]
    assert labels[80:] == [-1] * 20


def test_views_share_one_kernel(tmp_path):
    np.savez(tmp_path / "x.npz", y=np.sign(TABLE[:, 0]), left=TABLE[:, :1], right=TABLE[:, 1:])
    result = run("train", tmp_path / "x.npz", "--out", tmp_path / "m.kw")
    assert "added over the views" in result.stderr
    assert answer("evaluate", tmp_path / "m.kw", tmp_path / "x.npz")["accuracy"]["value"] > 0.8
    assert answer("inspect", tmp_path / "m.kw")["input"] == {"kind": "views", "names": ["left", "right"]}


def test_a_gram_matrix(tmp_path):
    K = TABLE[:, :1] @ TABLE[:, :1].T
    np.savez(tmp_path / "k.npz", X=K, y=np.sign(TABLE[:, 0]))
    run("train", tmp_path / "k.npz", "--kernel", "precomputed", "--out", tmp_path / "m.kw")
    assert answer("evaluate", tmp_path / "m.kw", tmp_path / "k.npz")["auroc"]["value"] > 0.99


# ends


def test_an_early_end_is_told_in_one_line(sites, tmp_path):
    result = run("train", sites / "train.tsv", "--out", tmp_path / "m.kw", "--max-iter", 1, "--tol", 1e-12)
    lines = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert len(lines) == 1
    assert "above tol=1e-12" in lines[0]
    assert "NOT reached" in result.stdout
    with pytest.warns(ConvergenceWarning):
        kw.KernelClassifier("wd:20", tol=1e-12, max_iter=1).fit(SITES[:120], SITE_LABELS[:120])


def interrupt(*arguments, **options):
    raise KeyboardInterrupt


def test_an_interrupted_training_saves_the_best_model_so_far(sites, tmp_path, monkeypatch):
    monkeypatch.setattr(show.ProgressLine, "__call__", interrupt)
    found = answer("train", sites / "train.tsv", "--out", tmp_path / "m.kw", "--tol", 1e-12, code=130)
    assert (found["interrupted"], found["converged"]) == (True, False)
    assert "the best model so far" in run("train", sites / "train.tsv", "--out", tmp_path / "m.kw", code=130).stdout
    assert kw.load(tmp_path / "m.kw").predict(SITES).shape == (160,)


def test_an_interruption_before_training_saves_nothing(sites, tmp_path, monkeypatch):
    monkeypatch.setattr("kernelweave.cli.rows.read", interrupt)
    result = run("train", sites / "train.tsv", "--out", tmp_path / "m.kw", code=130)
    assert result.stderr == "interrupted: nothing was saved\n"
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_in_a_real_process(tmp_path):
    X = RNG.normal(size=(3000, 8))
    np.savez(tmp_path / "noise.npz", X=X, y=np.where(RNG.random(3000) < 0.5, 1, -1))
    program = [sys.executable, "-c", "from kernelweave.cli.app import main; main()"]
    command = ["train", str(tmp_path / "noise.npz"), "--out", str(tmp_path / "m.kw"), "--json"]
    slow = ["--kernel", "rbf:width=8", "--C", "1e5", "--tol", "1e-12"]
    with subprocess.Popen(
        [*program, *command, *slow],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a test run in the background ignores it
    ) as process:  # fmt: skip
        watchdog = Timer(180, process.kill)
        watchdog.start()
        try:
            lines = iter(process.stderr.readline, "")
            assert any("iteration 1" in line for line in lines)
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            out, rest = process.communicate(timeout=60)
        finally:
            watchdog.cancel()
            process.kill()
    assert process.returncode == 130
    assert "Traceback" not in rest
    assert "warning: Stopped early at a duality gap of" in rest
    assert json.loads(out)["interrupted"] is True
    assert kw.load(tmp_path / "m.kw").decision_function(X[:5]).shape == (5,)


def test_debug_shows_where_an_error_came_from():
    assert isinstance(CliRunner().invoke(app, ["inspect", "none.kw", "--debug"]).exception, FileNotFoundError)


def test_real_promoters(shared_data, tmp_path):
    path = shared_data / "dna" / "uci_ecoli_promoter_57.tsv.gz"
    found = answer("train", path, "--out", tmp_path / "m.kw")
    assert found["training_rows"] == len(read(path).y) == 106
    assert found["duality_gap"] <= 1e-3
    assert answer("evaluate", tmp_path / "m.kw", path)["accuracy"]["value"] > 0.9
