"""The notebooks run from top to bottom, in one process and without Jupyter, and show what they mean to show."""

from __future__ import annotations

import ast
import json

import matplotlib
import matplotlib.pyplot as plt
import pytest

from pages import ROOT

NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))


def cells(notebook):
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def run(source, name, names):
    """Run a cell and return the HTML or text that a notebook would show below it."""
    tree = ast.parse(source, name)
    ends = isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";")
    last = ast.Expression(tree.body.pop().value) if ends else None
    exec(compile(tree, name, "exec"), names)
    if last is None:
        return ""
    value = eval(compile(last, name, "eval"), names)
    if hasattr(value, "_repr_mimebundle_"):
        return value._repr_mimebundle_()["text/html"]
    return value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows(notebook, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    plt.close("all")
    names: dict = {}
    codes = ["".join(cell["source"]) for cell in cells(notebook) if cell["cell_type"] == "code"]
    shown = [run(code, notebook.name, names) for code in codes]
    assert any("no solver could improve the objective" in text for text in shown)
    assert sum("<table" in text for text in shown) >= 2
    assert plt.get_fignums() or "Display" not in "".join(codes)
    plt.close("all")


def test_notebooks_are_kept_without_outputs():
    assert len(NOTEBOOKS) == 2
    kept = [cell for notebook in NOTEBOOKS for cell in cells(notebook) if cell["cell_type"] == "code"]
    assert not [cell for cell in kept if cell["outputs"] or cell["execution_count"] is not None]
