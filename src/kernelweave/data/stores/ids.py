"""Ids in a store: bytes behind one another, and where each begins."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernelweave.data.rows import IDS, unpacked_ids
from kernelweave.data.stores.packing import Array, Piece

NO_IDS = np.array([], dtype=IDS)


def ids_of(piece: Piece) -> Array:
    """Return the ids of some rows of a part."""
    offsets, letters = piece.sections["id_offsets"], piece.sections["id_bytes"]
    if isinstance(piece.rows, slice) and piece.size:
        bounds = offsets[piece.rows.start : piece.rows.stop + 1]
        named = {"id_offsets": bounds - bounds[0], "id_bytes": letters[bounds[0] : bounds[-1]]}
        found = unpacked_ids(named, piece.size)
        return NO_IDS if found is None else found
    pairs = zip(offsets[piece.numbers].tolist(), offsets[piece.numbers + 1].tolist())
    return np.array([letters[a:b].tobytes().decode("utf-8", "surrogatepass") for a, b in pairs], dtype=IDS)


def check_ids(sections: Mapping[str, Array], n: int) -> None:
    """Raise unless the bounds of n ids, where there are some, lie within their bytes."""
    if "id_offsets" not in sections:
        return
    offsets = sections["id_offsets"]
    if offsets.dtype != np.int64 or offsets.size != n + 1 or offsets[0] != 0 or (np.diff(offsets) < 0).any():
        raise ValueError("id_offsets")
    if offsets[-1] != sections["id_bytes"].size:
        raise ValueError("id_bytes")
