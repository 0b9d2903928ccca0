"""What the benchmarks on text share: the Reuters stories, documents cut from them, binding and training by hand."""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import kernelweave as kw
from common import ROOT
from kernelweave.data import Alphabet
from kernelweave.engines import choose_engine
from kernelweave.estimators.normalize import normalized
from kernelweave.kernels import Kernel
from kernelweave.losses import make_loss
from kernelweave.operators import Operator, bind
from kernelweave.solvers.loop import Monitor, Stop, run
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.result import Result

Array = np.ndarray
STORIES = ROOT.parent / "shared" / "data" / "text" / "reuters21578_modapte.jsonl.gz"
TOPIC = "acq"
SUBSET = 466
"""Stories of the paper's subset, which it does not name: here the first ones that have a body."""
INTERCEPT = "regularized"
"""As in liblinear: b is the weight of a constant feature."""


class Stories(NamedTuple):
    """Texts of stories (title, line break, body), labels of -1 and 1 (acquisitions), and which have a body."""

    texts: list[str]
    y: Array
    whole: Array

    def taken(self, rows: Array) -> Stories:
        """Return some of the stories."""
        return Stories([self.texts[i] for i in rows], self.y[rows], self.whole[rows])


@cache
def stories() -> Stories:
    """Return the 12,902 stories of the ModApte split, training and test together, as the paper has them.

    Every character is one byte: the few that are not ASCII become question marks.
    """
    if not STORIES.is_file():
        raise SystemExit(f"This benchmark reads {STORIES}, which is not there.")
    with gzip.open(STORIES, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    texts = [f"{story['title']}\n{story['body']}".encode("ascii", "replace").decode("ascii") for story in found]
    y = np.array([1.0 if TOPIC in story["topics"] else -1.0 for story in found])
    return Stories(texts, y, np.array([bool(story["body"]) for story in found]))


def subset() -> Stories:
    """Return the first 466 stories with a body."""
    every = stories()
    return every.taken(np.flatnonzero(every.whole)[:SUBSET])


def documents(n: int, length: int) -> tuple[list[str], Array]:
    """Return n pieces of so many characters, cut from all stories put together, and labels of -1 and 1.

    A piece has the label of the story at its middle.  White space is a single blank everywhere, since scikit-learn
    shortens longer runs of it by itself.
    """
    every = stories()
    texts = [" ".join(text.split()) + " " for text in every.texts]
    ends, joined = np.cumsum([len(text) for text in texts]), "".join(texts)
    if n * length > len(joined):
        raise SystemExit(f"{n} documents of {length} characters are more than the {len(joined)} there are.")
    middles = np.arange(n) * length + length // 2
    labels = every.y[np.searchsorted(ends, middles, side="right")]
    return [joined[i * length : (i + 1) * length] for i in range(n)], labels


def sequences(texts: list[str]) -> kw.Sequences:
    """Return texts over the alphabet of the characters they have: fewer bits a letter than bytes."""
    return kw.Sequences.from_strings(texts, Alphabet("characters", sorted(set("".join(texts)))))


def explicit(kernel: Kernel, X: kw.Sequences, how: str | None = None, threads: int = 1) -> Operator:
    """Return a kernel bound through its features, the columns numbered."""
    engine = choose_engine(None, threads)
    return bind(normalized(kernel.fitted(X), X, how, engine), X, engine, "auto", need="features")


def solve(
    operator: Operator, solver: Any, y: Array, cost: float, tol: float, limit: Monitor | None = None, passes: int = -1
) -> Result:
    """Train a hinge machine on a bound kernel."""
    problem = Problem(operator, make_loss("hinge"), y, np.full(len(y), cost), INTERCEPT)
    return run(solver, problem, Stop(tol, passes), limit)
