"""Does a model of gapped k-mers show what it looks for?  Binding sites of PUM2, which binds UGUANAUA.

    python benchmarks/gkm_motif.py                                   # 15,000 training rows
    python benchmarks/gkm_motif.py --rows 4000

PUM2 binds RNA, one strand; the rows are written as DNA, and so are the motifs, with dots for wildcards.  Areas are on
4,000 rows that are held out.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import kernelweave as kw
from common import ROOT, Row, conditions, show, timed, write_csv, write_picture
from kernelweave.interpret import auroc, top_motifs
from kernelweave.plots import NGramDisplay
from kernelweave.plots.style import figure
from seq_data import Rows

SITES = ROOT.parent / "shared" / "data" / "dna" / "rbp_pum2.tsv.gz"
KNOWN = "TGTA.ATA"
KERNELS = (kw.GappedKmer(8, 6), kw.GappedKmer(10, 6), kw.LSGKM(10, 6, None, reverse_complement=False))
HELD = 4_000


def sites() -> Rows:
    """Return all rows in random order."""
    if not SITES.exists():
        raise SystemExit(f"The data are missing: expected {SITES}.")
    found = kw.read(SITES, alphabet="dna", unknown="mask", duplicates="allow")
    return Rows(found.X, found.y).take(np.random.default_rng(0).permutation(len(found.y)))


def learn(kernel: Any, train: Rows, held: Rows, letters: int, n: int) -> tuple[list[Any], list[Row]]:
    """Train on one kernel; return its best motifs, and the lines of the table."""
    fit = timed(lambda: kw.KernelClassifier(kernel, normalize="cosine").fit(train.X, train.y))
    listing = timed(lambda: top_motifs(fit.result, n, letters))
    area = float(auroc(held.y, fit.result.decision_function(held.X)))
    shared = {"kernel": repr(kernel), "rows": len(train.y), "cpu": fit.cpu, "auroc": area, "listing_cpu": listing.cpu}
    lines = [
        {**shared, "rank": i, "motif": motif.ngram, "weight": motif.weight, "support_rows": motif.rows}
        for i, motif in enumerate(listing.result, 1)
    ]
    return listing.result, lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=15_000)
    parser.add_argument("--letters", type=int, default=7, help="letters of a motif that are fixed")
    parser.add_argument("--top", type=int, default=12)
    options = parser.parse_args()
    print(conditions())
    rows = sites()
    train, held = rows.take(np.arange(options.rows)), rows.take(np.arange(len(rows.y) - HELD, len(rows.y)))
    learn(KERNELS[0], train.take(np.arange(500)), held, options.letters, options.top)
    print("compiled by a small fit first, not counted", flush=True)
    lines: list[Row] = []
    fig, axes = figure(1, len(KERNELS), (15.0, 4.2))
    for kernel, ax in zip(KERNELS, axes):
        motifs, found = learn(kernel, train, held, options.letters, options.top)
        NGramDisplay(motifs).plot(ax)
        ax.set_ylabel("motif  (support vectors with it)")
        ax.set_title(f"{kernel!r}", loc="left", fontsize=8)
        lines += found
        good = any(motif.ngram == KNOWN for motif in motifs[:3])
        print(f"{'reached' if good else 'MISSED'}: {KNOWN} among the first three motifs of {kernel!r}")
    print(show(lines))
    print(write_csv("gkm_motif", lines))
    print(write_picture("gkm_motif", fig))


if __name__ == "__main__":
    main()
