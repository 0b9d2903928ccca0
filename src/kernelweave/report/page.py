"""A page from its parts: overview, table of contents, parts, and rules that let nothing in or out.

The page asks for nothing from anywhere.  Its policy (Content-Security-Policy) forbids requests of any kind and every
script but the one that is written here, which is named by its hash: even if a name of a user's got into the page as it
is, it would not run.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from kernelweave.report.figures.logo import outlines
from kernelweave.report.html import Markup, join, tag
from kernelweave.report.sections.base import Headline, Section

CLOSED = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(title: str, below: str, headlines: Sequence[Headline], sections: Sequence[Section]) -> str:
    """Return the whole page.

    Parameters
    ----------
    title, below : of the page, and the line under it
    headlines : numbers of the overview
    sections : parts in their order
    """
    style, script = _asset("page.css"), _asset("page.js")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"{CLOSED}; script-src 'sha256-{allowed}'"
    head = tag(
        "head", tag("meta", charset="utf-8"), tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"), tag("meta", name="generator", content="kernelweave"),
        tag("title", title), tag("style", style),
    )  # fmt: skip
    overview = tag("dl", *(_headline(one) for one in headlines), class_="overview")
    top = tag("header", tag("p", "Model report", class_="kicker"), tag("h1", title), tag("p", below, class_="below"),
              overview)  # fmt: skip
    body = tag("body", outlines(), tag("a", "Skip to the content", href="#content", class_="skip"), top,
               _contents(sections), tag("main", *map(_section, sections, range(1, len(sections) + 1)), id="content"),
               tag("div", id="tip", role="status", hidden="hidden"), tag("script", script))  # fmt: skip
    return "<!DOCTYPE html>\n" + tag("html", head, body, lang="en") + "\n"


def _asset(name: str) -> Markup:
    """Return a file of this package as it is."""
    return Markup((files("kernelweave.report") / name).read_text(encoding="utf-8").strip())


def _headline(one: Headline) -> Markup:
    return tag("div", tag("dt", one.name), tag("dd", one.value), tag("dd", one.below, class_="dim"))


def _contents(sections: Sequence[Section]) -> Markup:
    links = [tag("li", tag("a", one.title, href=f"#{one.key}")) for one in sections]
    return tag("nav", tag("ol", *links), aria_label="Contents")


def _section(one: Section, number: int) -> Markup:
    head = tag("h2", tag("span", f"{number} ", class_="number"), one.title)
    return tag("section", join([head, one.body]), id=one.key)
