"""How the page was made, so that somebody else can make it again."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from kernelweave._version import __version__
from kernelweave.report.html import Markup, facts, paragraph, tag
from kernelweave.report.sections.base import Section, Writing, section

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
BLOCK = 1 << 20


def reproduce(w: Writing) -> Section:
    """List commands, files with their hashes, and versions."""
    listed: list[tuple[str, Any]] = [(name, _code(value)) for name, value in w.sources]
    listed.append(("Versions", ", ".join([f"kernelweave {__version__}", *_versions()])))
    said = "The same model, rows and versions give the same page, byte for byte."
    return section("reproduce", "How to reproduce", [paragraph(said), facts(listed)])


def hash_of(path: str) -> str:
    """Return the SHA-256 of a file, or of the files of a folder in the order of their names.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a"
    >>> _ = path.write_bytes(b"")
    >>> hash_of(str(path))[:8]
    'e3b0c442'
    """
    found = hashlib.sha256()
    names = [path]
    if os.path.isdir(path):
        names = sorted(os.path.join(at, name) for at, _, files in os.walk(path) for name in files)
    for name in names:
        with open(name, "rb") as file:
            while block := file.read(BLOCK):
                found.update(block)
    return found.hexdigest()


def _versions() -> list[str]:
    found = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found


def _code(value: str) -> Markup:
    return tag("code", value)
