"""The examples of the manual's page on defaults run as they stand."""

from __future__ import annotations

from pages import examples


def test_the_examples_run_from_top_to_bottom():
    names = examples("docs/defaults.md", 3)
    assert names["model"].score(names["texts"], [0, 1, 0, 1] * 5) == 1.0
