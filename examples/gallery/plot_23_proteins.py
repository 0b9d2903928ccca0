"""
Proteins and mismatches
=======================

Two families that share a motif up to one letter. The mismatch kernel relates them by long words that exact ones miss;
shorter exact words are the other way to find the motif.
"""

import matplotlib.pyplot as plt
import numpy as np

import kernelweave as kw

rng = np.random.default_rng(0)
letters = np.array(list("ACDEFGHIKLMNPQRSTVWY"))


def protein(motif):
    """Return a random sequence with a motif of which one letter is changed."""
    row = rng.choice(letters, rng.integers(60, 120))
    place = rng.integers(0, len(row) - len(motif))
    changed = list(motif)
    changed[rng.integers(len(motif))] = rng.choice(letters)
    row[place : place + len(motif)] = changed
    return "".join(row)


y = rng.integers(0, 2, 300)
X = kw.Sequences.from_strings([protein("GKSTLHWQ" if one else "NDPRFCAY") for one in y], alphabet="protein")
found = {}
for kernel in (kw.Spectrum(3), kw.Spectrum(5), kw.Mismatch(5, 1)):
    machine = kw.KernelClassifier(kernel, C=10, normalize="cosine").fit(X[:200], y[:200])
    found[repr(kernel)] = machine.score(X[200:], y[200:])

fig, ax = plt.subplots(figsize=(5, 2.4), layout="constrained")
ax.barh(list(found), list(found.values()), color="#3b6fb6")
ax.set(xlim=(0.5, 1), xlabel="share of correct classes")
