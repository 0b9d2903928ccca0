"""The examples of the manual's page on very many rows run as they stand, and find what the page says."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "many-rows.md"


def test_the_examples_run_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) == 6
    names: dict = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    assert names["model"].converged_
    assert names["exact"].approximation_errors_.max() <= 1e-3
    assert names["small"].memory_plan_.kind == "streamed"
    assert names["small"].converged_
    assert names["stream"].objective_ <= 1.01 * names["model"].objective_
    assert names["stream"].duality_gap_ < 0.05
