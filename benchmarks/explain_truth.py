"""Do explanations find what was planted?  Enhancers and splice sites whose truth is known letter by letter.

    python benchmarks/explain_truth.py

enhancers   LSGKM (9, 6, 3) on 8,000 of `make_enhancers`, 1,000 others explained, against two truths that ship.
            Planted: which letters were written. It is 0 for nine letters in ten, so that no ranking can correlate with
            it by more than the bound that is shown; the area under the ROC curve is the rank statistic that reaches 1.
            Log-odds (`enhancer_log_odds`): what each letter tells under the rules of the generator, given its row; an
            additive truth without ties, letters of chance matches included. What an exact reader of these log-odds
            reaches on the planted letters is shown beside it. Then the motifs found, and the correlation of their
            matrices with the planted ones.
splice      weighted degrees on 4,000 of `make_splice`: rank correlation between what a letter adds and its log-odds at
            its position, counted in 40,000 other rows
"""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

import kernelweave as kw
from common import Row, conditions, show, write_csv, write_picture
from kernelweave.interpret import auroc
from kernelweave.interpret.motifs.find import Motif, find_motifs
from kernelweave.plots.style import BLUE, figure, quiet

WORTH = 0.1
"""Log-odds, in nats, from which a letter tells something."""
TRAINED, HELD = 8000, 1000
"""Enhancers that are trained on, and others that are explained."""
MOTIF_ROWS = 2000
"""Training rows in which motifs are looked for."""
WINDOW = 8
"""Letters of a window: a site."""


def likeness(motif: Motif, matrix: np.ndarray) -> float:
    """Return the best correlation of a planted matrix with a part of one that was found, on either strand."""
    w = len(matrix)
    padded = np.pad(motif.frequencies, ((w // 2, w // 2), (0, 0)), constant_values=0.25)
    parts = [padded[a : a + w] for a in range(len(padded) - w + 1)]
    return max(
        float(np.corrcoef(part.ravel(), turn.ravel())[0, 1]) for part in parts for turn in (matrix, matrix[::-1, ::-1])
    )


def enhancers() -> tuple[list[Row], tuple[np.ndarray, np.ndarray]]:
    """Explain simulated enhancers; return lines, and both sides of the sums over windows."""
    X, y, truth = kw.datasets.make_enhancers(TRAINED + HELD, length=200, random_state=0, return_planted=True)
    model = kw.KernelClassifier(kw.LSGKM(9, 6, 3), normalize="cosine").fit(X[:TRAINED], y[:TRAINED])
    rest = np.arange(TRAINED, TRAINED + HELD)
    held = rest[(y[rest] == 1) & (truth[rest] != 0).any(axis=1)]
    adds, planted = kw.explain(model, X[held]).matrix(), truth[held]
    decision, (odds, rows) = model.decision_function(X[rest]), kw.datasets.enhancer_log_odds(X)
    exact, told = odds[held], np.abs(odds[held]) > WORTH
    broken = spearmanr(planted.ravel(), planted.ravel() + 1e-9 * np.random.default_rng(0).normal(size=planted.size))[0]
    ours, theirs = (np.apply_along_axis(np.convolve, 1, one, np.ones(WINDOW), "valid") for one in (adds, exact))
    values = {
        "area under ROC of held-out rows": auroc(y[rest] == 1, decision),
        "the same of the exact log-odds of rows": auroc(y[rest] == 1, rows[rest]),
        "rank correlation of decision values with the log-odds of rows": spearmanr(decision, rows[rest])[0],
        "area under ROC of planted letters": auroc((planted != 0).ravel(), adds.ravel()),
        "the same by row, mean": np.mean([auroc(p != 0, a) for p, a in zip(planted, adds)]),
        "the same by row, median": np.median([auroc(p != 0, a) for p, a in zip(planted, adds)]),
        "the same of the exact log-odds of letters": auroc((planted != 0).ravel(), exact.ravel()),
        "planted letters among as many top ones": top_share(adds, planted),
        "the same of the exact log-odds, by row": top_share(exact, planted),
        "share of planted letters": (planted != 0).mean(),
        "rank correlation with planted log-odds": spearmanr(adds.ravel(), planted.ravel())[0],
        "the same of the truth with ties broken": broken,
        "rank correlation with exact log-odds, all letters": spearmanr(adds.ravel(), exact.ravel())[0],
        f"the same, letters worth more than {WORTH}": spearmanr(adds[told], exact[told])[0],
        "correlation with exact log-odds, all letters": np.corrcoef(adds.ravel(), exact.ravel())[0, 1],
        f"the same, windows of {WINDOW} letters": np.corrcoef(ours.ravel(), theirs.ravel())[0, 1],
    }
    lines = [line("enhancers", what, value) for what, value in values.items()]
    found = find_motifs(model, X[:MOTIF_ROWS][y[:MOTIF_ROWS] == 1], 6)
    for name, matrix in kw.datasets.enhancer_motifs().items():
        best = max(found, key=lambda motif: likeness(motif, matrix))
        lines.append(line("enhancers", f"matrix of the {name} motif: {best.consensus}", likeness(best, matrix)))
    return lines, (ours, theirs)


def top_share(adds: np.ndarray, planted: np.ndarray) -> float:
    """Return the mean share of planted letters among as many top letters of each row."""
    return float(np.mean([(p[np.argsort(-a)[: int((p != 0).sum())]] != 0).mean() for a, p in zip(adds, planted)]))


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


def line(data: str, what: str, value: float) -> Row:
    """Return a line of the table."""
    return {"data": data, "what": what, "value": float(value)}


def main() -> None:
    """Run everything."""
    print(conditions())
    lines, (ours, theirs) = enhancers()
    lines += splice()
    print(show(lines))
    drawn, axes = figure(1, 1, (5.0, 4.0))
    axes.plot(theirs.ravel(), ours.ravel(), ".", color=BLUE, markersize=1.5, alpha=0.3, rasterized=True)
    axes.set_xlabel(f"log-odds of {WINDOW} letters under the generator")
    axes.set_ylabel("what they add to the decision value")
    quiet(axes)
    print(write_csv("explain_truth", lines), write_picture("explain_truth", drawn))


if __name__ == "__main__":
    main()
