"""LS-GKM as a peer: its programs run as processes of their own, on one thread, and what they took.

A run of n rows leaves in its folder `n.pos.fa`, `n.neg.fa` and `held.fa` (what it read), `n.model.txt` and
`n.predict.txt` (what it wrote), and `n.json`: CPU and wall seconds and peak memory of training and of scoring.  A run
that is finished is not repeated.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gkm_data import write_fasta
from seq_data import Rows

POLL = 0.05
"""Seconds between two looks at a process."""
CACHE_MB = 1000
"""Memory that gkmtrain gets for kernel values, ten times its default: with less it computes them over and over."""


class Cost(NamedTuple):
    """What a process took: CPU and wall seconds, and peak memory in GB."""

    cpu: float
    wall: float
    peak: float


class PeerRun(NamedTuple):
    """What LS-GKM took to train and to score the held-out rows, the scores, the model, and whether it ran now."""

    train: Cost
    predict: Cost
    scores: np.ndarray
    model: Path
    reused: bool


def lsgkm(programs: Path | None, folder: Path, rows: Rows, held: Rows) -> PeerRun | None:
    """Return a run of LS-GKM at its defaults: a finished one of the folder, a new one, or None where there is neither.

    Parameters
    ----------
    programs : folder of gkmtrain and gkmpredict; None to use finished runs only
    folder : where runs are kept
    rows, held : training rows and rows to score
    """
    n = len(rows.y)
    record = folder / f"{n}.json"
    reused = record.exists()
    if not reused:
        if programs is None:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(_run(programs, folder, rows, held)))
    took = json.loads(record.read_text())
    lines = (folder / f"{n}.predict.txt").read_text().splitlines()
    scores = np.array([float(line.split("\t")[1]) for line in lines])
    return PeerRun(Cost(**took["train"]), Cost(**took["predict"]), scores, folder / f"{n}.model.txt", reused)


def _run(programs: Path, folder: Path, rows: Rows, held: Rows) -> dict[str, Any]:
    n = str(len(rows.y))
    positive, negative, new = folder / f"{n}.pos.fa", folder / f"{n}.neg.fa", folder / "held.fa"
    write_fasta(rows, str(positive), str(negative))
    new.write_text("".join(f">h{i}\n{text}\n" for i, text in enumerate(held.X.to_strings())))
    train = measured([programs / "gkmtrain", "-v", 1, "-T", 1, "-m", CACHE_MB, positive, negative, folder / n])
    predict = [programs / "gkmpredict", "-v", 1, "-T", 1, new, folder / f"{n}.model.txt", folder / f"{n}.predict.txt"]
    return {"train": train._asdict(), "predict": measured(predict)._asdict()}


def measured(command: list[Any]) -> Cost:
    """Run a program and return what it took."""
    words = [str(word) for word in command]
    begin = time.perf_counter()
    child, ended, peak = os.posix_spawn(words[0], words, os.environ), 0, 0.0
    while not ended:
        time.sleep(POLL)
        peak = max(peak, _peak(child))
        ended, status, used = os.wait4(child, os.WNOHANG)
    if status:
        raise SystemExit(f"{words[0]} failed with status {os.waitstatus_to_exitcode(status)}.")
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - begin, peak)


def _peak(process: int) -> float:
    """Return the largest resident size of a process so far, in GB; the system's own sum knows that of its parent."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return max((int(line.split()[1]) * 1024 / 1e9 for line in lines if line.startswith("VmHWM")), default=0.0)
