"""
How the gap closes
==================

Every solver of a problem ends at the same objective and proves it. The trace shows how they get there.
"""

import kernelweave as kw
from kernelweave.plots import ConvergenceDisplay

X, y = kw.datasets.make_stars(500, distance=2.0, random_state=0)
kernels = kw.RBF.grid([0.1, 1.0, 10.0, 100.0])
names = ("hessian", "silp", "level", "reduced_gradient")
models = {name: kw.MKLClassifier(kernels, C=10.0, solver=name, tol=1e-4).fit(X, y) for name in names}
print({name: round(model.objective_, 4) for name, model in models.items()})
ConvergenceDisplay.from_estimators(models).plot()
