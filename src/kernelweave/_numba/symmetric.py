"""Symmetric matrices of which one half was computed."""

from __future__ import annotations

from kernelweave._numba.jit import jit

SQUARE = 64
"""Side of the squares that are mirrored together, so that both stay near the processor."""


@jit
def mirror(out):  # type: ignore[no-untyped-def]
    """Copy the lower triangle to the upper one."""
    n = out.shape[0]
    for top in range(0, n, SQUARE):
        for left in range(0, top + 1, SQUARE):
            for a in range(top, min(top + SQUARE, n)):
                for b in range(left, min(left + SQUARE, a)):
                    out[b, a] = out[a, b]
