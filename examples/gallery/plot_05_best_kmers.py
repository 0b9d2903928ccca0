"""
The k-mers that tell the classes apart
======================================

The decision value is the intercept plus a weight for each k-mer of the row, so the model can be read.
"""

import kernelweave as kw
from kernelweave.plots import KmerDisplay

X, y = kw.datasets.make_splice(1500, random_state=0)
model = kw.MKLClassifier(kw.WeightedDegree(6).per_degree()).fit(X, y)
KmerDisplay.from_estimator(model, n=15).plot(origin=60)
