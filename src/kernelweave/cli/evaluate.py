"""`kernelweave evaluate`: how well a model does on labelled rows it has not seen."""

from __future__ import annotations

import os
from typing import Any

from kernelweave.cli import options as o
from kernelweave.cli.entry import FAILED
from kernelweave.cli.paths import check_readable, rows_of
from kernelweave.cli.show import Output

PICTURES = (".png", ".pdf", ".svg")
LARGEST_TABLE = 30
"""Confusion tables of more classes are left to --json."""


@o.grouped()
def evaluate(
    model: o.Model, data: o.Rows = None, *, measuring: o.Measuring, placing: o.Placing, reading: o.Reading, show: o.Show
) -> None:
    """Measure a model on labelled rows that it was not trained on.

    Two classes: accuracy, areas under the ROC and precision-recall curves with 95 % bootstrap intervals, and the
    counts of right and wrong calls at the threshold 0 or, with --precision, at that precision.
    More classes: accuracy and who is taken for whom. Regression: R2 and errors.

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
    from kernelweave.cli.predict import decisions
    from kernelweave.cli.rows import need_labels, read_new, strange
    from kernelweave.data.kinds import kind_of
    from kernelweave.estimators import load
    from kernelweave.io import check_writable

    say, plot = Output(show.json, show.quiet), measuring.plot
    fitted = placing.apply(load(model))
    if plot is not None:
        _check_two(fitted, "--plot draws ROC and precision-recall curves, which need")
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
    about = {"model": model, "data": data, "rows": len(y)}
    if not hasattr(fitted, "decision_function"):
        _regression(about, y, scores, data, say)
    elif len(getattr(fitted, "classes_", (-1, 1))) == 2:
        _two_classes(about, fitted, y, scores, data, measuring, say)
    else:
        _many_classes(about, fitted, y, scores, data, say)


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
    say.result({**about, **values}, lines)
    if not found.confirmed:
        raise typer.Exit(FAILED)


def _check_two(model: Any, what: str) -> None:
    if len(getattr(model, "classes_", (-1, 1))) != 2 or not hasattr(model, "decision_function"):
        raise ValueError(f"{what} a model of exactly two classes.")


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
    from kernelweave.interpret import bootstrap_scores

    precision, plot, resamples = measuring.precision, measuring.plot, measuring.resamples
    classes = getattr(model, "classes_", np.array([-1, 1]))
    y = as_classes(y, classes, path)
    if len(np.unique(y)) < 2:
        raise ValueError(
            f"{path} has rows of one class only ({y[0]}); areas under curves need both, {classes[0]} and {classes[1]}."
        )
    calls = _calls(y, scores, classes[1], precision)
    measured = None if plot is None else _draw(plot, y, scores, classes[1], about["model"], resamples)
    if measured is None or precision is not None:
        measured = bootstrap_scores(y, scores, positive=classes[1], n_resamples=resamples, precision=precision)
    values = {name: {"value": i.value, "low": i.low, "high": i.high} for name, i in measured.items()}
    spelled = {"accuracy": "accuracy", "auroc": "auROC", "auprc": "auPRC", "recall": "recall"}
    lines = [(spelled[name], f"{i.value:.4f}  [{i.low:.4f}, {i.high:.4f}]") for name, i in measured.items()]
    counts = f"{np.sum(y == classes[1])} x {classes[1]} (positive), {np.sum(y == classes[0])} x {classes[0]}"
    table = [[calls.true_negatives, calls.false_positives], [calls.false_negatives, calls.true_positives]]
    found = {"labels": classes, "counts": table, "threshold": calls.threshold, "precision": calls.precision}
    extra = {"plot": plot, "positive": classes[1], "confusion": found}
    lines = [("rows", f"{len(y)}: {counts}"), *lines, ("threshold", _threshold_line(calls, precision))]
    say.result({**about, **extra, **values}, lines + ([("picture", plot)] if plot else []))
    if not say.as_json:
        named = [str(label) for label in classes]
        say.table(["true \\ said", *named], [[label, *row] for label, row in zip(named, table)])


def _calls(y: Any, scores: Any, positive: Any, precision: float | None) -> Any:
    """Count right and wrong calls at the threshold 0, or at the one that keeps a precision."""
    from kernelweave.interpret import confusion, confusion_at_precision

    if precision is None:
        return confusion(y, scores, positive=positive)
    return confusion_at_precision(y, scores, precision, positive=positive)


def _threshold_line(calls: Any, precision: float | None) -> str:
    asked = "" if precision is None else f" for a precision of at least {precision:g}"
    return f"{calls.threshold:.4g}{asked}: precision {calls.precision:.4f}, recall {calls.recall:.4f}"


def _draw(plot: str, y: Any, scores: Any, positive: Any, name: str, resamples: int) -> Any:
    """Draw both curves into a file and return the scores."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    from kernelweave.plots import CurvesDisplay

    title = os.path.basename(name)
    display = CurvesDisplay.from_scores(y, scores, positive=positive, name=title, n_resamples=resamples).plot()
    save_picture(display, plot)
    return display.scores


def _many_classes(about: dict[str, Any], model: Any, y: Any, scores: Any, path: str, say: Output) -> None:
    import numpy as np

    from kernelweave.cli.predict import chosen
    from kernelweave.cli.rows import as_classes

    classes = [str(label) for label in model.classes_.tolist()]
    place = {label: number for number, label in enumerate(classes)}
    true = np.array([place[str(label)] for label in as_classes(y, model.classes_, path).tolist()])
    said = np.array([place[str(label)] for label in chosen(model, scores).tolist()])
    table = np.zeros((len(classes), len(classes)), int)
    np.add.at(table, (true, said), 1)
    accuracy = float(np.mean(true == said))
    confusion = {"labels": classes, "counts": table.tolist()}
    say.result({**about, "accuracy": {"value": accuracy}, "confusion": confusion},
               [("rows", f"{len(y)} of {len(classes)} classes"), ("accuracy", f"{accuracy:.4f}")])  # fmt: skip
    if not say.as_json and len(classes) <= LARGEST_TABLE:
        say.table(["true \\ said", *classes], [[label, *row] for label, row in zip(classes, table.tolist())])


def _regression(about: dict[str, Any], y: Any, predicted: Any, path: str, say: Output) -> None:
    import numpy as np

    if y.dtype.kind not in "biuf":
        raise ValueError(f"The labels of {path} must be numbers for regression, but there are texts such as {y[0]!r}.")
    error = predicted - y
    spread = float(np.sum((y - y.mean()) ** 2))
    r2 = 1.0 - float(error @ error) / spread if spread > 0 else float("nan")
    values = {"r2": r2, "mae": float(np.abs(error).mean()), "rmse": float(np.sqrt(np.mean(error**2)))}
    lines = [("rows", str(len(y))), *((name, f"{values[key]:.4f}") for name, key in
             (("R2", "r2"), ("MAE", "mae"), ("RMSE", "rmse")))]  # fmt: skip
    say.result({**about, **{name: {"value": value} for name, value in values.items()}}, lines)
