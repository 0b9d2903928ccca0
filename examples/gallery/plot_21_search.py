"""
Grid search and calibration with scikit-learn
=============================================

Sequences slice like arrays, so that scikit-learn's searches and calibrations take them.
"""

from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV

import kernelweave as kw
from kernelweave.plots import CalibrationDisplay

X, y = kw.datasets.make_splice(1200, signal_rate=0.7, decoy_rate=0.6, random_state=0)
machine = kw.KernelClassifier(kw.WeightedDegree(6), normalize="trace")
search = GridSearchCV(machine, {"C": [0.1, 1.0]}, scoring="average_precision", cv=3).fit(X[:600], y[:600])
print(search.best_params_, round(search.best_score_, 3))

calibrated = CalibratedClassifierCV(search.best_estimator_, cv=3).fit(X[:600], y[:600])
CalibrationDisplay.from_probabilities(y[600:], calibrated.predict_proba(X[600:])[:, 1], bins=5).plot()
