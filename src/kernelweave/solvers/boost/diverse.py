"""Which of many violated columns should enter together.

A column is a cut of the dual: it asks prices u for ``|score_j| <= t``, where t is the threshold.  Cuts that are much
alike remove the same prices, and one of them would do.  So the columns of a round are picked one after the other: the
worst violator first; the scores of the others then become those of the nearest prices that obey it,

    score_l  ->  score_l - (score_j - sign(score_j) t) k_l'k_j / k_j'k_j,

columns taken around their means where prices must add up to zero (free intercept).  A column whose violation goes away
with that of a better one has its turn late.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def spread(columns: Array, scores: Array, threshold: float, most: int, balanced: bool, positive: bool) -> Array:
    """Return the places of at most so many columns that violate the dual in different ways, the first one worst.

    Parameters
    ----------
    columns : (n, k) candidates
    scores : (k,) of the columns
    threshold : score beyond which a column violates
    balanced : whether prices add up to zero
    positive : whether only scores above the threshold are violations, not those below its negative

    Examples
    --------
    >>> columns = np.array([[1.0, 1.0, 0.0], [0.0, 0.1, 1.0]])
    >>> spread(columns, np.array([4.0, 3.9, 2.0]), 1.0, 2, False, False)
    array([0, 2])
    """
    centred = columns - columns.mean(axis=0) if balanced else columns
    gram, scores, out = centred.T @ centred, scores.copy(), np.empty(min(most, len(scores)), np.int64)
    left = np.ones(len(scores), bool)
    for turn in range(len(out)):
        best = int(np.argmax(np.where(left, scores if positive else np.abs(scores), -np.inf)))
        out[turn], left[best] = best, False
        limit = threshold if positive or scores[best] > 0 else -threshold
        excess = max(0.0, (scores[best] - limit) * np.sign(limit or scores[best]))
        scores -= np.sign(limit or scores[best]) * excess / max(gram[best, best], np.finfo(float).tiny) * gram[:, best]
    return out
