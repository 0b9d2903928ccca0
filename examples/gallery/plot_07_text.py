"""
Texts and their n-grams
=======================

Two kinds of sentences, compared by the n-grams of letters that they share; cosine scaling makes long and short texts
comparable.
"""

import numpy as np

import kernelweave as kw
from kernelweave.plots import NGramDisplay

rng = np.random.default_rng(0)
words = {
    "sea": ["wave", "tide", "harbour", "gull", "sail", "salt"],
    "wood": ["oak", "moss", "fern", "trail", "owl", "bark"],
}
shared = ["the", "old", "quiet", "long", "near", "cold", "over", "under"]
y = np.array(["sea", "wood"])[rng.integers(0, 2, 200)]
texts = [" ".join(rng.permutation([*rng.choice(words[kind], 2), *rng.choice(shared, 4)])) for kind in y]

X = kw.Sequences.from_strings(texts, alphabet="bytes")
model = kw.KernelClassifier(kw.NGram(3, cumulative=True), normalize="cosine").fit(X[:150], y[:150])
print("held out:", model.score(X[150:], y[150:]))
NGramDisplay.from_estimator(model, 15).plot()
