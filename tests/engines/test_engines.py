"""Where work runs: order, errors, pools, and how a user's wish becomes an engine."""

import os
import threading

import pytest
from threadpoolctl import threadpool_info

from kernelweave.engines import Engine, Serial, Threads, choose_engine
from kernelweave.engines.local import available_cores

ENGINES = [Serial(), Threads(2), Threads(3)]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: f"{type(e).__name__} {e.workers}")
def test_results_come_in_the_order_of_the_parts(engine):
    assert isinstance(engine, Engine)
    assert engine.map(lambda part: part * part, range(50)) == [i * i for i in range(50)]
    assert engine.map(str, []) == []
    assert engine.map(str, iter([7])) == ["7"]
    thing = object()
    assert engine.put(thing) is thing


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: f"{type(e).__name__} {e.workers}")
def test_an_error_in_a_part_reaches_the_caller(engine):
    def work(part):
        if part == 3:
            raise ValueError("part 3")
        return part

    with pytest.raises(ValueError, match="part 3"):
        engine.map(work, range(5))
    assert engine.map(work, [1, 2]) == [1, 2]


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
    def blas_threads(_=None):
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    before = blas_threads()
    assert engine.map(blas_threads, [0, 1]) == [{1}, {1}]
    assert blas_threads() == before


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
    assert choose_engine().workers == choose_engine(None, -1).workers == cores
    assert choose_engine(None, -cores - 5).workers == 1
    own = Threads(2)
    assert choose_engine(own, 7) is own


def test_wishes_that_cannot_be():
    with pytest.raises(ValueError, match=r"n_jobs=0 has no meaning; use None for every core or 1 for one thread\."):
        choose_engine(None, 0)
    with pytest.raises(ValueError, match=r"engine='gpu' is unknown; use 'serial', 'threads' or an Engine object\."):
        choose_engine("gpu")
