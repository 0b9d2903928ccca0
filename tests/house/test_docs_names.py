"""Every public name, every member of a registry and every option of the program is in the manual."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

from kernelweave.data.kinds import KINDS
from kernelweave.estimators.normalize import NORMALIZATIONS
from kernelweave.io import FORMATS
from kernelweave.kernels.registry import ALIASES, KERNELS
from kernelweave.losses import LOSSES
from kernelweave.operators.base import DESCENT_STORES
from kernelweave.operators.kmers.stores import STORES
from kernelweave.operators.planner.choose import CANDIDATES
from kernelweave.solvers.boost.rules import TERMINATIONS
from kernelweave.solvers.mkl import MKL_SOLVERS
from kernelweave.solvers.svm import SVM_SOLVERS

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS))
tables = importlib.import_module("tables")
sys.path.remove(str(DOCS))

PAGES = {path.name: path.read_text() for path in sorted(DOCS.glob("*.md"))}
ASKED = [
    (page, *arguments.split())
    for page, text in PAGES.items()
    for arguments in re.findall(r"^```\{registry-table\} (.+)$", text, flags=re.MULTILINE)
]
MODULES = ["kernelweave", *(f"kernelweave.{name}" for name in ("interpret", "plots", "automata", "datasets"))]
REGISTRIES = {
    "kernels": KERNELS,
    "losses": LOSSES,
    "normalizations": NORMALIZATIONS,
    "svm_solvers": SVM_SOLVERS,
    "mkl_solvers": MKL_SOLVERS,
    "terminations": TERMINATIONS,
    "chunking_stores": STORES,
    "descent_stores": DESCENT_STORES,
    "plans": [candidate.kind for candidate in CANDIDATES],
    "row_kinds": KINDS,
    "formats": FORMATS,
}


def reference() -> set[str]:
    """Return the full names that the reference pages list."""
    found = set()
    for text in PAGES.values():
        module = "kernelweave"
        for line in text.splitlines():
            if line.startswith(".. currentmodule::"):
                module = line.split()[-1]
            elif re.fullmatch(r"   [A-Za-z_][\w.]*", line):
                found.add(f"{module}.{line.strip()}")
    return found


@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_in_the_reference(module):
    names = {name for name in importlib.import_module(module).__all__ if name not in ("__version__", "datasets")}
    assert names - {full.removeprefix(module + ".") for full in reference()} == set()


def test_the_reference_names_nothing_that_is_not_there():
    for full in reference():
        thing = importlib.import_module("kernelweave")
        for part in full.split(".")[1:]:
            thing = (
                getattr(thing, part) if hasattr(thing, part) else importlib.import_module(f"{thing.__name__}.{part}")
            )


@pytest.mark.parametrize("name", REGISTRIES)
def test_a_table_shows_every_member_of_its_registry_with_a_text(name):
    made = tables.TABLES[name]()
    assert set(REGISTRIES[name]) <= set(made.rows)
    for row in made.rows.values():
        assert len(row) == len(made.heads)
        assert row[0]
        assert row[1]


def test_every_table_stands_on_a_page_in_full():
    whole = {name for _, name, *members in ASKED if not members}
    assert whole == set(tables.TABLES)


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: "-".join(asked))
def test_what_a_page_asks_for_can_be_made(asked):
    _, name, *members = asked
    lines = tables.rendered(name, members)
    assert len(lines) >= 3
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1


def test_no_member_of_a_table_is_unknown():
    with pytest.raises(ValueError, match="Spectre is not in the table"):
        tables.rendered("kernels", ["Spectre"])
    with pytest.raises(ValueError, match="There is no table 'colours'"):
        tables.rendered("colours")


def test_the_aliases_of_kernels_are_shown():
    text = "\n".join(tables.rendered("kernels"))
    assert [alias for alias in ALIASES if f"`{alias}" not in text] == []


def test_every_command_and_option_is_on_the_page_of_the_program():
    shown = {members[0] for page, name, *members in ASKED if name == "options" and page == "commandline.md"}
    assert shown == set(tables.commands())
    for command, made in tables.commands().items():
        text = "\n".join(tables.rendered("options", [command]))
        missing = [name for each in made.params for name in each.opts if name.startswith("-") and name not in text]
        assert missing == []
        assert all(each.help for each in made.params)


def test_no_table_of_a_registry_is_typed_by_hand():
    typed = {}
    for page, text in PAGES.items():
        first = set(re.findall(r'^\| `"?(\w+)', text, flags=re.MULTILINE))
        typed |= {(page, name): first & set(known) for name, known in REGISTRIES.items() if len(first & set(known)) > 1}
    assert typed == {}


def test_the_maps_of_the_packages_show_every_package():
    package = DOCS.parent / "src" / "kernelweave"
    names = {path.parent.name for path in package.glob("*/__init__.py")}
    nested = {path.parent.name for path in package.glob("*/*/__init__.py")}
    for page in ("README.md", "CONTRIBUTING.md"):
        text = (DOCS.parent / page).read_text()
        assert {name for name in names if f"{name}/" not in text} == set(), page
    assert {name for name in nested if f"`{name}/`" not in (DOCS.parent / "CONTRIBUTING.md").read_text()} == set()
