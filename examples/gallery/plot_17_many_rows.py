"""
A hundred thousand rows
=======================

Random features of Gaussian kernels, weights for each of them, and one pass after the other: time grows with the rows.
"""

import matplotlib.pyplot as plt
import numpy as np

import kernelweave as kw

rng = np.random.default_rng(0)
X = rng.normal(size=(100_000, 10))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0
kernels = [kw.Fourier(kw.RBF(width=w), 40, random_state=0) for w in (2.0, 10.0, 50.0)]
model = kw.MKLClassifier(kernels, loss="logistic", norm=2.0, solver="svrg", tol=1e-3).fit(X, y)

fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.semilogy(model.trace_["passes"], model.trace_["gap"], "o-", color="#3b6fb6")
ax.set(xlabel="passes over the rows", ylabel="duality gap")
