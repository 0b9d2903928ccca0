"""Where work runs: order, errors, pools, and how a user's wish becomes an engine."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

from kernelweave import RBF, KernelClassifier, MKLClassifier
from kernelweave.engines import Engine, Serial, Threads, choose_engine, one_blas_thread
from kernelweave.engines.base import Beside
from kernelweave.engines.local import available_cores
from remote import DaskProcesses, Pickled, Processes

ENGINES = [Serial(), Threads(2), Threads(3), Pickled(), Processes(), DaskProcesses()]


def test_beside_runs_a_function_in_a_free_thread_and_does_not_wait_for_one():
    engine, begun, gone = Threads(2), threading.Event(), threading.Event()

    def wait():
        begun.set()
        gone.wait()

    assert isinstance(engine, Beside)
    with engine.beside(wait):
        assert begun.wait(60)
        with engine.beside(wait):
            with engine.beside(lambda: pytest.fail("no thread is free")):
                pass
            gone.set()


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: f"{type(e).__name__} {e.workers}")
def test_results_come_in_the_order_of_the_parts(engine):
    assert isinstance(engine, Engine)
    assert engine.map(lambda part: part * part, range(50)) == [i * i for i in range(50)]
    assert engine.map(str, []) == []
    assert engine.map(str, iter([7])) == ["7"]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: f"{type(e).__name__} {e.workers}")
def test_results_are_put_in_their_places(engine):
    out = np.ones((7, 4))
    engine.map_into(out, lambda part, place: np.add(place, part.start, out=place), [slice(0, 3), slice(5, 7)])
    assert out[:, 0].tolist() == [1, 1, 1, 1, 1, 6, 6]
    upper, lower = out[:3, 3:], out[4:, :3]
    engine.map_into([(upper, lower), upper[:0]], double, [2, 3])
    assert (upper == 2).all()
    assert (lower[0] == 2).all()
    assert (lower[1:] == 12).all()
    engine.map_into(out, double, [])
    with pytest.raises(ValueError, match="one target for each part, but got 1 for 2 parts"):
        engine.map_into([out], double, [1, 2])


def double(factor, *places):
    for place in places:
        place *= factor


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: f"{type(e).__name__} {e.workers}")
def test_a_function_gets_what_its_place_holds_as_it_lies_there(engine):
    def describe(part, place):
        contiguous, place[:] = place.flags.c_contiguous, place + 1
        assert contiguous == (part == "rows")

    out = np.arange(12.0).reshape(3, 4)
    engine.map_into([out[:1], out[1:, ::2]], describe, ["rows", "columns"])
    assert out.tolist() == [[1, 2, 3, 4], [5, 5, 7, 7], [9, 9, 11, 11]]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: f"{type(e).__name__} {e.workers}")
def test_an_error_in_a_part_reaches_the_caller(engine):
    def work(part):
        if part == 3:
            raise ValueError("part 3")
        return part

    with pytest.raises(ValueError, match="part 3"):
        engine.map(work, range(5))
    assert engine.map(work, [1, 2]) == [1, 2]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: f"{type(e).__name__} {e.workers}")
def test_zeros_keep_their_signs(engine):
    out = np.array([[0.0, -0.0], [0.0, 0.0]])
    engine.map_into([out[0], out[1:].T], lambda part, place: None, ["signs", "zeros"])
    assert np.signbit(out).tolist() == [[False, True], [False, False]]
    assert engine.map(abs, [-0.0, 1]) == [0.0, 1]


def test_threads_run_side_by_side():
    meeting = threading.Barrier(2, timeout=10)
    names = Threads(2).map(lambda part: (meeting.wait(), threading.current_thread().name)[1], range(2))
    assert len(set(names)) == 2
    assert all(name.startswith("kernelweave") for name in names)


def test_serial_stays_in_the_calling_thread():
    assert set(Serial().map(lambda _: threading.get_ident(), range(3))) == {threading.get_ident()}
    assert Threads(2).map(lambda _: threading.get_ident(), [0]) == [threading.get_ident()]


@pytest.mark.parametrize("engine", ENGINES[:2], ids=["serial", "threads"])
def test_blas_has_one_thread_inside_a_part_and_its_own_number_outside(engine):
    before = blas_threads()
    assert engine.map(blas_threads, [0, 1]) == [{1}, {1}]
    assert blas_threads() == before


def blas_threads(_=None):
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
LIMITED = any(os.environ.get(name) == "1" for name in THREAD_VARIABLES)
two_threads = pytest.mark.skipif(LIMITED, reason="BLAS was told to use one thread when it was loaded")


@pytest.mark.skipif(not LIMITED, reason="the tests of BLAS threads run in this process")
def test_threads_of_blas_in_a_process_of_its_own():
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", __file__, "-k", "two_blas"]
    done = subprocess.run(
        command, env=os.environ | dict.fromkeys(THREAD_VARIABLES, "2"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


@two_threads
def test_two_blas_threads_come_back_when_the_last_of_several_leaves():
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()
    seen = []

    def first():
        with one_blas_thread():
            first_in.set()
            assert second_in.wait(10)
        first_out.set()

    def second():
        assert first_in.wait(10)
        with one_blas_thread():
            second_in.set()
            assert first_out.wait(10)
            seen.append(blas_threads())

    with threadpool_limits(2, user_api="blas"):
        workers = [threading.Thread(target=work) for work in (first, second)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert seen == [{1}]
        assert blas_threads() == {2}


@two_threads
def test_concurrent_fits_leave_two_blas_threads_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 3))  # a Gram matrix of several tiles
    y = np.sign(X[:, 0] + rng.normal(size=len(X)))

    def fit(i):
        model = KernelClassifier("rbf:1", n_jobs=2) if i % 2 else MKLClassifier(RBF.grid([1.0, 5.0]), n_jobs=1)
        return model.set_params(max_iter=2).fit(X[: 2100 if i % 2 else 200], y[: 2100 if i % 2 else 200]).intercept_

    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(4) as pool:
        list(pool.map(fit, range(8)))
        assert blas_threads() == {2}


@two_threads
def test_a_forked_child_has_two_blas_threads_under_a_limit_of_its_parent():
    with threadpool_limits(2, user_api="blas"), one_blas_thread():
        child = os.fork()
        if child == 0:
            inside = blas_threads()
            with one_blas_thread():
                pass
            os._exit(0 if inside == blas_threads() == {2} else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert blas_threads() == {1}


def test_a_forked_child_has_a_pool_of_its_own():
    Threads(2).map(str, range(4))
    child = os.fork()
    if child == 0:
        os._exit(0 if Threads(2).map(str, range(4)) == ["0", "1", "2", "3"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_wish_becomes_an_engine():
    cores = available_cores()
    assert choose_engine(None, 1).workers == 1
    assert isinstance(choose_engine("serial", 4), Serial)
    assert isinstance(choose_engine(None, 3), Threads)
    assert choose_engine("threads", 3).workers == 3
    assert choose_engine(None, -1).workers == choose_engine("threads").workers == cores
    assert choose_engine().workers == 1
    with parallel_config(n_jobs=3):
        assert choose_engine().workers == 3
        assert choose_engine(None, 2).workers == 2
    assert choose_engine(None, -cores - 5).workers == 1
    own = Threads(2)
    assert choose_engine(own, 7) is own


def test_wishes_that_cannot_be():
    with pytest.raises(ValueError, match=r"n_jobs=0 has no meaning; use -1 for every core or 1 for one thread\."):
        choose_engine(None, 0)
    with pytest.raises(ValueError, match="engine='gpu' is unknown; use 'serial', 'threads', 'dask', the address"):
        choose_engine("gpu")
    with pytest.raises(TypeError, match="is not an engine, which has workers, map and map_into"):
        choose_engine(3.5)
