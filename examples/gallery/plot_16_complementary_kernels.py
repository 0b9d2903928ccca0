"""
Kernels that complement each other
==================================

Each of 34 features tells a little, none tells what another does, and 6 are noise. With enough rows every norm keeps the
34; norm 1 and the smooth solver give the noise least.
"""

import matplotlib.pyplot as plt
import numpy as np

import kernelweave as kw

X, y = kw.datasets.make_complementary(600, random_state=0)
kernels = kw.per_feature([kw.Linear()], X.shape[1])
rows, test = slice(0, 300), slice(300, 600)
models = {
    "norm 1": kw.MKLClassifier(kernels, norm=1.0),
    "norm 2": kw.MKLClassifier(kernels, norm=2.0),
    "smooth": kw.MKLClassifier(kernels, solver="smooth"),
}
fig, axes = plt.subplots(1, 3, figsize=(9, 2.6), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items()):
    model.fit(X[rows], y[rows])
    weights = model.kernel_weights_ / model.kernel_weights_.sum()
    ax.bar(np.arange(len(weights)), weights, color="#3b6fb6")
    ax.set(title=f"{name}: accuracy {model.score(X[test], y[test]):.2f}", xlabel="feature")
axes[0].set(ylabel="share of the weight")
