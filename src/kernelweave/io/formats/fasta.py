"""FASTA and FASTQ, plain or compressed, read as a stream.

The id of a row is the first word of its header.  A label may stand in the header as ``label=VALUE``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.io.collect import Collector, Part
from kernelweave.io.dataset import Dataset, check_rows, label_text, parse_labels
from kernelweave.io.machines import shorter
from kernelweave.io.registry import BY_MARK, Format, register
from kernelweave.io.source import READ_AT_ONCE, blocks, head, open_binary, spans

Array = np.ndarray
RECORDS_AT_ONCE = 1 << 15
"""Records that are read from FASTQ, or written, together."""

WIDTH = 80
"""Letters of a line."""
LONGEST_REASON = 200
"""Letters of a message that are shown of what dnaio says."""


def read_fasta(
    path: PathLike, alphabet: str | Alphabet = "dna", unknown: str = "error", duplicates: str = "error"
) -> Sequences:
    """Read the sequences of a FASTA or FASTQ file, plain or compressed.

    Parameters
    ----------
    path : the file
    alphabet : "dna", "rna", "protein", "bytes", "auto" (inferred from all letters) or an Alphabet
    unknown : "error" names the first letter that is not in the alphabet, "mask" makes it match nothing
    duplicates : "error" names an id that two records share, "allow" keeps both

    Returns
    -------
    Sequences whose `ids` are the first words of the headers

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.fa"
    >>> _ = path.write_text(">a first\\nACGT\\nAC\\n>b\\nGG\\n")
    >>> X = read_fasta(path)
    >>> X.to_strings(), X.ids.tolist()
    (['ACGTAC', 'GG'], ['a', 'b'])
    """
    return read(path, alphabet, unknown, duplicates, label=None).X


def read(
    path: PathLike,
    alphabet: str | Alphabet = "auto",
    unknown: str = "error",
    duplicates: str = "error",
    label: str | None = "label",
) -> Dataset:
    """Read sequences, ids, and labels where every header has ``label=VALUE`` (`label` names another key)."""
    collector, labels = Collector(path), Labels(path, label, [])
    for part in parts(path, labels):
        collector.add(*part)
    X = collector.finish(alphabet, unknown, duplicates)
    return Dataset(X, labels.finish(), X.ids, "fastq" if is_fastq(path) else "fasta")


def parts(path: PathLike, labels: Labels) -> Iterator[Part]:
    """Yield the letters of a file in parts of bounded size, with start, line and id of the rows that begin in each.

    Letters before the first start belong to the row before; `labels` is called with every header.
    """
    yield from _fastq_parts(path, labels) if is_fastq(path) else _fasta_parts(path, labels)


def checked_parts(path: PathLike, label: str | None = None, texts: list[str] | None = None) -> Iterator[Part]:
    """Yield the parts of a file whose headers all have this key, or none of them; labels are added to `texts`."""
    return parts(path, Labels(path, label, texts))


def is_fastq(path: PathLike) -> bool:
    """Tell FASTQ from FASTA."""
    return head(path).lstrip()[:1] == b"@"


def write(path: PathLike, X: Sequences, y: Any = None, ids: Any = None) -> None:
    """Write FASTA, 80 letters a line; labels go into the headers as ``label=VALUE``."""
    ids = X.ids if ids is None else ids
    check_rows(len(X), y, ids)
    names = [f"row{i}" for i in range(len(X))] if ids is None else [str(name) for name in ids]
    tags = [""] * len(X) if y is None else [label_text(value) for value in y]
    for kind, texts in (("id", names), ("label", tags)):
        for row, text in enumerate(texts):
            if text.split() != [text] and not (kind == "label" and y is None):
                raise ValueError(
                    f"The {kind} {text!r} of row {row} cannot stand in a FASTA header: it must be one word."
                )
    with open_aside(path) as file:
        for start in range(0, len(X), RECORDS_AT_ONCE):
            for i, row in enumerate(X[start : start + RECORDS_AT_ONCE].to_strings(), start):
                header = f">{names[i]}" + (f" label={tags[i]}" if y is not None else "")
                lines = [row[j : j + WIDTH] for j in range(0, len(row), WIDTH)]
                file.write("\n".join([header, *lines, ""]).encode())


def sniff(start: bytes) -> bool:
    """Tell FASTA by its first sign."""
    return start.lstrip().startswith(b">")


def sniff_fastq(start: bytes) -> bool:
    """Tell FASTQ by the signs of its first and third line."""
    return re.match(rb"\s*@[^\n]*\n[^\n]*\n\+", start) is not None


class Labels:
    """Labels found in headers: every header has one, or none has.  Without `texts` that is all that is looked at."""

    def __init__(self, path: PathLike, key: str | None, texts: list[str] | None):
        self.path, self.key, self.texts, self.found = path, key, texts, False
        self.pattern = None if key is None else re.compile(rf"(?:^|\s){re.escape(key)}=(\S+)")
        self.first_without: tuple[int, str] | None = None

    def add(self, headers: list[str], ids: list[str], lines: Array) -> None:
        """Look at the headers of some rows."""
        if self.pattern is None:
            return
        for header, name, line in zip(headers, ids, lines.tolist()):
            if found := self.pattern.search(header):
                self.found = True
                if self.texts is not None:
                    self.texts.append(found[1])
            elif self.first_without is None:
                self.first_without = (line, name)
            if self.found and self.first_without is not None:
                line, name = self.first_without
                raise ValueError(f"{self.path}:{line}: {shorter(name)} has no {self.key}=, but other headers have one.")

    def finish(self) -> Array | None:
        """Return the labels, None where no header has one."""
        return parse_labels(self.texts) if self.texts else None


def _fasta_parts(path: PathLike, labels: Labels) -> Iterator[Part]:
    carry, line, inside, begun = b"", 1, False, False
    for block in blocks(path):
        text = carry + block
        cut = text.rfind(b"\n") + 1
        if not cut and not inside and text.startswith(b">"):
            carry = text  # a header that has not ended yet
            continue
        # a sequence line longer than a block is taken in pieces
        cut = cut or len(text)
        piece, carry = text[:cut], text[cut:]
        part = _fasta_part(path, piece, inside, line, begun, labels)
        yield part
        begun = begun or part[1].size > 0
        line += piece.count(b"\n")
        inside = not piece.endswith(b"\n")
    if carry:
        yield _fasta_part(path, carry, inside, line, begun, labels)


def _fasta_part(path: PathLike, piece: bytes, inside: bool, line: int, begun: bool, labels: Labels) -> Part:
    from kernelweave.data.strings.loops import scan_fasta

    text = np.frombuffer(piece, np.uint8)
    letters, heads = np.empty(text.size, np.uint8), np.empty((piece.count(b">") + 1, 5), np.int64)
    n_letters, n_heads = scan_fasta(text, inside, line, letters, heads)
    heads = heads[:n_heads]
    if not begun and (heads[0, 4] if n_heads else n_letters):
        number = line + piece[: len(piece) - len(piece.lstrip())].count(b"\n")
        raise ValueError(f"{path}:{number}: expected a header that begins with '>'.")
    ids = spans(path, piece, heads[:, 0], heads[:, 1], heads[:, 3])
    if "" in ids:
        raise ValueError(f"{path}:{heads[ids.index(''), 3]}: the header has no id.")
    if labels.key is not None:
        labels.add(spans(path, piece, heads[:, 1], heads[:, 2], heads[:, 3]), ids, heads[:, 3])
    return letters[:n_letters], heads[:, 4], heads[:, 3], ids


def _fastq_parts(path: PathLike, labels: Labels) -> Iterator[Part]:
    import dnaio

    first, size, batch = 0, 0, []
    with open_binary(path) as file:
        try:
            with dnaio.open(file, fileformat="fastq") as reader:
                for record in reader:
                    batch.append(record)
                    size += len(record.sequence)
                    if len(batch) == RECORDS_AT_ONCE or size >= READ_AT_ONCE:
                        yield _fastq_part(path, batch, first, labels)
                        first, size, batch = first + len(batch), 0, []
        except dnaio.FileFormatError as error:
            where = "" if error.line is None else f":{error.line + 1}"
            reason = error.message.splitlines()[0][:LONGEST_REASON].rstrip(".")
            raise ValueError(f"{path}{where}: {reason}.") from None
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise ValueError(f"{path}: the byte {byte:#04x} is not ASCII, which FASTQ consists of.") from None
    yield _fastq_part(path, batch, first, labels)


def _fastq_part(path: PathLike, batch: list[Any], first: int, labels: Labels) -> Part:
    lines = (first + np.arange(len(batch))) * 4 + 1
    words = [record.name.split(None, 1) or [""] for record in batch]
    ids = [word[0] for word in words]
    if "" in ids:
        raise ValueError(f"{path}:{lines[ids.index('')]}: the header has no id.")
    letters = np.frombuffer("".join([record.sequence for record in batch]).encode(), np.uint8)
    lengths = np.fromiter((len(record.sequence) for record in batch), np.int64, len(batch))
    labels.add([word[-1] if len(word) > 1 else "" for word in words], ids, lines)
    return letters, np.cumsum(lengths) - lengths, lines, ids


register(
    Format(
        "fasta",
        ("sequences",),
        (".fa", ".fasta", ".fna", ".faa", ".ffn", ".frn"),
        sniff,
        read,
        write,
        BY_MARK,
        parts=checked_parts,
    )
)
register(Format("fastq", ("sequences",), (".fq", ".fastq"), sniff_fastq, read, breadth=BY_MARK, parts=checked_parts))
