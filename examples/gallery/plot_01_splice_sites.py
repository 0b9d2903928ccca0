"""
Splice sites with one kernel
============================

Sequences of one length around a site, true sites and decoys: the weighted degree kernel compares them position by
position. The certificate says how far the fit is from the best one possible.
"""

import kernelweave as kw
from kernelweave.plots import CurvesDisplay

X, y = kw.datasets.make_splice(2500, signal_rate=0.8, decoy_rate=0.5, random_state=0)
X_test, y_test = X[1500:], y[1500:]
model = kw.KernelClassifier(kw.WeightedDegree(20), C=1.0, normalize="trace").fit(X[:1500], y[:1500])
print(f"objective {model.objective_:.3f}, at best {model.dual_objective_:.3f}, gap {model.duality_gap_:.1e}")

# %%
# True sites are rare, so the precision-recall curve tells more than the ROC curve. The bands are bootstrap intervals.
CurvesDisplay.from_estimator(model, X_test, y_test).plot()
