"""`kernelweave train`: fit a model to a file and save it."""

from __future__ import annotations

import os
import tempfile
import time
from typing import TYPE_CHECKING, Any

import typer

from kernelweave.cli import options as o
from kernelweave.cli.entry import INTERRUPTED
from kernelweave.cli.paths import check_readable, refuse_overwriting, rows_of
from kernelweave.cli.show import (
    Output,
    ProgressLine,
    Status,
    heard,
    one_line,
    size_of,
)
from kernelweave.cli.training.keeping import check_keeping

if TYPE_CHECKING:
    from kernelweave.io import Dataset

ESTIMATORS = {"classify": "Classifier", "regress": "Regressor", "novelty": "Novelty"}
METHODS = {"kernel": "Kernel", "mkl": "MKL", "cgboost": "CGBoost"}
"""The name of an estimator is made of a method and a task."""
UNEVEN = 100.0
"""Columns whose spreads differ by more than this factor are worth a note."""


@o.grouped()
def train(
    data: o.Rows = None, *, out: o.ModelOut = None, learning: o.Learning, keeping: o.Keeping, reading: o.Reading,
    show: o.Show,
) -> None:  # fmt: skip
    """Train a model on a file of rows and save it.

    \b
    Lines of label TAB sequence; two FASTA files; tables; text; lattices:
      kernelweave train sites.tsv --out sites.kw
      kernelweave train sites.fa --negative decoys.fa --out sites.kw
      kernelweave train --bed peaks.bed --genome genome.fa --negative others.bed --out p.kw
      kernelweave train table.csv --label outcome --standardize -C 10 --out t.kw
      kernelweave train prices.csv --label price --task regress --out prices.kw
      kernelweave train normal.csv --task novelty --nu 0.05 --out normal.kw
      kernelweave train sites.tsv --kernel wd:20 --kernel spectrum:6 --out s.kw
      kernelweave train sites.tsv --kernels positions --out where.kw
      kernelweave train t.csv --label y --model cgboost --termination TR3 --out t.kw
      kernelweave train news.jsonl --label topic --out news.kw
      kernelweave train names.tsv --alphabet bytes --kernel ngram:5 --out n.kw
      kernelweave train calls.plf.tsv.gz --kernel ngram:2 --out calls.kw
      kernelweave train calls.fst.txt.gz --labels calls.tsv --out calls.kw
      kernelweave train large.tsv --checkpoint large.kwc --out large.kw
      kernelweave train large.kws --kernel wd:20 --dry-run

    Ctrl-C or SIGTERM ends the training early and saves the best model so far (exit code 130).
    With --checkpoint, the same command then goes on where it was.
    The certificate tells how far, at most, its objective is from the best one possible.
    """
    dry = learning.effort.dry_run
    if out is None and not dry:
        raise typer.BadParameter("name the model to write, or plan the training with --dry-run.", param_hint="--out")
    data, reading = rows_of(data, reading)
    if keeping.calibrate is not None or keeping.hold_precision is not None:
        check_keeping(keeping, learning.task, out)
    check_readable(data, reading.labels, reading.negative, reading.symbols, reading.genome)
    from kernelweave.cli.rows import read_rows
    from kernelweave.data.kinds import kind_of
    from kernelweave.kernels import parse

    say, task, inputs = Output(show.json, show.quiet), learning.task, [data, reading.labels, reading.negative]
    if out is not None and not dry:
        _check_places(out, learning.effort.checkpoint, inputs)
    asked = [parse(text) for text in learning.kernel or ()]
    model = _estimator(learning)
    rows = read_rows(data, reading)
    y = _targets(rows, data, task, reading.label)
    say.note("data", kind_of(rows.X).summary(rows.X) + _counts_text(y, task))
    _choose_kernel(model, rows.X, y, asked, learning, say)
    whole = _with_scaler(model, rows.X, learning.standardize, say)
    if dry or out is None:
        _show_plan(whole, rows.X, y, say)
        return
    seconds, warned = _fit(whole, model, rows.X, y, say)
    model.set_params(n_jobs=learning.effort.jobs)
    _keep(whole, rows, y, keeping, say)
    _remember(model, rows, reading)
    if _report(whole, model, out, y, task, seconds, warned, say):
        raise typer.Exit(INTERRUPTED)


def for_many(solver: str | None) -> bool:
    """Return whether a solver learns the weights of kernels, be it of one."""
    from kernelweave.solvers.mkl import MKL_SOLVERS
    from kernelweave.solvers.svm import SVM_SOLVERS

    return solver in MKL_SOLVERS and solver not in SVM_SOLVERS


def _estimator(learning: o.Learning) -> Any:
    """Return the estimator of a method and a task, with the parameters that were given."""
    import kernelweave.estimators as estimators

    windows = any(text.strip().startswith("Windows(") for text in learning.kernel or ())
    several = len(learning.kernel or ()) > 1 or windows or learning.kernels is not None
    many = learning.norm is not None or several or for_many(learning.solver)
    task, method = learning.task, learning.method or ("mkl" if many else "kernel")
    model = getattr(estimators, METHODS[method] + ESTIMATORS[task])()
    known = model.get_params()
    for name, value in learning.given().items():
        if value is None:
            continue
        if name not in known:
            raise ValueError(_meaningless(name, task, method))
        model.set_params(**{name: value})
    model.set_params(n_jobs=o.every_core(learning.effort.jobs))
    if learning.boosting.patience is not None and "TR3" not in learning.boosting.rules:
        raise ValueError("--patience counts the rounds of TR3; ask for it with --termination TR3.")
    return model


def _meaningless(name: str, task: str, method: str) -> str:
    """Return the sentence about an option that an estimator does not have, with those that do."""
    import kernelweave.estimators as estimators

    option, with_model = f"--{name.replace('_', '-')}", "" if method == "kernel" else f" with --model {method}"
    for other, stem in ((task, METHODS[method]), *((each, METHODS[method]) for each in ESTIMATORS)):
        if name in getattr(estimators, stem + ESTIMATORS[other])().get_params():
            return f"{option} has no meaning for --task {task}{with_model}; it is for --task {other}."
    able = [key for key, stem in METHODS.items() if name in getattr(estimators, stem + ESTIMATORS[task])().get_params()]
    remedy = f"; it is for --model {' or '.join(able)}" if able else ""
    return f"{option} has no meaning for --task {task}{with_model}{remedy}."


def _check_places(out: str, checkpoint: str | None, inputs: list[str | None]) -> None:
    """Raise unless the model, and the checkpoint if there is one, can be written, over nothing that is read."""
    from kernelweave.io import check_writable

    check_writable(out)
    refuse_overwriting(out, inputs)
    if checkpoint is None:
        return
    check_writable(checkpoint)
    refuse_overwriting(checkpoint, inputs, "--checkpoint")
    if os.path.realpath(checkpoint) == os.path.realpath(out):
        raise ValueError(f"--checkpoint and --out are the same file, {out}; give the checkpoint another name.")


def _show_plan(whole: Any, X: Any, y: Any, say: Output) -> None:
    """Say what a training would do and take."""
    from kernelweave.estimators.planning.plan import plan

    with heard() as warned, Status("planning", say.quiet):
        found = plan(whole, X, y)
    others = [("note", one_line(warning)) for warning in warned]
    say.result({**found.record(), "notes": [text for _, text in others]}, found.lines() + others)


def _targets(rows: Dataset, path: str, task: str, label: str | None) -> Any:
    """Return the labels that the task needs; None for novelty."""
    import numpy as np

    from kernelweave.cli.rows import need_labels

    if task == "novelty":
        return None
    y = need_labels(rows, path, label)
    if task == "regress" and y.dtype.kind not in "biuf":
        text = str(y[0])
        raise ValueError(
            f"The labels of {path} must be numbers for --task regress, but there are texts such as {text!r}."
        )
    if task == "classify" and len(np.unique(y)) == 1:
        raise ValueError(f"{path} has one class only, {y[0]}; a classifier needs rows of at least two.")
    if task == "classify" and y.dtype.kind == "f" and not np.array_equal(y, np.rint(y)):
        odd = y[y != np.rint(y)][0]
        kind = f"real numbers such as {odd:g}, no classes"
        raise ValueError(f"The labels of {path} are {kind}; learn them with --task regress.")
    return y


def _counts(y: Any) -> dict[str, int]:
    import numpy as np

    from kernelweave.io.dataset import label_text

    found, counts = np.unique(y, return_counts=True)
    return {label_text(label): int(n) for label, n in zip(found, counts)}


def _counts_text(y: Any, task: str) -> str:
    if task != "classify":
        return ""
    counts = _counts(y)
    shown = ", ".join(f"{n} x {label}" for label, n in list(counts.items())[:8])
    return f"; labels: {shown}" + (f" and {len(counts) - 8} more" if len(counts) > 8 else "")


def _choose_kernel(model: Any, X: Any, y: Any, asked: list[Any], learning: o.Learning, say: Output) -> None:
    """Set the kernel or kernels and their scaling: those asked for, else what suits the data; say which."""
    from kernelweave.data.kinds import blocks_of
    from kernelweave.estimators.defaults import Usual, divided, on_views, usual_kernels, usual_scaling
    from kernelweave.estimators.targets import target_values
    from kernelweave.kernels import Windows

    known = model.get_params(deep=False)
    if learning.kernels is not None and "kernels" not in known:
        raise ValueError(f"--kernels {learning.kernels} learns several weights; leave out --model kernel.")
    many, views = "kernels" in known, blocks_of(X)
    if not many and len(asked) > 1:
        raise ValueError(f"--model kernel learns with one kernel, but --kernel was given {len(asked)} times.")
    if not many and any(isinstance(kernel, Windows) for kernel in asked):
        raise ValueError(f"{asked[0]!r} is a kernel for each window, but --model kernel learns with one kernel.")
    if learning.kernels is not None:
        kernels, why, _ = divided(learning.kernels, asked, X)
    elif not asked:
        values = None if many else target_values(model._learns.task, y)
        kernels, why, _ = usual_kernels(X, many, "columns_per_round" in known, values)
        why += " (--kernel changes it)"
    elif views is not None:
        kernels, why, _ = on_views([kernel.on(name) for kernel in asked for name in views], "as asked", many)
    else:
        kernels, why, _ = Usual(asked, "as asked")
    inside = [kernel.kernel if isinstance(kernel, Windows) else kernel for kernel in kernels]
    scaling = learning.normalize or usual_scaling(inside, X, many) or "none"
    model.set_params(**{"kernels": kernels} if many else {"kernel": kernels[0]})
    model.set_params(normalize=None if scaling == "none" else scaling)
    say.note("kernels" if many else "kernel", f"{', '.join(map(repr, kernels))}, {why}; normalized: {scaling}")


def _with_scaler(model: Any, X: Any, standardize: bool, say: Output) -> Any:
    """Return the model behind a scaler if asked for; else note columns of very different scale."""
    from kernelweave.data.kinds import kind_of
    from kernelweave.kernels import Precomputed

    if not standardize:
        ratio = 1.0 if not kind_of(X).tabular or hasattr(X, "tocsr") else _scale_ratio(X)
        if ratio > UNEVEN and getattr(model, "kernel", None) != Precomputed():
            say.note("note", f"the columns differ in scale by a factor of {ratio:.0f}; --standardize makes them alike")
        return model
    if not kind_of(X).tabular:
        raise ValueError(f"--standardize is for tables of numbers, but the data are {type(X).__name__}.")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(with_mean=not hasattr(X, "tocsr")), model)


def _scale_ratio(X: Any) -> float:
    """Return the largest spread of a column divided by the smallest, constant columns left out."""
    from kernelweave.cli.rows import LOOKED_AT
    from kernelweave.data.stores import is_stored

    spread = X[:LOOKED_AT].std(axis=0) if is_stored(X) else X.std(axis=0)
    spread = spread[spread > 0]
    return float(spread.max() / spread.min()) if len(spread) else 1.0


def _fit(whole: Any, model: Any, X: Any, y: Any, say: Output) -> tuple[float, list[Warning]]:
    """Fit with a progress line; return seconds and warnings."""
    parts = [] if y is None else list(_counts(y)) if hasattr(model, "class_weight") else []
    began = time.perf_counter()
    with heard() as warned, ProgressLine(say.quiet, parts if len(parts) > 2 else []) as line:
        model.set_params(callbacks=(line,))
        whole.fit(X, y)
    model.set_params(callbacks=(), checkpoint=None)
    return time.perf_counter() - began, warned


def _keep(whole: Any, rows: Dataset, y: Any, keeping: o.Keeping, say: Output) -> None:
    """Give a fitted model probabilities or a threshold, from five folds of its own rows."""
    if keeping.calibrate is None and keeping.hold_precision is None:
        return
    from sklearn.base import clone

    from kernelweave.cli.show import Status
    from kernelweave.cli.training.keeping import keep
    from kernelweave.selection.search import search

    with Status("calibrating", say.quiet):
        found = search(clone(whole), rows.X, y, groups=rows.groups, refit=False)
    found.best_estimator_ = whole
    keep(found, y, keeping)


def _remember(model: Any, rows: Dataset, reading: o.Reading) -> None:
    """Keep how the file was read, so that the other commands read theirs alike."""
    given = {
        key: value for key, value in reading.given().items() if key not in ("alphabet", "symbols", "genome", "group")
    }
    columns = None if rows.feature_names is None else list(rows.feature_names)
    model.source_ = {"format": rows.format, "columns": columns, **given}


def _report(
    whole: Any, model: Any, out: str, y: Any, task: str, seconds: float, warned: list[Warning], say: Output
) -> bool:
    """Save the model and say what became of it; return whether the fit was interrupted."""
    from kernelweave.cli.inspect import certificate_line, facts, held_line
    from kernelweave.estimators import save
    from kernelweave.estimators.fitting import StoppedEarly

    try:
        save(whole, out)
    except OSError as error:
        kept = os.path.join(tempfile.mkdtemp(prefix="kernelweave-"), os.path.basename(out) or "model.kw")
        save(whole, kept)
        raise OSError(f"{str(error).rstrip('.')}; the model is kept in {kept}.") from None
    interrupted = any(isinstance(one, StoppedEarly) for one in warned)
    size = os.path.getsize(out)
    values = {"model": out, "bytes": size, "seconds": seconds, "interrupted": interrupted}
    values["warnings"] = [one_line(warning) for warning in warned]
    values |= facts(whole)
    values |= {"plan": str(model.memory_plan_), "solver": model.solver_, "solver_why": model.solver_why_}
    if task == "classify":
        values["labels"] = _counts(y)
    lines = [
        ("model", f"{values['estimator']}, {held_line(values)}; {values['iterations']} steps, {seconds:.1f} s"),
        ("held", f"{values['plan']}; solved by {values['solver']}, {values['solver_why']}"),
        ("certificate", certificate_line(values)),
        ("saved", f"{out} ({size_of(size)})" + (", the best model so far" if interrupted else "")),
    ]  # fmt: skip
    if say.as_json or not say.quiet:
        say.result(values, lines)
    return interrupted
