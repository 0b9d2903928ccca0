"""Draws the rooms of the library from the rules that the import checker enforces, so that the picture cannot lie.

The directive ``architecture`` reads ``[tool.importlinter]`` of pyproject.toml: one line of boxes for each layer, the
first above, a lower one never importing a higher one; and for every outside package that one room alone may import, its
name inside that room's box.
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
WIDTH, LINE, GAP, MARGIN = 860, 46, 18, 10
"""Sizes of the picture, in pixels."""
OURS = "kernelweave."
STYLE = """
.rooms rect {fill: #e8f0fa; stroke: #4a6fa5}
.rooms text {text-anchor: middle; font: 15px sans-serif; fill: #1a202c}
.rooms .outside {font: italic 11px sans-serif; fill: #4a5568}
.rooms line {stroke: #718096; stroke-width: 1.5}
"""


def contracts() -> list[dict[str, Any]]:
    """Return the rules."""
    found: list[dict[str, Any]] = tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]["contracts"]
    return found


def layers() -> list[list[str]]:
    """Return the rooms, a list for each layer, the highest first."""
    (rule,) = [one for one in contracts() if one["type"] == "layers"]
    return [[room.strip(" ()") for room in line.split("|")] for line in rule["layers"]]


def tenants() -> dict[str, list[str]]:
    """Return by room the outside packages that it alone may import, or it and the rooms above it."""
    height = {room: place for place, line in enumerate(layers()) for room in line}
    found: dict[str, list[str]] = {}
    for rule in contracts():
        if rule.get("source_modules") != ["kernelweave"]:
            continue
        allowed = [one.split(" -> ")[0].removeprefix(OURS).split(".")[0] for one in rule["ignore_imports"]]
        lowest = max(set(allowed), key=lambda room: height[room])
        found.setdefault(lowest, []).extend(rule["forbidden_modules"])
    return found


def picture() -> str:
    """Return the drawing as SVG."""
    rows, outside, parts = layers(), tenants(), []
    for place, rooms in enumerate(rows):
        top, width = MARGIN + place * (LINE + GAP), (WIDTH - MARGIN) / len(rooms) - MARGIN
        if place:
            parts.append(f'<line x1="{WIDTH / 2}" x2="{WIDTH / 2}" y1="{top - GAP}" y2="{top}"/>')
        for number, room in enumerate(rooms):
            left = MARGIN + number * (width + MARGIN)
            middle, names = left + width / 2, ", ".join(outside.get(room, ()))
            parts.append(f'<rect x="{left:.0f}" y="{top}" width="{width:.0f}" height="{LINE}" rx="6"/>')
            parts.append(f'<text x="{middle:.0f}" y="{top + (19 if names else 28)}">{escape(room)}</text>')
            if names:
                parts.append(f'<text class="outside" x="{middle:.0f}" y="{top + 37}">{escape(names)}</text>')
    height = 2 * MARGIN + len(rows) * (LINE + GAP) - GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="rooms" viewBox="0 0 {WIDTH} {height}" role="img">'
    title = "<title>Rooms by layer; a room imports from the layers below it</title>"
    return "\n".join([head, title, f"<style>{STYLE}</style>", *parts, "</svg>"])


def setup(app: Any) -> dict[str, Any]:
    """Enter the directive ``architecture``."""
    from docutils import nodes
    from sphinx.util.docutils import SphinxDirective

    class Architecture(SphinxDirective):
        def run(self) -> list[nodes.Node]:
            return [nodes.raw("", picture(), format="html")]

    app.add_directive("architecture", Architecture)
    return {"parallel_read_safe": True}
