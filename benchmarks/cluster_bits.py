"""The same bits with one thread, two threads, and 1, 2 and 4 Dask processes, for one kernel and for many.

    python benchmarks/cluster_bits.py                        # 2 minutes
    python benchmarks/cluster_bits.py --rows 1000000

Fits of `cluster_fits.py` by rounds over the parts of a store of simulated splice sites.  Columns: the hash of support,
coefficients, intercept and weights, the objective in hexadecimal digits, whether both are those of one thread, and the
seconds of the fit.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cluster_data import write_sites
from cluster_fits import STORED
from cluster_processes import Cluster, Run
from common import Row, conditions, show, write_csv

PLACES: dict[str, int] = {"serial": 0, "2 threads": 0, "1 process": 1, "2 processes": 2, "4 processes": 4}
"""Where work runs, and the workers of a Dask cluster."""
LONGEST = 1800.0
"""Seconds after which a fit is ended."""


@contextlib.contextmanager
def engine(place: str, folder: Path) -> Iterator[str]:
    """Give the engine of a place."""
    if not PLACES[place]:
        yield place.split()[-1]
        return
    cluster = Cluster(folder, PLACES[place])
    try:
        yield cluster.address
    finally:
        cluster.close()


def fitted(work: str, place: str, folder: Path) -> Row:
    """Return the bits of a fit in some place."""
    out = folder / "out.txt"
    out.unlink(missing_ok=True)
    with engine(place, folder) as address:
        run = Run(out, {"work": work, "store": folder / "sites.kws", "address": address, "jobs": 2})
        assert run.ends(LONGEST), "the fit hangs"
    assert run.process.returncode == 0, run.said()
    (began, *_), (ended, *_), (*_, bits, objective, gap) = run.named("starting")[0], *run.lines()[-2:]
    return {
        "work": work, "place": place, "bits": bits[:16], "objective": objective, "gap": gap,
        "seconds": round(ended - began, 1),
    }  # fmt: skip


def main() -> None:
    """Print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=50_000)
    asked = parser.parse_args()
    print(conditions("distributed"))
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sites(folder / "sites.kws", asked.rows, seed=1)
        for work in STORED:
            found = [fitted(work, place, folder) for place in PLACES]
            same = [(row["bits"], row["objective"]) == (found[0]["bits"], found[0]["objective"]) for row in found]
            rows += [row | {"same": one} for row, one in zip(found, same)]
    print(show(rows))
    print(write_csv("cluster_bits", rows))


if __name__ == "__main__":
    main()
