"""Engines that share no memory with the caller: what they are given is pickled, and so is what they give back."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import cloudpickle

from kernelweave.engines import Remote


class Pickled(Remote):
    """Pickles functions, parts and results, and works in the calling process."""

    workers = 1

    def map(self, fn, parts):
        sent = cloudpickle.dumps(fn)
        return [cloudpickle.loads(work(sent, cloudpickle.dumps(part))) for part in parts]


class Processes(Remote):
    """Spreads parts over two other processes, which start with nothing of what the caller has in memory."""

    workers = 2

    def map(self, fn, parts):
        sent = cloudpickle.dumps(fn)
        results = [pool().submit(work, sent, cloudpickle.dumps(part)) for part in parts]
        return [cloudpickle.loads(result.result()) for result in results]


def work(fn, part):
    return cloudpickle.dumps(cloudpickle.loads(fn)(cloudpickle.loads(part)))


@cache
def pool():
    return ProcessPoolExecutor(Processes.workers, multiprocessing.get_context("spawn"))
