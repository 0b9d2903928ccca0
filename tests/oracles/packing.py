"""Letters in the bytes of a store, one at a time."""

from __future__ import annotations


def packed_rows(rows: list[list[int]], bits: int) -> bytes:
    """Return rows of one length, each from a new byte on, the first letter of a byte in its lowest bits."""
    out = []
    for row in rows:
        number = sum(letter << (bits * place) for place, letter in enumerate(row))
        out.append(number.to_bytes(-(-bits * len(row) // 8), "little"))
    return b"".join(out)


def unpacked_row(data: bytes, first: int, length: int, bits: int) -> list[int]:
    """Return the letters of a row that begins in a slot."""
    number = int.from_bytes(data, "little")
    return [(number >> (bits * (first + place))) & ((1 << bits) - 1) for place in range(length)]
