"""A page says what the model says, in every task and on every kind of rows; it asks for nothing and lets nothing in."""

from __future__ import annotations

import hashlib
import re
import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from kernelweave.interpret import bootstrap_errors, bootstrap_scores, class_report
from kernelweave.interpret.explain.stability import explanation_stability
from kernelweave.report.numbers import fixed, short, signed
from kernelweave.report.sections.examples import picked
from kernelweave.report.subject import subject_of
from webpage import check_closed, read

X, Y = kw.datasets.make_splice(260, length=70, random_state=0)
TABLE, FLOWERS = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[FLOWERS]
TWO = FLOWERS > 0
TEXTS = ["how far is it to the station", "how are you today", "it is far to the coast", "you are here my friend"] * 6
ARCS = [
    ([(0, 1, "rain", 0.9), (0, 1, "train", 0.1), (1, 2, "today", 1.0)], [2]),
    ([(0, 1, "train", 0.6), (0, 1, "rain", 0.4), (1, 2, "today", 0.7), (1, 3, "to", 0.3), (3, 2, "day", 1.0)], [2]),
]
PARTS = {"measured": TABLE, "drawn": TABLE[:, :1]}


def cases():
    """Return by name a model, rows, their labels, and words that its page has and has not."""
    lattices = kw.Lattices.from_arcs(ARCS * 8)
    return {
        "positions": (kw.KernelClassifier("wd:4"), X, Y, ["auROC", "Positional oligomer", "k-mer"],
                      ["Learned weight"]),
        "many": (kw.MKLClassifier(kw.WeightedDegree(3).per_position(window=20)), X, Y,
                 ["Learned weights of the kernels", "Learned weight of the windows"], []),
        "strands": (kw.KernelClassifier(kw.GappedKmer(5, 4, reverse_complement=True)), X, Y,
                    ["n-grams that tell classes apart", "both strands as one"], ["Learned weight"]),
        "mixture": (kw.CGBoostClassifier([kw.WeightedDegree(2), kw.Spectrum(2)]), X, Y, ["columns", "mixture"], []),
        "novelty": (kw.KernelNovelty("wd:2"), X, Y, ["novel", "auROC"], []),
        "unlabelled": (kw.KernelClassifier("spectrum:3"), X, None, ["not known", "n-gram"], ["auROC"]),
        "classes": (kw.KernelClassifier(kw.Linear(), loss="logistic"), TABLE, NAMES,
                    ["Macro F1", "Who is taken for whom", "calibration error", "moves it by"], []),
        "whole": (kw.KernelClassifier(kw.RBF(width=2.0)), TABLE, NAMES, ["compares whole rows"], ["Motifs"]),
        "weights by class": (kw.MKLClassifier(kw.RBF.grid([0.1, 1.0])), TABLE, NAMES, ["for each class"], []),
        "numbers": (kw.KernelRegressor(kw.Linear()), TABLE[:, 1:], TABLE[:, 0], ["RMSE", "predicted minus true"], []),
        "unknown numbers": (kw.KernelRegressor(kw.RBF(width=2.0)), TABLE[:, 1:], None, ["no errors"], ["RMSE"]),
        "pipeline": (make_pipeline(StandardScaler(), kw.KernelClassifier(kw.Linear())), TABLE, TWO, ["auPRC"], []),
        "views": (kw.KernelClassifier(kw.Linear().on("measured") + kw.RBF(width=1.0).on("measured")), PARTS, TWO,
                  ["measured: 0", "shown by kernel"], []),
        "text": (kw.KernelClassifier(kw.NGram(2), normalize="cosine"),
                 kw.Sequences.from_strings(TEXTS, alphabet="words"), ["travel", "talk"] * 12, ["station"], ["Motifs"]),
        "lattices": (kw.KernelClassifier(kw.NGram(1)), lattices, ["weather", "travel"] * 8, ["Lattice: rain"], []),
        "features": (kw.MKLClassifier([kw.Spectrum(2)], loss="logistic", norm=2.0, solver="svrg"), X, Y,
                     ["Features that weigh most"], []),
    }  # fmt: skip


CASES = cases()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a function that fits a case once and writes its page."""
    place, done = tmp_path_factory.mktemp("report"), {}

    def write(name):
        if name not in done:
            model, rows, y, _, _ = CASES[name]
            target = {"unlabelled": Y, "unknown numbers": TABLE[:, 0]}.get(name, y)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = model.fit(rows) if name == "novelty" else model.fit(rows, target)
                path = place / f"{len(done)}.html"
                kw.write_report(fitted, rows, y, path, n_resamples=40)
            done[name] = fitted, path
        return done[name]

    return write


@pytest.mark.parametrize("name", CASES)
def test_every_task_and_kind_of_rows_has_a_page(written, name):
    _, path = written(name)
    page = read(path)
    check_closed(page)
    said = page.text + " " + " ".join(page.having("aria-label"))
    there, missing = CASES[name][3:]
    assert [words for words in there if words not in said] == []
    assert [words for words in missing if words in said] == []
    assert "nan" not in said.lower().replace("finan", "").split()
    assert len([1 for tag, attrs in page.elements if tag == "article"]) == 10
    assert page.having("data-t")


def test_the_numbers_are_those_of_interpret(written):
    model, path = written("positions")
    found = bootstrap_scores(Y, model.decision_function(X), positive=1, n_resamples=40)
    for name in ("auroc", "auprc", "mcc"):
        i = found[name]
        assert f"{fixed(i.value)} {fixed(i.low)} to {fixed(i.high)}" in read(path).text
    model, path = written("classes")
    report = class_report(NAMES, model.predict(TABLE), model.classes_, n_resamples=40)
    assert fixed(report.scores["f1_macro"].value) in read(path).text
    model, path = written("numbers")
    found = bootstrap_errors(TABLE[:, 0], model.predict(TABLE[:, 1:]), n_resamples=40)
    assert short(found["r2"].value) in read(path).text


def test_letters_of_an_explained_row_say_what_they_add(written):
    model, path = written("positions")
    rows = picked(subject_of(model, X, Y, None, 1000, 0))
    told = kw.explain(model, X[[row for _, row in rows]])
    said = read(path).having("data-t")
    for place in range(3):
        value = told.tracks[0].of(place)[7, 0]
        assert f"{X[rows[place][1]][7]} at 7: {'+' if value > 0 else ''}{fixed(value, 4)}" in said
    kinds = [kind for kind, _ in rows]
    assert kinds.count("clearly right") == 4
    assert len({row for _, row in rows}) == 10


def test_columns_of_many_views_are_one_table_with_their_values(tmp_path):
    import pandas as pd

    table = pd.DataFrame(TABLE, columns=["long", "wide", "deep", "high"])
    model = kw.MKLClassifier([kw.Linear().on([name]) for name in table], norm=2.0).fit(table, NAMES)
    kw.write_report(model, table, NAMES, tmp_path / "r.html", n_resamples=20)
    page = read(tmp_path / "r.html")
    assert "Linear() on long" in page.text
    assert "On(" not in page.text
    heads = [k for k, (tag, _) in enumerate(page.elements) if tag == "article"]
    assert [sum(tag == "table" for tag, _ in page.elements[a:b]) for a, b in pairwise(heads)] == [1] * 9
    kinds = picked(subject_of(model, table, NAMES, None, 1000, 0))
    assert {NAMES[row] for kind, row in kinds if kind == "clearly right"} == set(NAMES)


def test_certificates_are_said_in_words(written):
    model, path = written("positions")
    text = read(path).text
    assert "no other choice of what was learned could lower the objective by more than" in text
    assert f"{model.dual_objective_:.6g} ≤ optimum ≤ {model.objective_:.6g}" in text
    assert "one kernel, as it is given" in text


def test_stability_of_weights_is_shown_where_it_was_asked_for(written, tmp_path):
    model, _ = written("many")
    with pytest.raises(ValueError, match="hand these in as training"):
        kw.write_report(model, X, Y, tmp_path / "r.html", stability=3)
    kw.write_report(model, X, Y, tmp_path / "r.html", stability=3, training=(X, Y), n_resamples=20)
    assert "3 refits on bootstrap samples" in read(tmp_path / "r.html").text


@pytest.mark.parametrize("name", ["positions", "text", "lattices", "pipeline"])
def test_what_places_add_has_intervals_where_they_were_asked_for(written, tmp_path, name):
    model, _ = written(name)
    rows, y = CASES[name][1:3]
    kw.write_report(model, rows, y, tmp_path / "r.html", stability=3, training=(rows, y), n_resamples=20)
    page = read(tmp_path / "r.html")
    assert "90% of 3 refits" in page.text
    assert [said for said in page.having("data-t") if re.search(r"[+−]\d.* \([+−]?\d.* to [+−]?\d", said)]
    if name == "positions":
        picks = picked(subject_of(model, rows, y, None, 1000, 0))
        some = X[[row for _, row in picks]]
        found = explanation_stability(model, X, Y, some, n_samples=3, random_state=0)
        low, high = found.lower[0][7, 0], found.upper[0][7, 0]
        value = kw.explain(model, some).tracks[0].of(0)[7, 0]
        said = f"{some[0][7]} at 7: {signed(value, 4)} ({signed(low, 4)} to {signed(high, 4)})"
        assert said in page.having("data-t")


HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'-alert(1)-'", "</title><script>alert(1)</script>",
    "javascript:alert(1)", "&lt;b&gt;", "\u202egnp.exe", "nul\x00\x1b[31m", "]]>", "<!--", "a" * 5000, "\ud800half",
]  # fmt: skip


def test_hostile_names_are_text(tmp_path):
    ids = [f"{name}{k}" for k, name in enumerate(HOSTILE * 3)]
    labels = np.array(["<script>alert('a')</script>", "</style><img src=x onerror=alert(2)>"])
    y = labels[np.arange(len(ids)) % 2]
    texts = [f'<img/src=x> {"<script>alert(3)</script>" if k % 2 else "&amp;"} a"b' for k in range(len(ids))]
    rows = kw.Sequences.from_strings(texts, alphabet="words")
    model = kw.KernelClassifier(kw.NGram(1)).fit(rows, y)
    sources = [("Command", "<script>alert(4)</script>")]
    path = tmp_path / "r.html"
    kw.write_report(model, rows, y, path, ids=ids, title=HOSTILE[3], sources=sources, n_resamples=20)
    page = read(path)
    check_closed(page)
    assert "<script>alert(1)</script>" in page.text
    assert "<script>alert('a')</script>" in page.text
    assert not set("\x00\x1b\u202e") & set(path.read_text(encoding="utf-8"))
    assert max(map(len, page.texts)) < 2000


def test_columns_and_kernels_with_hostile_names_are_text(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(TABLE, columns=["<b>a</b>", "\"'>", "c", "<script>alert(1)</script>"])
    model = kw.MKLClassifier([kw.Linear().on("<b>a</b>"), kw.RBF(width=1.0).on("c")])
    kw.write_report(model.fit(frame, TWO), frame, TWO, tmp_path / "r.html", n_resamples=20)
    page = read(tmp_path / "r.html")
    check_closed(page)
    assert "b" not in [name for name, attrs in page.elements if not attrs] or "<b>a</b>" in page.text


def test_the_same_rows_give_the_same_bytes(written, tmp_path):
    model, path = written("strands")
    kw.write_report(model, X, Y, tmp_path / "again.html", n_resamples=40)
    assert (tmp_path / "again.html").read_bytes() == path.read_bytes()


def test_many_rows_are_sampled_and_long_rows_cut_with_a_sentence(written, tmp_path):
    model, _ = written("unlabelled")
    long = kw.Sequences.from_strings(["".join(X.to_strings()[k : k + 20]) for k in range(30)], alphabet="dna")
    kw.write_report(model, long, None, tmp_path / "r.html", rows=12)
    page = read(tmp_path / "r.html")
    assert "12 rows drawn at random from the 30" in page.text
    assert "The 300 of 1,400 letters" in page.text
    path = tmp_path / "s.html"
    kw.write_report(model, long[:1], [1], path)
    assert "All rows are of one class" in read(path).text


def test_what_cannot_be_reported_is_said(written, tmp_path):
    model, _ = written("positions")
    with pytest.raises(ValueError, match="There are no rows"):
        kw.write_report(model, X[:0], None, tmp_path / "r.html")
    with pytest.raises(ValueError, match="one label or number for each of 260 rows"):
        kw.write_report(model, X, Y[:5], tmp_path / "r.html")
    with pytest.raises(ValueError, match="y has the label 7, but the model knows -1, 1"):
        kw.write_report(model, X, np.full(len(Y), 7), tmp_path / "r.html")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        kw.write_report(model, X, Y, tmp_path / "none" / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_the_script_is_the_one_that_the_policy_names(written):
    import base64

    source = written("whole")[1].read_text(encoding="utf-8")
    script = source.split("<script>")[1].split("</script>")[0]
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in source
