"""Bad input: one clear sentence from the library, and the same from the command line, without a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app

FILES = {
    "good.csv": "a,b,label\n1,2,1\n3,4,-1\n5,6,1\n7,1,-1\n",
    "empty.csv": "",
    "names.csv": "a,b,label\n",
    "one.csv": "a,b,label\n1,2,yes\n3,4,yes\n",
    "nan.csv": "a,b,label\n1,2,1\n3,nan,-1\n5,6,1\n",
    "inf.csv": "a,b,label\n1,2,1\n-inf,4,-1\n5,6,1\n",
    "text.csv": "a,b,label\n1,x,1\n3,4,-1\n",
    "cells.csv": "a,b,label\n1,2,1\n3,-1\n",
    "real.csv": "a,label\n1,0.5\n2,0.7\n3,1.5\n",
    "words.csv": "a,label\n1,yes\n2,no\n3,yes\n",
    "strange.csv": "a,b,label\n1,2,7\n3,4,1\n",
    "narrow.csv": "a,label\n1,1\n3,-1\n",
    "twins.csv": "id,a,label\nr1,1,1\nr1,2,-1\n",
    "dna.tsv": "1\tACGTACGT\n-1\tGGTTACCT\n1\tACGTACGA\n-1\tGGTTACCC\n",
    "letters.tsv": "1\tACGTACGT\n-1\tACGTAC!T\n",
    "ragged.tsv": "1\tACGTACGT\n-1\tACGTAC\n1\tACGTTTTT\n-1\tGGGG\n",
    "twins.tsv": "1\tACGTACGT\tp1\n-1\tACGTACCT\tp1\n",
    "protein.tsv": "1\tMKVLAAGW\n-1\tPPQRSTVW\n",
    "pos.fa": ">a\nACGT\n>b\nACGA\n",
    "neg.fa": ">c\nMKVLW\n",
    "labels.tsv": "a\t1\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Good and bad files, a folder, two models and half of one."""
    path = tmp_path_factory.mktemp("bad")
    for name, text in FILES.items():
        (path / name).write_text(text)
    (path / "folder").mkdir()
    for name in ("good.csv", "dna.tsv"):
        data = kw.read(path / name)
        kw.save(kw.KernelClassifier("rbf:1" if name == "good.csv" else "wd:3").fit(data.X, data.y), path / f"{name}.kw")
    whole = (path / "good.csv.kw").read_bytes()
    (path / "half.kw").write_bytes(whole[: len(whole) // 2])
    return path


TABLE, SIGNS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), [1, -1, 1]


def fit(X=TABLE, y=SIGNS, kernel="rbf:1", **parameters):
    return kw.KernelClassifier(kernel, **parameters).fit(X, y)


def spoiled(value):
    return np.where(TABLE == 4.0, value, TABLE)


LIBRARY = {
    "empty file": (lambda d: kw.read(d / "empty.csv"), r"empty\.csv is empty"),
    "no rows": (lambda d: kw.read(d / "names.csv"), "has a line of names but no rows"),
    "no examples": (lambda d: fit(TABLE[:0], []), "0 sample"),
    "one class only": (lambda d: fit(y=[1, 1, 1]), "one class only"),
    "NaN": (lambda d: fit(spoiled(np.nan)), "NaN"),
    "infinity": (lambda d: fit(spoiled(np.inf)), "infinity"),
    "NaN in a view": (lambda d: fit({"x": spoiled(np.nan)}, kernel=kw.RBF(1.0).on("x")), "view 'x' contains NaN"),
    "negative C": (lambda d: fit(C=-1.0), "C=-1.0 must be a positive number"),
    "mismatched lengths": (lambda d: fit(y=[1, -1]), "X has 3 rows, but y has 2 entries"),
    "mismatched weights": (lambda d: kw.KernelClassifier().fit(TABLE, SIGNS, [1.0]), "sample_weight"),
    "sequences of different lengths": (
        lambda d: fit(kw.read(d / "ragged.tsv").X, [1, -1, 1, -1], "wd:3"),
        "one length, but row 0 has 8 letters and row 1 has 6",
    ),
    "rows of different lengths": (lambda d: kw.read(d / "cells.csv"), r"cells\.csv:3: found 2 cells"),
    "unknown letters": (
        lambda d: kw.read(d / "letters.tsv", alphabet="dna"),
        r"letters\.tsv:2: row 1 has the unknown letter '!' at position 6",
    ),
    "no such label column": (
        lambda d: kw.read(d / "good.csv", label="price"),
        "no label column 'price'; its columns are a, b",
    ),
    "directory": (lambda d: kw.read(d / "folder"), "folder is a directory, expected a file"),
    "directory as model": (lambda d: kw.load(d / "folder"), "folder is a directory, expected a model file"),
    "missing file": (lambda d: kw.read(d / "none.csv"), r"none\.csv does not exist"),
    "unwritable output": (
        lambda d: kw.save(fit(), d / "good.csv" / "m.kw"),
        r"Cannot write .*good\.csv is not a directory",
    ),
    "directory as output": (lambda d: kw.save(fit(), d / "folder"), "Cannot write .* it is a directory"),
    "duplicate ids": (lambda d: kw.read(d / "twins.tsv"), r"twins\.tsv:2: the id 'p1' was already used on line 1"),
    "other alphabet": (
        lambda d: kw.load(d / "dna.tsv.kw").predict(kw.read(d / "protein.tsv").X),
        "trained on the alphabet 'dna', but the input has 'protein'",
    ),
    "other kind": (lambda d: kw.load(d / "dna.tsv.kw").predict(TABLE), "was trained on sequences"),
    "other columns": (
        lambda d: kw.load(d / "good.csv.kw").predict(TABLE[:, :1]),
        "X has 1 features, but KernelClassifier",
    ),
    "other columns of a view": (
        lambda d: fit({"x": TABLE}, kernel=kw.RBF(1.0).on("x")).predict({"x": TABLE[:, :1]}),
        "The view 'x' has 1 columns, but this model was trained on 2",
    ),
    "a view of another kind": (
        lambda d: fit({"x": TABLE}, kernel=kw.RBF(1.0).on("x")).predict({"x": ["ACGT"]}),
        "trained on a table, but the view 'x' is sequences",
    ),
    "arrays of different lengths": (
        lambda d: fit([np.ones(2), np.ones(3), np.ones(2)]),
        "Row 1 has 3 values, but row 0 has 2; expected rows of one length",
    ),
    "a list of tables": (
        lambda d: fit([TABLE, TABLE, TABLE]),
        "X is a list of 3 tables, .* several tables of the same rows are named views",
    ),
    "a text that is missing": (
        lambda d: fit(["ACGT", None, "CCGT"], kernel="spectrum:2"),
        "Row 1 is None, but row 0 is a text; expected a text in every row",
    ),
    "a text that is missing in a view": (
        lambda d: fit({"t": ["ACGT", float("nan"), "CCGT"]}, kernel=kw.Spectrum(2).on("t")),
        "In the view 't': Row 1 is nan, but row 0 is a text",
    ),
    "texts in a table": (
        lambda d: fit(pytest.importorskip("pandas").DataFrame({"n": [1, 2, 3], "s": ["ACGT", "AGGT", "CCGT"]})),
        r"The column 's' of X holds texts such as 'ACGT', expected numbers; kw\.ViewTransformer makes views",
    ),
    "a single text": (
        lambda d: fit(["ACGT", "AGGT", "CCGT"], kernel="spectrum:2").predict("ACGT"),
        "Expected rows, got a single text; put it in a list",
    ),
    "truncated model": (lambda d: kw.load(d / "half.kw"), r"half\.kw is truncated"),
    "foreign model": (lambda d: kw.load(d / "good.csv"), "is not a kernelweave model file"),
    "unknown kernel": (lambda d: fit(kernel="rfb"), "There is no kernel 'rfb'; known ones are linear"),
}


@pytest.mark.parametrize("case", LIBRARY)
def test_the_library_says_it_in_one_sentence(case, folder):
    act, words = LIBRARY[case]
    with pytest.raises((ValueError, TypeError, OSError), match=words):
        act(folder)


COMMANDS = {
    "empty file": ("train empty.csv --out new.kw", "empty.csv is empty"),
    "no rows": ("train names.csv --out new.kw", "has a line of names but no rows"),
    "one class only": ("train one.csv --out new.kw", "one.csv has one class only, yes"),
    "NaN": ("train nan.csv --out new.kw", "nan.csv holds nan in row 1, column 'b'; expected a finite number"),
    "infinity": ("train inf.csv --out new.kw", "inf.csv holds -inf in row 1, column 'a'"),
    "NaN in new rows": ("predict good.csv.kw nan.csv", "nan.csv holds nan in row 1, column 'b'"),
    "text in a table": ("train text.csv --out new.kw", "text.csv:2, column 'b': 'x' is not a number"),
    "negative C": ("train good.csv --out new.kw --C -1", "C=-1.0 must be a positive number"),
    "large nu": ("train good.csv --out new.kw --task novelty --nu 2", "nu=2.0 must be at most 1"),
    "sequences of different lengths": (
        "train ragged.tsv --out new.kw --kernel wd:3",
        "row 0 has 8 letters and row 1 has 6",
    ),
    "rows of different lengths": ("train cells.csv --out new.kw", "cells.csv:3: found 2 cells"),
    "labels for some rows": (
        "train pos.fa --labels labels.tsv --out new.kw",
        "labels.tsv has no label for the row 'b'",
    ),
    "unknown letters": ("train letters.tsv --out new.kw --alphabet dna", "unknown letter '!' at position 6"),
    "two alphabets": ("train pos.fa --negative neg.fa --out new.kw", "pos.fa holds dna letters, but "),
    "no such label column": ("train good.csv --out new.kw --label price", "good.csv has no label column 'price'"),
    "no such header key": ("train pos.fa --out new.kw --label price", "no header has price=VALUE"),
    "no labels": ("train pos.fa --out new.kw", "pos.fa has no labels; give the negative sequences with --negative"),
    "real labels": (
        "train real.csv --out new.kw",
        "real numbers such as 0.5, no classes; learn them with --task regress",
    ),
    "text to regress": ("train words.csv --out new.kw --task regress", "must be numbers for --task regress"),
    "directory": ("train folder --out new.kw", "folder is a directory, expected a file"),
    "directory as model": ("inspect folder", "folder is a directory, expected a model file"),
    "missing file": ("train none.csv --out new.kw", "none.csv does not exist"),
    "missing model": ("predict none.kw good.csv", "none.kw does not exist"),
    "unwritable output": ("train dna.tsv --out good.csv/m.kw", "good.csv is not a directory"),
    "unwritable predictions": ("predict good.csv.kw good.csv --out good.csv/p", "good.csv is not a directory"),
    "unwritable picture": ("evaluate good.csv.kw good.csv --plot good.csv/p.png", "good.csv is not a directory"),
    "strange picture": ("evaluate good.csv.kw good.csv --plot p.doc", "is not a known kind of picture"),
    "directory as output": ("train good.csv --out folder", "it is a directory, expected the name of a file"),
    "data as output": ("train good.csv --out good.csv", "would overwrite the data"),
    "duplicate ids": (
        "train twins.tsv --out new.kw",
        "the id 'p1' was already used on line 1; --duplicates allow keeps both",
    ),
    "duplicate ids in a table": ("train twins.csv --out new.kw", "twins.csv:3: the id 'r1' was already used on line 2"),
    "other alphabet": (
        "predict dna.tsv.kw protein.tsv",
        "trained on the alphabet 'dna', but protein.tsv holds 'protein'",
    ),
    "other alphabet, named": ("predict dna.tsv.kw protein.tsv --alphabet protein", "the input has 'protein'"),
    "other kind": ("predict dna.tsv.kw good.csv", "good.csv holds a table, but the model was trained on sequences"),
    "other columns": ("predict good.csv.kw narrow.csv", "X has 1 features, but KernelClassifier is expecting 2"),
    "unknown label": ("evaluate good.csv.kw strange.csv", "strange.csv has the label '7', but the model knows -1, 1"),
    "truncated model": ("predict half.kw good.csv", "half.kw is truncated"),
    "foreign model": ("inspect good.csv", "good.csv is not a kernelweave model file"),
    "model as data": ("train good.csv.kw --out new.kw", "binary data of an unknown format"),
    "unknown kernel": ("train good.csv --out new.kw --kernel rfb", "There is no kernel 'rfb'; known ones are linear"),
    "unknown format": ("train good.csv --out new.kw --format tabel", "There is no format 'tabel'; known are"),
    "epsilon to classify": (
        "train good.csv --out new.kw --epsilon 0.1",
        "--epsilon has no meaning for --task classify",
    ),
    "letters to standardize": ("train dna.tsv --out new.kw --standardize", "--standardize is for tables of numbers"),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_the_command_line_says_it_in_one_sentence(case, folder, monkeypatch):
    arguments, words = COMMANDS[case]
    monkeypatch.chdir(folder)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    result = CliRunner().invoke(app, arguments.split())
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    (sentence,) = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert words in sentence
    assert result.stdout == ""
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.parametrize("case", ["NaN", "other alphabet", "truncated model"])
def test_a_real_process_shows_no_traceback(case, folder):
    arguments, words = COMMANDS[case]
    program = [sys.executable, "-c", "from kernelweave.cli.app import main; main()"]
    done = subprocess.run([*program, *arguments.split()], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def test_the_program_is_installed(folder):
    program = Path(sys.executable).with_name("kernelweave")
    if not program.exists():
        pytest.skip("the package is used without being installed")
    done = subprocess.run([program, "inspect", "good.csv"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (1, "error: good.csv is not a kernelweave model file.\n")
