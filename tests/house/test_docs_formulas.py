"""Formulas of the manual become MathML, all of them."""

from __future__ import annotations

import re
import sys

import pytest

from pages import ROOT

sys.path.insert(0, str(ROOT / "docs"))

mathml = pytest.importorskip("mathml", reason="docutils comes with the tools of the manual")

PAGES = [path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts]


def formulas():
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        yield from ((tex, True) for tex in re.findall(r"\$\$(.+?)\$\$", text, re.DOTALL))
        text = re.sub(r"\$\$.+?\$\$", "", text, flags=re.DOTALL)
        yield from ((tex, False) for tex in re.findall(r"\$([^$\n]+(?:\n[^$\n]+)?)\$", text))


def test_every_formula_is_drawn():
    found = list(formulas())
    assert len(found) > 30
    assert all(mathml.drawn(tex, block).startswith("<math") for tex, block in found)


def test_short_fractions_are_fractions():
    assert mathml.drawn(r"\tfrac12 \lVert w \rVert^2", block=True) == mathml.drawn(r"\frac{1}{2} \|w\|^2", block=True)
    assert mathml.drawn(r"\tfrac12", block=False).count("<mn>") == 2
