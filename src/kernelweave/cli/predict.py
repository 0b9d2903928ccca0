"""`kernelweave predict`: decision values and labels for new rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from kernelweave.cli import options as o
from kernelweave.cli.show import Output


def predict(
    model: o.Model,
    data: o.Rows,
    out: o.TableOut = None,
    label: o.Label = None,
    id: o.Id = None,
    text: o.Text = None,
    format: o.Format = None,
    alphabet: o.Alphabet = None,
    unknown: o.Unknown = None,
    duplicates: o.Duplicates = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Predict new rows: tab-separated id, decision value (one for each class if there are several), label.

    Rows without an id are numbered from 0. A positive decision value means the second class (or: not novel).

    \b
    Examples:
      kernelweave predict sites.kw new.fa --out predictions.tsv
      kernelweave predict sites.kw new.fa | sort -k2 -g -r | head
    """
    from kernelweave.cli.rows import read_new
    from kernelweave.estimators import load
    from kernelweave.io.atomic import check_writable, open_aside

    say = Output(json, quiet)
    out = None if out == "-" else out
    if out is not None:
        check_writable(out)
    fitted = load(model)
    rows = read_new(data, fitted, o.Reading(format, alphabet, unknown, duplicates, label, id, text))
    scores = decisions(fitted, rows.X)
    found = chosen(fitted, scores)
    names = [str(i) for i in range(len(scores))] if rows.ids is None else [str(name) for name in rows.ids]
    if out is not None:
        with open_aside(out) as file:
            file.writelines(line.encode() for line in _lines(fitted, names, scores, found))
        _summary(data, out, fitted, found, say)
    elif json:
        keys = _header(fitted)
        listed = [dict(zip(keys, row)) for row in _cells(names, scores, found)]
        say.result({"model": model, "data": data, "rows": len(names), "predictions": listed}, [])
    else:
        sys.stdout.writelines(_lines(fitted, names, scores, found))


def decisions(model: Any, X: Any) -> Any:
    """Return decision values, (m,) or (m, classes), or the predicted numbers of a regressor."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def chosen(model: Any, scores: Any) -> Any:
    """Return the label that decision values stand for, as the model's `predict` does; None for a regressor."""
    import numpy as np

    if not hasattr(model, "decision_function"):
        return None
    if not hasattr(model, "classes_"):
        return np.where(scores >= 0, 1, -1)
    return model.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)]


def _header(model: Any) -> list[str]:
    if not hasattr(model, "decision_function"):
        return ["id", "prediction"]
    classes = getattr(model, "classes_", ())
    several = [f"decision_{label}" for label in classes] if len(classes) > 2 else ["decision"]
    return ["id", *several, "label"]


def _cells(names: list[str], scores: Any, found: Any) -> Iterator[list[Any]]:
    values = scores.reshape(len(names), -1).tolist()
    labels = [[]] * len(names) if found is None else [[label] for label in found.tolist()]
    for name, row, label in zip(names, values, labels):
        yield [name, *row, *label]


def _lines(model: Any, names: list[str], scores: Any, found: Any) -> Iterator[str]:
    from kernelweave.io.dataset import label_text

    yield "\t".join(_header(model)) + "\n"
    for row in _cells(names, scores, found):
        yield "\t".join(label_text(cell) for cell in row) + "\n"


def _summary(data: str, out: str, model: Any, found: Any, say: Output) -> None:
    import numpy as np

    values: dict[str, Any] = {"data": data, "out": out}
    if found is None:
        shown = ""
    else:
        labels, counts = np.unique(found, return_counts=True)
        values["labels"] = dict(zip(labels.tolist(), counts.tolist()))
        shown = ": " + ", ".join(f"{n} x {label}" for label, n in values["labels"].items())
    if say.as_json:
        say.result(values, [])
    else:
        say.note("predicted", f"{out}{shown}")
