"""
Is this unlike anything before?
===============================

One-class learning: the region that holds most of the training rows. ``nu`` bounds the share of them left outside.
"""

import matplotlib.pyplot as plt
import numpy as np

import kernelweave as kw

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal([0, 0], 0.5, (150, 2)), rng.normal([3, 1], 0.4, (100, 2))])
model = kw.KernelNovelty(kw.RBF(width=1.0), nu=0.05).fit(X)

a, b = np.meshgrid(np.linspace(-2, 5, 120), np.linspace(-2, 3, 120))
values = model.decision_function(np.column_stack([a.ravel(), b.ravel()])).reshape(a.shape)
fig, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
ax.contourf(a, b, values, levels=[-10, 0, 10], colors=["#ffffff", "#dbe7f5"])
ax.contour(a, b, values, levels=[0], colors="#3b6fb6")
ax.plot(*X.T, ".", color="#333333", markersize=3)
ax.set(title=f"{(model.predict(X) < 0).mean():.0%} of the training rows are outside")
