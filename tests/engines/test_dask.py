"""Work on a real cluster of two processes: what travels, what is chosen, and what happens when something dies."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
from distributed import Client, LocalCluster

from kernelweave.cli.app import sentence
from kernelweave.engines import Serial, choose_engine
from kernelweave.engines.dask import Dask, engine, rounds, shelves
from kernelweave.engines.dask.packing import LARGE, Sent, pack, unpack
from kernelweave.engines.dask.rounds import WorkersDied
from kernelweave.engines.dask.work import VersionMismatch
from remote import dask_client, dask_cluster, dask_engine

TABLE = np.arange(20_000.0)


@pytest.fixture
def cluster():
    return dask_engine()


def test_large_arrays_travel_apart_and_under_the_hash_of_their_content():
    first, second = (pack((lambda part, c=c: TABLE[part] * c)) for c in (1.0, 2.0))
    assert first.packed.name != second.packed.name
    assert first.packed.blobs == second.packed.blobs
    assert len(first.packed.head) < 2000
    arrived = unpack(first.packed, first.blobs.__getitem__, pytest.fail)
    assert arrived(slice(2, 4)).tolist() == [2.0, 3.0]


def test_arrays_arrive_as_compiled_loops_know_them():
    parcel = pack([TABLE, np.asfortranarray(TABLE.reshape(2, -1)), b"x" * LARGE])
    for blob in parcel.blobs.values():
        blob.flags.writeable = False
    shifted = {name: np.frombuffer(b"1" + blob.tobytes(), np.uint8)[1:] for name, blob in parcel.blobs.items()}
    one, two, text = unpack(parcel.packed, shifted.__getitem__, pytest.fail)
    assert one.flags.writeable
    assert one.flags.aligned
    assert two.flags.f_contiguous
    assert len(text) == LARGE
    np.testing.assert_array_equal(one, two.ravel())


def test_a_shared_value_is_not_part_of_what_carries_it():
    handle = Sent(TABLE, pack(TABLE))
    parcel = pack(lambda part: handle.get()[part])
    assert len(parcel.packed.head) < 2000
    assert parcel.packed.blobs == ()
    assert list(parcel.blobs) == list(handle.parcel.packed.blobs)
    np.testing.assert_array_equal(cloudpickle.loads(cloudpickle.dumps(handle)).get(), TABLE)


def test_a_value_is_unpacked_once_by_each_worker(cluster):
    handle = cluster.share({"table": TABLE, "names": ["a"]})
    found = cluster.map(lambda part: (os.getpid(), id(handle.get()), handle.get()["table"][part]), range(12))
    assert [value for *_, value in found] == list(range(12))
    assert len({(process, value) for process, value, _ in found}) == len({process for process, *_ in found})


def test_parts_that_need_a_large_array_are_spread_over_all_workers(cluster):
    def work(handle, part):
        time.sleep(0.1)
        return os.getpid(), float(handle.get()[part])

    for seed in range(3):  # the scheduler may drop a copy at any moment, and then one worker gets all parts
        table = np.random.default_rng(seed).normal(size=5000)
        found = cluster.map(partial(work, cluster.share(table)), range(4))
        assert [value for _, value in found] == table[:4].tolist()
        if len({process for process, _ in found}) == 2:
            return
    pytest.fail("one worker got all parts")


def summed(table, handle, part):
    return table[part] + handle.get()[part]


def test_arrays_of_past_rounds_are_released_and_those_of_shared_values_kept():
    made = Dask(dask_client())
    handle = made.share(np.ones(5000))
    (kept,) = handle.parcel.blobs

    for i in range(shelves.KEPT_ROUNDS + 2):
        assert made.map(partial(summed, np.full(5000, float(i)), handle), [0, 1]) == [i + 1.0, i + 1.0]
    assert kept in made.shelf.held
    assert len(made.shelf.held) <= shelves.KEPT_ROUNDS + 1
    del handle
    for _ in range(shelves.KEPT_ROUNDS):
        made.map(abs, [1, 2])
    assert len(made.shelf.held) == 0


def test_a_shared_directory_holds_each_array_once(tmp_path):
    made = Dask(dask_client(), directory=tmp_path / "new")
    handle = made.share(TABLE)
    for _ in range(2):
        assert made.map(lambda part: float(handle.get()[part]), [3, 4]) == [3.0, 4.0]
    (folder,) = (tmp_path / "new").iterdir()
    (file,) = folder.iterdir()
    assert file.stat().st_size == TABLE.nbytes
    made.close()
    assert not folder.exists()
    assert made.map(lambda part: float(handle.get()[part]), [3, 4]) == [3.0, 4.0]
    del made


def test_a_file_that_changed_or_is_gone_is_named(tmp_path):
    made = Dask(dask_client(), directory=tmp_path)
    table = np.random.default_rng(0).normal(size=5000)
    for damage, words in ((lambda path: path.write_bytes(b"1" * 40000), "was changed"), (Path.unlink, "cannot read")):
        handle = made.share(table)
        made.shelf.lay(handle.parcel)
        (name,) = handle.parcel.blobs
        damage(Path(made.shelf.directory) / name)
        with pytest.raises(OSError, match=f"{words}|{name}") as caught:
            made.map(lambda part, handle=handle: handle.get()[part], [0, 1])
        assert name in str(caught.value)
        made.close()


def test_a_directory_without_room_is_named(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    made = Dask(dask_client(), directory=tmp_path)
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"160,000 bytes for the workers could not be written to .* \(No space left"):
        made.map(lambda part: TABLE[part], [0, 1])
    assert list(Path(made.shelf.directory).iterdir()) == []


def test_the_directory_may_come_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv(engine.DIRECTORY, str(tmp_path))
    assert str(tmp_path) in Dask(dask_client()).shelf.directory


def test_a_wish_becomes_a_cluster(cluster):
    client = dask_client()
    made = choose_engine(client)
    assert made.client is client
    assert choose_engine(client) is made
    assert made.workers == 2
    other = choose_engine(dask_cluster().scheduler_address)
    assert other is choose_engine(dask_cluster().scheduler_address)
    assert other.map(abs, [-1, -2]) == [1, 2]
    assert choose_engine(made) is made
    with client.as_current():
        assert choose_engine("dask") is made
    assert cluster.map(lambda _: type(choose_engine("dask")), range(2)) == [Serial, Serial]


def test_wishes_that_cannot_be(monkeypatch):
    monkeypatch.setattr(engine, "CONNECT", 0.5)
    with pytest.raises(ConnectionError, match=r"No Dask scheduler answers at 'tcp://127\.0\.0\.1:9'; start one"):
        choose_engine("tcp://127.0.0.1:9")
    with pytest.raises(ConnectionError, match="No Dask scheduler answers at 'nonsense://'"):
        choose_engine("nonsense://")
    monkeypatch.setitem(sys.modules, "kernelweave.engines.dask", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'kernelweave\[dask\]'"):
        choose_engine("dask")


def test_processes_of_its_own_end_with_the_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\nfrom kernelweave.engines import choose_engine\n"
        "assert 'distributed' not in sys.modules\n"
        "if __name__ == '__main__':\n    print(*choose_engine('dask', 2).map(lambda _: os.getpid(), range(8)))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert 1 <= len(set(done.stdout.split())) <= 2
    assert not any(Path("/proc", process).exists() for process in done.stdout.split())


def slow_sum(part):
    time.sleep(0.1)
    return float(np.sin(TABLE[part]).sum())


def test_a_killed_worker_costs_nothing_but_time(cluster):
    parts = [slice(i, i + 500) for i in range(0, 20_000, 500)]
    expected = Serial().map(lambda part: float(np.sin(TABLE[part]).sum()), parts)
    pids = dask_client().run(os.getpid)
    killer = threading.Timer(0.7, os.kill, (next(iter(pids.values())), signal.SIGKILL))
    killer.start()
    assert cluster.map(slow_sum, parts) == expected
    killer.join()
    assert set(pids.values()) != set(dask_client().run(os.getpid).values())


def test_a_part_that_ends_its_workers_is_named(cluster):
    def work(part):
        if part == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return part

    # the last part may wait behind the deadly one each time, and be named in its place
    told = r"Part (4 of 5, 3|5 of 5, 4), was with 4 workers in turn .* a part beside it .* limit of .* GB; parts that"
    with pytest.raises(WorkersDied, match=told):
        cluster.map(work, range(5))
    assert cluster.map(abs, [-1, 2]) == [1, 2]


def test_a_part_that_takes_too_long_is_named():
    with pytest.raises(TimeoutError, match=r"Part 1 of 2, 'a', \(and 1 more\) has not finished within timeout=0\.5"):
        Dask(dask_client(), timeout=0.5).map(lambda _: time.sleep(3), ["a", "b"])


def test_another_version_is_one_sentence(monkeypatch, cluster):
    monkeypatch.setattr(engine, "versions", lambda: (("kernelweave", "9.9"), ("python", "2.7")))
    with pytest.raises(VersionMismatch, match=r"has kernelweave [\d.]+ instead of 9\.9, python 3\.\d+ instead of 2\.7"):
        cluster.map(abs, [1, 2])


def test_a_cluster_without_workers_does_not_hang(monkeypatch):
    monkeypatch.setattr(rounds, "ASK", 0.2)
    with (
        LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50) as empty,
        Client(empty, set_as_default=False) as client,
        pytest.raises(TimeoutError, match=r"Part 1 of 2, -1, \(and 1 more\) waits, but no worker has been connected"),
    ):
        Dask(client, patience=1.0).map(abs, [-1, 2])


@pytest.mark.slow  # on a busy machine the scheduler may be silent for as long
def test_a_worker_that_does_not_answer_is_named(monkeypatch, cluster):
    monkeypatch.setattr(rounds, "ASK", 0.5)
    pids = dask_client().run(os.getpid)
    address, pid = next(iter(pids.items()))
    stopper = threading.Timer(0.5, os.kill, (pid, signal.SIGSTOP))
    stopper.start()
    try:
        with pytest.raises(TimeoutError, match=f"waits for the worker at {address}, which has not answered for 4 sec"):
            Dask(dask_client(), patience=4.0).map(slow_sum, [slice(i, i + 10) for i in range(30)])
    finally:
        stopper.join()
        os.kill(pid, signal.SIGCONT)


def stopped_after(part):
    if part == 1:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGSTOP)).start()
    return os.getpid(), np.zeros(3_000_000)


@pytest.mark.slow  # on a busy machine the scheduler may be silent for as long
def test_a_worker_that_stops_with_a_result_is_named(monkeypatch, cluster):
    monkeypatch.setattr(rounds, "ASK", 0.5)
    before = rounds.Round._gather
    monkeypatch.setattr(rounds.Round, "_gather", lambda self, found: (time.sleep(1.0), before(self, found))[1])
    try:
        with pytest.raises(TimeoutError, match=r"waits for the worker at .*, which has not answered for 4 seconds"):
            Dask(dask_client(), patience=4.0).map(stopped_after, [1, 2])
    finally:
        for worker in dask_cluster().workers.values():
            os.kill(worker.pid, signal.SIGCONT)


def test_a_connection_that_breaks_while_answers_are_fetched_is_the_same_sentence(cluster, monkeypatch):
    async def broken(*given, **options):
        raise ConnectionResetError(104, "Connection reset by peer")

    monkeypatch.setattr(cluster.client, "gather", broken)
    with pytest.raises(ConnectionError, match=r"the Dask scheduler at .* was lost while part 1 of 3.* was"):
        cluster.map(abs, [-1, 2, -3])


def test_a_lost_scheduler_is_one_sentence(tmp_path):
    file = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    with subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--scheduler-file", str(file)], stderr=subprocess.DEVNULL
    ) as scheduler:
        try:
            while not file.exists():
                assert scheduler.poll() is None
                time.sleep(0.05)
            with Client(scheduler_file=str(file), set_as_default=False, timeout=2) as client:
                killer = threading.Timer(0.5, scheduler.kill)
                killer.start()
                with pytest.raises(ConnectionError, match=r"the Dask scheduler at tcp://.* was lost while"):
                    Dask(client).map(abs, [-1, 2])
                killer.join()
        finally:
            scheduler.kill()


def test_what_goes_wrong_on_a_cluster_is_one_sentence_on_the_command_line():
    for error in (WorkersDied("Part 1."), VersionMismatch("The worker."), ConnectionError("No."), TimeoutError("P.")):
        assert sentence(error) == str(error)


def test_an_engine_that_is_pickled_works_where_it_arrives(cluster):
    assert type(pickle.loads(pickle.dumps(cluster))) is Serial
