"""Copies of an object whose arrays lie elsewhere in memory."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

LINE = 64
"""Bytes of a cache line: what memory is aligned to at most."""


def moved(thing: Any, offset: int) -> Any:
    """Return a copy whose contiguous arrays all begin `offset` bytes behind the start of a cache line."""
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(text, buffers=[_placed(buffer.raw(), offset) for buffer in buffers])


def _placed(raw: memoryview, offset: int) -> np.ndarray:
    space = np.empty(raw.nbytes + 2 * LINE, np.uint8)
    start = -space.ctypes.data % LINE + offset
    place = space[start : start + raw.nbytes]
    place[:] = np.frombuffer(raw, np.uint8)
    return place
