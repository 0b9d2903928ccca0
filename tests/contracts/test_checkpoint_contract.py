"""What every solver promises of a checkpoint: a run that goes on from one ends as if it had never been stopped."""

import json

import numpy as np
import pytest

from contracts import test_mkl_primal_contract as primal
from contracts import test_mkl_solver_contract as mkl
from contracts import test_svm_solver_contract as svm
from kernelweave.data.strings.sequences import Sequences
from kernelweave.engines import Serial
from kernelweave.kernels import WeightedDegree
from kernelweave.losses import make_loss
from kernelweave.operators import bind
from kernelweave.solvers.checkpoint import Checkpoint
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.mkl import MKL_SOLVERS
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.state import plain, resumes_with_same_bits, revive
from kernelweave.solvers.svm import SVM_SOLVERS

SMOOTH = {"newton": "logistic"}
CHUNK = {"chunking": {"chunk_size": 16}, "silp_chunking": {"chunk_size": 16}}
SVM_STOP, MKL_STOP = Stop(1e-6, 3000), Stop(1e-5, 1000)
PRIMAL = {name: Stop(primal.TOL.get(name, primal.COARSE), 400) for name in primal.WALKERS}
FIXED = [name for name, entry in MKL_SOLVERS.items() if entry.certifies == "fixed weights"]
"""One iteration each: nothing lies between two of them."""


def thawed(runs):
    """Entries as a file gives them back: nothing shared with the run that wrote them."""

    def copied(value):
        if isinstance(value, dict):
            return {key: copied(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(copied(item) for item in value)
        return value.copy() if isinstance(value, np.ndarray) else json.loads(json.dumps(value))

    return copied(runs)


def interrupted(make, problem, stop, iterations):
    """Run until after so many iterations; return what was written last."""
    written = []
    checkpoint = Checkpoint(lambda runs: written.append(thawed(runs)), every=0.0)
    run(make(), problem, stop, lambda progress: progress.iteration >= iterations, checkpoint=checkpoint)
    return written[-1]


def check(make, problem, stop, iterations, bits=True):
    """A run that goes on has the bits of the whole one, where its solver says so and a state was written."""
    whole = run(make(), problem, stop)
    runs = interrupted(make, problem, stop, iterations)
    assert runs[0]["ended"] in (None, "interrupted", "tol")
    told = []
    again = run(make(), problem, stop, told.append, checkpoint=Checkpoint(list, every=1e9, runs=runs))
    assert told[0].resumed
    assert told[0].iteration <= min(iterations, whole.n_iter)
    assert again.converged == whole.converged
    if bits and resumes_with_same_bits(make()) and runs[0]["state"] is not None:
        assert again.n_iter == whole.n_iter
        assert again.primal.value == whole.primal.value
        assert again.dual.value == whole.dual.value
        assert np.array_equal(again.primal.alpha, whole.primal.alpha)
        assert np.array_equal(again.primal.intercept, whole.primal.intercept)
        gap, known = again.trace["gap"], whole.trace["gap"]
        assert np.array_equal(gap, known)
    else:
        size = abs(whole.primal.value)
        assert again.gap <= max(stop.tol, whole.gap)
        assert abs(again.primal.value - whole.primal.value) <= 2 * max(stop.tol, whole.gap) * size


@pytest.mark.parametrize("iterations", [1, 4])
@pytest.mark.parametrize("intercept", ["free", "regularized"])
@pytest.mark.parametrize("name", svm.SVM_SOLVERS)
def test_svm_solvers_go_on(name, intercept, iterations):
    shown = svm.problem(SMOOTH.get(name, "hinge"), intercept, svm.HOME[name])
    check(lambda: SVM_SOLVERS[name](**CHUNK.get(name, {})), shown, SVM_STOP, iterations)


@pytest.mark.parametrize("store", ["dense 32", "cached"])
@pytest.mark.parametrize("name", ["smo", "chunking"])
def test_forms_of_the_kernel_matrix_go_on(name, store):
    shown, in_memory = svm.problem("hinge", store=store), store != "cached"  # sums follow what a cache holds
    check(lambda: SVM_SOLVERS[name](**CHUNK.get(name, {})), shown, SVM_STOP, 2, in_memory)


@pytest.mark.parametrize("iterations", [12, 40])
@pytest.mark.parametrize("name", ["chunking", "dual_coordinate"])
def test_working_sets_of_kmers_go_on(name, iterations):
    """Many rows, so that working sets shrink."""
    rng = np.random.default_rng(1)
    strings = ["".join(rng.choice(list("ACGT"), 20)) for _ in range(5000)]
    y = np.array([1.0 if "AC" in one[4:12] else -1.0 for one in strings])
    kernel = WeightedDegree(6) * 0.05
    operator = bind(kernel, Sequences.from_strings(strings, alphabet="dna"), Serial(), need="features")
    shown = Problem(operator, make_loss("hinge"), y, np.full(5000, 2.0))
    check(lambda: SVM_SOLVERS[name](**CHUNK.get(name, {})), shown, Stop(1e-3, 300), iterations)


@pytest.mark.parametrize("iterations", [1, 4])
@pytest.mark.parametrize("name", [name for name in mkl.MKL_SOLVERS if name not in FIXED])
def test_mkl_solvers_go_on(name, iterations):
    p = 2.0 if name == "lp" else 1.0
    check(lambda: MKL_SOLVERS[name].make(**CHUNK.get(name, {})), mkl.problem("hinge", p), MKL_STOP, iterations)


@pytest.mark.parametrize("iterations", [1, 5])
@pytest.mark.parametrize("name", primal.WALKERS)
def test_solvers_on_explicit_features_go_on(name, iterations):
    check(MKL_SOLVERS[name].make, primal.problem("logistic", 2.0), PRIMAL[name], iterations)


def test_plain_data_keep_bits():
    rng = np.random.default_rng(3)
    zeros = np.zeros((2, 100))
    zeros[1, 7], zeros[0, 3] = 2.5, -0.0
    again = revive(thawed(plain({"rng": rng, "zeros": zeros, "list": [(1, None)]})))
    assert again["rng"].random() == rng.random()
    assert again["zeros"].tobytes() == zeros.tobytes()
    assert again["list"] == [(1, None)]
