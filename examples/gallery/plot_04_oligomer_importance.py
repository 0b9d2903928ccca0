"""
Which k-mers matter where
=========================

Positional oligomer importance: by how much the expected decision value changes when a k-mer is seen at a position, the
letters around it being random.
"""

import kernelweave as kw
from kernelweave.interpret import poim
from kernelweave.plots import PoimDisplay

X, y = kw.datasets.make_splice(1500, random_state=0)
model = kw.KernelClassifier(kw.WeightedDegree(12), normalize="trace").fit(X, y)
print(*poim(model, k=3).most_important(5), sep="\n")
PoimDisplay.from_estimator(model, k=2).plot(origin=60, signals=kw.datasets.splice_signals())
