"""`kernelweave evaluate`: how well a model does on labelled rows it has not seen."""

from __future__ import annotations

import os
from typing import Any

from kernelweave.cli import options as o
from kernelweave.cli.entry import FAILED
from kernelweave.cli.paths import check_readable, rows_of
from kernelweave.cli.show import Output

PICTURES = (".png", ".pdf", ".svg")
SWAPPED = 0.4
"""An auROC whose interval ends below this hardly comes by chance."""
SEVERAL = {"accuracy": "accuracy", "balanced_accuracy": "balanced", "f1_macro": "macro F1", "mcc": "MCC"}
"""How measures of several classes are written."""
LARGEST_TABLE = 30
"""Confusion tables of more classes are left to --json."""


@o.grouped()
def evaluate(
    model: o.Model, data: o.Rows = None, *, measuring: o.Measuring, placing: o.Placing, reading: o.Reading, show: o.Show
) -> None:
    """Measure a model on labelled rows that it was not trained on.

    Two classes: accuracy, F1, Matthews' correlation, areas under the ROC and precision-recall curves with 95 %
    bootstrap intervals, and the counts of right and wrong calls at the threshold of the model (0 if it has none) or,
    with --precision, at that precision. Models with probabilities: log loss, Brier score and calibration.
    More classes: the same by class, and who is taken for whom. Regression: R2 and errors.

    With --verify the rows are those that the model was trained on, and its certificate is recomputed instead: primal
    and dual objective, gap, feasibility, and which problem they are about. Exit code 1 where it is not confirmed.

    \b
    Examples:
      kernelweave evaluate sites.kw held_out.tsv --plot curves.png
      kernelweave evaluate sites.kw true.fa --negative false.fa --precision 0.9
      kernelweave evaluate table.kw test.csv --label outcome --json
      kernelweave evaluate sites.kw train.tsv --verify
    """
    placing.chosen()
    data, reading = rows_of(data, reading)
    check_readable(model, data, reading.labels, reading.negative, reading.symbols, reading.genome)
    from kernelweave.cli.rows import need_labels, read_new, strange
    from kernelweave.data.kinds import kind_of
    from kernelweave.estimators import load
    from kernelweave.estimators.outputs import decisions
    from kernelweave.io import check_writable

    say, plot = Output(show.json, show.quiet), measuring.plot
    fitted = placing.apply(load(model))
    if plot is not None:
        _check_classes(fitted, "--plot draws how classes are told apart, which needs")
        check_picture(plot)
        check_writable(plot)
    if measuring.precision is not None:
        _check_two(fitted, "--precision needs")
    rows = read_new(data, fitted, reading)
    if measuring.verify:
        y = need_labels(rows, data, reading.label) if _supervised(fitted) else None
        return _verify({"model": model, "data": data, "rows": len(rows.X)}, fitted, rows.X, y, say)
    y = need_labels(rows, data, reading.label)
    letters, masked = kind_of(rows.X).letters(rows.X)
    note = strange(data, masked, letters, reading.given() | {"format": reading.format})
    if note is not None:
        say.note("note", note)
    scores = decisions(fitted, rows.X)
    _note_copies(rows.X, fitted, say)
    about = {"model": model, "data": data, "rows": len(y)}
    if not hasattr(fitted, "decision_function"):
        _regression(about, y, scores, data, measuring.resamples, say)
    elif len(getattr(fitted, "classes_", (-1, 1))) == 2:
        _two_classes(about, fitted, y, scores, data, measuring, say)
    else:
        _many_classes(about, fitted, y, scores, data, measuring, say)


def _note_copies(X: Any, model: Any, say: Output) -> None:
    """Say how many rows are near copies of rows that the model keeps from its training."""
    from kernelweave.cli.rows import last_step
    from kernelweave.selection.copies import copies_between_note

    note = None if say.quiet else copies_between_note(X, getattr(last_step(model), "reference_", None))
    if note is not None:
        say.note("note", note)


def _supervised(model: Any) -> bool:
    """Tell whether a model was trained with targets."""
    return not hasattr(model[-1] if hasattr(model, "steps") else model, "offset_")


def _verify(about: dict[str, Any], model: Any, X: Any, y: Any, say: Output) -> None:
    """Give the recomputed certificate; exit with a failure where it is not confirmed."""
    import typer

    from kernelweave.cli.rows import as_classes
    from kernelweave.judge import verify

    classes = getattr(model, "classes_", None)
    found = verify(model, X, y if y is None or classes is None else as_classes(y, classes, about["data"]))
    primal, dual = float(found.primal.sum()), float(found.dual.sum())
    values = {
        "confirmed": found.confirmed, "verdict": found.verdict, "problem": found.problem, "primal": primal,
        "dual": dual, "gap": found.gap, "reported_gap": found.reported, "infeasibility": found.infeasibility,
        "rounding": found.rounding,
    }  # fmt: skip
    lines = [
        ("certificate", found.words()), ("problem", found.problem),
        ("primal", f"{primal:.10g}"), ("dual", f"{dual:.10g}"),
        ("gap", f"{found.gap:.3g} (reported {found.reported:.3g})"),
        ("feasibility", f"outside its constraints by {found.infeasibility:.1e}, relative to their size"),
    ]  # fmt: skip
    say.result({**about, **values}, [("rows", str(about["rows"])), *lines])
    if not found.confirmed:
        raise typer.Exit(FAILED)


def _check_two(model: Any, what: str) -> None:
    if len(getattr(model, "classes_", (-1, 1))) != 2 or not hasattr(model, "decision_function"):
        raise ValueError(f"{what} a model of exactly two classes.")


def _check_classes(model: Any, what: str) -> None:
    if not hasattr(model, "decision_function"):
        raise ValueError(f"{what} a model of classes.")


def check_picture(plot: str) -> None:
    """Raise if the name of a picture does not tell its kind."""
    if not plot.lower().endswith(PICTURES):
        raise ValueError(f"--plot {plot} is not a known kind of picture; end the name in {', '.join(PICTURES)}.")


def save_picture(display: Any, plot: str) -> None:
    """Write a drawn display into a file, whole or not at all."""
    from kernelweave.io import open_aside

    with open_aside(plot) as file:
        display.figure_.savefig(file, format=os.path.splitext(plot)[1][1:].lower(), dpi=150)


def _two_classes(
    about: dict[str, Any], model: Any, y: Any, scores: Any, path: str, measuring: o.Measuring, say: Output
) -> None:
    import numpy as np

    from kernelweave.cli.rows import as_classes
    from kernelweave.estimators.outputs import probabilities
    from kernelweave.interpret import bootstrap_scores, reliability

    precision, plot, resamples = measuring.precision, measuring.plot, measuring.resamples
    classes = getattr(model, "classes_", np.array([-1, 1]))
    y = as_classes(y, classes, path)
    if len(np.unique(y)) < 2:
        raise ValueError(
            f"{path} has rows of one class only ({y[0]}); areas under curves need both, {classes[0]} and {classes[1]}."
        )
    stored = getattr(model[-1] if hasattr(model, "steps") else model, "threshold_", None)
    calls = _calls(y, scores, classes[1], precision, 0.0 if stored is None else stored.value)
    p = probabilities(model, scores)
    if plot is not None:
        _draw(plot, y, scores, classes[1], about["model"], resamples, p)
    measured = bootstrap_scores(y, scores, positive=classes[1], n_resamples=resamples, precision=precision,
                                threshold=0.0 if stored is None else stored.value)  # fmt: skip
    if measured["auroc"].high < SWAPPED:
        say.note("note", f"the auROC is far below one half: are the labels swapped? positive is {classes[1]}")
    values = {name: {"value": i.value, "low": i.low, "high": i.high} for name, i in measured.items()}
    spelled = {"accuracy": "accuracy", "auroc": "auROC", "auprc": "auPRC", "recall": "recall", "f1": "F1", "mcc": "MCC"}
    lines = [(spelled[name], f"{i.value:.4f}  [{i.low:.4f}, {i.high:.4f}]") for name, i in measured.items()]
    counts = f"{np.sum(y == classes[1])} x {classes[1]} (positive), {np.sum(y == classes[0])} x {classes[0]}"
    table = [[calls.true_negatives, calls.false_positives], [calls.false_negatives, calls.true_positives]]
    found = {"labels": classes, "counts": table, "threshold": calls.threshold, "precision": calls.precision}
    extra = {"plot": plot, "positive": classes[1], "confusion": found}
    lines = [("rows", f"{len(y)}: {counts}"), *lines, ("threshold", _threshold_line(calls, precision, stored))]
    if p is not None:
        kept = reliability(y, p[:, 1], positive=classes[1])
        values |= {"log_loss": {"value": kept.log_loss}, "brier": {"value": kept.brier},
                   "calibration_error": {"value": kept.error}}  # fmt: skip
        told = f"log loss {kept.log_loss:.4f}, Brier {kept.brier:.4f}, calibration error {kept.error:.4f}"
        lines.append(("chances", told))
    say.result({**about, **extra, **values}, lines + ([("picture", plot)] if plot else []))
    if not say.as_json:
        named = [str(label) for label in classes]
        say.table(["true \\ said", *named], [[label, *row] for label, row in zip(named, table)])


def _calls(y: Any, scores: Any, positive: Any, precision: float | None, threshold: float) -> Any:
    """Count right and wrong calls at a threshold, or at the one that keeps a precision."""
    from kernelweave.interpret import confusion, confusion_at_precision

    if precision is None:
        return confusion(y, scores, positive=positive, threshold=threshold)
    return confusion_at_precision(y, scores, precision, positive=positive)


def _threshold_line(calls: Any, precision: float | None, stored: Any) -> str:
    asked = "" if precision is None else f" for a precision of at least {precision:g}"
    if precision is None and stored is not None:
        asked = f" of the model, for a precision of {stored.precision:g}"
    return f"{calls.threshold:.4g}{asked}: precision {calls.precision:.4f}, recall {calls.recall:.4f}"


def _draw(plot: str, y: Any, scores: Any, positive: Any, name: str, resamples: int, p: Any) -> None:
    """Draw both curves into a file, and the calibration where there are probabilities."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    from kernelweave.plots import CalibrationDisplay, CurvesDisplay
    from kernelweave.plots.style import figure

    title = os.path.basename(name)
    display = CurvesDisplay.from_scores(y, scores, positive=positive, name=title, n_resamples=resamples)
    if p is None:
        save_picture(display.plot(), plot)
        return
    _, axes = figure(1, 3, (14.4, 5.8))
    display.plot(axes[:2])
    CalibrationDisplay.from_probabilities(y, p[:, 1], positive=positive).plot(axes[2])
    save_picture(display, plot)


def _many_classes(
    about: dict[str, Any], model: Any, y: Any, scores: Any, path: str, measuring: o.Measuring, say: Output
) -> None:
    import numpy as np

    from kernelweave.cli.rows import as_classes
    from kernelweave.estimators.outputs import chosen
    from kernelweave.interpret import class_report

    true, said = as_classes(y, model.classes_, path).astype(object), np.asarray(chosen(model, scores), object)
    known = model.classes_.astype(object)
    report = class_report(true, said, known, n_resamples=measuring.resamples)
    if measuring.plot is not None:
        os.environ.setdefault("MPLBACKEND", "Agg")
        from kernelweave.plots.judged import ConfusionDisplay

        save_picture(ConfusionDisplay(report).plot(), measuring.plot)
    classes, table = [str(label) for label in known.tolist()], report.counts.tolist()
    each = zip(classes, report.precision, report.recall, report.f1, report.counts.sum(axis=1))
    by_class = [{"class": c, "precision": p, "recall": r, "f1": f, "rows": n} for c, p, r, f, n in each]
    values = {name: {"value": i.value, "low": i.low, "high": i.high} for name, i in report.scores.items()}
    lines = [(SEVERAL[name], f"{i.value:.4f}  [{i.low:.4f}, {i.high:.4f}]") for name, i in report.scores.items()]
    extra = {"confusion": {"labels": classes, "counts": table}, "classes": by_class, "plot": measuring.plot}
    picture = [("picture", measuring.plot)] if measuring.plot else []
    say.result({**about, **values, **extra}, [("rows", f"{len(y)} of {len(classes)} classes"), *lines, *picture])
    if say.as_json:
        return
    cells = [[one["class"], one["rows"], *(f"{one[name]:.4f}" for name in ("precision", "recall", "f1"))]
             for one in by_class]  # fmt: skip
    say.table(["class", "rows", "precision", "recall", "F1"], cells)
    if len(classes) <= LARGEST_TABLE:
        say.table(["true \\ said", *classes], [[label, *row] for label, row in zip(classes, table)])


def _regression(about: dict[str, Any], y: Any, predicted: Any, path: str, resamples: int, say: Output) -> None:
    from kernelweave.interpret import bootstrap_errors

    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"The labels of {path} must be numbers for regression, but there are texts such as {str(y[0])!r}."
        )
    found = bootstrap_errors(y, predicted, n_resamples=resamples)
    values = {name: {"value": i.value, "low": i.low, "high": i.high} for name, i in found.items()}
    spelled = {"r2": "R2", "mae": "MAE", "rmse": "RMSE"}
    lines = [(spelled[name], f"{i.value:.4f}  [{i.low:.4f}, {i.high:.4f}]") for name, i in found.items()]
    say.result({**about, **values}, [("rows", str(len(y))), *lines])
