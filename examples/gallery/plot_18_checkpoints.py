"""
A fit that was stopped goes on
==============================

With a checkpoint, what was computed is kept: the second call goes on where the first one ended.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import kernelweave as kw

X, y = kw.datasets.make_stars(600, distance=2.0, random_state=0)
kernels = kw.RBF.grid([0.1, 1.0, 10.0, 100.0])
with tempfile.TemporaryDirectory() as folder:
    kept = Path(folder) / "fit.kwc"
    machine = kw.MKLClassifier(kernels, C=10.0, solver="reduced_gradient", tol=1e-6, checkpoint=kept)
    stop = lambda progress: progress.iteration == 5  # noqa: E731 - as Ctrl-C would
    first = machine.set_params(callbacks=(stop,)).fit(X, y)
    gaps = [first.trace_["gap"]]
    second = machine.set_params(callbacks=()).fit(X, y)
    gaps.append(second.trace_["gap"])

fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.semilogy(gaps[1], "o-", color="#b0b7c3", label="gone on to the end")
ax.semilogy(gaps[0], "o", color="#3b6fb6", label="before the stop")
ax.set(xlabel="iteration", ylabel="duality gap")
ax.legend(frameon=False)
