"""
Rows on disk
============

A store keeps packed rows beside labels and names, in parts with checksums; estimators take it wherever they take rows.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import kernelweave as kw

X, y = kw.datasets.make_splice(20_000, random_state=0)
with tempfile.TemporaryDirectory() as folder:
    stored = X.to_store(Path(folder) / "sites.kws", y)
    model = kw.KernelClassifier("wd:20", C=5.0, normalize="trace", solver="active_set").fit(stored, stored.y)
print(model.memory_plan_.why)

fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.bar(range(1, 1 + model.n_iter_), model.trace_["working_set"], color="#dbe7f5", label="working set")
ax.plot(range(1, 1 + model.n_iter_), model.trace_["support"], "o-", color="#3b6fb6", label="support vectors")
ax.set(xlabel="round", ylabel="rows", xticks=range(1, 1 + model.n_iter_))
ax.legend(frameon=False)
