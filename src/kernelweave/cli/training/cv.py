"""`kernelweave cv`: how well models do on rows they have not seen, and which of them is best."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from kernelweave.cli import options as o
from kernelweave.cli.options.searching import USUAL_CS
from kernelweave.cli.paths import check_readable, rows_of
from kernelweave.cli.show import Output, Status, heard, one_line, size_of
from kernelweave.cli.training.keeping import check_keeping, keep

if TYPE_CHECKING:
    from kernelweave.io import Dataset
    from kernelweave.selection.search import SearchResult

SPELLED = {
    "accuracy": "accuracy", "auroc": "auROC", "auprc": "auPRC", "f1": "F1", "mcc": "MCC", "f1_macro": "macro F1",
    "balanced_accuracy": "balanced", "r2": "R2", "mae": "MAE", "rmse": "RMSE",
}  # fmt: skip
"""How measures are written."""
LISTED = 20
"""Settings that are listed, the best first."""


@o.grouped("checkpoint", "checkpoint_every", "dry_run")
def cv(
    data: o.Rows = None, *, out: o.ModelOut = None, searching: o.Searching, keeping: o.Keeping,
    learning: o.Learning, reading: o.Reading, show: o.Show,
) -> None:  # fmt: skip
    """Cross-validate: judge settings on rows that they were not trained on, choose the best, and save its model.

    The rows are cut into folds; every setting is trained on all folds but one and judged on that one. Folds share their
    kernels, and every solution along the values of C starts from the one before. The scores are means over the folds,
    with 95 % bootstrap intervals of the held-out rows.
    With --out, the best setting is trained on all rows and saved.

    \b
    Examples:
      kernelweave cv sites.tsv --kernel wd:20 --out sites.kw
      kernelweave cv peaks.fa --negative other.fa --folds-by chromosome --out p.kw
      kernelweave cv sites.tsv --try wd:20 --try spectrum:6 --grid C=0.1,1,10
      kernelweave cv sites.tsv --kernel wd:20 -C 5 --predictions held_out.tsv
      kernelweave cv sites.tsv --calibrate isotonic --hold-precision 0.9 --out s.kw
      kernelweave cv table.csv --label outcome --standardize --score mcc
      kernelweave cv t.csv --label y --kernel rbf:1 --kernel linear --grid norm=1,2
    """
    data, reading = rows_of(data, reading)
    check_readable(data, reading.labels, reading.negative, reading.symbols, reading.genome)
    from kernelweave.cli.rows import read_rows
    from kernelweave.cli.training.train import (
        _choose_kernel,
        _counts_text,
        _estimator,
        _remember,
        _targets,
        _with_scaler,
    )
    from kernelweave.data.kinds import kind_of
    from kernelweave.kernels import parse

    if learning.task == "novelty":
        raise ValueError("Cross-validation needs labels or numbers to judge by; --task novelty has none.")
    check_keeping(keeping, learning.task, out)
    _check_places(out, searching, [data, reading.labels, reading.negative])
    say = Output(show.json, show.quiet)
    asked, alternatives = [[parse(text) for text in given or ()] for given in (learning.kernel, searching.alternatives)]
    model = _estimator(learning)
    rows = read_rows(data, reading)
    y = _targets(rows, data, learning.task, reading.label)
    say.note("data", kind_of(rows.X).summary(rows.X) + _counts_text(y, learning.task))
    _choose_kernel(model, rows.X, y, asked or alternatives[:1], learning, say)
    grid = _grid(model, searching, learning, alternatives)
    whole = _with_scaler(model, rows.X, learning.standardize, say)
    if whole is not model:
        grid = {f"{whole.steps[-1][0]}__{name}": values for name, values in grid.items()}
    groups = _groups(rows, searching.folds_by, reading.group, say)
    _warn_copies(rows.X, groups, searching.folds, say)
    found, seconds = _search(whole, rows, y, grid, groups, searching, out is not None, say)
    if searching.predictions is not None:
        _write_predictions(found, rows, y, searching.predictions)
    keep(found, y, keeping)
    if out is not None:
        from kernelweave.estimators import save

        core = found.best_estimator_[-1] if hasattr(found.best_estimator_, "steps") else found.best_estimator_
        core.set_params(n_jobs=learning.effort.jobs)
        _remember(core, rows, reading)
        save(found.best_estimator_, out)
    _report(found, rows, y, seconds, out, searching, say)


def _check_places(out: str | None, searching: o.Searching, inputs: list[str | None]) -> None:
    from kernelweave.cli.paths import refuse_overwriting
    from kernelweave.io import check_writable

    for name, path in (("--out", out), ("--predictions", searching.predictions)):
        if path is not None:
            check_writable(path)
            refuse_overwriting(path, inputs, name)


def _grid(model: Any, searching: o.Searching, learning: o.Learning, alternatives: list[Any]) -> dict[str, list[Any]]:
    """Return what to choose from: what was given, else values of C."""
    grid: dict[str, list[Any]] = {}
    many = "kernels" in model.get_params(deep=False)
    if alternatives:
        if learning.kernel:
            raise ValueError("--kernel names the kernels of one model, --try those to choose from; give one of them.")
        grid["kernels" if many else "kernel"] = [[kernel] for kernel in alternatives] if many else alternatives
    for text in searching.grid or ():
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise ValueError(f"--grid {text} must be a parameter and its values, such as C=0.1,1,10.")
        if name in ("kernel", "kernels"):
            raise ValueError("Kernels to choose from are given with --try, one at a time.")
        grid[name.replace("-", "_")] = [_value(value) for value in values.split(",")]
        usual = model.get_params(deep=False).get(name.replace("-", "_"))
        if isinstance(usual, float) and (
            odd := [value for value in grid[name.replace("-", "_")] if isinstance(value, str)]
        ):
            raise ValueError(f"--grid {text} names values of a number, but {odd[0]!r} is none.")
    if learning.C is not None and "C" in grid:
        raise ValueError(f"-C {learning.C:g} and --grid C=... both say what C is; give one of them.")
    if learning.C is None and "C" not in grid and not searching.grid and "C" in model.get_params(deep=False):
        grid["C"] = list(USUAL_CS)
    return grid


def _value(text: str) -> Any:
    """Return a value as a number where it is one, else as a text."""
    named = {"none": None, "true": True, "false": False}
    if text.lower() in named:
        return named[text.lower()]
    try:
        return float(text)
    except ValueError:
        return text


def _groups(rows: Dataset, rule: str | None, column: str | None, say: Output) -> Any:
    """Return what rows belong to: by a rule, a file, or as they were read (a column, the chromosome of intervals)."""
    import numpy as np

    from kernelweave.cli.rows import label_lines, labels_for
    from kernelweave.selection.groups import RULES, groups_of

    groups = rows.groups
    if rule is not None and column is not None:
        raise ValueError("--folds-by and --group both say which rows stay together; give one of them.")
    if rule is not None and rule.partition(":")[0] not in RULES:
        if not os.path.exists(rule):
            raise ValueError(f"--folds-by {rule} is not one of {', '.join(RULES)}, and there is no such file.")
        if rows.ids is None:
            raise ValueError(f"{rule} names groups by ids, but the rows have none.")
        groups = np.array(labels_for(rows.ids, label_lines(rule), "the data", rule))
    elif rule is not None:
        groups = groups_of(rows.X, rule, rows.ids)
    if groups is not None:
        say.note("groups", f"{len(np.unique(groups))}, each on one side of every fold")
    return groups


def _warn_copies(X: Any, groups: Any, folds: int, say: Output) -> None:
    """Warn of rows that are copies, or nearly, of others that may be in another fold."""
    from kernelweave.selection.copies import copies_note

    with Status("looking for near copies", say.quiet):
        note = copies_note(X, groups)
    if note is not None:
        say.note("note", note)


def _search(
    model: Any, rows: Dataset, y: Any, grid: dict[str, list[Any]], groups: Any, searching: o.Searching, refit: bool,
    say: Output,
) -> tuple[SearchResult, float]:  # fmt: skip
    from kernelweave.selection.search import search

    score = searching.score
    if score is None and hasattr(model, "decision_function") and len(set(y.tolist())) == 2:
        score = "auroc"
    began = time.perf_counter()
    with heard() as warned, Status("cross-validating", say.quiet):
        found = search(
            model, rows.X, y, grid or None, cv=searching.folds, groups=groups, scoring=score, refit=refit,
            strategy="halving" if searching.halving else "grid", random_state=searching.seed,
        )  # fmt: skip
    found.notes_ = [one_line(warning) for warning in warned]  # type: ignore[attr-defined]
    return found, time.perf_counter() - began


def _write_predictions(found: SearchResult, rows: Dataset, y: Any, path: str) -> None:
    """Write id, fold, label and held-out decision values of all rows, tab-separated."""
    import numpy as np

    from kernelweave.cli.flow import writing
    from kernelweave.io.dataset import label_text

    fold = np.full(len(y), -1)
    for number, (_, test) in enumerate(found.folds_):
        fold[test] = number
    values = found.out_of_fold_.reshape(len(y), -1)
    names = ["prediction"] if found.classes_ is None else ["decision"]
    if values.shape[1] > 1 and found.classes_ is not None:
        names = [f"decision_{label}" for label in found.classes_.tolist()]
    ids = np.arange(len(y)) if rows.ids is None else rows.ids
    with writing(path) as write:
        write(["\t".join(["id", "fold", "label", *names]) + "\n"])
        write(
            "\t".join([str(name), str(k), label_text(label), *map(label_text, line)]) + "\n"
            for name, k, label, line in zip(ids, fold.tolist(), y.tolist(), values.tolist())
        )


def _report(
    found: SearchResult, rows: Dataset, y: Any, seconds: float, out: str | None, searching: o.Searching, say: Output
) -> None:
    """Say how the settings did, what the chosen one reaches on held-out rows, and what was saved."""
    import numpy as np

    from kernelweave.selection.intervals import fold_scores

    measured, table = fold_scores(found, y), found.cv_results_
    values: dict[str, Any] = {
        "rows": len(y), "folds": len(found.folds_), "scoring": found.scoring_, "best": _plain(found.best_params_),
        "best_score": found.best_score_, "seconds": seconds, "model": out, "predictions": searching.predictions,
        "groups": None if found.groups_ is None else len(np.unique(found.groups_)), "rounds": found.rounds_,
        "warnings": found.notes_,  # type: ignore[attr-defined]
        "scores": {name: {"value": i.value, "low": i.low, "high": i.high} for name, i in measured.items()},
        "settings": [
            {"params": _plain(setting), "mean": table["mean_test_score"][i], "std": table["std_test_score"][i]}
            for i, setting in enumerate(table["params"])
        ],
    }  # fmt: skip
    lines = [("chosen", _spelled(found.best_params_)), ("folds", f"{len(found.folds_)}, means over them:")]
    lines += [(SPELLED[name], f"{i.value:.4f}  [{i.low:.4f}, {i.high:.4f}]") for name, i in measured.items()]
    lines.append(("time", f"{seconds:.1f} s"))
    if out is not None:
        lines.append(("saved", f"{out} ({size_of(os.path.getsize(out))}), trained on all rows"))
    if not say.as_json and len(table["params"]) > 1:
        names = list(dict.fromkeys(name for setting in table["params"] for name in setting))
        order = np.argsort(table["rank_test_score"], kind="stable")[:LISTED]
        cells = [
            [f"{table['mean_test_score'][i]:.4f} +- {table['std_test_score'][i]:.4f}",
             *(_text(table["params"][i].get(name)) for name in names)] for i in order
        ]  # fmt: skip
        say.table([found.scoring_, *(name.split("__")[-1] for name in names)], cells)
    say.result(values, lines)


def _plain(setting: dict[str, Any]) -> dict[str, Any]:
    return {
        name.split("__")[-1]: value if isinstance(value, int | float | str | None) else _text(value)
        for name, value in setting.items()
    }


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(repr, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _spelled(setting: dict[str, Any]) -> str:
    return ", ".join(f"{name.split('__')[-1]} = {_text(value)}" for name, value in setting.items()) or "as given"
