"""How much memory there is, and how much the user allows."""

from __future__ import annotations

import os
import re

UNITS = {"": 1, "B": 1, "K": 1e3, "KB": 1e3, "M": 1e6, "MB": 1e6, "G": 1e9, "GB": 1e9, "T": 1e12, "TB": 1e12} | {
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40,
}  # fmt: skip
SHARE_OF_FREE_MEMORY = 0.5
"""What "auto" may take of the memory that is free now: the rest is for the caller and for working space."""


def memory_budget(limit: float | str | None) -> int:
    """Return a memory limit in bytes.

    Parameters
    ----------
    limit : bytes, a text such as "4GB" or "512 MiB", or "auto" / None for half of what is free

    Examples
    --------
    >>> memory_budget("1.5GB")
    1500000000
    """
    if limit is None or limit == "auto":
        return int(SHARE_OF_FREE_MEMORY * free_memory())
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]*)\s*", limit)
        if not match or match[2].upper() not in UNITS:
            raise ValueError(f"memory_limit={limit!r} is not a size; write bytes or a text such as '4GB'.")
        limit = float(match[1]) * UNITS[match[2].upper()]
    if not limit > 0:
        raise ValueError(f"memory_limit={limit!r} must be positive.")
    return int(limit)


def free_memory() -> int:
    """Return the bytes that can be had without swapping."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 4 * 2**30


def show_bytes(size: float) -> str:
    """Return a size that a person can read.

    Examples
    --------
    >>> show_bytes(1_600_000_000)
    '1.6 GB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
