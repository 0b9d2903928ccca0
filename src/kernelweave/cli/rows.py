"""Reading rows for a command: training data with labels, and new rows as a model expects them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kernelweave.cli.options import Reading
from kernelweave.data import Alphabet
from kernelweave.data.kinds import kind_of, named
from kernelweave.io import FORMATS, Dataset, read, sniff
from kernelweave.io.dataset import label_text, parse_labels
from kernelweave.io.mapped import can_map
from kernelweave.io.registry import named as format_named
from kernelweave.io.sniff import format_of, with_negative
from kernelweave.io.source import numbered_lines

SPECIAL = {
    "symbols": "files of lattices",
    "scale": "files of lattices",
    "normalize": "files of lattices",
    "genome": "files of intervals",
    "width": "files of intervals",
    "sequence": "tables with a column of sequences",
    "group": "tables",
}
"""Options of some readers only, and for which files they are."""
MOSTLY_NEW = 0.5
"""Share of new words above which a file is hardly what the model was trained for."""
LOOKED_AT = 1000
"""Rows that are looked at to tell what they are made of."""


def read_rows(path: str, reading: Reading, mapped: bool = False) -> Dataset:
    """Read a file and, where the command line names one, the file of its labels or of the negative rows.

    With `mapped`, tables that can be mapped from disk are.
    """
    name = reading.format or format_of(path, reading.given())
    mapping = {"mmap": True} if mapped and "mmap" in format_named(name).options and can_map(path) else {}
    data = read(path, name, **{**_posterior(name), **mapping, **_fitting(path, name, reading)})
    return _finite(_with_labels(data, path, reading), path)


def read_new(path: str, model: Any, reading: Reading) -> Dataset:
    """Read rows as the model was trained on: its alphabet, its columns, and the options of `train` about the file."""
    core = last_step(model)
    name = reading.format or format_of(path, reading.given())
    known = format_named(name).options
    _check_kind(path, name, core)
    usual = {key: value for key, value in {**_posterior(name), **_usual(model, core)}.items() if key in known}
    given = _fitting(path, name, reading)
    try:
        data = _first_that_fits(path, name, [{**usual, **given}, {**_without_label(usual), **given}], core)
        merged = {**usual, **given}
        alike: dict[str, Any] = {key: merged.get(key) for key in ("alphabet", "unknown", "scale")}
        data = _with_labels(data, path, replace(reading, raw_weights=not merged.get("normalize", True), **alike))
    except ValueError:
        _check_alphabet(path, name, core, given)
        raise
    _check_alphabet(path, name, core, given, data)
    return _finite(_columns(data, path, source(model).get("columns")), path)


def _check_kind(path: str, name: str, core: Any) -> None:
    """Raise if a format holds rows of another kind than the model was trained on."""
    trained, held = named(core._input.kind), [named(kind) for kind in FORMATS[name].holds]
    if trained.family not in [kind.family for kind in held]:
        raise ValueError(f"{path} holds {held[0].noun}, but the model was trained on {trained.noun}.")


def _posterior(name: str) -> dict[str, Any]:
    """Return what commands ask of readers of lattices: the posterior distribution of their strings."""
    return {"normalize": True} if "normalize" in format_named(name).options else {}


def _fitting(path: str, name: str, reading: Reading) -> dict[str, Any]:
    """Return the options given for the reader; some are for files of lattices only."""
    given = reading.given()
    known = format_named(name).options
    others = format_named(format_of(reading.negative, given)).options if reading.negative else []
    for key, what in SPECIAL.items():
        if key not in given or key in known:
            continue
        if key not in others:
            able = ", ".join(other.name for other in FORMATS.values() if key in other.options)
            option = "--raw-weights" if key == "normalize" else f"--{key}"
            raise ValueError(f"{option} is for {what} ({able}), but {path} is read as {name}.")
        del given[key]
    return given


def last_step(model: Any) -> Any:
    """Return the estimator at the end of a pipeline, or the model itself."""
    return model[-1] if hasattr(model, "steps") else model


def source(model: Any) -> dict[str, Any]:
    """Return what `train` remembered of the file it read."""
    return getattr(last_step(model), "source_", {})


def need_labels(data: Dataset, path: str, key: str | None = None) -> np.ndarray:
    """Return the labels, or say how to name them; `key` is where the command line said they are."""
    if data.y is not None:
        return data.y
    if key is not None:
        raise ValueError(f"{path} has no labels under {key!r}: no header has {key}=VALUE.")
    ways = "name the column or field with --label"
    if data.format in ("fasta", "fastq"):
        ways = "give the negative sequences with --negative, labels with --labels, or headers with label=VALUE"
    elif data.format != "jsonl" and not kind_of(data.X).tabular:
        ways = "give them with --labels or the negative rows with --negative"
    raise ValueError(f"{path} has no labels; {ways}.")


def strange(path: str, unknown: int, total: int, given: dict[str, Any]) -> str | None:
    """Return a note where most words of a file are new to the model; None where they are not."""
    if unknown <= MOSTLY_NEW * total:
        return None
    note = f"{unknown / total:.0%} of the words or letters of {path} are new to the model and match nothing"
    lattices = FORMATS.get(given.get("format") or sniff(path))
    asked = lattices is not None and "symbols" in lattices.options and "symbols" not in given
    return note + ("; where its labels are numbers, --symbols names their table" if asked else "")


def _with_labels(data: Dataset, path: str, reading: Reading) -> Dataset:
    if reading.negative and reading.labels:
        raise ValueError("--negative and --labels both say what the labels are; give one of them.")
    if reading.labels:
        return replace(data, y=_labels_by_id(data, path, reading.labels))
    if not reading.negative:
        return data
    return with_negative(data, path, reading.negative, {**_posterior(sniff(reading.negative)), **reading.given()})


def _labels_by_id(data: Dataset, path: str, labels: str) -> np.ndarray:
    """Read lines of id and label, and put the labels in the order of the rows."""
    if data.ids is None:
        return _labels_in_order(data, path, labels)
    return parse_labels(labels_for(data.ids, label_lines(labels), path, labels))


def label_lines(labels: str) -> dict[str, str]:
    """Read lines of id and label."""
    found: dict[str, str] = {}
    for number, line in numbered_lines(labels):
        name, tab, label = line.partition("\t" if "\t" in line else ",")
        name, label = name.strip(), label.strip()
        if not tab or not name or not label or "\t" in label:
            raise ValueError(f"{labels}:{number}: expected id, tab, label.")
        if found.setdefault(name, label) != label:
            raise ValueError(f"{labels}:{number}: {name!r} has a second label, {label!r} after {found[name]!r}.")
    return found


def labels_for(ids: Any, found: dict[str, str], path: str, labels: str) -> list[str]:
    """Return the label of each id; one without a label is an error."""
    missing = next((name for name in ids if str(name) not in found), None)
    if missing is not None:
        raise ValueError(f"{labels} has no label for the row {str(missing)!r} of {path}.")
    return [found[str(name)] for name in ids]


def _labels_in_order(data: Dataset, path: str, labels: str) -> np.ndarray:
    """Read one label a line, for rows without ids."""
    texts = [line.strip() for _, line in numbered_lines(labels)]
    n = data.X.shape[0]
    if len(texts) != n or any("\t" in text for text in texts):
        raise ValueError(
            f"{path} has {n} rows without ids, so {labels} must hold a label alone on each of {n} lines; it has "
            f"{len(texts)} lines."
        )
    return parse_labels(texts)


def _usual(model: Any, core: Any) -> dict[str, Any]:
    """Return the options that follow from the model, where the command line does not say otherwise."""
    recorded = {key: value for key, value in source(model).items() if key not in ("format", "columns")}
    return {**recorded, **named(core._input.kind).reading(core._input.content)}


def _without_label(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key != "label"}


def _first_that_fits(path: str, name: str, ways: list[dict[str, Any]], core: Any) -> Dataset:
    """Return the first reading with as many columns as the model has: new rows may lack the column of labels."""
    wanted, read_as, problem = getattr(core, "n_features_in_", None), [], None
    for options in ways if ways[0] != ways[1] else ways[:1]:
        try:
            read_as.append(read(path, name, **options))
        except ValueError as error:
            problem = problem or error
    if problem is not None and not read_as:
        raise problem
    fitting = [data for data in read_as if wanted is None or data.X.shape[-1] == wanted]
    return (fitting or read_as)[0]


def _check_alphabet(path: str, name: str, core: Any, given: dict[str, Any], data: Dataset | None = None) -> None:
    """Raise if the letters are plainly those of another alphabet than the model's.

    Without data, because they could not be read by the model's alphabet; with data, because proteins may be spelled
    with the letters of DNA, but hardly are.
    """
    trained, kind = core._input.content, named(core._input.kind)
    if (
        not isinstance(trained, Alphabet)
        or kind.uncertain
        or "alphabet" in given
        or kind.name not in FORMATS[name].holds
    ):
        return
    if data is None:
        try:
            found = read(path, name, duplicates="allow", unknown="mask").X.alphabet
        except (ValueError, TypeError):
            return
    elif trained.name == "protein":
        found = Alphabet.infer(data.X[:LOOKED_AT].to_strings()) if kind.letters(data.X)[0] else trained
    else:
        return
    if found != trained and found.name in ("dna", "rna", "protein") and trained.kind != "words":
        nucleic = {found.name, trained.name} == {"dna", "rna"}
        masked = f"--alphabet {trained.name} --unknown mask reads them all the same"
        raise ValueError(
            f"The model was trained on the alphabet {trained.name!r}, but {path} holds {found.name!r} letters; "
            f"{'write T for U or U for T' if nucleic else masked}."
        )


def _columns(data: Dataset, path: str, wanted: list[str] | None) -> Dataset:
    """Return the columns that the model knows by name, in its order."""
    if wanted is None or data.feature_names is None or list(data.feature_names) == wanted:
        return data
    place = {name: number for number, name in enumerate(data.feature_names)}
    lacking = [name for name in wanted if name not in place]
    if lacking:
        raise ValueError(f"{path} has no column {lacking[0]!r}, which the model was trained on.")
    X = kind_of(data.X).take(data.X, slice(None))  # of a store the rows in memory
    return replace(data, X=X[:, [place[name] for name in wanted]], feature_names=tuple(wanted))


def _finite(data: Dataset, path: str) -> Dataset:
    """Return the data, or name the first cell of a table that is not a finite number."""
    X = data.X
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0]
        name = column if data.feature_names is None else repr(data.feature_names[column])
        raise ValueError(f"{path} holds {X[row, column]} in row {row}, column {name}; expected a finite number.")
    return data


def as_classes(y: np.ndarray, classes: np.ndarray, path: str) -> np.ndarray:
    """Return labels in the type of the classes of a model; one that it does not know is an error."""
    if classes.dtype.kind in "UOT" and y.dtype.kind in "biuf":
        y = np.array([label_text(value) for value in y])
    strange = y[~np.isin(y.astype(object), classes.astype(object))]
    if len(strange):
        known = ", ".join(label_text(label) for label in classes[:10])
        raise ValueError(f"{path} has the label {label_text(strange[0])!r}, but the model knows {known}.")
    return y
