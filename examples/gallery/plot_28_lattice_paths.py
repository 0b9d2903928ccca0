"""
The arcs of a lattice that decide
=================================

Paths run from left to right; an arc is as thick as it is likely, and has the colour of what it adds.
"""

import numpy as np

import kernelweave as kw
from kernelweave.plots import LatticeDisplay

rng = np.random.default_rng(1)
TAKEN = {"rain": "train", "train": "rain", "wind": "wine", "wine": "wind", "snow": "show", "show": "snow"}
KINDS = {"weather": ["rain", "wind", "snow"], "other": ["train", "wine", "show"]}


def hear(words):
    """Return arcs: the word, what it may be taken for, and a way past words that may not have been said."""
    arcs = []
    for place, word in enumerate(words):
        sure = rng.uniform(0.4, 1.0) if word in TAKEN else 0.8
        arcs.append((place, place + 1, word, sure))
        arcs.append((place, place + 1, TAKEN.get(word, ""), 1.0 - sure))
    arcs.append((1, 3, "drain", 0.2))
    return arcs, [len(words)]


y = np.array(list(KINDS))[rng.integers(0, 2, 300)]
X = kw.Lattices.from_arcs([hear(["the", *rng.permutation(KINDS[kind])[:2], "today"]) for kind in y]).normalized()
model = kw.KernelClassifier(kw.NGram(2, cumulative=True), C=3.0, normalize="cosine").fit(X[:200], y[:200])
LatticeDisplay.from_explanation(kw.explain(model, X[200:]), 2).plot()
