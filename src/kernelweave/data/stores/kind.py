"""Rows on disk as rows of their kind: what a model asks of rows, answered without reading all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernelweave.data.errors import preceded
from kernelweave.data.kinds import RowKind

if TYPE_CHECKING:
    from kernelweave.data.strings.alphabet import Alphabet


class StoredKind(RowKind):
    """The kind of stored rows: that of the rows in memory, asked of a `Stored`.

    Parameters
    ----------
    inner : the kind of the rows in memory
    """

    def __init__(self, inner: RowKind):
        self.inner = inner
        for name in ("name", "noun", "rows", "family", "tabular", "uncertain", "packing"):
            setattr(self, name, getattr(inner, name))

    def content(self, X: Any) -> Any:
        """Return what all rows share, which the manifest tells."""
        return X.content

    def phrase(self, content: Any) -> str:
        """Say what rows with this content are."""
        return self.inner.phrase(content)

    def summary(self, X: Any) -> str:
        """Say how many rows there are, and in how many parts."""
        parts, what = len(X.parts), self.phrase(X.content)
        if self.tabular:
            what = f"rows of {X.shape[1]} columns"
        return f"{len(X)} {what}, stored in {parts} part{'s' * (parts != 1)}"

    def facts(self, content: Any) -> dict[str, Any]:
        """Return what `phrase` says as plain data."""
        return self.inner.facts(content)

    def check(self, X: Any, where: str) -> None:
        """Check the rows part by part."""
        for part in X.parts:
            try:
                self.inner.check(X.take(part, ids=False), where)
            except (ValueError, TypeError) as error:
                raise preceded(error, f"Among rows {part.start} to {part.stop - 1} of {X.path}") from None

    def mismatch(self, given: Any, trained: Any, where: str) -> str | None:
        """Return the sentence about content that is not what a model was trained on."""
        return self.inner.mismatch(given, trained, where)

    def concatenate(self, parts: Sequence[Any]) -> Any:
        """Return the rows of several stores behind one another, in memory."""
        return self.inner.concatenate([part[:] for part in parts])

    def alphabet(self, X: Any) -> Alphabet | None:
        """Return the alphabet, None for rows that are no strings."""
        return X.content if self.family == "strings" else None

    def letters(self, X: Any) -> tuple[int, int]:
        """Return how many letters rows have, and how many of them are masked, which the manifest tells."""
        facts = [part.facts for part in X.manifest.parts]
        return sum(part.get("letters", 0) for part in facts), sum(part.get("masked", 0) for part in facts)

    def reading(self, content: Any) -> dict[str, Any]:
        """Return the options under which a reader gives rows with this content."""
        return self.inner.reading(content)

    def advice(self, X: Any) -> str:
        """Say which kernels compare such rows."""
        return self.inner.advice(X)

    def save(self, X: Any) -> dict[str, Any]:
        """Return all rows as plain data: in a model file they stand like rows in memory."""
        return self.inner.save(X[:])

    def load(self, state: Mapping[str, Any]) -> Any:
        """Return the rows in memory."""
        return self.inner.load(state)
