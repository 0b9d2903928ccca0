"""
A mixture that is quick to evaluate
===================================

CG-Boost gives each kernel *and* row a coefficient and looks at cheap kernels first. Few columns of the expensive one
remain.
"""

from sklearn.datasets import make_moons

import kernelweave as kw
from kernelweave.plots import RoundsDisplay

X, y = make_moons(400, noise=0.2, random_state=0)
model = kw.CGBoostClassifier([kw.Linear(), kw.Polynomial(2), kw.RBF(width=1.0)], C=1.0).fit(X, y)
print("training accuracy", model.score(X, y))
RoundsDisplay.from_estimator(model).plot()
