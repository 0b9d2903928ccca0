"""Kill -9 at random moments while models are trained, saved and rows are converted: nothing is broken, nothing stays.

`trials(count, seed, folder)` runs so many kills, each in a folder of its own, in turn for each phase:

    train    `kernelweave train --checkpoint`, over a model that is there, killed after its first line of progress
    save     a process that saves two models in turn under one name
    convert  a process that writes two sets of rows in turn as one store

After each kill the file is what it was or what was being written, whole; the next run goes on (from the checkpoint, if
there is one), and removes what the killed process left.  An outcome that begins with "failed" says what was not so.

    python tests/campaign/kills.py 30
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.data.atomic import is_temporary
from kernelweave.data.stores import Stored, write_store
from kernelweave.estimators.files.container import CHECKPOINTS

Row = tuple[str, str]
Moment = np.random.Generator
SPAN = {"train": 0.5, "save": 0.3, "convert": 0.6}
"""Seconds after the first sign of life within which a process of a phase is killed."""
SAVING = """
import sys, kernelweave as kw
first, second = kw.load(sys.argv[2]), kw.load(sys.argv[3])
kw.save(first, sys.argv[1])
print("begun", flush=True)
while True:
    kw.save(second, sys.argv[1])
    kw.save(first, sys.argv[1])
"""
CONVERTING = """
import sys, numpy as np
from kernelweave.data.stores import StoreWriter
first, second = np.load(sys.argv[2]), np.load(sys.argv[3])
print("begun", flush=True)
while True:
    for rows in (second, first):
        with StoreWriter(sys.argv[1], part_rows=50) as writer:
            writer.add(rows)
"""


def trials(count: int, seed: int, folder: str | Path) -> list[Row]:
    """Kill `count` processes and return for each the phase and the outcome.

    Parameters
    ----------
    count : how many processes to kill, spread evenly over the phases
    seed : of the moments
    folder : a directory for the files of the trials, which may be on any disk
    """
    return trials_of(range(count), seed, folder)


def trials_of(numbers: Iterable[int], seed: int, folder: str | Path) -> list[Row]:
    """Run the trials of some numbers; the number is the seed of the moment, and decides about the phase."""
    rows = []
    for number in numbers:
        phase = list(PHASES)[number % len(PHASES)]
        place = Path(tempfile.mkdtemp(prefix=f"{phase}-", dir=folder))
        try:
            outcome = PHASES[phase](place, np.random.default_rng([seed, number]))
        except Exception as error:
            outcome = f"failed: {type(error).__name__}: {error}"
        rows.append((phase, outcome if outcome.startswith("failed") else _swept(place, outcome)))
    return rows


def given(place: Path) -> Path:
    """Return the folder of what a trial begins with; beside it this process writes nothing before the next run."""
    folder = place / "given"
    folder.mkdir(exist_ok=True)
    return folder


def killed(command: list[str], sign: str, seconds: float) -> None:
    """Start a process, wait for a line of it that begins with `sign`, and kill it so many seconds later."""
    program = [sys.executable, *map(str, command)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith(sign):
                break
        else:
            raise RuntimeError(f"the process ended before it was killed: {''.join(said)[-300:]}")
        time.sleep(seconds)
        process.kill()


def train(place: Path, rng: Moment) -> str:
    """Kill a training over an old model; the same command then goes on from the checkpoint."""
    X = np.random.default_rng(0).normal(size=(1500, 4))
    y = (X[:, 0] + 0.5 * np.sin(3 * X[:, 1]) > 0).astype(int)
    np.savez(place / "x.npz", X=X, y=y)
    model, checkpoint = place / "m.kw", place / "fit.kwc"
    kw.save(kw.KernelNovelty("linear").fit(X[:50]), given(place) / "old.kw")
    shutil.copy(given(place) / "old.kw", model)
    before = model.read_bytes()
    command = [
        "train", place / "x.npz", "--kernel", "rbf:1", "-C", "100", "--solver", "chunking", "--tol", "1e-6",
        "--checkpoint", checkpoint, "--checkpoint-every", "0", "--out", model,
    ]  # fmt: skip
    killed(["-m", "kernelweave", *command], "training", rng.uniform(0, SPAN["train"]))
    ended = model.read_bytes() != before
    if ended:
        kw.load(model)
    reached = checkpoint.exists()
    if reached:
        CHECKPOINTS.read(checkpoint)
    result = CliRunner().invoke(app, list(map(str, command)))
    if result.exit_code != 0:
        return f"failed: the next training said {result.stderr[-300:]}"
    if reached and "resuming" not in result.stderr:
        return "failed: the next training did not go on from the checkpoint"
    if float(np.mean(kw.load(model).predict(X) == y)) < 0.9:
        return "failed: the model of the next training is not the one of its rows"
    return ("new model whole" if ended else "old model intact") + (", went on" if reached else ", began anew")


def save(place: Path, rng: Moment) -> str:
    """Kill a process that saves two models in turn."""
    X = np.random.default_rng(1).normal(size=(400, 200))
    models = [kw.KernelNovelty("linear", nu=nu).fit(X) for nu in (0.5, 0.9)]
    scores = [model.decision_function(X[:5]) for model in models]
    for name, model in zip("ab", models):
        kw.save(model, given(place) / name)
    target = place / "m.kw"
    killed(["-c", SAVING, target, given(place) / "a", given(place) / "b"], "begun", rng.uniform(0, SPAN["save"]))
    found = kw.load(target).decision_function(X[:5])
    if not any(np.array_equal(found, one) for one in scores):
        return "failed: the model is neither of those that were saved"
    return "whole"


def convert(place: Path, rng: Moment) -> str:
    """Kill a process that writes a store in turn with two sets of rows."""
    sets = [np.random.default_rng(seed).normal(size=(1000, 20)) for seed in (2, 3)]
    for name, rows in zip("ab", sets):
        np.save(place / f"{name}.npy", rows)
    store = place / "x.kws"
    write_store(given(place) / "x.kws", sets[0])
    shutil.copytree(given(place) / "x.kws", store)
    killed(["-c", CONVERTING, store, place / "a.npy", place / "b.npy"], "begun", rng.uniform(0, SPAN["convert"]))
    found = Stored(store)
    found.verify()
    if not any(np.array_equal(found[:], rows) for rows in sets):
        return "failed: the store holds neither of the sets of rows"
    again = write_store(store, sets[1])
    named = {part.file for part in again.manifest.parts} | {"manifest.json"}
    if strange := sorted(path.name for path in store.iterdir() if path.name not in named):
        return f"failed: the next conversion left {strange[0]}"
    return "whole"


def _swept(place: Path, outcome: str) -> str:
    """Write once more, as the next run does, and return the outcome unless a temporary file is left."""
    kw.save(kw.KernelNovelty("linear").fit(np.eye(3)), place / "next.kw")
    left = sorted(path.name for path in place.rglob("*") if is_temporary(path.name))
    return f"failed: the next run left {left[0]}" if left else outcome


PHASES: dict[str, Callable[[Path, Moment], str]] = {"train": train, "save": save, "convert": convert}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as everything:
        asked = int(sys.argv[1]) if len(sys.argv) > 1 else 9
        for found, times in sorted(Counter(trials(asked, 0, everything)).items()):
            print(f"{times:>5}  {found[0]:<8} {found[1]}")
