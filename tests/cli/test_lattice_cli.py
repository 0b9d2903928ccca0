"""Text and lattices from the command line: `kernelweave train --kernel ngram:5`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.io import read, write
from kernelweave.io.lattices import read_lattices

FILLERS = ("play", "stop", "the", "a")


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def answer(*arguments):
    return json.loads(run(*arguments, "--json").stdout)


def said(*arguments):
    """Return the sentence a command fails with."""
    text = run(*arguments, code=1).stderr
    assert text.splitlines()[-1].startswith("error: ")
    return text.splitlines()[-1]


def made(n, seed, weight=1.0):
    """Lattices that hold the word of their class with probability 0.7 of `weight`, and their labels."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for i in range(n):
        label, other = ("music", "weather") if i % 2 else ("weather", "music")
        arcs = [(0, 1, rng.choice(FILLERS), 1.0), (1, 2, label, 0.7 * weight), (1, 2, other, 0.3 * weight)]
        rows.append(([*arcs, (2, 3, rng.choice(FILLERS), 1.0)], [3]))
        labels.append(f"about {label}")
    return kw.Lattices.from_arcs(rows, ids=[f"u{i}" for i in range(n)]), np.array(labels)


X, Y = made(40, 0)
NEW, NEW_Y = made(10, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Training and test lattices in all formats that can be written, labels beside them, and a model."""
    at = tmp_path_factory.mktemp("lattices")
    for name, rows, y in (("train", X, Y), ("test", NEW, NEW_Y)):
        write(at / f"{name}.plf.tsv.gz", rows, y)
        write(at / f"{name}.fst.txt.gz", rows)
        write(at / f"{name}.kwlat", rows)
        (at / f"{name}.labels").write_text("".join(f"{i}\t{label}\n" for i, label in zip(rows.ids, y)))
    run("train", at / "train.plf.tsv.gz", "--kernel", "ngram:1", "--out", at / "m.kw", "-q")
    return at


def test_tables_of_plf_carry_their_labels(folder, tmp_path):
    found = answer("train", folder / "train.plf.tsv.gz", "--kernel", "ngram:1", "--out", tmp_path / "m.kw")
    assert found["kernel"] == "Cosine(NGram(1))"
    assert found["input"] == {"kind": "lattices", "alphabet": "words", "letters": 6}
    assert found["labels"] == {"about music": 20, "about weather": 20}
    assert found["trained_on"] == "plf"
    measured = answer("evaluate", tmp_path / "m.kw", folder / "test.plf.tsv.gz")
    assert measured["accuracy"]["value"] == 1.0
    assert "lattices of words (6 of them)" in run("inspect", tmp_path / "m.kw").stdout


@pytest.mark.parametrize("name", ["train.fst.txt.gz", "train.kwlat"])
def test_labels_from_a_file(folder, tmp_path, name):
    out = tmp_path / "m.kw"
    run("train", folder / name, "--labels", folder / "train.labels", "--kernel", "ngram:1", "--out", out)
    suffix = name.partition(".")[2]
    measured = answer("evaluate", out, folder / f"test.{suffix}", "--labels", folder / "test.labels")
    assert measured["accuracy"]["value"] == 1.0
    lines = run("predict", out, folder / f"test.{suffix}").stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["id", *NEW.ids]
    assert [line.split("\t")[2] for line in lines[1:]] == NEW_Y.tolist()
    decisions = kw.load(out).decision_function(NEW)
    np.testing.assert_allclose([float(line.split("\t")[1]) for line in lines[1:]], decisions, rtol=1e-9)


def test_labels_in_order_for_lattices_without_ids(tmp_path):
    write(tmp_path / "bare.plf", X)
    (tmp_path / "labels").write_text("\n".join(Y) + "\n")
    found = answer("train", tmp_path / "bare.plf", "--labels", tmp_path / "labels", "--out", tmp_path / "m.kw")
    assert found["labels"] == {"about music": 20, "about weather": 20}
    assert found["kernel"] == "Cosine(NGram(2, cumulative=True))"  # what suits lattices where none is asked for
    (tmp_path / "short").write_text("music\n")
    text = said("train", tmp_path / "bare.plf", "--labels", tmp_path / "short", "--out", tmp_path / "m.kw")
    assert "has 40 rows without ids, so" in text
    assert "it has 1 lines." in text


def test_two_files_of_lattices(folder, tmp_path):
    write(tmp_path / "yes.fst.txt", X[Y == "about music"])
    write(tmp_path / "no.fst.txt", kw.Lattices.from_arcs([([(0, 1, "zebra", 1.0)], [1])] * 3, ids=["a", "b", "c"]))
    out = tmp_path / "m.kw"
    found = answer("train", tmp_path / "yes.fst.txt", "--negative", tmp_path / "no.fst.txt", "--out", out)
    assert found["labels"] == {"-1": 3, "1": 20}
    assert found["input"]["letters"] == 7
    (tmp_path / "text.tsv").write_text("1\tthe zebra\n")
    text = said("train", tmp_path / "yes.fst.txt", "--negative", tmp_path / "text.tsv", "--out", out)
    assert "holds lattices, but" in text


def test_weights_are_posterior_unless_asked(tmp_path):
    heavy, y = made(10, 2, weight=50.0)
    write(tmp_path / "x.plf.tsv", heavy, y)
    options = ("--kernel", "ngram:2", "--normalize", "none", "--out", tmp_path / "m.kw")
    for extra, total, peak in (
        ((), 1.0, 0.7),
        (("--raw-weights",), 50.0, 35.0),
        (("--scale", 0.5, "--raw-weights"), np.sqrt(35) + np.sqrt(15), np.sqrt(35)),
    ):
        run("train", tmp_path / "x.plf.tsv", *options, *extra)
        model = kw.load(tmp_path / "m.kw")
        np.testing.assert_allclose(model.reference_.total_weights(), total)
        assert model.reference_.weights.max() == pytest.approx(max(peak, 1.0))
        lines = run("predict", tmp_path / "m.kw", tmp_path / "x.plf.tsv").stdout.splitlines()[1:]  # read alike
        rows = read_lattices(tmp_path / "x.plf.tsv", normalize="--raw-weights" not in extra,
                             scale=0.5 if "--scale" in extra else 1.0)  # fmt: skip
        np.testing.assert_allclose([float(line.split("\t")[1]) for line in lines], model.decision_function(rows))


def test_symbol_tables(tmp_path):
    (tmp_path / "words.txt").write_text("<eps> 0\nyes 1\nno 2\n")
    (tmp_path / "x.fst.txt").write_text("a\n0 1 1 0.5\n0 1 0 0.5\n1\n\nb\n0 1 2 0.1\n1\n")
    (tmp_path / "y").write_text("a\tA\nb\tB\n")
    words = ("--symbols", tmp_path / "words.txt")
    run("train", tmp_path / "x.fst.txt", "--labels", tmp_path / "y", *words, "--out", tmp_path / "m.kw")
    model = kw.load(tmp_path / "m.kw")
    assert model.reference_.alphabet.letters == ("no", "yes")
    assert "symbols" not in model.source_
    lines = run("predict", tmp_path / "m.kw", tmp_path / "x.fst.txt", *words).stdout.splitlines()
    assert [line.split("\t")[2] for line in lines[1:]] == ["A", "B"]


def test_unseen_words_and_plain_text_at_prediction(folder, tmp_path):
    (tmp_path / "new.plf").write_text("((('zebra', 0, 1),), (('music', 0, 1),),)\n")
    assert run("predict", folder / "m.kw", tmp_path / "new.plf").stdout.splitlines()[1].endswith("about music")
    (tmp_path / "new.tsv").write_text("?\tthe zebra music\tu1\n?\tweather\tu2\n")
    lines = run("predict", folder / "m.kw", tmp_path / "new.tsv").stdout.splitlines()[1:]
    assert [line.split("\t")[2] for line in lines] == ["about music", "about weather"]


def test_n_grams_of_text(tmp_path):
    rng = np.random.default_rng(0)
    topics = {"sport": "the team won the match", "money": "the bank cut its rates"}
    rows = [(topic, f"{rng.choice(FILLERS)} {text} {rng.choice(FILLERS)}") for topic, text in topics.items()] * 15
    (tmp_path / "news.jsonl").write_text("".join(json.dumps({"label": a, "text": b}) + "\n" for a, b in rows))
    (tmp_path / "news.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows))
    for name, alphabet in (("news.jsonl", "bytes"), ("news.tsv", "bytes"), ("news.tsv", "words"), ("news.tsv", "text")):
        found = answer(
            "train", tmp_path / name, "--kernel", "ngram:5", "--out", tmp_path / "m.kw", "--alphabet", alphabet
        )
        assert found["kernel"] == "Cosine(NGram(5))"
        assert found["input"]["alphabet"] == alphabet
        (tmp_path / "one.tsv").write_text("sport\tthey say the team won the match\n")
        assert run("predict", tmp_path / "m.kw", tmp_path / "one.tsv").stdout.strip().endswith("sport")


def test_a_weight_for_each_order(folder, tmp_path):
    orders = [part for n in (1, 2, 3) for part in ("--kernel", f"ngram:{n}")]
    found = answer("train", folder / "train.plf.tsv.gz", *orders, "--norm", 2, "--out", tmp_path / "m.kw")
    assert [kernel["name"] for kernel in found["kernel"]] == ["NGram(1)", "NGram(2)", "NGram(3)"]
    assert answer("evaluate", tmp_path / "m.kw", folder / "test.plf.tsv.gz")["accuracy"]["value"] == 1.0


def test_what_goes_wrong_is_said(folder, tmp_path):
    out = ("--out", tmp_path / "m.kw")
    assert "has no labels; give them with --labels" in said("train", folder / "train.fst.txt.gz", *out)
    (tmp_path / "others").write_text("x\ty\n")
    assert "has no label for the row 'u0'" in said(
        "train", folder / "train.fst.txt.gz", "--labels", tmp_path / "others", *out
    )
    assert "compares sequences, but got Lattices" in said(
        "train", folder / "train.plf.tsv.gz", "--kernel", "wd:3", *out
    )
    assert "--standardize is for tables" in said("train", folder / "train.plf.tsv.gz", "--standardize", *out)
    (tmp_path / "t.csv").write_text("a,label\n1,0\n2,1\n")
    for option in (("--raw-weights",), ("--scale", 2), ("--symbols", tmp_path / "t.csv")):
        assert f"{option[0]} is for files of lattices" in said("train", tmp_path / "t.csv", *option, *out)
    assert "t.csv holds a table, but the model was trained on lattices" in said(
        "predict", folder / "m.kw", tmp_path / "t.csv"
    )
    run("train", tmp_path / "t.csv", *out, "-q")
    assert "holds lattices, but the model was trained on a table" in said(
        "predict", tmp_path / "m.kw", folder / "test.plf.tsv.gz"
    )
    (tmp_path / "huge.fst.txt").write_text("a\n0 1 x 1000\n1\n\nb\n0 1 x 0\n1\n")
    (tmp_path / "y").write_text("a\tA\nb\tB\n")
    labels = ("--labels", tmp_path / "y", *out)
    assert "leaving out --raw-weights turns" in said("train", tmp_path / "huge.fst.txt", "--raw-weights", *labels)
    (tmp_path / "loop.fst.txt").write_text("a\n0 1 x 1\n1 0 x 1\n1\n")
    assert "loop.fst.txt:2: lattice 'a': the arc from 0 to 1 lies on a cycle" in said(
        "train", tmp_path / "loop.fst.txt", *labels
    )


def test_reading_and_writing_at_one_door(folder):
    for name in ("test.plf.tsv.gz", "test.fst.txt.gz", "test.kwlat"):
        data = read(folder / name)
        assert data.X.ids.tolist() == NEW.ids.tolist()
        np.testing.assert_allclose(data.X.weights, NEW.weights)
    with pytest.raises(ValueError, match="hold no labels"):
        write(folder / "y.kwlat", NEW, NEW_Y)
    with pytest.raises(ValueError, match="has no suffix of a format for lattices; known suffixes are"):
        write(folder / "y.fa", NEW)
    with pytest.raises(ValueError, match="The format fasta cannot hold a Lattices"):
        write(folder / "y.fa", NEW, format="fasta")
    with pytest.raises(ValueError, match="which has no option 'text'; it has alphabet"):
        read(folder / "test.plf.tsv.gz", text="x")


def test_real_lattices(shared_data, tmp_path):
    source = shared_data / "lattice" / "snips_valid_lattices.fst.txt.gz"
    X = read_lattices(source, normalize=True)[::7]
    write(tmp_path / "some.fst.txt.gz", X)
    (tmp_path / "y").write_text("".join(f"{name}\t{int(name[-4:]) // 100}\n" for name in X.ids))
    run("train", tmp_path / "some.fst.txt.gz", "--labels", tmp_path / "y", "--out", tmp_path / "m.kw", "-q")
    assert len(run("predict", tmp_path / "m.kw", tmp_path / "some.fst.txt.gz").stdout.splitlines()) == 101


def test_text_is_words_unless_an_alphabet_is_named(tmp_path):
    rows = [("sport", "The team won; the match!"), ("money", "A bank cut rates.")] * 10
    (tmp_path / "news.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows))
    found = answer("train", tmp_path / "news.tsv", "--out", tmp_path / "m.kw")
    assert found["input"]["alphabet"] == "text"
    assert found["kernel"] == "Cosine(TfIdf(NGram(1)))"
    (tmp_path / "one.tsv").write_text("sport\tOUR team, they say\n")
    assert run("predict", tmp_path / "m.kw", tmp_path / "one.tsv").stdout.strip().endswith("sport")
