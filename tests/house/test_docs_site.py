"""The pages that hold the manual together: what runs, what is made from results, links among sources, the crawler."""

from __future__ import annotations

import os
import re
import sys
import tomllib

import matplotlib
import pytest

from pages import ROOT, examples

DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))

import benchmarks  # noqa: E402
import crawl  # noqa: E402
import outputs  # noqa: E402

PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
MADE = {"api", "gallery"}
"""Folders that are made when the manual is built."""
BARE = "<!DOCTYPE html><html><body>{}</body></html>"


@pytest.mark.parametrize("page", ["docs/cheatsheet.md", "docs/first-jobs.md", "docs/in-scikit-learn.md"])
def test_the_examples_run(page, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    assert examples(page, 3)


# ---------------------------------------------------------------------------------------------------- links of sources


def links(page):
    """Return the targets of the links and pictures of a page that are no addresses."""
    text = re.sub(r"```python.*?```", "", page.read_text(), flags=re.DOTALL)
    found = [*re.findall(r"\]\(([^)\s]+)\)", text), *re.findall(r"^```\{(?:image|figure)\} (\S+)", text, re.MULTILINE)]
    return [link for link in found if "://" not in link and not link.startswith("#")]


def entries(page):
    """Return the pages in the tables of contents of a page."""
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), flags=re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


def entered(page, name):
    """Return the pages that an entry of a table of contents names, which may be a pattern."""
    return (path.resolve() for path in page.parent.glob(f"{name}.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_somewhere(page):
    lost = []
    for link in links(page):
        target = page.parent / link.split("#")[0]
        made = os.path.relpath(target, DOCS).split(os.sep)[0] in MADE
        if not (made or target.is_file()):
            lost.append(link)
    lost += [name for name in entries(page) if name.split("/")[0] not in MADE and not list(entered(page, name))]
    assert lost == []


def test_every_page_is_in_a_table_of_contents():
    listed = {path for page in PAGES for name in entries(page) for path in entered(page, name)}
    assert [str(page.relative_to(DOCS)) for page in PAGES if page not in listed] == ["index.md"]


def test_terms_of_the_glossary_stand_once():
    terms = re.findall(r"^([\w-].*)\n    ", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    assert len(terms) >= 30
    assert len(set(terms)) == len(terms)


def test_what_examples_print_stands_below_them():
    page = "Text.\n\n```python\nx = 20\n```\n\n```python\nfor k in range(x):\n    print(k)\n```\n\nMore.\n"
    lines = outputs.with_outputs(page).splitlines()
    shown = lines[lines.index("```{code-block} text") :]
    assert shown[1:4] == [":class: output", "", "0"]
    assert shown[-4:] == ["...", "```", "", "More."]
    assert len(shown) == outputs.MOST_LINES + 6
    assert set(outputs.PAGES) <= {page.stem for page in PAGES}


# ------------------------------------------------------------------------------------------------------------ crawler


def test_a_whole_site_has_no_faults(tmp_path):
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "index.html").write_text(BARE.format('<a href="b.html#here">b</a><img src="a.png" alt="a">'))
    (tmp_path / "b.html").write_text(BARE.format('<h1 id="here">b</h1><a href="https://example.org/x">x</a>'))
    assert crawl.crawl(tmp_path) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="c.html">c</a>', "leads to c.html, which is not there"),
        ('<img src="no.png" alt="">', "leads to no.png, which is not there"),
        ('<img src="a.png">', "1 pictures have no words"),
        ('<a href="b.html#there">b</a>', "b.html#there leads to a place that is not on the page"),
        ("", "b.html: no page leads to it"),
    ],
)
def test_the_crawler_names_a_fault(body, fault, tmp_path):
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "index.html").write_text(BARE.format(body))
    (tmp_path / "b.html").write_text(BARE.format('<h1 id="here">b</h1>'))
    assert fault in "\n".join(crawl.crawl(tmp_path))


# --------------------------------------------------------------------------------------------------------- benchmarks


@pytest.mark.parametrize("name", benchmarks.COMPARISONS)
def test_a_comparison_has_pairs_of_both_sides(name):
    pairs = list(benchmarks.COMPARISONS[name].pairs())
    assert len(pairs) >= 2
    assert all(pair.ours > 0 and pair.theirs > 0 and pair.peer and pair.case for pair in pairs)
    script = benchmarks.COMPARISONS[name].command.split()[1]
    assert (ROOT / script).is_file()


def test_every_peer_of_the_benchmarks_is_on_the_page():
    text = "\n".join(benchmarks.page()).lower()
    lines = (ROOT / "benchmarks/requirements.txt").read_text().splitlines()
    peers = {line.split("==")[0].lower() for line in lines if line and not line.startswith(("#", " "))}
    tools = {"threadpoolctl", "matplotlib", "torch", "cvxpy"}  # of the scripts, or needed by a peer
    spelled = {"scikit-learn-intelex": "onedal", "pynini": "openfst"}
    spelled |= {"liblinear-official": "liblinear", "libsvm-official": "libsvm"}
    assert {peer for peer in peers - tools if spelled.get(peer, peer) not in text} == set()


def test_what_was_missed_is_said():
    pairs = [pair for one in benchmarks.COMPARISONS.values() for pair in one.pairs()]
    assert "\n".join(benchmarks.page()).count("**missed**") == sum(pair.missed for pair in pairs)
    assert not benchmarks.Pair("a", "b", 1.0, 2.0, 2.0).missed
    assert benchmarks.Pair("a", "b", 1.0, 1.9, 2.0).missed


# ----------------------------------------------------------------------------------------------------- oldest versions


def test_the_lowest_versions_are_those_of_the_bounds():
    import oldest

    found = oldest.lowest()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {bound.replace(">=", "==") for bound in project["dependencies"]} <= set(found)
    assert not {line.split("==")[0] for line in found} & set(oldest.TOOLS)
    assert all(line.count("==") == 1 for line in found)
