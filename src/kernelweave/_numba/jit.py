"""The house decorator: compiled once per machine, cached on disk, running without the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from kernelweave._numba.cache import DiskCache

REASSOCIATE = {"reassoc", "contract", "nsz"}
"""Floating-point freedoms that let sums vectorise; NaN and infinity keep their meaning."""

_dispatchers: list[Any] = []


def jit(function: Callable[..., Any]) -> Any:
    """Compile a module-level function of arrays and numbers (no Python objects), cached on disk."""
    return _compile(function, REASSOCIATE)


def jit_finite(function: Callable[..., Any]) -> Any:
    """Compile as `jit` does a function that never sees a NaN (infinities are fine), so that maxima vectorise."""
    return _compile(function, REASSOCIATE | {"nnan"})


def _compile(function: Callable[..., Any], freedoms: set[str]) -> Any:
    options = {"nogil": True, "fastmath": freedoms, "error_model": "numpy"}
    dispatcher = numba.njit(no_cfunc_wrapper=True, **options)(function)  # nobody calls them from C
    if dispatcher is not function:  # NUMBA_DISABLE_JIT gives the function itself back
        dispatcher._cache = DiskCache(function)
        # Pickled by name: a copy by value would be compiled again wherever it arrives.
        dispatcher.__reduce_ex__ = lambda protocol: function.__qualname__
        _dispatchers.append(dispatcher)
    return dispatcher


def compiled_functions() -> dict[str, tuple[int, int]]:
    """Return, for every jitted function used so far in this process, how often the disk cache hit and missed."""
    report = {}
    for dispatcher in _dispatchers:
        hits, misses = sum(dispatcher.stats.cache_hits.values()), sum(dispatcher.stats.cache_misses.values())
        if hits or misses:
            report[f"{dispatcher.__module__}.{dispatcher.__name__}"] = (hits, misses)
    return report
