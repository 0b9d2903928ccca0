"""Formulas as MathML, which browsers draw by themselves: the manual needs no network.

docutils turns TeX into MathML; a formula that it cannot read fails the build.
"""

from __future__ import annotations

import re
from typing import Any

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

SPELLED = {
    r"\lVert": r"\|", r"\rVert": r"\|", r"\lvert": "|", r"\rvert": "|", r"\tfrac": r"\frac", r"\dots": r"\ldots",
}  # fmt: skip
"""Commands that docutils does not know, and what is drawn alike."""

SHORT = re.compile(r"\\frac(\d)(\d)")
"""A fraction of two digits without braces, which docutils reads as one number."""


def drawn(tex: str, block: bool) -> str:
    """Return a formula as MathML."""
    for command, other in SPELLED.items():
        tex = tex.replace(command, other)
    tex = SHORT.sub(r"\\frac{\1}{\2}", tex)
    return str(tex2mathml(tex, as_block=block))


def inline(self: Any, node: Any) -> None:
    """Write a formula within a line."""
    self.body.append(drawn(node.astext(), block=False))
    raise SkipNode


def block(self: Any, node: Any) -> None:
    """Write a formula on lines of its own."""
    self.body.append(self.starttag(node, "div", CLASS="math") + drawn(node.astext(), block=True) + "</div>")
    raise SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Enter the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True}
