"""
A similarity as a transducer
============================

A rational kernel counts what a finite-state transducer makes of two strings: here words that are often mistaken for
each other match, at a price.
"""

import matplotlib.pyplot as plt

import kernelweave as kw
from kernelweave.automata import Transducer

texts = [["heavy", "rain"], ["heavy", "train"], ["light", "rain"], ["fast", "train"]]
X = kw.Sequences.from_tokens(texts)
words = X.alphabet.letters
same = [(0, 1, w, w, 1.0) for w in words] + [(0, 1, "train", "rain", 0.6)]
skip = [(s, s, w, None, 1.0) for s in (0, 1) for w in words]
sounds = kw.Rational(Transducer.from_arcs(same + skip, finals=[1], alphabet=X.alphabet))

fig, axes = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
for ax, (name, kernel) in zip(axes, {"same words": kw.NGram(1), "words that sound alike": sounds}.items()):
    ax.imshow(kernel.gram(X), cmap="Blues")
    ax.set(title=name, xticks=[], yticks=range(4), yticklabels=[" ".join(text) for text in texts])
