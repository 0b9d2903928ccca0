"""The page on peaks runs as it is written: its shell blocks in a shell, its Python blocks in Python."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from pages import ROOT, examples


def test_the_path_from_peaks_to_windows(tmp_path):
    blocks = re.findall(r"^```bash\n(.*?)^```", (ROOT / "docs/peaks.md").read_text(), flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 4
    script = "set -euo pipefail\n" + "\n".join(blocks) + (
        "\nkernelweave evaluate peaks.kw test_peaks.narrowPeak --genome genome.fa --negative test_others.bed --json"
        " > evaluated.json\n"
    )  # fmt: skip
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "evaluated.json").read_text())
    assert found["auroc"]["value"] > 0.85
    hits = [line.split("\t") for line in (tmp_path / "hits.bed").read_text().splitlines()]
    summits = [int(line.split("\t")[1]) + int(line.split("\t")[9])
               for line in (tmp_path / "test_peaks.narrowPeak").read_text().splitlines()]  # fmt: skip
    right = sum(any(int(hit[1]) <= summit < int(hit[2]) for summit in summits) for hit in hits)
    assert right > 0.5 * len(hits) > 0  # a tenth of all windows hold one
    assert any("ATGA.TCA" in line for line in motifs(tmp_path / "motifs.meme"))
    page = (tmp_path / "report.html").read_text()
    assert "Ten rows, explained" in page
    assert "<code>ATGA.TCA</code>" in page
    letters = [line.split("\t") for line in (tmp_path / "letters.bedgraph").read_text().splitlines()]
    assert len(letters) == 200 * len(summits)
    effects = [line.split("\t") for line in (tmp_path / "ranked.tsv").read_text().splitlines()]
    weakened = [int(line[1]) for line in effects[1:21]]  # below a line of names
    near = sum(any(abs(place - summit) < 40 for summit in summits) for place in weakened)
    assert near >= 6  # of twenty letters anywhere, less than one lies that near


def motifs(path):
    return [line for line in path.read_text().splitlines() if line.startswith("MOTIF")]


def test_the_python_blocks_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = examples("docs/peaks.md", 2)
    assert names["data"].X.shape == (60, 200)
    assert len(names["found"].intervals) + len(names["found"].lacking) == 60
