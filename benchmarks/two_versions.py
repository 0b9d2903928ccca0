"""Two source trees side by side: CPU seconds of the same fits, each in a process of its own, in turn.

    python benchmarks/two_versions.py --before path/to/older/checkout

The fits are those of `seq_speed`, `mkl_speed`, `svm_vs_sklearn`, `text_speed`, `svrg_passes` and `boost_speed`, through
the public interface only, on one thread.  The first fit of each process compiles and is not counted; of the others the
quickest counts.  Both trees are run by the interpreter that runs this script.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from common import ROOT, Row, conditions, show, timed, write_csv

Array = np.ndarray
Fit = Callable[[], Any]
DATA = ROOT.parent / "shared" / "data"
SAME = 1.10
"""Up to this ratio of CPU seconds a fit counts as no slower: two runs of one tree differ by as much."""


def splice(n: int) -> tuple[Any, Array]:
    """Return simulated acceptor sites."""
    import kernelweave as kw

    return kw.datasets.make_splice(n, 141, random_state=0)


def weighted_degree(n: int, solver: str, tol: float = 1e-3) -> Fit:
    import kernelweave as kw

    X, y = splice(n)
    return lambda: kw.KernelClassifier(
        kw.WeightedDegree(20), C=5.0, normalize="trace", solver=solver, tol=tol, n_jobs=1
    ).fit(X, y)


def spectrum(n: int) -> Fit:
    import kernelweave as kw

    X, y = splice(n)
    return lambda: kw.KernelClassifier(kw.Spectrum(8), C=5.0, normalize="cosine", n_jobs=1).fit(X, y)


def degrees(n: int) -> Fit:
    import kernelweave as kw

    X, y = splice(n)
    return lambda: kw.MKLClassifier(kw.WeightedDegree(20).per_degree(), C=5.0, n_jobs=1).fit(X, y)


def scores(n: int) -> Fit:
    import kernelweave as kw

    X, y = splice(n)
    model = kw.KernelClassifier(kw.WeightedDegree(20), C=5.0, normalize="trace", n_jobs=1).fit(X[:5000], y[:5000])
    model.decision_function(X[:10])
    return lambda: (model.decision_function(X), model)[1]


def many_kernels(C: float, tol: float) -> Fit:
    import kernelweave as kw

    table = np.loadtxt(DATA / "uci" / "wdbc.csv.gz", delimiter=",", skiprows=1)
    X, y = table[:, :-1], np.where(table[:, -1] == table[:, -1].max(), 1.0, -1.0)
    rows = np.random.default_rng(0).permutation(len(y))[:455]
    X, y = (X[rows] - X[rows].mean(axis=0)) / X[rows].std(axis=0), y[rows]
    one = [kw.RBF(width=2 * s**2) for s in 2.0 ** np.arange(-3, 7)] + [kw.Polynomial(d) for d in (1, 2, 3)]
    return lambda: kw.MKLClassifier(kw.per_feature(one, X.shape[1]) + one, C=C, tol=tol, n_jobs=1).fit(X, y)


def gaussian(n: int, C: float) -> Fit:
    from sklearn.datasets import make_classification
    from sklearn.preprocessing import StandardScaler

    import kernelweave as kw

    X, y = make_classification(
        n, 50, n_informative=20, n_redundant=10, n_clusters_per_class=4, flip_y=0.05, random_state=0
    )
    X = StandardScaler().fit_transform(X)
    return lambda: kw.KernelClassifier(kw.RBF(gamma=0.02), C=C, n_jobs=1).fit(X, y)


def text(how: str | None) -> Fit:
    import kernelweave as kw

    with gzip.open(DATA / "text" / "reuters21578_modapte.jsonl.gz", "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    texts = [f"{s['title']}\n{s['body']}".encode("ascii", "replace").decode("ascii")[:800] for s in found[:10_000]]
    y = np.array(["acq" in story["topics"] for story in found[:10_000]])
    return lambda: kw.KernelClassifier(
        kw.NGram(5), C=1.0, solver="dual_coordinate", fit_intercept="regularized", normalize=how, n_jobs=1
    ).fit(texts, y)


def waves(n: int) -> Fit:
    import kernelweave as kw

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 10))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + 0.5 * rng.standard_normal(n) > 0
    kernels = [kw.Fourier(kw.RBF(width=10 * 2.0 ** (j % 10 - 4)), 50, random_state=j) for j in range(20)]
    return lambda: kw.MKLClassifier(kernels, loss="logistic", norm=2.0, solver="svrg", n_jobs=1).fit(X, y)


def mixture(penalty: str, C: float) -> Fit:
    import kernelweave as kw

    with np.load(DATA / "dense" / "covtype_10000_a.npz") as file:
        X, y = file["X"].astype(float), file["y"].astype(int)
    X, y = X[y <= 2], np.where(y[y <= 2] % 2 == 1, 1.0, -1.0)
    spread = X.std(axis=0)
    X = ((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))[:1000]
    d, width = X.shape[1], float(2 * X.var(axis=0).sum())
    kernels = [(1 / d) * kw.Linear(), kw.Polynomial(2, gamma=1 / d, coef0=1.0), kw.RBF(width=width)]
    return lambda: kw.CGBoostClassifier(kernels, C=C, penalty=penalty, tol=1e-6, n_jobs=1).fit(X, y[:1000])


CASES: dict[str, tuple[Callable[..., Fit], tuple[Any, ...]]] = {
    "seq_speed: WD-20 chunking, 10,000": (weighted_degree, (10_000, "chunking")),
    "seq_speed: WD-20 auto, 10,000": (weighted_degree, (10_000, "auto")),
    "seq_speed: WD-20 auto, 50,000": (weighted_degree, (50_000, "auto")),
    "seq_speed: spectrum 8, 50,000": (spectrum, (50_000,)),
    "seq_speed: MKL over 20 degrees, 10,000": (degrees, (10_000,)),
    "seq_scoring: WD-20, 100,000 new rows": (scores, (100_000,)),
    "mkl_speed: 403 kernels, C = 1, 1e-2": (many_kernels, (1.0, 1e-2)),
    "mkl_speed: 403 kernels, C = 100, 1e-4": (many_kernels, (100.0, 1e-4)),
    "svm_vs_sklearn: 5,000 x 50, C = 1": (gaussian, (5_000, 1.0)),
    "svm_vs_sklearn: 10,000 x 50, C = 100": (gaussian, (10_000, 100.0)),
    "text_speed: 5-grams, raw": (text, (None,)),
    "text_speed: 5-grams, unit rows": (text, ("cosine",)),
    "svrg_passes: 100,000 x 20 kernels": (waves, (100_000,)),
    "boost_speed: 1-norm, C = 1": (mixture, ("l1", 1.0)),
    "boost_speed: 2-norm, C = 10": (mixture, ("l2", 10.0)),
}


def run(case: str, repeats: int) -> None:
    """Time one case in this process and print what was found as JSON."""
    warnings.simplefilter("ignore")
    make, arguments = CASES[case]
    fit = make(*arguments)
    fit()
    runs = [timed(fit) for _ in range(repeats)]
    model, quickest = runs[-1].result, min(runs, key=lambda one: one.cpu)
    found = {"cpu": quickest.cpu, "wall": quickest.wall, "gap": float(model.duality_gap_)}
    print(json.dumps(found | {"objective": float(model.objective_)}))


def child(tree: Path, case: str, repeats: int) -> Row:
    """Time one case in a new process on one source tree."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = (
        os.environ | threads | {"PYTHONPATH": os.pathsep.join([str(tree / "src"), str(Path(__file__).parent)])}
    )
    command = [sys.executable, __file__, "--run", case, "--repeats", str(repeats)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{case} on {tree} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(case: str, before: Path, rounds: int, repeats: int) -> Row:
    """Time one case on both trees in turn, and return the quickest of each."""
    runs: dict[str, list[Row]] = {"before": [], "after": []}
    for _ in range(rounds):
        for side, tree in (("before", before), ("after", ROOT)):
            runs[side].append(child(tree, case, repeats))
    old, new = (min(runs[side], key=lambda one: one["cpu"]) for side in ("before", "after"))
    ratio = new["cpu"] / old["cpu"]
    return {
        "case": case, "cpu_before": old["cpu"], "cpu_after": new["cpu"], "ratio": ratio, "wall_before": old["wall"],
        "wall_after": new["wall"], "gap_before": old["gap"], "gap_after": new["gap"],
        "objective_ratio": new["objective"] / old["objective"], "no_slower": ratio <= SAME,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the older checkout")
    parser.add_argument("--cases", nargs="+", default=[""], help="parts of the names of the cases to run")
    parser.add_argument("--rounds", type=int, default=2, help="processes of each side")
    parser.add_argument("--repeats", type=int, default=2, help="timed fits of each process")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run(options.run, options.repeats)
        return
    if options.before is None:
        parser.error("--before names the older checkout")
    print(conditions("scikit-learn"))
    rows: list[Row] = []
    for case in CASES:
        if any(part in case for part in options.cases):
            rows.append(compare(case, options.before, options.rounds, options.repeats))
            print(f"{case}: {rows[-1]['cpu_before']:.3f} -> {rows[-1]['cpu_after']:.3f} CPU s", flush=True)
    print(show(rows))
    print(write_csv("two_versions", rows))


if __name__ == "__main__":
    main()
