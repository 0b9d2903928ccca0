"""`kernelweave predict`: decision values and labels for new rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from kernelweave.cli import options as o
from kernelweave.cli.deferred import IDLE, defer
from kernelweave.cli.paths import check_readable, rows_of
from kernelweave.cli.show import Output, on_terminal

LONGER = 10
"""How many times longer than those of training sequences are that may be meant to be scanned."""


@o.grouped("labels", "negative")
def predict(
    model: o.Model,
    data: o.Rows = None,
    *,
    out: o.TableOut = None,
    scanning: o.Scanning,
    placing: o.Placing,
    reading: o.Reading,
    show: o.Show,
) -> None:
    """Predict new rows: tab-separated id, decision value (one for each class if there are several), label.

    Rows without an id are numbered from 0. A positive decision value means the second class (or: not novel); a model
    with a threshold of its own (--hold-precision) calls by that. Models with probabilities add them as last columns.
    With --scan, the windows of long sequences: seqid, start (from 0), end, strand, decision value; the name given by
    --out makes it BED (.bed), bedGraph (.bedgraph) or GFF3 (.gff3).

    \b
    Examples:
      kernelweave predict sites.kw new.fa --out predictions.tsv
      kernelweave predict sites.kw new.fa | sort -k2 -g -r | head
      kernelweave predict sites.kw genome.fa.gz --scan --both-strands --top 100
      kernelweave predict sites.kw genome.fa --scan --anchor AG@60 --threshold 1
      kernelweave predict peaks.kw chr4.fa --scan --threshold 1 --merge --out hits.bed
      kernelweave predict sites.kw new.fa --scheduler tcp://10.0.0.1:8786
    """
    say = Output(show.json, show.quiet)
    out = None if out == "-" else out
    data, reading = rows_of(data, reading)
    check_readable(model, data, reading.symbols, reading.genome)
    placing.chosen()
    if reading.format == "bed" and reading.genome is None:
        raise ValueError("--format bed reads intervals of --genome; to write BED, scan with --scan and --as bed.")
    if not scanning.scan and scanning.given():
        raise ValueError(f"{scanning.given()[0]} is about windows; add --scan to score them.")
    defer(*IDLE)
    from kernelweave.cli.scanning import scan
    from kernelweave.estimators import load
    from kernelweave.io import check_writable

    if out is not None:
        check_writable(out)
    fitted = placing.apply(load(model))
    names = {"model": model, "data": data, "out": out}
    if scanning.scan:
        scan(fitted, names, scanning, reading, say)
    else:
        _predict_rows(fitted, names, reading, say)


def _predict_rows(model: Any, files: dict[str, str | None], reading: o.Reading, say: Output) -> None:
    """Predict the rows of a file, block by block, and write them as they come."""

    from kernelweave.cli.flow import Pace, new_blocks, writing
    from kernelweave.cli.rows import strange
    from kernelweave.data.kinds import kind_of
    from kernelweave.estimators.outputs import chosen, decisions
    from kernelweave.io.source import share_done

    out, header = files["out"], _header(model)
    listed: list[dict[str, Any]] | None = [] if say.as_json and out is None else None
    labels, n_rows, unknown, total = Counter[Any](), 0, 0, 0
    watched = say.quiet or (out is None and on_terminal())
    with Pace("predicting", "rows", watched) as pace, writing(out) as write:
        for names, X in new_blocks(str(files["data"]), model, reading):
            if not n_rows and (much := _much_longer(model, X)) is not None:
                say.note("note", much)
            scores = decisions(model, X)
            found = chosen(model, scores)
            if listed is not None:
                listed += [dict(zip(header, row)) for row in _cells(model, names, scores, found)]
            else:
                write(_lines(model, [] if n_rows else header, names, scores, found))
            labels.update(() if found is None else found.tolist())
            letters, masked = kind_of(X).letters(X)
            n_rows, unknown, total = n_rows + len(names), unknown + masked, total + letters
            pace.report(n_rows, share=share_done(str(files["data"]), total))
    note = strange(str(files["data"]), unknown, total, reading.given() | {"format": reading.format})
    if note is not None:
        say.note("note", note)
    if listed is not None:
        say.result({"model": files["model"], "data": files["data"], "rows": n_rows, "predictions": listed}, [])
    elif out is not None:
        _summary(str(files["data"]), out, model, labels, say)


def _much_longer(model: Any, X: Any) -> str | None:
    """Return a note where rows are so long that their windows may be meant, None where they are not."""
    from kernelweave.cli.rows import last_step

    trained = getattr(getattr(last_step(model), "expansion_", None), "rows", None)
    both: list[Any] = [rows for rows in (trained, X) if hasattr(rows, "lengths")]
    longest = [int(rows.lengths.max()) for rows in both if len(rows)]
    if len(longest) < 2 or longest[1] < LONGER * longest[0]:
        return None
    return (
        f"a sequence has {longest[1]} letters, those of training at most {longest[0]}; --scan scores windows instead "
        "of whole sequences"
    )


def value_names(model: Any) -> list[str]:
    """Return what the columns of decision values are called."""
    if not hasattr(model, "decision_function"):
        return ["prediction"]
    classes = getattr(model, "classes_", ())
    return [f"decision_{label}" for label in classes] if len(classes) > 2 else ["decision"]


def _header(model: Any) -> list[str]:
    return ["id", *value_names(model), *(["label"] if hasattr(model, "decision_function") else []), *_chances(model)]


def _chances(model: Any) -> list[str]:
    """Return what the columns of probabilities are called, where a model gives some."""
    if not hasattr(model, "predict_proba"):
        return []
    classes = model.classes_
    return ["probability"] if len(classes) == 2 else [f"probability_{label}" for label in classes]


def _cells(model: Any, names: list[str], scores: Any, found: Any) -> Iterator[list[Any]]:
    from kernelweave.estimators.outputs import probabilities

    values, p = scores.reshape(len(names), -1).tolist(), probabilities(model, scores)
    labels = [[]] * len(names) if found is None else [[label] for label in found.tolist()]
    chances = [[]] * len(names) if p is None else (p[:, 1:] if p.shape[1] == 2 else p).tolist()
    for name, row, label, chance in zip(names, values, labels, chances):
        yield [name, *row, *label, *chance]


def _lines(model: Any, header: list[str], names: list[str], scores: Any, found: Any) -> Iterator[str]:
    from kernelweave.io.dataset import label_text

    if header:
        yield "\t".join(header) + "\n"
    for row in _cells(model, names, scores, found):
        yield "\t".join(label_text(cell) for cell in row) + "\n"


def _summary(data: str, out: str, model: Any, labels: Counter[Any], say: Output) -> None:
    values: dict[str, Any] = {"data": data, "out": out}
    shown = ""
    if hasattr(model, "decision_function"):
        values["labels"] = dict(sorted(labels.items()))
        shown = ": " + ", ".join(f"{n} x {label}" for label, n in values["labels"].items())
    if say.as_json:
        say.result(values, [])
    else:
        say.note("predicted", f"{out}{shown}")
