"""
Stars: which width?
===================

The experiment of Sonnenburg et al. (2006): the farther apart two stars are, the wider the Gaussian kernel that
separates them. The learned weights follow.
"""

import kernelweave as kw
from kernelweave.plots import WeightPathDisplay

widths = [0.01, 0.1, 1.0, 10.0, 100.0]
models = {}
for distance in (0.5, 1.0, 2.0, 4.0, 8.0):
    X, y = kw.datasets.make_stars(800, distance=distance, random_state=0)
    models[distance] = kw.MKLClassifier(kw.RBF.grid(widths), C=1.0, norm=1.0).fit(X, y)
WeightPathDisplay.from_estimators(
    list(models.values()), list(models), parameter="distance", names=[f"width {w:g}" for w in widths]
).plot()
