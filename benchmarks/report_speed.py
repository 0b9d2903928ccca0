"""Reports on many rows: CPU seconds and size of the page, for models of several kinds.

    python benchmarks/report_speed.py                  # 10,000 rows each
    python benchmarks/report_speed.py --rows 1000

A report on 200 rows is written before, so that nothing is compiled while it counts; training is not counted.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

import kernelweave as kw
from common import Row, conditions, peak_memory, show, timed, write_csv

AIM = 60.0
"""Seconds that a report on 10,000 rows may take."""
TRAINED = 4000
WORDS = 3000


def cases(n: int) -> Iterator[tuple[str, Any, Any, np.ndarray]]:
    """Yield a name, a model that is not fitted, rows (the training rows first) and labels."""
    total = TRAINED + n
    X, y = kw.datasets.make_splice(total, random_state=0)
    yield "splice sites, wd:20", kw.KernelClassifier("wd:20", C=2.0, normalize="trace"), X, y
    degrees = kw.MKLClassifier(kw.WeightedDegree(10).per_degree(), normalize="trace")
    yield "splice sites, weights of ten degrees", degrees, X, y
    E, label = kw.datasets.make_enhancers(total, length=200, random_state=0)
    yield "enhancers, gapped 10-mers", kw.KernelClassifier(kw.LSGKM(10, 6, 3), normalize="cosine"), E, label
    rng = np.random.default_rng(0)
    table = rng.normal(size=(total, 20))
    target = np.digitize(table[:, 0] * table[:, 1] + table[:, 2], [-0.5, 0.5])
    yield "table of 20 columns, three classes, RBF", kw.KernelClassifier(kw.RBF(width=20.0)), table, target
    kind = rng.integers(0, 2, total)
    share = np.stack([rng.dirichlet(np.full(WORDS, 0.05)) for _ in range(2)])
    words = np.array([f"word{k}" for k in range(WORDS)])
    texts = [" ".join(rng.choice(words, 30, p=0.7 * share[0] + 0.3 * share[k])) for k in kind]
    rows = kw.Sequences.from_strings(texts, alphabet="words")
    yield "texts of 30 words, pairs", kw.KernelClassifier(kw.NGram(2, cumulative=True), normalize="cosine"), rows, kind


def main() -> None:
    """Write a report of each kind and time it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    given = parser.parse_args()
    print(conditions())
    lines: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "report.html")
        for name, model, X, y in cases(given.rows):
            fitted = model.fit(X[:TRAINED], y[:TRAINED])
            kw.write_report(fitted, X[TRAINED : TRAINED + 200], y[TRAINED : TRAINED + 200], page)
            timing = timed(lambda: kw.write_report(fitted, X[TRAINED:], y[TRAINED:], page))  # noqa: B023
            line = {
                "rows": given.rows,
                "cpu_s": timing.cpu,
                "wall_s": timing.wall,
                "page_kB": os.path.getsize(page) / 1e3,
            }
            lines.append({"case": name, **line, "support_rows": len(fitted.support_)})
    print(show(lines))
    slowest = max(line["cpu_s"] for line in lines)
    print(f"slowest {slowest:.1f} CPU s, aim {AIM:.0f} s for 10,000 rows; peak memory {peak_memory() / 1e9:.2f} GB")
    print(write_csv("report_speed", lines))


if __name__ == "__main__":
    main()
