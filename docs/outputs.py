"""What the examples of a page print, below each of them: run while the manual is built, never written down.

The Python blocks of the pages named here run from top to bottom, in one namespace and in an empty folder.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
import warnings
from typing import Any

PAGES = ("index", "quickstart", "first-jobs", "explain")
BLOCK = re.compile(r"^```python\n(.*?)^```\n", flags=re.DOTALL | re.MULTILINE)
MOST_LINES = 16
"""Lines that are shown; of longer outputs the first ones."""


def printed(block: str, names: dict[str, Any], page: str) -> str:
    """Run a block and return what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(block, page, "exec"), names)
    return out.getvalue().rstrip()


def with_outputs(text: str, page: str = "page") -> str:
    """Return a page with what its examples print.

    Examples
    --------
    >>> page = "```python\\nprint(1 + 1)\\n```\\n"
    >>> with_outputs(page).splitlines()[3:]
    ['', '```{code-block} text', ':class: output', '', '2', '```']
    """
    names: dict[str, Any] = {"__name__": "__main__"}

    def shown(found: re.Match[str]) -> str:
        lines = printed(found[1], names, page).splitlines()
        if not lines:
            return found[0]
        kept = lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], "..."]
        return "\n".join([found[0].rstrip(), "", "```{code-block} text", ":class: output", "", *kept, "```", ""])

    with tempfile.TemporaryDirectory() as folder:
        home = os.getcwd()
        os.chdir(folder)
        try:
            return BLOCK.sub(shown, text)
        finally:
            os.chdir(home)


def setup(app: Any) -> dict[str, Any]:
    """Run the examples where a page is read."""

    def fill(app: Any, name: str, source: list[str]) -> None:
        if name in PAGES:
            source[0] = with_outputs(source[0], name)

    app.connect("source-read", fill)
    return {"parallel_read_safe": False}
