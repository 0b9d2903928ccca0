"""
How scores are spread, and why
==============================

Decision values of held-out rows by class, who is taken for whom, and for single rows of a table what each column adds.
"""

import pandas as pd
from sklearn.datasets import load_breast_cancer

import kernelweave as kw
from kernelweave.plots import ConfusionDisplay, PlacesDisplay, ScoresDisplay

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target.map({0: "malignant", 1: "benign"})
X = pd.DataFrame((X - X.mean()) / X.std())
model = kw.KernelClassifier(kw.Linear(), C=0.1).fit(X[:400], y[:400])
ScoresDisplay.from_estimator(model, X[400:], y[400:]).plot()

# %%
# Rows on the wrong side of the threshold are called wrongly.
ConfusionDisplay.from_labels(y[400:], model.predict(X[400:])).plot()

# %%
# The bars of a row add up to its decision value.
PlacesDisplay.from_explanation(kw.explain(model, X[400:]), [0, 8], n=6).plot()
