"""Which rows belong together, so that folds keep them on one side: by their ids, or by what they share.

"chromosome"       the ids up to the first ``:``, or ``chr...`` at their beginning
"prefix", "prefix:_"    the ids up to the first ``|`` (or the text that is given)
"clusters", "clusters:0.5"    sequences that share at least this part of their k-mers, directly or through others
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from kernelweave.selection.copies import CLUSTERED, clusters

Array = np.ndarray
RULES = ("chromosome", "prefix", "clusters")
CHROMOSOME = re.compile(r"(chr[^:_\s|\-.]+|[^:\s]+(?=:))", re.IGNORECASE)
BAR = "|"


def groups_of(X: Any, rule: str, ids: Any = None) -> Array:
    """Return what each row belongs to, by a rule.

    Parameters
    ----------
    X : rows; sequences carry their ids
    rule : "chromosome", "prefix" or "prefix:SEPARATOR" (of the ids), or "clusters" or "clusters:SHARE" of sequences
        that have this share of their k-mers in common
    ids : (n,) names of the rows, where X has none

    Examples
    --------
    >>> import kernelweave as kw
    >>> X = kw.Sequences.from_strings(["ACGT", "AACC", "TTTT"], ids=["chr1:5-9", "chr2:1-5", "chr1:70-74"])
    >>> kw.groups_of(X, "chromosome").tolist()
    ['chr1', 'chr2', 'chr1']
    """
    name, _, more = str(rule).partition(":")
    if name not in RULES:
        raise ValueError(f"groups={rule!r} is not one of {', '.join(RULES)}; or give one group for each row.")
    if name == "clusters":
        return clusters(X, share=_share(more) if more else CLUSTERED)
    ids = getattr(X, "ids", None) if ids is None else ids
    if ids is None:
        raise ValueError(f"groups={rule!r} are read from the ids of the rows, but these rows have no ids.")
    texts = [str(one) for one in ids]
    if name == "prefix":
        return np.array([text.split(more or BAR, 1)[0] for text in texts])
    return np.array([_chromosome(text, row) for row, text in enumerate(texts)])


def _chromosome(text: str, row: int) -> str:
    found = CHROMOSOME.match(text)
    if found is None:
        raise ValueError(
            f"Row {row} has the id {text!r}, which names no chromosome; expected ids such as chr1:1000-1200."
        )
    return found[1]


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = float("nan")
    if not 0.0 < share <= 1.0:
        raise ValueError(f"clusters:{text} must name a share between 0 and 1, such as clusters:0.5.")
    return share
