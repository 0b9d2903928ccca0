"""Many fits in one process, several at a time: memory, threads, files, BLAS and bits stay what they were."""

from __future__ import annotations

import os
import resource
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

import kernelweave as kw

from .stage import Outcome, Stage

AT_ONCE = 4
LEAK = 64 << 20
"""Bytes that the memory of a process may grow by while thousands of small models come and go."""
_first: dict[str, object] = {}


def resident() -> int:
    """Return the bytes that this process holds."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def state() -> tuple[int, int, tuple[int, ...]]:
    """Return the number of threads and of open files, and the threads of each BLAS library."""
    blas = tuple(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
    return threading.active_count(), len(os.listdir("/proc/self/fd")), blas


@cache
def cases() -> list[tuple[object, np.ndarray, np.ndarray]]:
    """Return models to fit again and again, with rows and labels."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    dna = kw.Sequences.from_strings(["".join(random.choice(list("ACGT"), 12)) for _ in range(60)])
    return [
        (kw.KernelClassifier(kw.RBF(width=2.0)), X, y),
        (kw.KernelClassifier(kw.Spectrum(3)), dna, y),
        (kw.MKLClassifier(kw.RBF.grid([0.5, 5.0])), X, y),
        (kw.KernelRegressor(kw.Linear(), loss="squared"), X, X[:, 0]),
    ]


def fitted(place: int) -> bytes:
    """Fit a model and return the bits of what it predicts."""
    model, X, y = cases()[place]
    again = type(model)(**model.get_params(deep=False)).fit(X, y)
    return np.asarray(again.predict(X), float).tobytes() + np.asarray(again.intercept_).tobytes()


def trial(number: int, folder: Path) -> Outcome:
    """Fit four models at the same time, and look at what is left of them."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        bits = list(pool.map(fitted, [(number + place) % len(cases()) for place in range(AT_ONCE)]))
    for place, found in enumerate(bits):
        kind = (number + place) % len(cases())
        if found != _first.setdefault(f"bits {kind}", found):
            return Outcome("fits at once", "wrong", f"model {kind} has other bits than before")
    known = _first.setdefault("state", state())
    if state() != known:
        return Outcome("fits at once", "leak", f"threads, files and BLAS were {known} and are {state()}")
    grown = resident() - int(_first.setdefault("resident", resident()))  # type: ignore[call-overload]
    if grown > LEAK:
        return Outcome("fits at once", "leak", f"the process grew by {grown >> 20} MB")
    return Outcome("fits at once", "same")


def warm(folder: Path) -> None:
    """Fit everything once, so that what is loaded and compiled is there."""
    for number in range(8):
        trial(number, folder)
    _first.clear()


STAGE = Stage("soak", trial, goal=300, slice=4, minutes=4, warm=warm, seconds=60.0)
"""Each trial is four fits: 300 are 1,200."""
