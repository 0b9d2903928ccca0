"""Rows, targets and kernels that the tests of boosted estimators share."""

from __future__ import annotations

import numpy as np

import kernelweave as kw

rng = np.random.default_rng(0)
N = 80
X, NEW = rng.normal(size=(N, 3)), rng.normal(size=(40, 3))
Y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=N) > 0.8, "yes", "no")
THREE = np.digitize(X[:, 0] + 0.3 * rng.normal(size=N), [-0.5, 0.5])
REAL = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=N)
WEIGHT = rng.uniform(0.2, 2.0, N)
KERNELS = [kw.Linear(), kw.Polynomial(2), kw.RBF(width=2.0), kw.Sigmoid(gamma=0.5)]
