"""Do explanations find what is there?  Planted motifs, splice sites, PUM2's binding sites, acceptors of C. elegans.

    python benchmarks/explain_truth.py

enhancers   LSGKM (9, 6, 3) on 2,000 of `make_enhancers`, 1,000 others explained: area under the ROC curve of planted
            letters by what they add, share of planted ones among as many top letters, rank correlation with the
            planted log-odds (zeros everywhere else bound it: the bound is shown), motifs found and the correlation of
            their matrices with the planted ones
splice      weighted degrees on 4,000 of `make_splice`: rank correlation between what a letter adds and its log-odds at
            its position, counted in 40,000 other rows
PUM2        LSGKM (8, 6, 2) on half of the real binding sites: motifs found, and how many of the held-out sites have the
            8 letters that add most within TGTANATA or one letter of it, beside background rows
C. elegans  weighted degree 8 on 6,000 rows around real acceptors: where in single held-out acceptors the letters add
            most, by distance from the AG
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import spearmanr

import kernelweave as kw
from common import ROOT, Row, conditions, show, write_csv, write_picture
from kernelweave.interpret import auroc
from kernelweave.interpret.motifs.find import Motif, find_motifs
from kernelweave.plots.style import BLUE, GREY, figure, quiet

DATA = ROOT.parent / "shared" / "data"
PUM2, ACCEPTORS = DATA / "dna" / "rbp_pum2.tsv.gz", DATA / "splice" / "celegans_acceptor_chr1_2.tsv.gz"
SITE, WORD = "TGTANATA", 8
AG, SIDE = 197, 60
"""Where the AG of the acceptors stands, and letters on its left that are kept (30 on its right)."""


def likeness(motif: Motif, matrix: np.ndarray) -> float:
    """Return the best correlation of a planted matrix with a part of one that was found, on either strand."""
    w = len(matrix)
    padded = np.pad(motif.frequencies, ((w // 2, w // 2), (0, 0)), constant_values=0.25)
    parts = [padded[a : a + w] for a in range(len(padded) - w + 1)]
    return max(
        float(np.corrcoef(part.ravel(), turn.ravel())[0, 1]) for part in parts for turn in (matrix, matrix[::-1, ::-1])
    )


def enhancers() -> list[Row]:
    """Explain simulated enhancers."""
    X, y, truth = kw.datasets.make_enhancers(3000, length=200, random_state=0, return_planted=True)
    model = kw.KernelClassifier(kw.LSGKM(9, 6, 3), normalize="cosine").fit(X[:2000], y[:2000])
    held = np.arange(2000, 3000)[(y[2000:] == 1) & (truth[2000:] != 0).any(axis=1)]
    adds, planted = kw.explain(model, X[held]).matrix(), truth[held]
    top = [(p[np.argsort(-a)[: int((p != 0).sum())]] != 0).mean() for a, p in zip(adds, planted)]
    exact = spearmanr(planted.ravel(), planted.ravel() + 1e-9 * np.random.default_rng(0).normal(size=planted.size))[0]
    lines: list[Row] = [
        line("enhancers", "area under ROC of held-out rows", auroc(y[2000:] == 1, model.decision_function(X[2000:]))),
        line("enhancers", "area under ROC of planted letters", auroc((planted != 0).ravel(), adds.ravel())),
        line("enhancers", "planted letters among as many top ones", float(np.mean(top))),
        line("enhancers", "share of planted letters", float((planted != 0).mean())),
        line("enhancers", "rank correlation with log-odds", float(spearmanr(adds.ravel(), planted.ravel())[0])),
        line("enhancers", "the same of the truth with ties broken", float(exact)),
    ]
    found = find_motifs(model, X[:2000][y[:2000] == 1], 6)
    for name, matrix in kw.datasets.enhancer_motifs().items():
        best = max(found, key=lambda motif: likeness(motif, matrix))
        lines.append(line("enhancers", f"matrix of the {name} motif: {best.consensus}", likeness(best, matrix)))
    return lines


def splice() -> list[Row]:
    """Explain simulated splice sites."""
    X, y = kw.datasets.make_splice(4000, positive_fraction=0.5, random_state=0)
    Z, v = kw.datasets.make_splice(40_000, positive_fraction=0.5, random_state=1)
    shares = [np.stack([(Z.matrix[v == side] == a).mean(axis=0) for a in range(4)], axis=1) for side in (1, -1)]
    odds = np.log((shares[0] + 1e-3) / (shares[1] + 1e-3))
    expected = np.take_along_axis(odds[None], Z[:1500].matrix[:, :, None].astype(int), axis=2)[:, :, 0]
    lines = []
    for kernel in ("wd:1", "wd:3", "wd:8", "wd:20"):
        model = kw.KernelClassifier(kernel, C=0.1, normalize="trace").fit(X, y)
        adds = kw.explain(model, Z[:1500]).matrix()
        value = float(spearmanr(adds.ravel(), expected.ravel())[0])
        lines.append(line("splice", f"{kernel}: rank correlation with log-odds", value))
    return lines


def pum2() -> list[Row]:
    """Explain real binding sites."""
    if not PUM2.exists():
        print(f"skipped: {PUM2} is not there")
        return []
    found = kw.read(PUM2, alphabet="dna", unknown="mask")
    X, y = found.X, np.asarray(found.y).astype(int)
    order = np.random.default_rng(0).permutation(len(y))
    train, held = order[:4000], order[-4000:]
    model = kw.KernelClassifier(kw.LSGKM(8, 6, 2, reverse_complement=False), normalize="cosine").fit(X[train], y[train])
    lines = [line("PUM2", "area under ROC of held-out rows", auroc(y[held] == 1, model.decision_function(X[held])))]
    motifs = find_motifs(model, X[train][y[train] == 1], 4)
    lines += [line("PUM2", f"sites of motif {motif.consensus}", motif.n_sites) for motif in motifs]
    for label, name in ((1, "bound"), (-1, "background")):
        rows = X[held[y[held] == label]]
        told = kw.explain(model, rows)
        hits = [one_off(heaviest(told.tracks[0].of(row)[:, 0], text)) for row, text in enumerate(rows)]
        best = sorted(zip(told.decision, hits), reverse=True)[: len(hits) // 4]
        lines += [
            line("PUM2", f"{name}: the heaviest 8 letters are {SITE} but for one letter at most", float(np.mean(hits))),
            line("PUM2", f"{name}, best quarter: the same", float(np.mean([hit for _, hit in best]))),
        ]
    return lines


def heaviest(adds: np.ndarray, text: str) -> str:
    """Return the letters of the window that adds most, and one letter on both sides."""
    at = int(np.convolve(adds, np.ones(WORD), "valid").argmax())
    return text[max(at - 1, 0) : at + WORD + 1]


def one_off(text: str) -> bool:
    """Tell whether letters hold the site but for one letter at most."""
    words = [text[a : a + WORD] for a in range(len(text) - WORD + 1)]
    return any(sum(a not in (b, "N") and b != "N" for a, b in zip(word, SITE)) <= 1 for word in words)


def acceptors() -> tuple[list[Row], Any]:
    """Explain real acceptors; return lines, and what letters add on average by distance from the AG."""
    if not ACCEPTORS.exists():
        print(f"skipped: {ACCEPTORS} is not there")
        return [], None
    found = kw.read(ACCEPTORS, alphabet="dna", unknown="mask")
    y = np.asarray(found.y).astype(int)
    rng = np.random.default_rng(0)
    chosen = np.concatenate([rng.choice(np.flatnonzero(y == side), 3000, replace=False) for side in (1, -1)])
    window = slice(AG - SIDE, AG + 32)
    X = kw.Sequences.from_strings([text[window] for text in found.X[chosen]], "dna", "mask")
    label, half = y[chosen], rng.permutation(len(chosen))
    train, held = half[:4000], half[4000:]
    model = kw.KernelClassifier("wd:8", C=0.5, normalize="trace").fit(X[train], label[train])
    adds = kw.explain(model, X[held]).matrix()
    mean = {side: adds[label[held] == side].mean(axis=0) for side in (1, -1)}
    true = adds[label[held] == 1]
    near = np.arange(SIDE - 7, SIDE + 2)  # TTTTCAG and the letters around it
    peak = true.argmax(axis=1)
    texts = [X[int(held[row])] for row in np.flatnonzero(label[held] == 1)]
    before = [text[SIDE - 5 : SIDE + 2] for text, at in zip(texts, peak) if at in near]
    lines = [
        line("C. elegans", "area under ROC of held-out rows",
             auroc(label[held] == 1, model.decision_function(X[held]))),
        line("C. elegans", "acceptors whose heaviest letter is within 7 of the AG", float(np.isin(peak, near).mean())),
        line("C. elegans", "the same by chance", len(near) / true.shape[1]),
        line("C. elegans", "of those, TTTCAG before the exon", float(np.mean([t[1:] == "TTTCAG" for t in before]))),
        line("C. elegans", "TTTCAG among all decoys",
             float(np.mean([X[int(row)][SIDE - 4 : SIDE + 2] == "TTTCAG" for row in held[label[held] == -1]]))),
        line("C. elegans", "distance of the heaviest position on average, AG at 0",
             float(int(mean[1].argmax()) - SIDE)),
    ]  # fmt: skip
    return lines, mean


def line(data: str, what: str, value: float) -> Row:
    """Return a line of the table."""
    return {"data": data, "what": what, "value": value}


def main() -> None:
    """Run everything."""
    print(conditions())
    lines = [*enhancers(), *splice(), *pum2()]
    more, mean = acceptors()
    lines += more
    print(show(lines))
    print(write_csv("explain_truth", lines))
    if mean is not None:
        drawn, axes = figure(1, 1, (7.5, 3.0))
        places = np.arange(len(mean[1])) - SIDE
        axes.plot(places, mean[1], color=BLUE, label="acceptors")
        axes.plot(places, mean[-1], color=GREY, label="decoys")
        axes.set_xlabel("letters from the A of the AG")
        axes.set_ylabel("adds to the decision value")
        axes.legend(frameon=False)
        quiet(axes)
        print(write_picture("explain_truth", drawn))


if __name__ == "__main__":
    main()
