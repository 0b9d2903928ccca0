"""Reads pages as a browser does: elements, attributes and texts, every element closed where it was opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "col", "br", "hr", "img", "input", "link"}


@dataclass
class Read(HTMLParser):
    """What a page is made of."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self):
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        if self.stack and self.stack[-1] not in ("style", "script"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def having(self, name: str) -> list[str]:
        return [attrs[name] for _, attrs in self.elements if name in attrs]


def read(path) -> Read:
    """Return what a page is made of; one that is not well formed fails."""
    page = Read()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    assert page.faults == []
    assert page.stack == []
    return page


def check_closed(page: Read) -> None:
    """Fail unless a page asks for nothing, and runs nothing but its own script."""
    names = [name for name, _ in page.elements]
    assert names.count("script") == 1
    assert not {"img", "iframe", "object", "embed", "link", "base", "form", "audio", "video"} & set(names)
    attributes = {key for _, attrs in page.elements for key in attrs}
    assert not {key for key in attributes if key.startswith("on") or key in ("src", "srcset", "action", "xlink:href")}
    assert all(link.startswith("#") for link in page.having("href"))
    (policy,) = (attrs["content"] for name, attrs in page.elements if attrs.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    assert "url(" not in " ".join(page.having("style"))
    keys = page.having("id")
    assert len(keys) == len(set(keys))
    assert {link[1:] for link in page.having("href")} <= set(keys)
