"""A stage whose trials fail in every way, to see that the campaign notices."""

from __future__ import annotations

import os
import time
from pathlib import Path

from .stage import Outcome, Stage

WAYS = ("good", "raises", "crashes", "hangs", "grows", "good")
_held: list[bytes] = []


def trial(number: int, folder: Path) -> Outcome:
    """Fail as the number says."""
    way = WAYS[number % len(WAYS)]
    (folder / "file.txt").write_text(way)
    if way == "raises":
        raise KeyError(way)
    if way == "crashes":
        os.abort()
    while way == "hangs":
        pass
    if way == "grows":
        _held.append(b"x" * (64 << 20))
    return Outcome(way, "read")


def asleep(number: int, folder: Path) -> Outcome:
    """Wait for what does not come."""
    time.sleep(60)
    return Outcome("asleep", "read")


STAGE = Stage("broken", trial, goal=6, slice=6, minutes=1, seconds=2.0, growth=32 << 20)
ASLEEP = Stage("asleep", asleep, goal=1, slice=1, minutes=1, seconds=0.3)
