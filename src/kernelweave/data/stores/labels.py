"""Labels in a store: a number of one or two bytes for each of few different labels, or the values themselves.

The section `label_codes` holds numbers of classes, which the manifest lists; `label_values` holds targets of which
there are too many different ones.  One store may have both: values begin where the classes became too many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from kernelweave.data.stores.manifest import Label
from kernelweave.data.stores.packing import Piece

Array = np.ndarray
MOST_CLASSES = 1 << 16
"""So many different labels are numbered; more of them are targets of a regression, and stored by value."""
Parse = Callable[[Sequence[str]], Array]
"""From the texts of labels to integers, numbers or texts."""


class Numbered:
    """Numbers the labels of rows as they come.

    Parameters
    ----------
    known : labels that have a number already
    parse : what the texts of a file mean, applied to all different ones in the end; None for labels that are values
    """

    def __init__(self, known: Iterable[Label] = (), parse: Parse | None = None):
        self.parse = parse
        self.index: dict[Any, int] = {}
        for label in known:
            self.index.setdefault(self._key(label), len(self.index))

    def sections(self, y: Any) -> dict[str, Array]:
        """Return the labels of some rows as a section."""
        y = np.asarray(y)
        values = y.astype(np.int64) if y.dtype.kind == "b" else y
        plain = values.dtype.kind in "iuf"
        finite = values.dtype.kind != "f" or bool(np.isfinite(values).all())
        if not plain and values.dtype.kind not in "UTO":
            raise TypeError(f"Labels must be numbers or texts to be stored, but have dtype {y.dtype}.")
        distinct, inverse = np.unique(values, return_inverse=True) if plain else _factored(values)
        if not finite or len(set(self.index) | set(map(self._key, distinct.tolist()))) > MOST_CLASSES:
            return {"label_values": self._numbers(values)}
        codes = np.array([self.index.setdefault(self._key(label), len(self.index)) for label in distinct.tolist()])
        small = np.uint8 if len(codes) == 0 or codes.max() < 1 << 8 else np.uint16
        return {"label_codes": codes.astype(small)[inverse]}

    def classes(self) -> tuple[Label, ...]:
        """Return the labels that have a number, in its order."""
        keys = list(self.index)
        if self.parse is not None and keys:
            return tuple(self.parse(keys).tolist())
        if {type(key) for key in keys} >= {str, int} or {type(key) for key in keys} >= {str, float}:
            raise ValueError("The labels are numbers in some rows and texts in others; a store holds one of them.")
        return tuple(keys)

    def _key(self, label: Any) -> Any:
        if self.parse is None:
            return label
        return label if isinstance(label, str) else repr(label)

    def _numbers(self, values: Array) -> Array:
        try:
            return values if values.dtype == np.int64 else values.astype(np.float64)
        except ValueError:
            raise ValueError(
                f"There are more than {MOST_CLASSES} different labels, such as {str(values[0])!r}; targets of a "
                "regression must be numbers."
            ) from None


def labels_of(classes: Sequence[Label], piece: Piece) -> Array:
    """Return the labels of some rows of a part."""
    if "label_codes" in piece.sections:
        return np.array(classes)[piece.sections["label_codes"][piece.rows]]
    return np.asarray(piece.sections["label_values"][piece.rows])


def weights_of(piece: Piece) -> Array:
    """Return the weights of some rows of a part."""
    return np.asarray(piece.sections["row_weights"][piece.rows])


def check_labels(sections: Mapping[str, Array], classes: Sequence[Label], n: int) -> None:
    """Raise unless the sections of labels and weights, where there are some, have an entry for each of n rows."""
    codes = sections.get("label_codes")
    if codes is not None and codes.size and (codes.dtype.kind != "u" or codes.max() >= len(classes)):
        raise ValueError("label_codes")
    for name in ("label_codes", "label_values", "row_weights"):
        if name in sections and sections[name].size != n:
            raise ValueError(name)


def _factored(texts: Array) -> tuple[Array, Array]:
    """Return the different texts in the order in which they come, and the number of each row's text."""
    index: dict[str, int] = {}
    numbers = np.array([index.setdefault(str(text), len(index)) for text in texts.tolist()], np.int64)
    return np.array(list(index), dtype=object), numbers
