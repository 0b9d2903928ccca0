"""
Lattices of a recogniser
========================

A recogniser that is unsure gives a lattice, a distribution over strings. Learning from the whole lattice keeps what the
best guess throws away.
"""

import matplotlib.pyplot as plt
import numpy as np

import kernelweave as kw

rng = np.random.default_rng(0)
TAKEN = {"rain": "train", "train": "rain", "wind": "band", "band": "wind", "song": "snow", "snow": "song"}
KINDS = {"weather": ["rain", "wind", "snow"], "other": ["train", "band", "song"]}


def hear(words):
    """Return arcs: at each place the word and, when the recogniser is unsure, what it is taken for."""
    arcs = []
    for place, word in enumerate(words):
        sure = rng.uniform(0.3, 1.0) if word in TAKEN else 1.0
        arcs.append((place, place + 1, word, sure))
        if sure < 1.0:
            arcs.append((place, place + 1, TAKEN[word], 1.0 - sure))
    return arcs, [len(words)]


y = np.array(list(KINDS))[rng.integers(0, 2, 400)]
X = kw.Lattices.from_arcs([hear(["the", *rng.permutation(KINDS[kind])[:2], "today"]) for kind in y])
machine = kw.KernelClassifier(kw.NGram(2, cumulative=True), C=3.0, normalize="cosine")
shares = {}
for name, rows in (("best guess", X.one_best()), ("whole lattice", X)):
    shares[name] = machine.fit(rows[:200], y[:200]).score(rows[200:], y[200:])

# %%
fig, ax = plt.subplots(figsize=(4, 2.2), layout="constrained")
ax.barh(list(shares), list(shares.values()), color=["#b0b7c3", "#3b6fb6"])
ax.set(xlim=(0.5, 1), xlabel="share of correct classes")
