"""
Several views of the same rows
==============================

A sequence, a table and a text about the same thing: one kernel for each view, and a weight that says what each is
worth.
"""

import numpy as np

import kernelweave as kw
from kernelweave.plots import KernelWeightsDisplay

rng = np.random.default_rng(0)
sites, y = kw.datasets.make_splice(600, random_state=0)
views = {
    "site": sites,
    "expression": rng.normal(size=(600, 8)) + 0.5 * (y == 1)[:, None],
    "noise": rng.normal(size=(600, 8)),
}
kernels = [
    kw.WeightedDegree(6).on("site"),
    kw.RBF(width=16.0).on("expression"),
    kw.RBF(width=16.0).on("noise"),
]
model = kw.MKLClassifier(kernels, norm=1.5).fit(views, y)
KernelWeightsDisplay.from_estimator(model).plot()
