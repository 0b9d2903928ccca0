"""Compiled code is kept on disk: the second process compiles nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

FIT = """
import json
import numpy as np
from numba.core import event
import kernelweave as kw
from kernelweave._numba import compiled_functions

class Names(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__module__)
    def on_end(self, event):
        pass

compiled = []
event.register("numba:compile", Names())

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 5))
y = np.where(X[:, 0] + 0.3 * rng.normal(size=200) > 0, 1, -1)
sites, labels = kw.datasets.make_splice(200, random_state=0)
for model, rows, target in (
    (kw.KernelClassifier("rbf:0.2"), X, y),
    (kw.KernelClassifier("rbf:0.2", loss="logistic"), X, y),
    (kw.KernelClassifier("wd:5"), sites, labels),
    (kw.KernelClassifier("wd:5", solver="dual_coordinate"), sites, labels),
    (kw.KernelClassifier("ngram:3"), ["so it goes", "on and on", "so it went", "on it goes"], [1, 2, 1, 2]),
):
    model.fit(rows, target).predict(rows)
print(json.dumps([compiled_functions(), compiled]))
"""


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """Hits and misses of the disk cache, and the modules of compiled functions, in a first and in a second process."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    found = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", FIT], env=environment, capture_output=True, text=True, check=True, timeout=300
        )
        found.append(json.loads(done.stdout))
    return found


@pytest.fixture(scope="module")
def counts(processes):
    """Hits and misses of the disk cache of each jitted function, in a first and in a second process."""
    return [counts for counts, _ in processes]


def test_no_code_for_text_is_compiled(processes):
    """As numba does, some forty functions of it, for the message of a slice that is assigned to a slice."""
    (_, first), (_, second) = processes
    assert [module for module in first if "unicode" in module] == []
    assert second == []


def test_the_first_process_compiles(counts):
    assert sum(misses for _, misses in counts[0].values()) > 0


def test_a_small_fit_in_a_second_process_compiles_nothing(counts):
    assert {name: found for name, found in counts[1].items() if found[1]} == {}
    assert sum(hits for hits, _ in counts[1].values()) > 0


def test_the_second_process_uses_what_the_first_compiled(counts):
    assert counts[1].keys() <= counts[0].keys()  # what is inlined into others is not called by itself
