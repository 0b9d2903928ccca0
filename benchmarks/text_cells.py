"""What `text_reuters.py` measures for one kernel on one set of stories: solvers, a pass, sizes of automata."""

from __future__ import annotations

import multiprocessing
import resource
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from common import Row, timed
from kernelweave.automata import minimize, trie
from kernelweave.engines import choose_engine
from kernelweave.estimators.normalize import normalized
from kernelweave.kernels.strings.counts import Counts
from kernelweave.losses import make_loss
from kernelweave.operators.automata.descent import AutomatonOperator
from kernelweave.operators.features.operator import FeatureOperator
from kernelweave.operators.gram.cached import CachedColumns
from kernelweave.solvers.loop import Stop
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.result import Result
from kernelweave.solvers.svm import SVM_SOLVERS
from kernelweave.solvers.svm.chunking import default_chunk
from seq_common import time_cap
from text_common import INTERCEPT, Array, Stories, sequences, solve

CACHE = 100e6
"""Bytes of kernel columns that are kept: LIBSVM's default."""
SINGLE = 4
"""Bytes of a kernel value in a cache, here and in LIBSVM."""
LIBSVM_TOL = 1e-3
"""LIBSVM's own tolerance, and its default: the largest violation of the optimality conditions."""
PASSES = 5
"""Passes of which the fastest counts as the time of one."""


class Cell(NamedTuple):
    """A training: CPU seconds, whether it was stopped, objective (free intercept with LIBSVM), passes or steps."""

    cpu: float
    stopped: bool
    objective: float | str
    steps: int | str


STOPPED_BEFORE = "-"


@dataclass(frozen=True)
class Setting:
    """Cost of an error, tolerance (relative gap), seconds for one training, scaling of rows (None or "cosine")."""

    cost: float
    tol: float
    limit: float
    how: str | None


class Bench:
    """One kernel on one set of stories."""

    def __init__(self, kernel: Any, stories: Stories, setting: Setting):
        self.y, self.setting, self.engine = stories.y, setting, choose_engine(None, 1)
        self.X = sequences(stories.texts)
        self.given = kernel
        self.kernel = normalized(kernel.fitted(self.X), self.X, setting.how, self.engine)
        counted = timed(lambda: self.kernel.prepare(self.X))
        bound = timed(lambda: FeatureOperator(self.kernel, self.X, self.engine))
        self.prepared, self.operator = counted.result, bound.result
        self.count_cpu, self.bind_cpu = counted.cpu, bound.cpu

    def features(self) -> Row:
        """Return what pre-processing took, and how large the features are."""
        counts, shared = self.counts, self.operator.shared
        names = 0 if shared.codes is None else shared.codes.nbytes
        return {
            "count_cpu": self.count_cpu, "bind_cpu": self.bind_cpu, "features_per_row": len(counts.values) / shared.n,
            "shared_per_row": shared.block.entries / shared.n, "distinct": len(counts.index.codes),
            "shared": shared.width, "features_mb": shared.nbytes / 1e6, "names_mb": names / 1e6,
        }  # fmt: skip

    @property
    def counts(self) -> Counts:
        """The features of all stories by code."""
        counts: Counts = self.kernel.counts(self.X)
        return counts

    def table(self) -> tuple[Any, Array]:
        """Return the features as CSR with a column for each n-gram that occurs, and the codes of the columns."""
        counts = self.counts
        index = counts.index
        shape = len(counts), len(index.codes)
        return sparse.csr_matrix((counts.values, index.place.astype(np.int32), counts.starts), shape), index.codes

    def descend(self, order: str) -> tuple[Cell, Result]:
        """Train by coordinate descent, the normal vector a flat array over numbered n-grams."""
        solver = SVM_SOLVERS["dual_coordinate"](order=order)
        return self._run(self.operator, solver)

    def descend_trie(self) -> tuple[Cell, Row]:
        """Train by coordinate descent with the paper's store, a trie; the automata of the rows are made before."""
        bound = timed(lambda: AutomatonOperator(self.kernel, self.X, "trie"))
        cell, result = self._run(bound.result, SVM_SOLVERS["dual_coordinate"](store="trie"))
        return cell, {"trie_bind_cpu": bound.cpu, "trie_arcs": result.trace["arcs"][-1]}

    def smo_ours(self) -> Cell:
        """Train with working sets on columns computed on demand."""
        columns = max(2, int(CACHE // (SINGLE * len(self.y))))
        operator = CachedColumns(self.kernel, self.prepared, self.engine, columns)
        chunk = min(default_chunk(len(self.y)), columns)
        return self._run(operator, SVM_SOLVERS["chunking"](chunk_size=chunk))[0]

    def smo_libsvm(self) -> Cell | None:
        """Train with LIBSVM's pair steps on columns computed on demand; None where it is not installed."""
        try:
            from libsvm.svmutil import svm_problem
        except ImportError:
            return None
        table, _ = self.table()
        problem = svm_problem(self.y, table)
        here, there = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(target=_libsvm, args=(problem, self.setting.cost, there))
        before = _cpu_of_children()
        child.start()
        answer = here.recv() if here.poll(self.setting.limit) else None
        if answer is None:
            child.kill()
        child.join()
        if answer is None:
            return Cell(_cpu_of_children() - before, True, STOPPED_BEFORE, STOPPED_BEFORE)
        cpu, rows, coefficients, b = answer
        w = table[rows].T @ coefficients
        losses = np.maximum(0.0, 1.0 - self.y * (table @ w + b))
        return Cell(cpu, False, 0.5 * float(w @ w) + self.setting.cost * float(losses.sum()), STOPPED_BEFORE)

    def pass_cpu(self) -> float:
        """Return the CPU seconds of a pass over all rows."""
        solver = SVM_SOLVERS["dual_coordinate"](shrinking=False)
        cost = np.full(len(self.y), self.setting.cost)
        solver.init(Problem(self.operator, make_loss("hinge"), self.y, cost, INTERCEPT), None, Stop(self.setting.tol))
        return min(timed(solver.step).cpu for _ in range(PASSES))

    def sizes(self, alpha: Array) -> Row:
        """Return the number of transitions of W' = sum_i alpha_i Phi_i as a trie and as a minimal automaton."""
        table, codes = self.table()
        strings, weights = self.given.letters(codes, self.X.alphabet), table.T @ alpha
        kept = weights != 0.0
        used = trie(strings[kept], weights[kept])
        small = timed(lambda: minimize(used))
        return {
            "every_trie": trie(strings, np.ones(len(strings))).n_arcs, "trie": used.n_arcs,
            "minimal": small.result.n_arcs, "minimal_states": small.result.n_states, "minimize_cpu": small.cpu,
        }  # fmt: skip

    def _run(self, operator: Any, solver: Any) -> tuple[Cell, Result]:
        given = self.setting
        run = timed(lambda: solve(operator, solver, self.y, given.cost, given.tol, time_cap(given.limit)))
        result = run.result
        return Cell(run.cpu, not result.converged, result.primal.value, result.n_iter), result


def _cpu_of_children() -> float:
    """Return the CPU seconds of child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _libsvm(problem: Any, cost: float, answers: Connection) -> None:
    from libsvm.svmutil import svm_train

    with threadpool_limits(1):  # some builds of LIBSVM compute columns with OpenMP
        began = time.process_time()
        model = svm_train(problem, f"-s 0 -t 0 -c {cost:.17g} -e {LIBSVM_TOL:g} -m {CACHE / 1e6:g} -q")
    cpu = time.process_time() - began
    sign = 1.0 if model.label[0] > 0 else -1.0
    rows = np.array(model.get_sv_indices()) - 1
    answers.send((cpu, rows, sign * np.array(model.get_sv_coef())[:, 0], -sign * model.rho[0]))


def warm_up(kernel: Any, stories: Stories, setting: Setting) -> None:
    """Compile everything that will be timed."""
    bench = Bench(kernel, stories, setting)
    bench.smo_ours()
    bench.descend("sequential")
    bench.descend_trie()
    bench.sizes(bench.descend("permuted")[1].primal.alpha)
