"""Files appear whole or not at all; see `kernelweave.data.atomic`, which saved sequences use as well."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from kernelweave.data.atomic import PathLike, atomic_path, check_writable

__all__ = ["PathLike", "atomic_path", "check_writable", "open_aside"]


@contextmanager
def open_aside(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file for binary writing, aside and renamed at the end; a name that ends in .gz is compressed."""
    with atomic_path(path) as aside, open(aside, "wb") as file:
        if not str(path).endswith(".gz"):
            yield file
            return
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            yield cast(BinaryIO, packed)
