"""Models of LS-GKM, read and written: the scores of `gkmpredict`, damaged files, tables of l-mers.

`lsgkm/*.model.txt` are what gkmtrain 0.1.2 wrote for random rows; `lsgkm/scores.csv` holds new random rows with the
scores of gkmpredict for each model, printed with twelve digits.
"""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.estimators.files.lsgkm import is_lsgkm, read_lsgkm, write_lmers, write_lsgkm
from kernelweave.kernels import Cosine
from oracles.lsgkm import lmers
from oracles.lsgkm import value as slow_value
from oracles.strings import turned

FOLDER = Path(__file__).parent / "lsgkm"
with (FOLDER / "scores.csv").open() as _file:
    JUDGED = list(csv.DictReader(_file))
NEW = kw.Sequences.from_strings([row["sequence"] for row in JUDGED], alphabet="dna")
MODELS = ("gkm", "wgkmrbf", "counts", "svr")
PRINTED = 1e-11
"""gkmpredict's scores were printed with twelve digits."""


def scores(model, X=NEW):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def trained(kernel=None, y=None, **options):
    rng = np.random.default_rng(5)
    X = kw.Sequences.from_strings(["".join(rng.choice(list("ACGT"), 20)) for _ in range(14)], alphabet="dna")
    y = np.where(np.arange(14) % 2, 1, -1) if y is None else y
    options = {"normalize": "cosine"} | options
    return kw.KernelClassifier(kernel or kw.LSGKM(5, 3, None), **options).fit(X, y)


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_gkmpredict(name, tmp_path):
    model = read_lsgkm(FOLDER / f"{name}.model.txt")
    expected = [float(row[name]) for row in JUDGED]
    np.testing.assert_allclose(scores(model), expected, atol=PRINTED)
    kw.save(model, tmp_path / "model.kw")
    np.testing.assert_array_equal(scores(kw.load(tmp_path / "model.kw")), scores(model))


@pytest.mark.parametrize("name", MODELS)
def test_what_was_read_is_written_as_it_was(name, tmp_path):
    write_lsgkm(read_lsgkm(FOLDER / f"{name}.model.txt"), tmp_path / "again.txt.gz")
    again = gzip.decompress((tmp_path / "again.txt.gz").read_bytes()).decode().split("\n")
    before = (FOLDER / f"{name}.model.txt").read_text().split("\n")
    assert is_lsgkm(tmp_path / "again.txt.gz")
    assert len(again) == len(before)
    for line, known in zip(sorted(again), sorted(before)):
        assert line.split()[-1:] == known.split()[-1:] or float(line.split()[-1]) == float(known.split()[-1])
        if line[:1] in "-0123456789" and line:
            assert float(line.split()[0]) == pytest.approx(float(known.split()[0]), rel=1e-14)


KERNELS = [
    kw.LSGKM(5, 3),
    kw.LSGKM(5, 3, None),
    kw.LSGKM(5, 3, None, "full", reverse_complement=False),
    kw.LSGKM(5, 3, None, center_weight=(9, 4.0)),
    kw.GappedKmer(5, 3, reverse_complement=True),
    kw.GappedKmer(5, 4),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_trained_model_comes_back(kernel, tmp_path):
    model = trained(kernel)
    write_lsgkm(model, tmp_path / "model.txt")
    again = read_lsgkm(tmp_path / "model.txt")
    np.testing.assert_allclose(scores(again), scores(model), atol=1e-12)
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))


def test_gaussians_and_factors_come_back(tmp_path):
    gaussian = trained(kw.InducedRBF(Cosine(kw.LSGKM(5, 3, None)), 0.7), normalize=None)
    scaled = trained(3.0 * Cosine(kw.LSGKM(5, 3, None)), normalize=None)
    for model in (gaussian, scaled):
        write_lsgkm(model, tmp_path / "model.txt")
        np.testing.assert_allclose(scores(read_lsgkm(tmp_path / "model.txt")), scores(model), atol=1e-12)


def test_a_file_whose_first_label_is_negative_means_the_same(tmp_path):
    text = (FOLDER / "gkm.model.txt").read_text()
    (tmp_path / "turned.txt").write_text(text.replace("label 1 -1", "label -1 1"))
    model = read_lsgkm(tmp_path / "turned.txt")
    np.testing.assert_allclose(scores(model), [-float(row["gkm"]) for row in JUDGED], atol=PRINTED)


def test_unknown_letters_of_support_rows_are_read_as_lsgkm_does(tmp_path):
    text = (FOLDER / "gkm.model.txt").read_text()
    head, tail = text.split("SV\n")
    (tmp_path / "n.txt").write_text(head + "SV\n" + tail.replace("A", "n").lower())
    np.testing.assert_allclose(scores(read_lsgkm(tmp_path / "n.txt")), [float(row["gkm"]) for row in JUDGED], atol=1e-9)


def test_a_converted_model_claims_nothing():
    model = read_lsgkm(FOLDER / "gkm.model.txt")
    assert not model.converged_
    assert model.duality_gap_ == np.inf
    assert model.certifies_ == "nothing"


BROKEN = [
    ("kernel_type gkm_esttrunc", "kernel_type other", "kernel_type 'other' is not one of gkm_cnt"),
    ("svm_type c_svc", "svm_type nu_svc", "svm_type 'nu_svc' cannot be converted"),
    ("L 6", "L six", ":3: L of an LS-GKM model must be a number, not 'six'"),
    ("L 6", "L 40", "L is 40, expected 1 to 12"),
    ("k 4", "k 9", "k is 9, expected 1 to 6"),
    ("rho", "rho inf", "rho is not finite"),
    ("rho", "rhu", ":9: 'rhu .*' is no field of an LS-GKM model"),
    ("d 2\n", "", "lacks d"),
    ("label 1 -1", "label 1 1", "label must hold two different whole numbers"),
    ("total_sv 16", "total_sv 17", "the file ends after 16 support vectors, but its header says 17"),
    ("SV\n", "SV\nx ACGTACGT\n", ":13: 'x ACGTACGT' is not a coefficient and a sequence"),
    ("SV\n", "SV\n1.0 ACG\n", ":13: the sequence has 3 letters, fewer than L = 6"),
    ("SV\n", "SV\n1.0 ACGT ACGT\n", "is not a coefficient and a sequence"),
    ("SV\n", "", "no field of an LS-GKM model"),
]


@pytest.mark.parametrize(("old", "new", "message"), BROKEN, ids=[message for _, _, message in BROKEN])
def test_damaged_files(old, new, message, tmp_path):
    path = tmp_path / "broken.txt"
    text = (FOLDER / "gkm.model.txt").read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=message) as error:
        read_lsgkm(path)
    assert str(error.value).startswith(str(path))


def test_a_truncated_header(tmp_path):
    (tmp_path / "t.txt").write_text("svm_type c_svc\nkernel_type gkm_cnt\n")
    with pytest.raises(ValueError, match="is truncated or no LS-GKM model: it has no line SV"):
        read_lsgkm(tmp_path / "t.txt")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: trained(normalize=None), "divides every kernel by the norms of both rows"),
        (lambda: trained(kw.Spectrum(3)), "it knows those of LSGKM, and GappedKmer"),
        (lambda: trained(kw.LSGKM(5, 3, None, None, (5, 5.0))), "LS-GKM has no such kernel"),
        (lambda: trained(kw.GappedKmer(6, 4, reverse_complement=True)), r"train with LSGKM\(6, 4, None, None\)"),
        (lambda: trained(y=np.arange(14) % 3), "Only a fitted KernelClassifier of two classes"),
        (lambda: kw.KernelClassifier(), "Only a fitted KernelClassifier of two classes"),
    ],
)
def test_models_that_lsgkm_does_not_know(model, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_lsgkm(model(), tmp_path / "model.txt")
    assert not list(tmp_path.iterdir())


def test_masked_letters_are_not_written(tmp_path):
    X = kw.Sequences.from_strings(["ACGTACGTNA", "TTTTTGTACC"], alphabet="dna", unknown="mask")
    model = kw.KernelClassifier(kw.LSGKM(4, 2, None), normalize="cosine").fit(X, [1, -1])
    with pytest.raises(ValueError, match="Support row 0 has an unknown letter"):
        write_lsgkm(model, tmp_path / "model.txt")


@pytest.mark.parametrize("both", [True, False])
def test_the_table_of_lmers_holds_every_one_with_its_score(both, tmp_path):
    model = trained(kw.LSGKM(4, 2, None, reverse_complement=both))
    n = write_lmers(model, tmp_path / "weights.txt")
    table = dict(line.split("\t") for line in (tmp_path / "weights.txt").read_text().splitlines())
    expected = [word for word in lmers(4) if not both or word <= turned(word)]
    assert list(table) == expected
    assert n == len(expected)
    kernel, rows = model.kernel_.kernel, model.reference_.to_strings()
    for word in ("AAAA", "ACGT", "CTAG", "GATC"):
        norms = [np.sqrt(slow_value(kernel, row, row) * slow_value(kernel, word, word)) for row in rows]
        parts = [c * slow_value(kernel, row, word) / norm for c, row, norm in zip(model.dual_coef_[0], rows, norms)]
        assert float(table[word]) == pytest.approx(sum(parts) + model.intercept_[0], abs=1e-8)


def test_other_models_have_no_table_of_lmers(tmp_path):
    with pytest.raises(ValueError, match="with a kernel on l-mers"):
        write_lmers(trained(kw.Spectrum(3)), tmp_path / "weights.txt")
