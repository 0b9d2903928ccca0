"""
Which lengths of k-mers?
========================

One kernel for each length, one learned weight for each kernel.
"""

import kernelweave as kw
from kernelweave.plots import DegreeWeightsDisplay

X, y = kw.datasets.make_splice(1500, random_state=0)
fits = [
    kw.MKLClassifier(kw.WeightedDegree(10).per_degree(), norm=1.0).fit(X[rows], y[rows])
    for rows in (slice(0, 500), slice(500, 1000), slice(1000, 1500))
]
DegreeWeightsDisplay.from_estimators(fits).plot()
