"""`kernelweave convert`: models of LS-GKM to model files and back, and tables of l-mer scores."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kernelweave.cli import options as o
from kernelweave.cli.options.groups import SHOW, option
from kernelweave.cli.paths import check_readable
from kernelweave.cli.show import Output

ModelIn = Annotated[
    str, typer.Argument(metavar="IN", help="Model file written by 'train', or by LS-GKM.", show_default=False)
]
FileOut = Annotated[
    str,
    typer.Argument(
        metavar="OUT",
        help="File to write: .kw for a model file, .txt (or .txt.gz) for LS-GKM and deltaSVM.",
        show_default=False,
    ),
]


@o.grouped()
def convert(
    source: ModelIn,
    out: FileOut,
    *,
    lmers: Annotated[bool, option(SHOW, "Write the score of every l-mer, as deltaSVM takes them.", "--lmers")] = False,
    show: o.Show,
) -> None:
    """Convert a model: from LS-GKM, to LS-GKM, or to a table of the scores of all l-mers.

    What a file is, its content tells; what it becomes, the name of OUT.

    \b
    Examples:
      kernelweave convert gkm.model.txt gkm.kw
      kernelweave convert gkm.kw gkm.model.txt
      kernelweave convert gkm.kw weights.txt --lmers
    """
    check_readable(source)
    from kernelweave.io import check_writable

    say = Output(show.json, show.quiet)
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
        raise ValueError(f"{out} does not say what to write; end it in .kw for kernelweave or .txt for LS-GKM.")
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
