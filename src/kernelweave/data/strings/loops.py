"""Jitted loops over flat letter buffers."""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.vector import copy_items

NEWLINE, BLANK, HEADER = 10, 32, 62


@jit
def gather_rows(codes, offsets, rows, new_offsets, out):  # type: ignore[no-untyped-def]
    """Copy the chosen rows of a flat buffer behind one another into `out`."""
    for i in range(rows.size):
        source = offsets[rows[i]]
        target = new_offsets[i]
        size = new_offsets[i + 1] - target
        copy_items(codes, source, out, target, size)


@jit
def scan_fasta(text, inside, line, letters, heads):  # type: ignore[no-untyped-def]
    """Split FASTA text into letters and headers; return how many letters and headers there were.

    `inside` tells that the text goes on in the middle of a sequence line; `line` is the number of its first line.
    A row of `heads` is: start of the header, end of its first word, end of the header, line, letters before it.
    """
    n_letters, n_heads, i = 0, 0, 0
    start_of_line = not inside
    while i < text.size:
        byte = text[i]
        if start_of_line and byte == HEADER:
            stop = i + 1
            while stop < text.size and text[stop] != NEWLINE:
                stop += 1
            word = i + 1
            while word < stop and text[word] > BLANK:
                word += 1
            heads[n_heads, 0], heads[n_heads, 1], heads[n_heads, 2] = i + 1, word, stop
            heads[n_heads, 3], heads[n_heads, 4] = line, n_letters
            n_heads += 1
            i = stop
            start_of_line = False
            continue
        if byte == NEWLINE:
            line += 1
            start_of_line = True
        else:
            start_of_line = False
            if byte > BLANK:
                letters[n_letters] = byte
                n_letters += 1
        i += 1
    return n_letters, n_heads


@jit
def pack_rows(codes, offsets, starts, bits, out):  # type: ignore[no-untyped-def]
    """Set the letters of each row into slots of 1, 2 or 4 bits from its start on; codes that do not fit stay 0."""
    together, most = 8 // bits, (1 << bits) - 1
    for row in range(starts.size):
        slot = starts[row]
        for i in range(offsets[row], offsets[row + 1]):
            if codes[i] <= most:
                out[slot // together] |= codes[i] << (slot % together * bits)
            slot += 1


@jit
def unpack_rows(packed, starts, offsets, bits, out):  # type: ignore[no-untyped-def]
    """Write the letters of rows that begin in these slots to `out`, row i from offsets[i] on."""
    together = 8 // bits
    table = np.empty((256, together), out.dtype)
    for byte in range(256):
        for j in range(together):
            table[byte, j] = (byte >> (j * bits)) & ((1 << bits) - 1)
    for row in range(starts.size):
        at, stop, slot = offsets[row], offsets[row + 1], starts[row]
        place = slot // together
        j = slot % together
        while j and at < stop:  # up to the next byte
            out[at] = table[packed[place], j]
            at, j = at + 1, j + 1
            if j == together:
                place, j = place + 1, 0
        while at + together <= stop:
            for k in range(together):
                out[at + k] = table[packed[place], k]
            at, place = at + together, place + 1
        for k in range(stop - at):
            out[at + k] = table[packed[place], k]


@jit
def convert_rows(letters, starts, offsets, out):  # type: ignore[no-untyped-def]
    """Copy rows that begin at these places to `out`, row i from offsets[i] on, in the type of `out`."""
    for row in range(starts.size):
        shift = starts[row] - offsets[row]
        for at in range(offsets[row], offsets[row + 1]):
            out[at] = letters[at + shift]


@jit
def mask_runs(runs, first, starts, offsets, mask, out):  # type: ignore[no-untyped-def]
    """Write the mask where a run of slots lies in a row; first[i] is the first run that may reach into row i."""
    for row in range(starts.size):
        shift = offsets[row] - starts[row]
        run = first[row]
        while run < runs.shape[0] and runs[run, 0] + shift < offsets[row + 1]:
            for at in range(max(runs[run, 0] + shift, offsets[row]), min(runs[run, 1] + shift, offsets[row + 1])):
                out[at] = mask
            run += 1
