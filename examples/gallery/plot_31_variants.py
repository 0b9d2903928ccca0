"""
What a changed letter does
==========================

Every allele of a VCF file is scored in its window of the genome, with the reference and with the alternative. Here a
letter is changed at every place of an enhancer whose sites are known: those that matter lie in them.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import kernelweave as kw

X, y, planted = kw.datasets.make_enhancers(1200, length=120, site_rate=0.9, random_state=0, return_planted=True)
model = kw.KernelClassifier(kw.LSGKM(9, 6, 3), normalize="cosine").fit(X[:1000], y[:1000])

row = 1000 + int(np.argmax((planted[1000:] != 0).sum(axis=1)))
sites, middle = planted[row] != 0, X[row]
flanks = X[np.flatnonzero(y == -1)[:2]].to_strings()
letters = flanks[0] + middle + flanks[1]
first = len(flanks[0])

rng = np.random.default_rng(0)
calls = ["#CHROM\tPOS\tID\tREF\tALT\n"]
for at in range(first, first + len(middle)):
    other = rng.choice([letter for letter in "ACGT" if letter != letters[at]])
    calls.append(f"chr1\t{at + 1}\t.\t{letters[at]}\t{other}\n")

with tempfile.TemporaryDirectory() as folder:
    genome, vcf = Path(folder) / "genome.fa", Path(folder) / "calls.vcf"
    genome.write_text(f">chr1\n{letters}\n")
    vcf.write_text("".join(calls))
    effects = list(kw.variants(model, vcf, genome, background=100))

# %%
# Below zero an allele speaks against an enhancer; the shaded places are where the simulation planted its sites.
places = np.array([one.position for one in effects]) - 1 - first  # a VCF file counts from 1
fig, ax = plt.subplots(figsize=(9, 2.8), layout="constrained")
edges = np.flatnonzero(np.diff(np.concatenate([[0], sites.astype(int), [0]])))
for start, stop in zip(edges[::2], edges[1::2]):
    ax.axvspan(start - 0.5, stop - 0.5, color="#e69f00", alpha=0.25, linewidth=0)
ax.vlines(places, 0, [one.delta for one in effects], color="#0072b2", linewidth=1.6)
ax.axhline(0, color="#6f7780", linewidth=0.8)
ax.set(xlabel="position in the enhancer", ylabel="alternative less reference", xlim=(-1, len(middle)))
