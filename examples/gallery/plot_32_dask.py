"""
The workers of a cluster
========================

The same call with ``engine=client``: folds and settings are spread over the workers of a Dask cluster, here a local
one. The weights do not depend on how many there are.
"""

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

import kernelweave as kw

X, y = kw.datasets.make_splice(600, length=80, positive_fraction=0.5, random_state=0)
kernels = kw.WeightedDegree(6).per_degree()
here = kw.MKLClassifier(kernels, normalize="trace", engine="serial").fit(X, y)
cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
with cluster, Client(cluster) as client:
    there = kw.MKLClassifier(kernels, normalize="trace", engine=client).fit(X, y)
    found = kw.MKLClassifierCV(kernels, Cs=[0.03, 0.3, 3.0], norms=[1.0, 2.0], cv=3, engine=client).fit(X, y)
print("the same weights:", np.array_equal(here.kernel_weights_, there.kernel_weights_))

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
degrees = np.arange(1, 7)
left.bar(degrees - 0.2, here.kernel_weights_, 0.4, color="#0072b2", label="one thread")
left.bar(degrees + 0.2, there.kernel_weights_, 0.4, color="#e69f00", label="two workers")
left.set(xlabel="length of k-mer", ylabel="kernel weight")
left.legend(frameon=False)
for norm, scores, color in zip(found.norms, found.cv_scores_.mean(axis=2), ("#0072b2", "#e69f00")):
    right.plot(list(map(str, found.Cs)), scores, "o-", color=color, label=f"norm {norm:g}")
right.set(xlabel="C", ylabel="mean score of three folds")
right.legend(frameon=False)
