"""
Motifs of what decides
======================

Windows of explained rows whose letters add most, aligned on both strands and counted; and many rows as a map.
"""

import kernelweave as kw
from kernelweave.interpret.motifs.find import find_motifs
from kernelweave.plots import ExplanationMapDisplay, LogoDisplay

E, label = kw.datasets.make_enhancers(1200, length=100, random_state=0)
gapped = kw.KernelClassifier(kw.LSGKM(8, 6, 2), normalize="cosine").fit(E, label)
LogoDisplay.from_motifs(find_motifs(gapped, E[label == 1], 3)).plot()

# %%
# Rows that are aligned, sites of splicing for example, can be seen together.
X, y = kw.datasets.make_splice(1000, positive_fraction=0.5, random_state=0)
model = kw.KernelClassifier("wd:8", C=0.5, normalize="trace").fit(X[:700], y[:700])
ExplanationMapDisplay.from_explanation(kw.explain(model, X[700:])).plot(origin=60)
