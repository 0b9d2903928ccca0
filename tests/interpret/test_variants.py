"""Variants: deltas are those of rescoring texts, windows the best ones, files that do not fit are refused."""

from __future__ import annotations

import gzip
from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.interpret.variants import score
from kernelweave.interpret.variants.contexts import Context
from kernelweave.interpret.variants.score import between_shuffled
from kernelweave.io.vcf import read_vcf

rng = np.random.default_rng(1)
GENOME = {name: "".join(rng.choice(list("ACGT"), size)) for name, size in (("chr1", 900), ("chr2", 60), ("chr3", 12))}
GENOME["chr1"] = GENOME["chr1"][:400] + "NNN" + GENOME["chr1"][403:]
W = 20
ROWS = kw.Sequences.from_strings(["".join(rng.choice(list("ACGT"), W)) for _ in range(60)])
Y = np.arange(60) % 2
MODELS = {
    "wd": kw.KernelClassifier(kw.WeightedDegree(6), normalize="trace").fit(ROWS, Y),
    "wd with shifts": kw.KernelClassifier(kw.WeightedDegree(3, shift=2), normalize="trace").fit(ROWS, Y),
    "deep wd": kw.KernelClassifier(kw.WeightedDegree(16), normalize="trace").fit(ROWS, Y),
    "unit wd": kw.KernelClassifier(kw.WeightedDegree(4), normalize="cosine").fit(ROWS, Y),
    "gkm": kw.KernelClassifier(kw.LSGKM(6, 4, 2), normalize="cosine").fit(ROWS, Y),
    "sum": kw.KernelClassifier(kw.WeightedDegree(3) + kw.Spectrum(3)).fit(ROWS, Y),
}


def line(seqid, at, ref_size, alt):
    return f"{seqid}\t{at + 1}\t.\t{GENOME[seqid][at : at + ref_size]}\t{alt}"


SNVS = [
    line("chr1", at, 1, "ACGT"[(("ACGT".find(GENOME["chr1"][at])) + 1) % 4]) for at in (0, 3, 50, 398, 404, 880, 899)
]
INDELS = [line("chr1", 100, 4, GENOME["chr1"][100]), line("chr1", 200, 1, GENOME["chr1"][200] + "ACCTGA"),
          line("chr1", 300, 3, "TTT"), line("chr2", 2, 5, "G"), line("chr2", 55, 1, "GG")]  # fmt: skip
OTHERS = ["chr1\t11\t.\t" + GENOME["chr1"][10] + "\t<DEL>,*,A", "chr3\t2\t.\t" + GENOME["chr3"][1] + "\tA"]


@pytest.fixture
def files(tmp_path):
    text = "".join(f">{name} some\n{letters}\n" for name, letters in GENOME.items())
    (tmp_path / "genome.fa").write_text(text)
    calls = "\n".join(["##fileformat=VCFv4.2", "#CHROM\tPOS\tID\tREF\tALT\tQUAL", *SNVS, *INDELS, *OTHERS])
    with gzip.open(tmp_path / "calls.vcf.gz", "wt") as file:
        file.write(calls + "\n")
    return tmp_path


def turned(text):
    return text[::-1].translate(str.maketrans("ACGT", "TGCA"))


def windows(seqid, at, ref, alt):
    """The slow twin: every window that contains the variant, with both alleles, as texts."""
    letters, size = GENOME[seqid], len(ref)
    for begin in range(max(at + size - W, 0), min(at, len(letters) - W) + 1):
        left, right = at - begin, begin + W - at - size
        whole = letters[:at] + alt + letters[at + size :]
        if left >= right:
            other = whole[begin : begin + W]
        else:
            end = begin + W + len(alt) - size
            other = whole[end - W : end] if end >= W else ""
        if len(other) == W:
            yield begin, letters[begin : begin + W], other


def values(model, texts):
    return model.decision_function(kw.Sequences.from_strings(texts, "dna", "mask"))


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_the_window_that_changes_most_is_reported(files, name, both, monkeypatch):
    monkeypatch.setattr(score, "CONTEXTS_TOGETHER", 4)
    monkeypatch.setattr(score, "WINDOWS_TOGETHER", 50)
    model = MODELS[name]
    found = kw.variants(
        model, files / "calls.vcf.gz", files / "genome.fa", windows="every", both_strands=both, background=0
    )
    effects = list(found)
    assert len(effects) == found.n_variants == len(SNVS) + len(INDELS)  # a deletion at the end of chr2 has no window
    assert found.skipped == {"<DEL>": 1, "*": 1, "no window fits": 2}
    for one in effects:
        best = 0.0
        for begin, ref, alt in windows(one.seqid, one.position - 1, one.ref, one.alt):
            for strand, turn in (("+", str), ("-", turned))[: 1 + both]:
                before, after = values(model, [turn(ref), turn(alt)])
                best = max(best, abs(after - before))
                if (begin, strand) == (one.start, one.strand):
                    assert (one.ref_score, one.alt_score) == pytest.approx((before, after), rel=1e-9, abs=1e-9)
        assert abs(one.delta) == pytest.approx(best, rel=1e-9, abs=1e-9)
        assert one.delta == one.alt_score - one.ref_score
        assert one.end - one.start == W


def test_the_middle_window_is_around_the_variant(files):
    effects = list(kw.variants(MODELS["gkm"], files / "calls.vcf.gz", files / "genome.fa", background=0))
    inside = [one for one in effects if 30 < one.position < 850 and one.seqid == "chr1" and len(one.ref) == 1]
    assert len(inside) > 3
    for one in inside:
        assert one.start + W // 2 - 1 <= one.position - 1 <= one.start + W // 2
    assert all(one.crosses in ("", "gain", "loss") for one in effects)


def test_backgrounds_compare_and_repeat(files):
    def effects():
        return list(kw.variants(MODELS["gkm"], files / "calls.vcf.gz", files / "genome.fa", background=99))

    one, again = effects(), effects()
    assert one == again
    p, size = np.array([each.p for each in one]), np.abs([each.delta for each in one])
    assert ((p >= 0.01) & (p <= 1)).all()
    assert (np.diff(p[np.argsort(size)]) <= 0).all()


def test_shuffled_flanks_keep_pairs_and_ends():
    contexts = [Context(rng.integers(0, 4, 60), 0, start, np.array([1]), np.array([2])) for start in (0, 1, 30, 59)]
    found = between_shuffled(contexts, W, rng, kw.Alphabet.named("dna"))
    for one, other in zip(contexts, found):
        low, high = max(one.start - W, 0), min(one.start + 1 + W, 60)
        for before, after in (
            (one.letters[low : one.start], other.letters[: other.start]),
            (one.letters[one.start + 1 : high], other.letters[other.start + 1 :]),
        ):
            assert sorted(pairwise(before)) == sorted(pairwise(after))
            assert len(before) == 0 or (before[0], before[-1]) == (after[0], after[-1])
        assert other.letters[other.start] == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("chr1\t5\t.\tA", "calls.vcf:1: expected CHROM, POS, ID, REF and ALT"),
        ("chr1\tx\t.\tA\tC", "calls.vcf:1: POS is 'x'"),
        ("chr1\t5\t.\t<A>\tC", "REF is '<A>'"),
        ("1\t5\t.\tA\tC", "puts 'chr' before the names"),
        ("chr1\t9999\t.\tA\tC", "behind the end of chr1"),
        (f"chr1\t21\t.\t{turned(GENOME['chr1'][20])}\tN", "same assembly"),
    ],
)
def test_files_that_do_not_fit_are_refused(files, text, sentence):
    (files / "calls.vcf").write_text(text + "\n")
    with pytest.raises(ValueError, match=sentence.replace("<", ".").replace(">", ".")):
        list(kw.variants(MODELS["gkm"], files / "calls.vcf", files / "genome.fa"))


def test_parameters_are_checked(files):
    for more, sentence in (({"windows": "all"}, "'auto', 'every', 'middle'"), ({"window": 0}, "window=0")):
        with pytest.raises(ValueError, match=sentence):
            kw.variants(MODELS["gkm"], files / "calls.vcf.gz", files / "genome.fa", **more)


def test_the_command_writes_a_table_with_its_meaning(files):
    kw.save(MODELS["wd"], str(files / "wd.kw"))
    given = ["variants", str(files / "wd.kw"), str(files / "calls.vcf.gz"), "--background", "50"]
    result = CliRunner().invoke(app, [*given, "--genome", str(files / "genome.fa")])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    heads = [text for text in lines if text.startswith("#")]
    assert "the alternative speaks for 1" in heads[0]
    header, *rows = [text.split("\t") for text in lines if not text.startswith("#")]
    assert header[:9] == ["chrom", "pos", "id", "ref", "alt", "ref_score", "alt_score", "delta", "crosses"]
    expected = list(kw.variants(MODELS["wd"], files / "calls.vcf.gz", files / "genome.fa", background=50))
    assert [int(row[1]) for row in rows] == [one.position for one in expected]
    assert float(rows[0][7]) == pytest.approx(expected[0].delta, rel=1e-5)
    assert "1 x <DEL>" in result.stderr
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 1
    assert "give --genome" in result.output


def test_vcf_lines_are_read_in_order(files):
    skipped: dict[str, int] = {}
    found = list(read_vcf(files / "calls.vcf.gz", skipped))
    assert len(found) == len(SNVS) + len(INDELS) + 2
    assert (found[0].seqid, found[0].start, found[0].line) == ("chr1", 0, 3)
    assert skipped == {"<DEL>": 1, "*": 1}
