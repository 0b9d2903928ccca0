"""
From few kernels to all of them
===============================

At norm 1 few kernels keep a weight; the larger the norm, the more they share.
"""

import kernelweave as kw
from kernelweave.plots import WeightPathDisplay

X, y = kw.datasets.make_stars(600, distance=3.0, random_state=0)
kernels = kw.RBF.grid([0.01, 0.1, 1.0, 10.0, 100.0])
norms = [1.0, 1.1, 1.3, 2.0, 4.0]
models = {norm: kw.MKLClassifier(kernels, norm=norm).fit(X, y) for norm in norms}
WeightPathDisplay.from_estimators(list(models.values()), list(models), parameter="norm").plot()
