"""A page in a browser: it loads without a fault, asks for nothing, says values when it is pointed at, and prints."""

from __future__ import annotations

import pytest

import kernelweave as kw
from browser import Browser, chromium

pytestmark = pytest.mark.skipif(chromium() is None, reason="there is no Chromium on this machine")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    X, y = kw.datasets.make_splice(120, length=70, random_state=0)
    ids = ["<script>window.broken = 1</script>", "<img src=x onerror='window.broken=1'>"] * 60
    path = tmp_path_factory.mktemp("browser") / "report.html"
    kw.write_report(kw.KernelClassifier("wd:3").fit(X, y), X, y, path, ids=ids, n_resamples=20)
    return path


def test_a_page_in_chromium(page, tmp_path):
    with Browser() as browser:
        for width in (1280, 400):
            for dark in (False, True):
                browser.screen(width, dark)
                browser.open(page)
                assert browser.faults() == []
                assert browser.requests() == [page.resolve().as_uri()]
                assert browser.value("document.documentElement.scrollWidth <= innerWidth")
                paper = browser.value("getComputedStyle(document.body).backgroundColor")
                assert (paper == "rgb(255, 255, 255)") is not dark
        assert browser.value("window.broken") is None
        assert browser.value("document.getElementById('tip').hidden") is True
        for selector in (".place[data-t]", ".hit[data-t]", ".bar[data-t]"):
            browser.point_at(selector)
            said = browser.value(f"document.querySelector({selector!r}).dataset.t")
            assert browser.value("document.getElementById('tip').hidden") is False
            assert browser.value("document.getElementById('tip').textContent") == said
        browser.photograph(tmp_path / "page.png")
        assert (tmp_path / "page.png").stat().st_size > 10_000
        assert browser.printed().startswith(b"%PDF")
        assert browser.requests() == [page.resolve().as_uri()]
