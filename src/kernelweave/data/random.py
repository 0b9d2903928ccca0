"""One way to turn what users call `random_state` into seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

RandomState = int | np.random.Generator | np.random.RandomState | None


def seeds_of(random_state: RandomState) -> np.random.SeedSequence:
    """Return a seed sequence: the same int gives the same bits, a generator is advanced, None is fresh."""
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**32, 4).tolist())
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(0, 2**31, 4).tolist())
    if random_state is not None and (isinstance(random_state, bool) or not isinstance(random_state, int | np.integer)):
        raise TypeError(f"random_state={random_state!r} is not a seed; use an int, a numpy generator or None.")
    if random_state is not None and random_state < 0:
        raise ValueError(f"random_state={random_state} is negative; expected a seed of 0 or more.")
    return np.random.SeedSequence(None if random_state is None else int(random_state))


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a numpy generator for a `random_state`."""
    return np.random.default_rng(seeds_of(random_state))


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return an integer parameter of at least `least`, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name}={value!r} is not valid; expected an integer of at least {least}.")
    return int(value)
