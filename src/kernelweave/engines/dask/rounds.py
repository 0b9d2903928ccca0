"""One round: wait for the parts of a map, collect their results, and say in one sentence what went wrong."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import queue
import reprlib
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from distributed import Client, Future
from distributed.scheduler import KilledWorker

from kernelweave.engines.dask.work import Answer

POLL = 1.0
"""Seconds between two checks whether anything still answers, while no part finishes."""

ASK = 5.0
"""Seconds between two questions to the scheduler, and the longest wait for its answer."""

LOST = "cancelled"
"""What Dask calls futures after the connection to the scheduler was lost; "lost" are results that it computes again."""

OURS, PARTS = "kernelweave-", "kernelweave-part-"
"""How the keys of tasks begin: those that hold arrays for all parts, and those of parts."""


class Limits(NamedTuple):
    """What a round may take.

    Attributes
    ----------
    patience : seconds of silence, of the scheduler, a worker or all workers, after which the round is given up
    timeout : seconds in which some part must finish, None for no limit
    memory : bytes that a worker may use, 0 where there is no limit
    """

    patience: float
    timeout: float | None
    memory: int


class Round:
    """The parts of one map while workers compute them.

    Parameters
    ----------
    client : of the cluster
    futures : one for each part
    parts : what the function is called with, for messages
    limits : how long to wait
    """

    def __init__(self, client: Client, futures: list[Future], parts: Sequence[Any], limits: Limits):
        self.client, self.futures, self.parts = client, futures, parts
        self.patience, self.timeout, self.memory = limits
        self.answers: list[Answer | None] = [None] * len(futures)
        self.done: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.progress = self.asked = time.monotonic()
        self.seen: dict[str, tuple[float, float]] = {}
        self.empty_since: float | None = None
        self.peak = 0

    def results(self) -> list[Answer]:
        """Return the answers in the order of the parts."""
        try:
            for i, future in enumerate(self.futures):
                future.add_done_callback(lambda _, i=i: self.done.put(i))
            left = len(self.futures)
            while left:
                finished = self._finished()
                for i, answer in zip(finished, self._gather(finished)):
                    self.answers[i], self.peak = answer, max(self.peak, answer.peak)
                    self.futures[i].release()
                left -= len(finished)
                self.progress = time.monotonic()
            return [answer for answer in self.answers if answer is not None]
        finally:
            for future in self.futures:
                future.release()

    def _finished(self) -> list[int]:
        """Return the parts that finished, at least one; raise where one failed."""
        while True:
            with contextlib.suppress(queue.Empty):
                finished = [self.done.get(timeout=POLL)]
                while not self.done.empty():
                    finished.append(self.done.get())
                for i in finished:
                    self._raise_if_failed(i)
                return finished
            self._check()

    def _gather(self, finished: list[int]) -> list[Answer]:
        """Return the answers of parts; one whose worker has died since is computed again."""
        futures = [self.futures[i] for i in finished]
        coroutine = self.client.gather(futures, asynchronous=True)
        waiting = asyncio.run_coroutine_threadsafe(coroutine, self.client.loop.asyncio_loop)
        try:
            while True:
                try:
                    answers: list[Answer] = waiting.result(timeout=POLL)
                    return answers
                except concurrent.futures.TimeoutError:
                    self._check()
                except (concurrent.futures.CancelledError, asyncio.CancelledError) as error:
                    raise self._lost() from error
                except Exception as error:
                    for i in finished:
                        self._raise_if_failed(i, error)
                    if isinstance(error, OSError):  # the futures have not heard of it yet
                        raise self._lost() from error
                    raise
        finally:
            waiting.cancel()

    def _raise_if_failed(self, i: int, caught: Exception | None = None) -> None:
        """Raise what went wrong with a part."""
        status = self.futures[i].status
        if status == LOST:
            raise self._lost()
        if status != "error":
            return
        error = caught if caught is not None else self.futures[i].exception(timeout=ASK)
        if isinstance(error, KilledWorker):
            raise WorkersDied(self._killed(i, error)) from None
        raise error

    def _check(self) -> None:
        """Raise where nothing can be expected any more."""
        if self.client.status not in ("running", "newly-created"):
            raise self._lost()
        now = time.monotonic()
        if self.timeout is not None and now - self.progress > self.timeout:
            raise TimeoutError(
                f"{self._waiting()} has not finished within timeout={self.timeout:g} seconds; allow more time, or make "
                "its part smaller."
            )
        if now - self.asked >= ASK:
            self.asked = now
            self._check_workers(now)

    def _check_workers(self, now: float) -> None:
        """Ask the scheduler who is there."""
        try:
            info = self.client.sync(self.client.scheduler.identity, n_workers=-1, callback_timeout=ASK)
        except (OSError, TimeoutError):
            if now - self.progress > self.patience:
                raise self._lost() from None
            return
        workers = info["workers"]
        if workers:
            self.empty_since = None
        else:
            self.empty_since = self.empty_since or now
            if now - self.empty_since > self.patience - ASK:
                raise TimeoutError(
                    f"{self._waiting()} waits, but no worker has been connected to {self._address()} for "
                    f"{self.patience:g} seconds; start workers with 'dask worker {self._address()}' and run again."
                )
        self._check_silence(workers, now)

    def _check_silence(self, workers: dict[str, Any], now: float) -> None:
        """Raise where a worker that computes a part has not sent a sign of life for too long."""
        for address, worker in workers.items():
            last, since = self.seen.get(address, (None, now))
            self.seen[address] = (worker["last_seen"], now if worker["last_seen"] != last else since)
        silent = [one for one in workers if now - self.seen[one][1] > self.patience - ASK]
        if not silent or now - self.progress < self.patience - ASK:
            return
        for address, i in self._left_with(silent):
            raise TimeoutError(
                f"{self._name(i)} waits for the worker at {address}, which has not answered for {self.patience:g} "
                "seconds; end that worker so that its part runs elsewhere, or start the scheduler with "
                "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL=30s, which does so by itself."
            )

    def _left_with(self, silent: list[str]) -> Iterator[tuple[str, int]]:
        """Yield workers among these that compute a part or hold alone what one needs, with the part."""
        mine = {future.key: i for i, future in enumerate(self.futures) if self.answers[i] is None}
        first = min(mine.values(), default=0)

        def needed(key: Any) -> bool:
            return key in mine or (str(key).startswith(OURS) and not str(key).startswith(PARTS))

        for address, keys in self.client.processing(silent).items():
            yield from ((address, mine.get(key, first)) for key in keys if needed(key))
        for key, holders in self.client.who_has().items():
            if needed(key) and holders and set(holders) <= set(silent):
                yield holders[0], mine.get(key, first)

    def _lost(self) -> ConnectionError:
        return ConnectionError(
            f"The connection to the Dask scheduler at {self._address()} was lost while {self._waiting(small=True)} was "
            "computed; see that it runs and start again: with a checkpoint, a fit goes on where it was."
        )

    def _killed(self, i: int, error: KilledWorker) -> str:
        """Say what is known: the scheduler counts the deaths of workers that ran a part, or had it in their queue."""
        last = getattr(error.last_worker, "address", error.last_worker)
        used = f"; parts that finished took up to {_gigabytes(self.peak)} of it" if self.peak else ""
        limit = f" of {_gigabytes(self.memory)}" if self.memory else ""
        return (
            f"{self._name(i)} was with {error.allowed_failures + 1} workers in turn when they died, the last at "
            f"{last}: it or a part beside it crashed them or went over their memory limit{limit}{used}; give workers "
            "more memory (dask worker --memory-limit) or fewer threads, or make parts smaller."
        )

    def _address(self) -> str:
        return str(getattr(self.client.scheduler, "address", "an unknown address"))

    def _waiting(self, small: bool = False) -> str:
        """Return the first part that has not finished, and how many others."""
        left = [i for i, answer in enumerate(self.answers) if answer is None]
        more = f" (and {len(left) - 1} more)" if len(left) > 1 else ""
        name = self._name(left[0]) + more
        return name[0].lower() + name[1:] if small else name

    def _name(self, i: int) -> str:
        part = self.parts[i]
        if isinstance(part, tuple) and part:
            part = part[0]
        return f"Part {i + 1} of {len(self.futures)}, {reprlib.repr(part)},"


class WorkersDied(ChildProcessError):
    """Every worker that had a part died; whether it ran there or waited behind another, the scheduler does not tell."""


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.2g} GB"
