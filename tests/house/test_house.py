"""The house rules that a small check can keep."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import kernelweave

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(kernelweave.__file__).parent
FILES = [path for folder in ("src", "tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")]
LIBRARY = sorted(PACKAGE.rglob("*.py"))
MODULES = sorted(module.name for module in pkgutil.walk_packages([str(PACKAGE)], "kernelweave."))
PUBLIC = [name for name in kernelweave.__all__ if not name.startswith("__")]
LONGEST_FILE = 400
HEAVY = ("numba", "sklearn", "scipy", "highspy", "matplotlib", "typer", "rich", "pandas", "dask")


def run(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, **options)


def test_files_fit_in_the_head():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in FILES}
    assert {path: n for path, n in lengths.items() if n > LONGEST_FILE} == {}


def test_every_module_says_what_it_is():
    told = [path for path in FILES if not path.is_relative_to(ROOT / "tests")]
    silent = [path for path in told if not ast.get_docstring(ast.parse(path.read_text()))]
    assert [str(path.relative_to(ROOT)) for path in silent] == []


def test_the_library_never_prints():
    talkers = []
    for path in LIBRARY:
        if path.is_relative_to(PACKAGE / "cli"):
            continue
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        talkers += [f"{path.relative_to(PACKAGE)}:{c.lineno}" for c in calls if ast.unparse(c.func) == "print"]
    assert talkers == []


def test_only_data_asks_for_the_class_of_rows():
    classes = {"Sequences", "Lattices", "Views"}
    asking = []
    for path in LIBRARY:
        if path.is_relative_to(PACKAGE / "data"):
            continue
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        asked = [call for call in calls if ast.unparse(call.func) in ("isinstance", "issubclass")]
        named = [call for call in asked if classes & {getattr(n, "id", "") for n in ast.walk(call.args[1])}]
        asking += [f"{path.relative_to(PACKAGE)}:{call.lineno}" for call in named]
    assert asking == []


def test_importing_the_package_loads_nothing_heavy():
    script = f"import sys, kernelweave; print([name for name in {HEAVY} if name in sys.modules])"
    assert run("-c", script).stdout.strip() == "[]"


def test_kernels_and_data_come_without_the_estimators():
    script = "import sys, kernelweave as kw; kw.RBF(1.0), kw.Sequences; print('sklearn' in sys.modules)"
    assert run("-c", script).stdout.strip() == "False"


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_resolve_and_are_documented(name):
    value = getattr(kernelweave, name)
    assert (value.__doc__ or "").strip()
    assert getattr(kernelweave, name) is value


def test_the_front_door_lists_what_it_opens():
    assert set(PUBLIC) == {"datasets", *kernelweave._HOME}
    assert set(kernelweave.__all__) <= set(dir(kernelweave))
    assert len(set(kernelweave.__all__)) == len(kernelweave.__all__)
    with pytest.raises(AttributeError, match="'kernelweave' has no attribute 'Kernle'"):
        kernelweave.Kernle  # noqa: B018


@pytest.mark.parametrize("name", MODULES)
def test_exported_names_exist(name):
    module = importlib.import_module(name)
    assert [wanted for wanted in getattr(module, "__all__", ()) if not hasattr(module, wanted)] == []


def test_constraints_are_plain_versions():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if line.count("==") != 1 or set(line) & set("@/: ")] == []


@pytest.mark.slow
def test_the_wheel_is_pure_python_and_typed(tmp_path):
    run("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"kernelweave-{kernelweave.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    assert "kernelweave/py.typed" in names
    assert {name for name in names if name.endswith(".py")} == {
        str(path.relative_to(PACKAGE.parent)) for path in LIBRARY
    }


def test_the_version_is_told_once():
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    heading = headings[headings[0] == "## [Unreleased]"]
    assert heading.startswith(f"## [{kernelweave.__version__}] - ")
    citation = (ROOT / "CITATION.cff").read_text().splitlines()
    assert f"version: {kernelweave.__version__}" in citation
    assert f"date-released: {heading.split(' - ')[1]}" in citation
