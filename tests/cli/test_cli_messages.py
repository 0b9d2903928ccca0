"""What natural mistakes are answered with: the whole sentence, and the exit code 1.

`messages.txt` is the table: a command line, then its answer, which ends in ... where a registry is listed.  An answer
says what was wrong and where, and as far as anybody can know it what to do.  Command lines that are not understood end
with 2 and how the command is used.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernelweave.cli.app import app

PLUS, MINUS = "ACGTACGT", "GGCATTCA"
TABLE = "".join(f"{i},{i * i % 7},{{}}\n" for i in range(12))


def labelled(plus: str, minus: str) -> str:
    return "".join(f"{1 if i % 2 else -1}\t{plus if i % 2 else minus}\ts{i}\n" for i in range(12))


def table(*labels: object) -> str:
    return "a,b,y\n" + TABLE.format(*labels)


FILES = {
    "sites.tsv": labelled(PLUS, MINUS),
    "five.tsv": labelled(PLUS[:5], MINUS[:5]),
    "rna.tsv": labelled(PLUS.replace("T", "U"), MINUS.replace("T", "U")),
    "protein.fa": ">p1\nMKVLAAGEEF\n>p2\nMSTNPKPQRK\n",
    "dna.fa": f">a\n{PLUS}\n>b\n{MINUS}\n",
    "gaps.fa": ">a\nACGT-CGT\n>b\nGGCATTCA\n",
    "twice.fa": ">a\nACGT\n>a\nACGT\n",
    "oneclass.tsv": "1\tACGT\n1\tGGTT\n",
    "empty.fa": "",
    "noheader.fa": "ACGT\n>a\nACGT\n",
    "noid.fa": ">\nACGT\n",
    "mixed.fa": ">a label=1\nACGT\n>b\nGGCC\n",
    "table.csv": table(*[0, 1] * 6),
    "words.csv": table(*["no", "yes"] * 6),
    "real.csv": table(*[i / 7 for i in range(12)]),
    "text.csv": "a,b,y\n1,x,0\n2,y,1\n",
    "ragged.csv": "a,b,y\n1,2,0\n1,2\n",
    "holes.csv": "a,b,y\n1,,0\n2,3,1\n",
    "nan.csv": "a,b,y\n1,nan,0\n2,3,1\n",
    "two.csv": "a,a,y\n1,2,0\n2,3,1\n",
    "narrow.csv": "a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(12)),
    "calls.jsonl": '{"text": "good day", "label": "x"}\n{"text": "bad day", "label": "y"}\n',
    "bad.jsonl": '{"text": "good day", "label": "x"}\n{"text": \n',
    "genome.fa": ">chr1\n" + "ACGT" * 10 + "\n",
    "peaks.bed": "chr1\t0\t8\nchr1\t10\t18\n",
    "others.bed": "chr1\t20\t28\nchr1\t30\t38\n",
    "plain.bed": "1\t0\t8\n1\t10\t18\n",
    "binary": "\0\1\2" * 20,
    "notes.txt": "hello world this is a text\nand another line\n",
    "labels.tsv": "s0\t1\ns1\t-1\n",
    "notamodel.kw": "hello",
}
MODELS = (
    "train sites.tsv --kernel wd:3 --out wd.kw",
    "train sites.tsv --kernel spectrum:3 --out sp.kw",
    "train table.csv --label y --kernel rbf --out t.kw",
    "train rna.tsv --kernel spectrum:3 --out rna.kw",
    "train real.csv --label y --task regress --kernel linear --out reg.kw",
)
LINES = Path(__file__).with_name("messages.txt").read_text().splitlines()
ANSWERS = dict(zip(LINES[::2], (line.strip() for line in LINES[1::2])))


def answer(line: str) -> tuple[int, str]:
    """Run a command line; return its exit code and its last line about an error."""
    done = CliRunner().invoke(app, shlex.split(line))
    if done.exit_code == 2:
        return 2, "usage"
    errors = [text for text in done.stderr.splitlines() if text.startswith("error: ")]
    return done.exit_code, errors[-1] if errors else f"no error: {done.stderr} {done.exception!r}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("messages")
    for name, text in FILES.items():
        (made / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        for line in MODELS:
            assert CliRunner().invoke(app, [*line.split(), "-q"]).exit_code == 0
    return made


@pytest.mark.parametrize("line", ANSWERS)
def test_answers(folder, monkeypatch, line):
    monkeypatch.chdir(folder)
    code, said = answer(line)
    said, wanted = said.replace(str(folder), "."), ANSWERS[line]
    assert said.startswith(wanted.removesuffix("...")) if wanted.endswith(" ...") else said == wanted
    assert code == (2 if wanted == "usage" else 1)
    assert "unexpected" not in said
    assert not (folder / "m.kw").exists()


def test_the_table_is_long_and_its_answers_are_sentences():
    sentences = [said for said in ANSWERS.values() if said != "usage"]
    assert len(sentences) >= 100
    assert all(said.startswith("error: ") and said.endswith(".") for said in sentences)
