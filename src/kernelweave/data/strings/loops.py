"""Jitted loops over flat letter buffers."""

from __future__ import annotations

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
