"""
Where is the signal?
====================

A weighted degree kernel is a sum over positions. Multiple kernel learning gives each window of positions a weight
of its own: little where nothing was planted.
"""

import kernelweave as kw
from kernelweave.plots import PositionWeightsDisplay

X, y = kw.datasets.make_splice(1500, signal_rate=0.8, decoy_rate=0.5, random_state=0)
model = kw.MKLClassifier(kw.WeightedDegree(10).per_position(window=5), norm=1.0).fit(X, y)
print(f"{(model.kernel_weights_ > 0).sum()} of {len(model.kernel_weights_)} windows have weight")

# %%
# The shaded places are where the simulation planted its signals.
display = PositionWeightsDisplay.from_estimator(model).plot(signals=kw.datasets.splice_signals(), origin=60)
display.ax_.set_xlabel("position, from the splice site on")
