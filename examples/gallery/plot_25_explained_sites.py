"""
Which letters of a site decide
==============================

An explained sequence as a logo and as a track, with intervals over models that were trained on bootstrap samples.
"""

import kernelweave as kw
from kernelweave.interpret.explain.stability import explanation_stability
from kernelweave.plots import LocusDisplay, LogoDisplay

X, y = kw.datasets.make_splice(900, positive_fraction=0.5, random_state=0)
train, site = slice(0, 800), [800 + y[800:].argmax()]
model = kw.KernelClassifier("wd:8", C=0.5, normalize="trace").fit(X[train], y[train])
LogoDisplay.from_explanation(kw.explain(model, X[site]), start=30, end=90, origin=60).plot()

# %%
# Eight bootstrap samples cost eight fits. A bar whose interval holds 0 is not firm.
firm = explanation_stability(model, X[train], y[train], X[site], n_samples=8, random_state=0)
signals = kw.datasets.splice_signals()
LocusDisplay.from_stability(firm).plot(start=30, end=90, origin=60, signals=signals)
