"""5-grams of 10,000 documents: feature extraction, training and the whole job, against scikit-learn and liblinear.

    python benchmarks/text_speed.py                                  # 10,000 documents of 800 characters
    python benchmarks/text_speed.py --rows 1000 --repeats 1

Documents are cut from the Reuters stories; a document is positive where its middle is a story on acquisitions.

    extraction   from a list of strings to counts: `CountVectorizer(analyzer="char", ngram_range=(5, 5))` and
                 `HashingVectorizer`, against `kw.Sequences.from_strings` and `kw.NGram(5).features`, and against the
                 rows with numbered columns that training reads.  The counts must be the same.
    training     min 1/2 |w|^2 + 1/2 b^2 + C sum_i max(0, 1 - y_i (<w, x_i> + b)), from rows to w and b, with liblinear
                 (`-s 3 -B 1`) and `LinearSVC(loss="hinge")`.  Every side takes the loosest tolerance of its ladder with
                 which its objective is within 1e-4 of the best that any side finds; one function evaluates them all.
                 Three problems: counts with C = 1, counts with C = 1 / (mean squared length), unit rows with C = 1.
    whole job    from strings to a machine, with those tolerances.

One thread everywhere.  Everything is compiled by a small run first, not counted; the sides run in turn and the best of
`--repeats` counts.  Times are CPU seconds; `wall` stands beside.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from liblinear import liblinearutil as liblinear
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import kernelweave as kw
from common import Row, alternate, conditions, show, write_csv, write_picture
from kernelweave.plots.style import BLUE, GREY, figure, quiet
from kernelweave.solvers.svm import SVM_SOLVERS
from mkl_common import fit_quietly
from text_common import documents, explicit, solve

ORDER, LENGTH = 5, 800
WARM_UP_ROWS = 2500
"""More than the rows for which the estimator would take a Gram matrix."""
OURS, LIBLINEAR, SKLEARN = "kernelweave", "liblinear", "scikit-learn"
NEAR = 1e-4
"""Relative distance from the best objective at which a training counts as done."""
TIGHT = 1e-6
"""Our relative gap for the best objective."""
LADDERS = {
    OURS: (1e-2, 3e-3, 1e-3, 5e-4, 3e-4, 2e-4, 1e-4, 3e-5),
    LIBLINEAR: (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5),
    SKLEARN: (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5),
}
TRIES = 3
"""Runs of liblinear that must all come near: it draws another order each time, and no seed can be set."""
ITS_OWN = 1e-4
"""The tolerance that the peers' figures in the aims were measured with."""
AIMS = {"extraction": 8.0, "training": 1.0, "whole job": 5.0}
ALIKE = {"analyzer": "char", "ngram_range": (ORDER, ORDER), "lowercase": False}


class Task(NamedTuple):
    """One problem: how rows are scaled, and the cost of an error."""

    name: str
    how: str | None
    cost: float


class Machine(NamedTuple):
    """A normal vector over the columns of the table of counts, an intercept, and passes over the rows."""

    w: np.ndarray
    b: float
    passes: int | str


def primal(machine: Machine, table: Any, y: np.ndarray, cost: float) -> float:
    """Return the objective of a machine."""
    losses = np.maximum(0.0, 1.0 - y * (table @ machine.w + machine.b))
    return 0.5 * float(machine.w @ machine.w + machine.b**2) + cost * float(losses.sum())


def our_counts(texts: list[str]) -> Any:
    """Return the counts in a table with a column for each possible n-gram."""
    return kw.NGram(ORDER).features(kw.Sequences.from_strings(texts, "bytes"))


def our_rows(texts: list[str], how: str | None = None) -> Any:
    """Return the bound kernel: rows with numbered columns."""
    return explicit(kw.NGram(ORDER), kw.Sequences.from_strings(texts, "bytes"), how)


def sklearn_counts(texts: list[str], how: str | None = None) -> Any:
    """Return the counts of CountVectorizer."""
    counts = CountVectorizer(**ALIKE).fit_transform(texts)
    return normalize(counts) if how == "cosine" else counts


def hashed_counts(texts: list[str]) -> Any:
    """Return the counts of HashingVectorizer, of which some collide."""
    return HashingVectorizer(norm=None, alternate_sign=False, **ALIKE).transform(texts)


def same_counts(ours: Any, theirs: Any) -> bool:
    """Tell whether two tables are the same but for columns without a count."""
    columns, places = np.unique(ours.indices, return_inverse=True)
    here = sparse.csr_matrix((ours.data, places, ours.indptr), (ours.shape[0], len(columns)))
    return here.shape == theirs.shape and (here != theirs).nnz == 0


def train_ours(operator: Any, y: np.ndarray, cost: float, tol: float) -> Any:
    """Train on numbered rows."""
    return solve(operator, SVM_SOLVERS["dual_coordinate"](), y, cost, tol)


def train_liblinear(problem: Any, cost: float, tol: float) -> Any:
    """Train on liblinear's own form of the rows."""
    return liblinear.train(problem, f"-s 3 -B 1 -q -c {cost:.17g} -e {tol:g}")


def train_sklearn(table: Any, y: np.ndarray, cost: float, tol: float) -> LinearSVC:
    """Train on a table."""
    return fit_quietly(LinearSVC(loss="hinge", C=cost, tol=tol, random_state=0), table, y)


def whole_ours(texts: list[str], y: np.ndarray, task: Task, tol: float) -> Any:
    """Train from strings."""
    model = kw.KernelClassifier(
        kw.NGram(ORDER), C=task.cost, solver="dual_coordinate", fit_intercept="regularized", normalize=task.how,
        tol=tol, n_jobs=1,
    )  # fmt: skip
    return fit_quietly(model, texts, y)


def whole_liblinear(texts: list[str], y: np.ndarray, task: Task, tol: float) -> Any:
    """Train from strings."""
    return train_liblinear(liblinear.problem(y, sklearn_counts(texts, task.how), 1), task.cost, tol)


def whole_sklearn(texts: list[str], y: np.ndarray, task: Task, tol: float) -> Any:
    """Train from strings."""
    return train_sklearn(sklearn_counts(texts, task.how), y, task.cost, tol)


def as_machine(result: Any, table: Any) -> Machine:
    """Return any side's result as a normal vector and an intercept."""
    if isinstance(result, LinearSVC):
        return Machine(result.coef_[0], float(result.intercept_[0]), int(result.n_iter_))
    if isinstance(result, liblinear.model):
        w = np.ctypeslib.as_array(result.w, (table.shape[1] + 1,)) * (1.0 if result.label[0] > 0 else -1.0)
        return Machine(w[:-1], float(w[-1]), "-")
    if isinstance(result, kw.KernelClassifier):
        alpha = np.zeros(table.shape[0])
        alpha[result.support_] = result.dual_coef_[0]
        return Machine(table.T @ alpha, float(result.intercept_[0]), result.n_iter_)
    return Machine(table.T @ result.primal.alpha, result.primal.intercept, result.n_iter)


def extraction(texts: list[str], repeats: int) -> tuple[list[Row], Any]:
    """Compare ways from strings to counts; return the table of counts, too."""
    calls = {
        "CountVectorizer": partial(sklearn_counts, texts), "HashingVectorizer": partial(hashed_counts, texts),
        f"{OURS} counts": partial(our_counts, texts), f"{OURS} rows": partial(our_rows, texts),
    }  # fmt: skip
    runs = alternate(calls, repeats)
    table = runs["CountVectorizer"].result
    same = same_counts(runs[f"{OURS} counts"].result, table)
    print(f"{table.shape[1]} different n-grams, {table.nnz} counts; ours are {'the same' if same else 'DIFFERENT'}")
    none = dict.fromkeys(("objective", "off", "tol", "passes"), "-")
    peer = runs["CountVectorizer"].cpu
    return [line("extraction", side, "counts", run, peer, **none) for side, run in runs.items()], table


def line(part: str, side: str, task: str, run: Any, peer: float, **more: Any) -> Row:
    """Return a line of the table; `times_less_cpu` than the peer of the aim."""
    return {
        "part": part, "problem": task, "side": side, "cpu": run.cpu, "wall": run.wall,
        "times_less_cpu": peer / run.cpu, **more,
    }  # fmt: skip


class Contest:
    """One problem, solved by all sides."""

    def __init__(self, texts: list[str], y: np.ndarray, task: Task, table: Any, repeats: int):
        self.texts, self.y, self.task, self.repeats = texts, y, task, repeats
        self.table = normalize(table) if task.how == "cosine" else table.astype(float)
        operator, problem = our_rows(texts, task.how), liblinear.problem(y, self.table, 1)
        self.train: dict[str, Callable[[float], Any]] = {
            OURS: partial(train_ours, operator, y, task.cost),
            LIBLINEAR: partial(train_liblinear, problem, task.cost),
            SKLEARN: partial(train_sklearn, self.table, y, task.cost),
        }

    def objective(self, result: Any) -> float:
        """Return the objective of any side's result."""
        return primal(as_machine(result, self.table), self.table, self.y, self.task.cost)

    def tolerances(self) -> dict[str, float]:
        """Return the loosest tolerance of each side that comes near enough to the best objective; the last if none."""
        self.best = self.objective(self.train[OURS](TIGHT))
        chosen = {}
        for side, ladder in LADDERS.items():
            for tol in ladder:
                chosen[side] = tol
                reached = [self.objective(self.train[side](tol)) for _ in range(TRIES if side == LIBLINEAR else 1)]
                if max(reached) <= (1.0 + NEAR) * self.best:
                    break
        return chosen

    def rows(self) -> list[Row]:
        """Return lines for training and for the whole job."""
        tols = self.tolerances()
        tols |= {f"{side} at {ITS_OWN:g}": ITS_OWN for side in (LIBLINEAR, SKLEARN)}
        runs = alternate({side: partial(self.train[side.split()[0]], tol) for side, tol in tols.items()}, self.repeats)
        found = [self.row("training", side, run, runs[LIBLINEAR].cpu, tols[side]) for side, run in runs.items()]
        whole = {OURS: whole_ours, LIBLINEAR: whole_liblinear, SKLEARN: whole_sklearn}
        calls = {side: partial(call, self.texts, self.y, self.task, tols[side]) for side, call in whole.items()}
        runs = alternate(calls, self.repeats)
        found += [self.row("whole job", side, run, runs[SKLEARN].cpu, tols[side]) for side, run in runs.items()]
        return found

    def row(self, part: str, side: str, run: Any, peer: float, tol: float) -> Row:
        """Return one line."""
        value = self.objective(run.result)
        off = (value - self.best) / self.best
        passes = as_machine(run.result, self.table).passes
        return line(part, side, self.task.name, run, peer, objective=value, off=off, tol=tol, passes=passes)


def tasks(table: Any) -> list[Task]:
    """Return the problems."""
    scale = float(table.multiply(table).sum()) / table.shape[0]
    return [Task("counts, C = 1", None, 1.0), Task("counts, scaled C", None, 1.0 / scale),
            Task("unit rows, C = 1", "cosine", 1.0)]  # fmt: skip


def judge(rows: list[Row]) -> list[str]:
    """Return one line for each of our times: as good an objective, and so many times less CPU."""
    peers = {"extraction": "CountVectorizer", "training": LIBLINEAR, "whole job": "CountVectorizer and LinearSVC"}
    lines = []
    for row in (row for row in rows if row["side"].startswith(OURS)):
        near = row["off"] == "-" or row["off"] <= NEAR
        good = near and row["times_less_cpu"] >= AIMS[row["part"]]
        end = "" if row["off"] == "-" else f"; objective {row['off']:+.1e} from the best (aim: at most {NEAR:g})"
        lines.append(
            f"{'reached' if good else 'MISSED'}: {row['part']}, {row['problem']}, {row['side']}: "
            f"{row['times_less_cpu']:.2f}x less CPU than {peers[row['part']]} (aim: {AIMS[row['part']]:g}x){end}"
        )
    return lines


def draw(rows: list[Row]) -> Any:
    """Return a figure: CPU seconds of each part, ours in blue."""
    panels = list(dict.fromkeys((row["part"], row["problem"]) for row in rows))
    panels.sort(key=lambda panel: list(AIMS).index(panel[0]))
    fig, axes = figure(len(panels), 1, (6.4, 1.25 * len(panels)))
    for ax, panel in zip(np.atleast_1d(axes), panels):
        chosen = [row for row in rows if (row["part"], row["problem"]) == panel][::-1]
        ax.barh(range(len(chosen)), [row["cpu"] for row in chosen], 0.7,
                color=[BLUE if row["side"].startswith(OURS) else GREY for row in chosen])  # fmt: skip
        for place, row in enumerate(chosen):
            ax.annotate(f"{row['cpu']:.3g}", (row["cpu"], place), (3, -3), textcoords="offset points", fontsize=7)
        ax.set_yticks(range(len(chosen)), [row["side"] for row in chosen], fontsize=7)
        ax.set_title(": ".join(panel), loc="left", fontsize=9)
        quiet(ax)
    axes[-1].set_xlabel("CPU seconds")
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    print(conditions("scikit-learn", "liblinear-official"))
    with threadpool_limits(1):
        small, y = documents(WARM_UP_ROWS, LENGTH // 8)
        for task in tasks(extraction(small, 1)[1]):
            Contest(small, y, task, sklearn_counts(small), 1).rows()
        print(f"compiled by a small run first, not counted; best of {options.repeats}", flush=True)
        texts, y = documents(options.rows, LENGTH)
        rows, table = extraction(texts, options.repeats)
        print(show(rows), flush=True)
        for task in tasks(table):
            rows += Contest(texts, y, task, table, options.repeats).rows()
            print(f"{task.name}: done", flush=True)
    print(show(rows))
    print(write_csv("text_speed", rows))
    print(write_picture("text_speed", draw(rows)))
    print("\n".join(judge(rows)))


if __name__ == "__main__":
    main()
