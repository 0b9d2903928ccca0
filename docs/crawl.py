"""Look at every page of the built manual: no broken link, no missing picture, no page that nothing leads to.

    python docs/crawl.py docs/_build/html

Prints a line for each fault and ends with 1 where there is one; addresses of other sites are not followed.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINKS = {"a": "href", "img": "src", "link": "href", "script": "src", "source": "src", "object": "data"}
"""Elements that need another file, and the attribute that names it."""
UNLINKED = {"genindex.html", "search.html", "py-modindex.html"}
"""Pages that the theme reaches by other ways."""


class Page(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.anchors: set[str] = set()
        self.nameless = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        target = given.get(LINKS.get(tag, ""))
        if target is not None:
            self.links.append((tag, target))
        if tag == "img" and "alt" not in given:
            self.nameless += 1


def crawl(root: Path) -> list[str]:
    """Return the faults of a site, a sentence each."""
    files = sorted(root.rglob("*.html"))
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files if "_static" not in path.parts}
    faults, reached = [], {root / "index.html"}
    for path, page in pages.items():
        name = path.relative_to(root)
        faults += [f"{name}: {page.nameless} pictures have no words in their place"] if page.nameless else []
        for tag, link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or (not parts.path and not parts.fragment):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                faults.append(f"{name}: <{tag}> leads to {link}, which is not there")
            elif target in pages:
                reached |= {target} if target != path else set()
                faults += _lost(name, link, unquote(parts.fragment), pages[target])
    alone = sorted(str(path.relative_to(root)) for path in set(pages) - reached if path.name not in UNLINKED)
    return faults + [f"{name}: no page leads to it" for name in alone]


def _lost(name: Path, link: str, fragment: str, page: Page) -> list[str]:
    """Return a fault where a page has no such anchor."""
    known = not fragment or fragment in page.anchors or fragment.startswith(":~:")
    return [] if known else [f"{name}: {link} leads to a place that is not on the page"]


def main() -> int:
    """Print the faults; return 1 where there is one."""
    root = Path(sys.argv[1]).resolve()
    if not (root / "index.html").is_file():
        print(f"{sys.argv[1]} holds no manual; build it with 'make docs'.")
        return 1
    faults = crawl(root)
    print("\n".join(faults) if faults else f"{len(list(root.rglob('*.html')))} pages, every link and picture is there")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
