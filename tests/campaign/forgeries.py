"""Forged models: somebody changed arrays or the JSON text of a model file, and made its checksum right.

Each is refused in one sentence, or gives finite scores of the right shape.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import kernelweave as kw

from .forging import forged, sealed, write
from .judging import refusal
from .models import Saved, models
from .stage import Outcome, Stage


def trial(number: int, folder: Path) -> Outcome:
    """Forge a model, load it, and let it score a few rows."""
    names = list(models())
    kind = names[number % len(names)]
    saved = models()[kind]
    data, told = forged(saved.header, saved.tensors, np.random.default_rng([20, number]))
    return judged(kind, write(folder / "model.kw", data), saved.rows, told)


def judged(kind: str, path: Path, rows: Any, told: str) -> Outcome:
    """Load a model and let it score rows."""
    try:
        model = kw.load(path)
    except Exception as error:
        found = refusal(kind, error, path)
        return found._replace(text=f"{found.text} [{told}]")
    try:
        scores, predicted = values_of(model, rows), np.asarray(model.predict(rows))
    except Exception as error:
        found = refusal(kind, error)
        return Outcome(kind, "refused later" if found.outcome == "refused" else found.outcome, f"{found.text} [{told}]")
    n = 4
    outputs = len(getattr(model, "classes_", "ab"))
    fits = scores.shape in ((n,), (n, outputs)) and predicted.shape == (n,)
    if not fits or scores.dtype.kind != "f" or not np.isfinite(scores).all():
        return Outcome(kind, "accepted garbage", f"scores {scores.dtype} {scores.shape}: {scores.ravel()[:4]} [{told}]")
    return Outcome(kind, "harmless")


def values_of(model: Any, rows: Any) -> np.ndarray:
    """Return decision values, or the numbers that a regressor predicts."""
    return np.asarray(model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows))


def warm(folder: Path) -> None:
    """Check that every model is harmless as it is."""
    for kind, saved in models().items():
        found = judged(kind, write(folder / "model.kw", _resealed(saved)), saved.rows, "")
        if found.outcome != "harmless":
            raise AssertionError(f"The model {kind!r}, not changed: {found}")


def _resealed(saved: Saved) -> bytes:
    return sealed({key: saved.header[key] for key in saved.header if key != "digest"}, saved.tensors)


STAGE = Stage("forged models", trial, goal=50_000, slice=250, minutes=12, warm=warm)
