"""Random sequences with the same pairs of neighbouring letters as given ones.

A sequence is a walk over its letters; every Euler walk over the same steps has the same number of each pair.  The last
step out of each letter is drawn until these steps lead every letter to the end of the walk, the others are put in
random order (Altschul and Erickson, 1985).
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def shuffled_pairs(codes: Array, rng: np.random.Generator) -> Array:
    """Return a random sequence of the same first letter, last letter and pairs of neighbours.

    Examples
    --------
    >>> text = np.array([0, 1, 2, 0, 2, 1, 0])
    >>> found = shuffled_pairs(text, np.random.default_rng(0))
    >>> sorted(zip(found, found[1:])) == sorted(zip(text, text[1:]))
    True
    """
    codes = np.asarray(codes)
    if len(codes) < 4:
        return codes.copy()
    names, letters = np.unique(codes, return_inverse=True)
    following = [rng.permutation(letters[1:][letters[:-1] == letter]) for letter in range(len(names))]
    end = int(letters[-1])
    while True:
        last = [int(rng.integers(len(steps))) if len(steps) else 0 for steps in following]
        if _all_lead_to(end, [int(steps[at]) if len(steps) else end for steps, at in zip(following, last)]):
            break
    queues = [
        [*np.delete(steps, at).tolist(), int(steps[at])] if letter != end and len(steps) else steps.tolist()
        for letter, (steps, at) in enumerate(zip(following, last))
    ]
    walk, taken = [int(letters[0])], [0] * len(names)
    for _ in range(len(codes) - 1):
        here = walk[-1]
        walk.append(queues[here][taken[here]])
        taken[here] += 1
    return names[np.array(walk)]


def _all_lead_to(end: int, step: list[int]) -> bool:
    """Tell whether steps lead every letter to the end."""
    for start in range(len(step)):
        here, seen = start, 0
        while here != end and seen <= len(step):
            here, seen = step[here], seen + 1
        if here != end:
            return False
    return True
