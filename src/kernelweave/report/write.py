"""`kw.write_report`: one page on a model and rows that it has not seen, for people who were not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelweave.data.atomic import PathLike, check_writable, open_aside
from kernelweave.data.random import check_count
from kernelweave.interpret.weights import weight_stability
from kernelweave.report.html import clipped
from kernelweave.report.page import page
from kernelweave.report.sections.base import Writing
from kernelweave.report.sections.examples import examples
from kernelweave.report.sections.kernels import kernels
from kernelweave.report.sections.model import certificate, lead, model
from kernelweave.report.sections.motifs import motifs
from kernelweave.report.sections.reproduce import reproduce
from kernelweave.report.sections.sample import groups_of
from kernelweave.report.sections.scores import calibration, scores
from kernelweave.report.sections.signal import signal
from kernelweave.report.subject import subject_of


def write_report(
    model: Any,
    X: Any,
    y: Any = None,
    path: PathLike = "report.html",
    *,
    ids: Sequence[Any] | None = None,
    title: str | None = None,
    origin: int = 0,
    rows: int = 20_000,
    n_resamples: int = 1000,
    stability: int = 0,
    training: tuple[Any, Any] | None = None,
    sources: Sequence[tuple[str, str]] = (),
    random_state: int = 0,
) -> None:
    """Write one self-contained HTML page on a model and rows that it has not seen.

    What it is, its certificate in words, scores and curves with intervals, learned weights, where the signal is,
    motifs, ten explained rows, calibration, and how to reproduce it. The page asks for nothing from anywhere, follows
    the light or dark scheme of the reader, and prints. The same model, rows and versions give the same bytes.

    Parameters
    ----------
    model : fitted estimator, or a pipeline that ends in one
    X : rows of the kind that it was trained on
    y : their labels or numbers; without them nothing is scored
    path : file to write, whole or not at all
    ids : names of the rows; None for those that they carry, or their numbers
    title : of the page
    origin : position that is shown as 0, the splice site for example
    rows : of more rows, so many are drawn at random
    n_resamples : test sets of the bootstrap
    stability : refits on bootstrap samples of the training rows, for intervals of learned kernel weights or, of a model
        with one kernel, of what the places of explained rows add; 0 for none
    training : the training rows and their targets, for stability
    sources : what the last part says of files and commands, pairs of name and text
    random_state : seed of the sample

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(300, random_state=0)
    >>> model = kw.KernelClassifier("wd:5").fit(X[:200], y[:200])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> kw.write_report(model, X[200:], y[200:], path, n_resamples=50)
    >>> path.read_text().startswith("<!DOCTYPE html>")
    True
    """
    check_count("rows", rows, 1)
    check_count("n_resamples", n_resamples, 1)
    check_writable(path)
    subject = subject_of(model, X, y, ids, rows, random_state)
    writing = Writing(subject, origin, n_resamples, sources=list(sources))
    if stability:
        _add_stability(writing, stability, training)
    shown = title or f"{type(subject.core).__name__} on {len(subject):,} rows"
    whole = page(clipped(shown), lead(subject), writing.headlines, _sections(writing))
    with open_aside(path) as file:
        file.write(whole.encode("utf-8", "replace"))


def _sections(w: Writing) -> list[Any]:
    """Return the parts of the page in their order, those that apply."""
    first = [model(w), certificate(w), scores(w), calibration(w), kernels(w)]
    groups = groups_of(w.subject)
    found = [*first, signal(w, groups), motifs(w, groups), examples(w), reproduce(w)]
    return [one for one in found if one is not None]


def _add_stability(w: Writing, refits: int, training: tuple[Any, Any] | None) -> None:
    """Refit for intervals of learned weights or, where there are none, leave the rows for those of what places add."""
    core, model = w.subject.core, w.subject.model
    if training is None or training[1] is None:
        raise ValueError(
            "Stability refits the model on samples of its training rows; hand these in as training=(X, y), with labels."
        )
    if hasattr(core, "kernel_weights_") and len(core.expansion_.kernels) > 1:
        X, y = training
        X = X if model is core else model[:-1].transform(X)
        w.stability = weight_stability(core, X, y, n_bootstrap=refits)
        return
    check_count("stability", refits, 2)
    w.refits, w.training = refits, training
