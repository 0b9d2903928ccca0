"""Known biology in single sequences: PUM2's sites, and what surrounds the AG of real acceptors of splicing.

    python benchmarks/explain_biology.py

Rows that models have not seen are explained one by one.  What is known of each (a word, a tract) is looked up in its
letters, never in the explanation, and compared with other places of the row, or with the same place of other rows:

PUM2        LSGKM (8, 6, 2) on 4,000 rows. Of held-out bound rows with TGTANATA: in how many the 8 letters that add most
            are those of the site, and what of their letters stand among as many top ones; the same of a random place
acceptors   of C. elegans and human (92 letters), 4,000 rows, half of each class. Decoys have an AG, too, so that
            it tells nothing by itself, and only k-mers that hold it and its neighbours can add. The model is the sum of
            WeightedDegree(8) on all letters and Spectrum(5), wherever they stand, on the letters from -45 to -8
  AG        the six letters before and the two behind it
  tract     the ten letters from -24 to -5 before the AG with most T and C, where they are eight at least
  branch    words for branch points from -45 to -12: CTNA, and YTAAY (C. elegans) or CTRAY (human)
  Each is measured by what its letters add together (both kernels, or the upstream one alone). "chance" is the same
  measure elsewhere: for the AG at a random place of the row, for tract and branch at the same place in other acceptors
  without it. "in top tenth": share in which the sum exceeds nine tenths of those at chance, 0.1 if nothing mattered.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import kernelweave as kw
from common import ROOT, Row, conditions, show, write_csv, write_picture
from kernelweave.interpret import auroc
from kernelweave.interpret.explain.explanation import Explanation
from kernelweave.plots import LogoDisplay
from kernelweave.plots.style import BLUE, GREY, figure, quiet

DATA = ROOT.parent / "shared" / "data"
PUM2 = DATA / "dna" / "rbp_pum2.tsv.gz"
ACCEPTORS = {
    "C. elegans": (DATA / "splice" / "celegans_acceptor_chr1_2.tsv.gz", 197, ("CTNA", "YTAAY")),
    "human": (DATA / "splice" / "human_acceptor_602.tsv.gz", 300, ("CTNA", "CTRAY")),
}
"""File, place of the AG, and words for branch points."""
CODES = {"N": "[ACGT]", "Y": "[CT]", "R": "[AG]"}
TOP = 10
"""Letters of a row that count as its top ones."""
SITE, WORD = re.compile("(?=TGTA[ACGT]ATA)"), 8
LEFT, RIGHT = 60, 32
"""Letters before and from the AG on that models see."""
NEAR = (-6, 4)
"""The neighbourhood of the AG, which has places 0 and 1."""
TRACT, TRACT_SIZE, TRACT_LEAST = (-24, -5), 10, 8
BRANCH = (-45, -12)
UPSTREAM = (-45, -7)
"""Letters in which 5-mers are counted wherever they stand."""
TENTH = 0.9


def line(data: str, what: str, value: float, chance: float = float("nan"), rows: int = 0) -> Row:
    """Return a line of the table."""
    return {"data": data, "what": what, "value": float(value), "chance": float(chance), "rows": rows}


def pum2() -> tuple[list[Row], Explanation, list[int]]:
    """Explain real binding sites; return lines, an explanation, and rows with a site to draw."""
    found = kw.read(PUM2, alphabet="dna", unknown="mask")
    X, y = found.X, np.asarray(found.y).astype(int)
    order = np.random.default_rng(0).permutation(len(y))
    train, held = order[:4000], order[-4000:]
    model = kw.KernelClassifier(kw.LSGKM(8, 6, 2, reverse_complement=False), normalize="cosine").fit(X[train], y[train])
    told = kw.explain(model, X[held[y[held] == 1]])
    rng, hits, shares, others, sited = np.random.default_rng(1), [], [], [], []
    for row, text in enumerate(told.tracks[0].rows.to_strings()):
        starts = [match.start() for match in SITE.finditer(text)]
        if not starts:
            continue
        adds = told.tracks[0].of(row)[:, 0]
        sums = np.convolve(adds, np.ones(WORD), "valid")
        top = set(np.argsort(-adds)[:WORD].tolist())
        random = int(rng.integers(len(sums)))
        hits.append(min(abs(int(sums.argmax()) - start) for start in starts) <= 1)
        shares.append(max(len(top & set(range(start, start + WORD))) for start in starts) / WORD)
        others.append(len(top & set(range(random, random + WORD))) / WORD)
        sited.append((float(told.sums[row, 0]), row))
    length = float(np.median(told.tracks[0].rows.lengths))
    label = "rows with TGTANATA"
    lines = [
        line("PUM2", "area under ROC of held-out rows", auroc(y[held] == 1, model.decision_function(X[held]))),
        line(
            "PUM2", f"{label}: the heaviest 8 letters are the site, to one letter", np.mean(hits), 3 / length, len(hits)
        ),
        line("PUM2", f"{label}: its letters among the top 8", np.mean(shares), np.mean(others), len(hits)),
    ]
    middle = sorted(sited)[len(sited) // 2 :][:3]
    return lines, told, [row for _, row in middle]


def acceptors(name: str) -> tuple[list[Row], LogoDisplay]:
    """Explain real acceptors; return lines, and logos of true ones."""
    path, ag, words = ACCEPTORS[name]
    found = kw.read(path, alphabet="dna", unknown="mask")
    y = np.where(np.asarray(found.y).astype(int) == 1, 1, -1)
    rng = np.random.default_rng(0)
    chosen = np.concatenate([rng.choice(np.flatnonzero(y == side), 3000, replace=False) for side in (1, -1)])
    cut = [text[ag - LEFT : ag + RIGHT] for text in found.X[chosen]]
    parts = {"site": cut, "upstream": [text[LEFT + UPSTREAM[0] : LEFT + UPSTREAM[1]] for text in cut]}
    X = kw.Views({view: kw.Sequences.from_strings(some, "dna", "mask") for view, some in parts.items()})
    label, half = y[chosen], rng.permutation(len(chosen))
    train, held = half[:4000], half[4000:]
    kernels = [kw.WeightedDegree(8).on("site"), kw.Spectrum(5).on("upstream")]
    model = kw.MKLClassifier(kernels, norm=2.0, C=0.5).fit(X[train], label[train])
    true, decoys = (held[label[held] == side] for side in (1, -1))
    (adds, upstream), (other, _) = (letters(kw.explain(model, X[rows])) for rows in (true, decoys))
    texts, decision = [cut[row] for row in true], model.decision_function(X[held])
    lines = [
        line(name, "area under ROC of held-out rows", auroc(label[held] == 1, decision), rows=len(held)),
        *near_lines(name, adds, rng),
        line(name, "A and G alone: each adds on average", adds[:, LEFT : LEFT + 2].mean(), adds.mean(), len(adds)),
        line(name, "A and G alone, in decoys", other[:, LEFT : LEFT + 2].mean(), other.mean(), len(other)),
        *place_lines(name, "tract", adds, [tract_of(text) for text in texts], TRACT_SIZE),
    ]
    for word in words:
        known = [places(word, text) for text in texts]
        lines += place_lines(name, f"branch {word}", adds, known, len(word))
        lines += place_lines(name, f"branch {word}, upstream kernel", upstream, known, len(word))
    scores = model.decision_function(X[true])
    both = sorted((row for row, text in enumerate(texts) if places(words[1], text)), key=lambda row: scores[row])
    rows = both[len(both) // 2 :][:3]
    codes = [np.array(list(texts[row]))[:, None] == np.array(list("ACGT")) for row in rows]
    heights = [np.where(code, adds[row][:, None], 0.0) for code, row in zip(codes, rows)]
    names = [f"{name}, decision value {scores[row]:+.2f}" for row in rows]
    return lines, LogoDisplay(names, heights, tuple("ACGT"), [-LEFT] * len(rows), "adds")


def letters(told: Explanation) -> tuple[np.ndarray, np.ndarray]:
    """Return what each letter of a site adds under both kernels, and under the upstream one alone."""
    tracks = {track.view: track.values[:, 0].reshape(len(told), -1) for track in told.tracks}
    upstream = np.zeros_like(tracks["site"])
    upstream[:, LEFT + UPSTREAM[0] : LEFT + UPSTREAM[1]] = tracks["upstream"]
    return tracks["site"] + upstream, upstream


def near_lines(name: str, adds: np.ndarray, rng: np.random.Generator) -> list[Row]:
    """Compare the neighbourhood of the AG with a random place of the same row."""
    size = NEAR[1] - NEAR[0]
    sums = np.apply_along_axis(np.convolve, 1, adds, np.ones(size), "valid")
    mine = sums[:, LEFT + NEAR[0]]
    away = np.array([k for k in range(sums.shape[1]) if abs(k - LEFT - NEAR[0]) >= size])
    other = sums[np.arange(len(sums)), rng.choice(away, len(sums))]
    top = np.argsort(-adds, axis=1)[:, :size] - LEFT
    inside = ((top >= NEAR[0]) & (top < NEAR[1])).mean()
    return [
        line(name, f"AG and neighbours: share of the top {size} letters", inside, size / adds.shape[1], len(adds)),
        line(name, "AG and neighbours: add together", mine.mean(), other.mean(), len(adds)),
        line(name, "AG and neighbours: in top tenth", (mine > np.quantile(other, TENTH)).mean(), 1 - TENTH, len(adds)),
        line(name, f"AG and neighbours: the heaviest {size} letters begin within 3 of them",
             (np.abs(sums.argmax(axis=1) - LEFT - NEAR[0]) <= 3).mean(), 7 / sums.shape[1], len(adds)),
    ]  # fmt: skip


def places(word: str, text: str) -> list[int]:
    """Return where a word for branch points stands in a row."""
    pattern = "".join(CODES.get(letter, letter) for letter in word)
    found = [match.start() for match in re.finditer(f"(?={pattern})", text)]
    return [at for at in found if BRANCH[0] <= at - LEFT <= BRANCH[1]]


def tract_of(text: str) -> list[int]:
    """Return where the best tract of T and C begins, if there is one."""
    starts = range(LEFT + TRACT[0], LEFT + TRACT[1] - TRACT_SIZE + 2)
    counts = [sum(letter in "TC" for letter in text[at : at + TRACT_SIZE]) for at in starts]
    return [starts[int(np.argmax(counts))]] if max(counts) >= TRACT_LEAST else []


def place_lines(name: str, what: str, adds: np.ndarray, known: list[list[int]], size: int) -> list[Row]:
    """Compare what stands at a place of a row with the same place of rows without it."""
    sums = np.apply_along_axis(np.convolve, 1, adds, np.ones(size), "valid")
    pairs = [(row, at) for row, starts in enumerate(known) for at in starts]
    without = {at: np.array([row for row, starts in enumerate(known) if at not in starts]) for _, at in pairs}
    mine = np.array([sums[row, at] for row, at in pairs])
    limits = {at: np.quantile(sums[rows, at], TENTH) for at, rows in without.items()}
    other = np.array([sums[without[at], at].mean() for _, at in pairs])
    tops = np.argsort(np.argsort(-adds, axis=1), axis=1) < TOP
    hits = np.apply_along_axis(np.convolve, 1, tops, np.ones(size), "valid") > 0
    high = np.array([sums[row, at] > limits[at] for row, at in pairs])
    return [
        line(name, f"{what}: add together", mine.mean(), other.mean(), len(pairs)),
        line(name, f"{what}: in top tenth", high.mean(), 1 - TENTH, len(pairs)),
        line(name, f"{what}: a letter of it among the top {TOP} of the row", np.mean([hits[pair] for pair in pairs]),
             np.mean([hits[without[at], at].mean() for _, at in pairs]), len(pairs)),
    ]  # fmt: skip


def picture(shown: list[LogoDisplay]) -> Any:
    """Draw single rows as logos."""
    panels = [(display, k) for display in shown for k in range(len(display.heights))]
    drawn, axes = figure(len(panels), 1, (11.0, 1.3 * len(panels)))
    for ax, (display, k) in zip(axes, panels):
        LogoDisplay([display.names[k]], [display.heights[k]], display.letters, [display.starts[k]], "adds").plot(ax)
        ax.set_xlabel("")
    axes[-1].set_xlabel("position (acceptors: from the A of the AG)")
    return drawn


def bars(lines: list[Row]) -> Any:
    """Draw in how many rows each known place is in the top tenth."""
    some = [row for row in lines if str(row["what"]).endswith(": in top tenth")]
    drawn, ax = figure(1, 1, (6.4, 0.6 + 0.4 * len(some)))
    names = [f"{row['data']}, {str(row['what']).split(':')[0]} ({row['rows']})" for row in some]
    ax.barh(names[::-1], [row["value"] for row in some][::-1], color=BLUE)
    ax.axvline(1 - TENTH, color=GREY, linestyle=(0, (4, 3)), label="chance")
    ax.set_xlabel("share that adds more\nthan nine tenths of matched places")
    ax.legend(frameon=False)
    quiet(ax)
    return drawn


def main() -> None:
    """Run everything."""
    print(conditions())
    lines, shown = list[Row](), list[LogoDisplay]()
    if PUM2.exists():
        some, told, rows = pum2()
        lines += some
        shown.append(LogoDisplay.from_explanation(told, rows))
        shown[0].names = [f"PUM2, {name}" for name in shown[0].names]
    for name, (path, *_) in ACCEPTORS.items():
        if path.exists():
            some, display = acceptors(name)
            lines += some
            shown.append(display)
    if not lines:
        raise SystemExit(f"There are no data: neither {PUM2} nor acceptors.")
    print(show(lines))
    print(write_csv("explain_biology", lines), write_picture("explain_biology", bars(lines)))
    print(write_picture("explain_biology_rows", picture(shown)))


if __name__ == "__main__":
    main()
