"""The demo does what the README promises, the guide to sequences runs, and the benchmarks' Markov chains count."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def script(folder, name):
    spec = importlib.util.spec_from_file_location(f"{folder}_{name}", ROOT / folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_demo_finds_the_planted_signals_and_draws_them(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["demo.py", "--train", "900", "--test", "400", "--out", str(tmp_path)])
    script("examples", "demo").main()
    told = capsys.readouterr().out
    assert "4 of 4 planted signals found" in told
    assert "MISSED" not in told
    assert "the same to the last bit" in told
    assert {path.name for path in tmp_path.iterdir()} == {"splice.kw", "where.png", "curves.png"}
    assert all(path.stat().st_size > 10_000 for path in tmp_path.iterdir())


def test_the_guide_runs_from_top_to_bottom(tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "sequences.md").read_text()
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE):
        exec(compile(block, "docs/sequences.md", "exec"), names)
    planted = np.unique(np.concatenate([np.arange(*span) for span in names["signals"].values()]))
    assert names["share"][planted].sum() > 0.9
    assert {path.name for path in tmp_path.iterdir()} == {"splice.kw", "where.png", "firm.png"}


@pytest.mark.parametrize("order", [0, 1, 3])
def test_markov_chain_is_the_ratio_of_counted_chances(order):
    rng = np.random.default_rng(order)
    codes, y = rng.integers(0, 4, (60, 7)).astype(np.uint8), np.where(rng.random(60) < 0.4, 1, -1)
    chain = script("benchmarks", "markov").MarkovChain(order, pseudo_count=0.5).fit(codes, y)

    def chance(members, row, j):
        before = max(j - order, 0)
        context = [other for other in members if list(other[before:j]) == list(row[before:j])]
        hits = sum(other[j] == row[j] for other in context)
        return (hits + 0.5) / (len(context) + 4 * 0.5)

    expected = [
        sum(np.log(chance(codes[y == 1], row, j)) - np.log(chance(codes[y == -1], row, j)) for j in range(7))
        for row in codes[:10]
    ]
    np.testing.assert_allclose(chain.decision_function(codes[:10]), expected, rtol=1e-12)


def test_markov_chain_refuses_letters_outside_the_alphabet():
    with pytest.raises(ValueError, match="outside the 4"):
        script("benchmarks", "markov").MarkovChain(1).fit(np.array([[0, 7]]), np.array([1]))
