"""
The importance of each letter
=============================

Positional oligomer importance as letters: as high as what seeing one changes on average, the others being random.
"""

import kernelweave as kw
from kernelweave.interpret import poim
from kernelweave.plots import LogoDisplay

X, y = kw.datasets.make_splice(1500, random_state=0)
model = kw.KernelClassifier(kw.WeightedDegree(8), normalize="trace").fit(X, y)
LogoDisplay.from_poim(poim(model, k=2), start=30, end=80, origin=60).plot()
