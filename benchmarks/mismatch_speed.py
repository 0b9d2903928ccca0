"""Mismatches of proteins: training by the patterns that k-mers share, beside the forms without them.

    python benchmarks/mismatch_speed.py                      # 2,500 to 20,000 proteins of 200 letters
    python benchmarks/mismatch_speed.py --without 5000       # up to which size the other forms run, too

Simulated proteins with the frequencies of amino acids; those of one class hold one of ten motifs of 30 letters, a fifth
of them changed.  `Mismatch(8, 1)` with unit rows, C = 1, to a relative gap of 1e-3 on one thread, compiled before.
"""

from __future__ import annotations

import argparse

import numpy as np
from threadpoolctl import threadpool_limits

import kernelweave as kw
from common import Row, conditions, show, timed, write_csv
from kernelweave.operators.planner import choose
from kernelweave.operators.planner.features import SharedPatterns
from seq_common import reset_peak, resident

AMINO = "ACDEFGHIKLMNPQRSTVWY"
PERCENT = [8.3, 1.4, 5.5, 6.8, 3.9, 7.1, 2.3, 5.9, 5.8, 9.7, 2.4, 4.1, 4.7, 3.9, 5.5, 6.6, 5.4, 6.9, 1.1, 2.9]
LENGTH, MOTIFS, MOTIF, CHANGED = 200, 10, 30, 0.2
EVERY = choose.CANDIDATES


def proteins(n: int, seed: int = 0) -> tuple[kw.Sequences, np.ndarray]:
    """Return n proteins, every other one with a motif, and their labels."""
    rng, chances = np.random.default_rng(seed), np.array(PERCENT) / sum(PERCENT)
    letters, y = rng.choice(len(AMINO), (n, LENGTH), p=chances), np.where(np.arange(n) % 2 == 0, 1, -1)
    motifs = rng.choice(len(AMINO), (MOTIFS, MOTIF), p=chances)
    for i in np.flatnonzero(y > 0):
        motif, changed = motifs[rng.integers(MOTIFS)].copy(), rng.random(MOTIF) < CHANGED
        motif[changed] = rng.choice(len(AMINO), int(changed.sum()), p=chances)
        at = rng.integers(LENGTH - MOTIF)
        letters[i, at : at + MOTIF] = motif
    texts = np.array(list(AMINO))[letters]
    return kw.Sequences.from_strings(["".join(row) for row in texts], alphabet="protein"), y


def row(n: int, patterns: bool, limit: str) -> Row:
    """Train once, with or without patterns among the forms."""
    choose.CANDIDATES = tuple(one for one in EVERY if patterns or not isinstance(one, SharedPatterns))
    X, y = proteins(n)
    reset_peak()
    model = kw.KernelClassifier(kw.Mismatch(8, 1).normalized(), memory_limit=limit)
    timing = timed(lambda: model.fit(X, y))
    return {
        "rows": n, "form": model.memory_plan_.kind, "solver": model.solver_, "cpu_seconds": timing.cpu,
        "wall_seconds": timing.wall, "gap": model.duality_gap_, "gigabytes": resident("VmHWM"),
    }  # fmt: skip


def main() -> None:
    """Train all sizes, show and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_500, 5_000, 10_000, 20_000])
    parser.add_argument("--without", type=int, default=2_500, help="largest size of the other forms")
    parser.add_argument("--memory-limit", default="6GB")
    args = parser.parse_args()
    rows: list[Row] = []
    with threadpool_limits(1):
        row(2_100, True, args.memory_limit)
        for n in args.sizes:
            for patterns in (True, False) if n <= args.without else (True,):
                rows.append(row(n, patterns, args.memory_limit))
    print(conditions())
    print(show(rows))
    print(write_csv("mismatch_speed", rows))


if __name__ == "__main__":
    main()
