"""The built manual in a browser: every page loads, no picture is missing, nothing is asked of anybody else."""

from __future__ import annotations

import pytest

from browser import Browser, chromium
from pages import ROOT

BUILT = ROOT / "docs/_build/html"
BROKEN = "[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="there is no Chromium on this machine"),
    pytest.mark.skipif(not (BUILT / "index.html").exists(), reason="the manual is not built; `make docs` builds it"),
]


def test_every_page_loads_in_chromium():
    pages = [path for path in sorted(BUILT.rglob("*.html")) if "_static" not in path.parts]
    found = {}
    with Browser() as browser:
        browser.screen(400)
        for page in pages:
            browser.open(page)
            asked = [url for url in browser.requests() if not url.startswith(("file:", "data:", "blob:"))]
            wide = not browser.value("document.documentElement.scrollWidth <= innerWidth")
            faults = [*browser.faults(), *asked, *browser.value(BROKEN), *(["wider than the screen"] if wide else [])]
            if faults:
                found[str(page.relative_to(BUILT))] = faults
    assert len(pages) > 100
    assert found == {}
