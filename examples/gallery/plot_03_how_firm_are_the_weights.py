"""
How firm are the weights?
=========================

One fit says little about how firm a weight is. Refits on bootstrap samples, drawn together, show it.
"""

import numpy as np

import kernelweave as kw
from kernelweave.plots import PositionWeightsDisplay

X, y = kw.datasets.make_splice(1000, signal_rate=0.8, decoy_rate=0.5, random_state=0)
fits = []
for seed in range(5):
    rows, counts = np.unique(np.random.default_rng(seed).integers(0, len(y), len(y)), return_counts=True)
    part = kw.MKLClassifier(kw.WeightedDegree(8).per_position(window=10))
    fits.append(part.fit(X[rows], y[rows], sample_weight=counts.astype(float)))

PositionWeightsDisplay.from_estimators(fits).plot(signals=kw.datasets.splice_signals(), origin=60)
