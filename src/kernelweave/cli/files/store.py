"""Rows to a store on disk and back, for `kernelweave convert`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kernelweave.cli.flow import Pace
from kernelweave.cli.options import Reading
from kernelweave.cli.paths import check_readable
from kernelweave.cli.show import Output, size_of

if TYPE_CHECKING:
    from kernelweave.io.stores import Block

SUFFIX = ".kws"
"""How the names of stores end."""
STREAMED = {"alphabet", "unknown", "duplicates", "label"}
"""Options under which sequences are read in blocks."""


def is_store_name(path: str) -> bool:
    """Tell the name of a store."""
    return path.lower().rstrip("/").endswith(SUFFIX)


def is_store_folder(path: str) -> bool:
    """Tell the directory of a store, or one that is named like it."""
    return os.path.isdir(path) and (is_store_name(path) or os.path.isfile(os.path.join(path, "manifest.json")))


def convert_rows(source: str, out: str, reading: Reading, append: bool, say: Output) -> None:
    """Write a file of rows to a store, or the rows of a store to a file."""
    check_readable(reading.labels, reading.negative, reading.symbols, reading.genome)
    if is_store_name(out):
        _to_store(source, out, reading, append, say)
    elif append:
        raise ValueError(f"--append adds rows to a store, but {out} does not end in {SUFFIX}.")
    else:
        _from_store(source, out, reading, say)


def _to_store(source: str, out: str, reading: Reading, append: bool, say: Output) -> None:
    from kernelweave.cli.rows import read_rows
    from kernelweave.data.kinds import kind_of
    from kernelweave.data.stores import check_target, read_manifest
    from kernelweave.io.stores import data_blocks, store_blocks

    check_target(out)
    if append:
        read_manifest(out)
    if os.path.exists(out) and os.path.samefile(source, out):
        raise ValueError(f"{out} would overwrite the data; choose another name.")
    names = None
    with Pace("converting", "rows", say.quiet) as pace:
        blocks = _streamed(source, out, reading, append)
        if blocks is None and (found := _table(source, reading)) is not None:
            names, blocks = found
        if blocks is None:
            data = read_rows(source, reading, mapped=True)
            names, blocks = data.feature_names, data_blocks(data)
        X = store_blocks(out, blocks, append, names, pace.report)
        seconds = pace.seconds
    size = sum(part.bytes for part in X.manifest.parts)
    values = {"source": source, "out": out, "rows": len(X), "parts": len(X.parts), "bytes": size, "seconds": seconds}
    values |= {"kind": X.row_kind.name, "labels": list(X.manifest.classes), "fingerprint": X.fingerprint}
    say.result(values, [("stored", f"{out}: {kind_of(X).summary(X)}, {size_of(size)}, {seconds:.1f} s")])


def _table(source: str, reading: Reading) -> Any:
    """Return names and blocks of a table that is read in blocks, None where a file has to be read whole."""
    from kernelweave.io.sniff import format_of
    from kernelweave.io.stores import table_blocks

    return (
        None
        if reading.labels or reading.negative
        else table_blocks(source, reading.format or format_of(source, reading.given()), **reading.given())
    )


def _streamed(source: str, out: str, reading: Reading, append: bool) -> Iterator[Block] | None:
    """Return the blocks of files of sequences with their labels, None where a file has to be read whole."""
    from kernelweave.data.stores import Stored
    from kernelweave.io import sniff
    from kernelweave.io.stores import inferred_alphabet
    from kernelweave.io.stream import streamed_formats

    given, files = reading.given(), [source] + ([reading.negative] if reading.negative else [])
    formats = [reading.format or sniff(file) for file in files]
    if set(given) - STREAMED or given.get("alphabet") in ("words", "text") or set(formats) - set(streamed_formats()):
        return None
    if reading.labels and formats != ["fasta"] * len(formats):  # labels go by ids, which other rows may lack
        return None
    if append and "alphabet" not in given:
        given["alphabet"] = Stored(out).alphabet or "auto"
    if given.get("alphabet", "auto") == "auto":
        found = [inferred_alphabet(file, name) for file, name in zip(files, formats)]
        if found[0] != found[-1]:
            kinds = f"{source} holds {found[0].name} letters, but {files[-1]} holds {found[-1].name} letters"
            raise ValueError(f"{kinds}; if that is a mistake, name the alphabet with --alphabet.")
        given["alphabet"] = found[0]
    if reading.negative:
        return _two_files(files, given, reading)
    return _labelled(source, reading.labels, given)


def _two_files(files: list[str], given: dict[str, Any], reading: Reading) -> Iterator[Block]:
    """Yield the rows of a file as positive, and those of another as negative ones."""
    from kernelweave.io.stores import file_blocks

    if reading.labels:
        raise ValueError("--negative and --labels both say what the labels are; give one of them.")
    for path, label in zip(files, (1, -1)):
        for block in file_blocks(path, **given):
            if block.y is not None and reading.label is None:
                raise ValueError(
                    f"--negative adds sequences to sequences without labels, but {path} has labels of its own."
                )
            yield block._replace(y=[str(label)] * len(block.X))


def _labelled(source: str, labels: str | None, given: dict[str, Any]) -> Iterator[Block]:
    """Yield rows with the labels of their file, or of a file that lists them by id."""
    from kernelweave.cli.rows import label_lines, labels_for
    from kernelweave.io.stores import file_blocks

    found = None if labels is None else label_lines(labels)
    for block in file_blocks(source, **given):
        if found is None or labels is None:
            yield block
        else:
            yield block._replace(y=labels_for(block.X.ids, found, source, labels))


def _from_store(source: str, out: str, reading: Reading, say: Output) -> None:
    from kernelweave.data.kinds import kind_of
    from kernelweave.data.stores import Stored
    from kernelweave.io import check_writable, write

    if strange := [name for name, value in vars(reading).items() if value not in (None, False)]:
        raise ValueError(f"--{strange[0]} is for reading files, but {source} is a store.")
    check_writable(out)
    X = Stored(source)
    write(out, X, X.y)
    values = {"source": source, "out": out, "rows": len(X), "bytes": os.path.getsize(out)}
    say.result(values, [("converted", f"{source} to {out}, {kind_of(X).summary(X)}")])


def inspect_store(path: str, say: Output) -> None:
    """Say what a store holds; every part is read and compared with its checksums."""
    from kernelweave.data.kinds import kind_of
    from kernelweave.data.stores import Stored

    X = Stored(path)
    X.verify()
    manifest, kind = X.manifest, kind_of(X)
    size = sum(part.bytes for part in manifest.parts)
    held = {"labels": X.labels(slice(0, 1)) is not None, "weights": X.weights(slice(0, 1)) is not None}
    held |= {"ids": X.names(slice(0, 1)) is not None}
    values = {"store": path, "rows": len(X), "kind": kind.name, **kind.facts(X.content), "parts": len(X.parts)}
    values |= {"part_rows": manifest.part_rows, "bytes": size, "memory": X.nbytes, "classes": list(manifest.classes)}
    values |= {"fingerprint": X.fingerprint, "held": held}
    shown = ", ".join(str(label) for label in manifest.classes[:8]) + (" ..." if len(manifest.classes) > 8 else "")
    also = ", ".join(name for name, there in held.items() if there) or "none"
    lines = [
        ("store", f"{path}: {kind.summary(X)} of at most {manifest.part_rows} rows"),
        ("bytes", f"{size_of(size)} on disk, {size_of(X.nbytes)} in memory"),
        ("also held", also + (f"; classes {shown}" if shown else "")),
        ("fingerprint", X.fingerprint),
        ("checksums", "right"),
    ]  # fmt: skip
    say.result(values, lines)
