"""
Regression with many widths
===========================

A sum of two waves of different frequency: support vector regression chooses the widths that fit both.
"""

import matplotlib.pyplot as plt
import numpy as np

import kernelweave as kw

X, y = kw.datasets.make_sines(300, frequencies=(1.0, 6.0), noise=0.1, random_state=0)
widths = [0.005, 0.05, 0.5, 1.0, 10.0]
model = kw.MKLRegressor(kw.RBF.grid(widths), C=10.0, epsilon=0.1, norm=1.0).fit(X, y)

grid = np.linspace(0, 10, 500)[:, None]
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained", width_ratios=[3, 1])
left.plot(X, y, ".", color="#b0b7c3", markersize=4)
left.plot(grid, model.predict(grid), color="#3b6fb6")
left.set(xlabel="x", ylabel="y")
right.bar([f"{w:g}" for w in widths], model.kernel_weights_, color="#3b6fb6")
right.set(xlabel="width", ylabel="weight")
