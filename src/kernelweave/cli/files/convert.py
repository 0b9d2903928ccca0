"""`kernelweave convert`: rows to stores and back, models of LS-GKM to model files and back, tables of l-mer scores."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kernelweave.cli import options as o
from kernelweave.cli.files.store import convert_rows, is_store_folder, is_store_name
from kernelweave.cli.options.groups import SHOW, option
from kernelweave.cli.paths import check_readable
from kernelweave.cli.show import Output

FileIn = Annotated[
    str,
    typer.Argument(
        metavar="IN",
        help="File of rows, store, or model file written by 'train' or by LS-GKM.",
        show_default=False,
    ),
]
FileOut = Annotated[
    str,
    typer.Argument(
        metavar="OUT",
        help="What to write: .kws for a store of rows, .kw for a model file, .txt (or .txt.gz) for LS-GKM and "
        "deltaSVM; of a store, any file of rows.",
        show_default=False,
    ),
]


@o.grouped("bed")
def convert(
    source: FileIn,
    out: FileOut,
    *,
    append: Annotated[bool, option(SHOW, "Add the rows to the store that is there.", "--append")] = False,
    lmers: Annotated[bool, option(SHOW, "Write the score of every l-mer, as deltaSVM takes them.", "--lmers")] = False,
    reading: o.Reading,
    show: o.Show,
) -> None:
    """Convert rows to a store on disk and back; models from LS-GKM, to LS-GKM, or to a table of all l-mer scores.

    What a file is, its content tells; what it becomes, the name of OUT. Sequences flow into a store block by block,
    so that a file may be larger than memory; a store that is there is replaced when the new one is whole.

    \b
    Examples:
      kernelweave convert sites.fa.gz sites.kws
      kernelweave convert true.fa sites.kws --negative false.fa
      kernelweave convert more.tsv sites.kws --append
      kernelweave convert sites.kws sites.fa
      kernelweave convert gkm.model.txt gkm.kw
      kernelweave convert gkm.kw gkm.model.txt
      kernelweave convert gkm.kw weights.txt --lmers
    """
    check_readable(source)
    from kernelweave.io import check_writable

    say = Output(show.json, show.quiet)
    if is_store_name(out) or is_store_folder(source):
        return convert_rows(source, out, reading, append, say)
    if asked := [name for name, value in vars(reading).items() if value not in (None, False)] + ["append"] * append:
        raise ValueError(f"--{asked[0].replace('_', '-')} is about rows, but {out} does not end in .kws.")
    to = _target(out, lmers)
    check_writable(out)
    model, written_by = _loaded(source)
    if to == written_by:
        raise ValueError(f"{source} is a model of {to} already; there is nothing to convert.")
    values = {"source": source, "out": out, "from": written_by, "to": to, **_written(model, out, to)}
    what = f"{values['lmers']} l-mers" if "lmers" in values else f"{values['support_vectors']} support vectors"
    say.result(values, [("converted", f"{source} ({written_by}) to {out} ({to}), {what}")])


def _target(out: str, lmers: bool) -> str:
    """Return what the output is to be."""
    if out.lower().removesuffix(".gz").endswith(".txt"):
        return "l-mers" if lmers else "LS-GKM"
    if lmers:
        raise ValueError(f"{out} must end in .txt or .txt.gz, for tables of l-mers are text.")
    if not out.lower().endswith(".kw"):
        raise ValueError(
            f"{out} does not say what to write; end it in .kw for a model of kernelweave, .txt for one of LS-GKM, or "
            ".kws for a store of rows."
        )
    return "kernelweave"


def _loaded(source: str) -> tuple[Any, str]:
    """Return a model, and whose file it was."""
    from kernelweave.estimators import load
    from kernelweave.estimators.files.lsgkm import is_lsgkm, read_lsgkm

    return (read_lsgkm(source), "LS-GKM") if is_lsgkm(source) else (load(source), "kernelweave")


def _written(model: Any, out: str, to: str) -> dict[str, Any]:
    from kernelweave.estimators import save
    from kernelweave.estimators.files.lsgkm import write_lmers, write_lsgkm

    if to == "l-mers":
        return {"lmers": write_lmers(model, out)}
    if to == "LS-GKM":
        write_lsgkm(model, out)
    else:
        save(model, out)
    return {"support_vectors": len(model.support_)}
