"""
Sliding a model along a genome
==============================

A model of sites scores every window of a long sequence, in bounded memory; peaks are candidates.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import kernelweave as kw

X, y = kw.datasets.make_splice(3000, random_state=0)
model = kw.KernelClassifier(kw.WeightedDegree(12), normalize="trace").fit(X, y)

sites = X[np.flatnonzero(y == 1)[:3]].to_strings()
random = X[np.flatnonzero(y == -1)[:12]].to_strings()
with tempfile.TemporaryDirectory() as folder:
    genome = Path(folder) / "genome.fa"
    parts = [*random[:3], sites[0], *random[3:6], sites[1], *random[6:9], sites[2], *random[9:]]
    genome.write_text(">chr1\n" + "".join(parts) + "\n")
    found = list(kw.scan(model, genome))

fig, ax = plt.subplots(figsize=(9, 2.6), layout="constrained")
places = np.concatenate([starts for _, starts, _, _ in found])
scores = np.concatenate([values for _, _, _, values in found])
ax.plot(places, scores, color="#3b6fb6", linewidth=0.7)
for part in (3, 7, 11):
    ax.axvline(part * 141, color="#c05621", linewidth=0.8, linestyle=":")
ax.set(xlabel="start of the window", ylabel="decision value")
