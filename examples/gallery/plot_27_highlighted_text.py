"""
The words that decide
=====================

Each word on the colour of what it adds, for print; ``.html()`` gives the same for a page, with the numbers on hover.
"""

import numpy as np

import kernelweave as kw
from kernelweave.plots import TextDisplay

rng = np.random.default_rng(0)
ASKED = ["how far is {}", "how long does the train to {} take", "is it far from here to {}"]
BOOKED = ["please book a seat to {}", "i want two seats to {} please", "buy me a ticket to {} for today"]
towns = ["paris", "york", "oslo", "rome", "lima"]
y = rng.integers(0, 2, 160)
texts = [str(rng.choice(BOOKED if label else ASKED)).format(rng.choice(towns)) for label in y]

X = kw.Sequences.from_strings(texts, alphabet="words")
model = kw.KernelClassifier(kw.NGram(2, cumulative=True), normalize="cosine").fit(X[:120], y[:120])
told = kw.explain(model, X[120:])
TextDisplay.from_explanation(told, [0, 1, 2, 3]).plot()
