"""`kernelweave explain`: what every letter, word, arc or column of single rows adds to the decision value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from kernelweave.cli import options as o
from kernelweave.cli.explaining.pictures import LOGOS, check_drawing, drawing
from kernelweave.cli.options.groups import SHOW, option
from kernelweave.cli.paths import check_readable, rows_of
from kernelweave.cli.show import Output, on_terminal

if TYPE_CHECKING:
    from kernelweave.interpret.explain.explanation import Explanation

WHY = "What to tell of each row"
MOTIFS = 10
"""Motifs that are listed by default."""
ARRAYS, BEDGRAPH = ".npz", (".bedgraph", ".bg", ".bedGraph")


@dataclass(frozen=True)
class Telling:
    """What to tell of each row."""

    top: Annotated[
        int | None, option(WHY, "Only the N places of each row that add or take off most.", min=1, metavar="N")
    ] = None
    target: Annotated[
        str | None,
        option(WHY, "Go by the decision value of this class, for a model of several.", "--class", metavar="LABEL"),
    ] = None
    by_kernel: Annotated[bool, option(WHY, "Keep the kernels of the model apart.", "--by-kernel")] = False
    mutate: Annotated[
        bool,
        option(WHY, "Instead: how the decision value changes with every other letter in every place.", "--mutate"),
    ] = False
    compare: Annotated[
        str | None,
        option(
            WHY,
            "Instead: where this other model disagrees most, in units of the spread of the decision values of each; "
            "--top places of each row (default 10).",
            metavar="MODEL",
        ),
    ] = None
    motifs: Annotated[
        str | None,
        option(
            WHY,
            "Instead: what the letters of all rows that speak for the class have in common, as matrices for the MEME "
            "suite in this file; --top motifs (default 10).",
            metavar="FILE",
        ),
    ] = None
    plot: Annotated[
        str | None,
        option(
            WHY,
            "Instead of the table, or beside --motifs: draw the letters of up to 12 rows, a map of more rows of one "
            "length, one long row as a track, highlighted texts, the paths of one lattice, the heaviest columns, or "
            "the motifs, into a .png, .pdf or .svg.",
            metavar="FILE",
        ),
    ] = None
    compact: Annotated[
        bool,
        option(
            SHOW,
            "One line a row: id, decision value, letters, what they add with commas between.",
            "--compact",
        ),
    ] = False

    def check(self, out: str | None) -> None:
        """Raise where two things are asked for at once."""
        if self.mutate and self.compare is not None:
            raise ValueError("--mutate and --compare are two different reports; ask for one of them.")
        if self.mutate and (self.top is not None or self.by_kernel):
            raise ValueError("--mutate lists every place of every row; leave out --top and --by-kernel.")
        others = out is not None or self.by_kernel or self.mutate or self.compare is not None or self.compact
        if self.motifs is not None and others:
            raise ValueError("--motifs writes the file that it names; leave out --out and other reports.")
        if self.plot is not None and self.motifs is None and others:
            raise ValueError("--plot draws instead of a table; leave out --out and other reports.")
        plain = self.mutate or self.compare is not None
        if plain and (self.compact or (out or "").endswith((ARRAYS, *BEDGRAPH))):
            raise ValueError("--mutate and --compare are written as tables only; give --out a name such as out.tsv.")


@o.grouped("labels", "negative")
def explain(
    model: o.Model,
    data: o.Rows = None,
    *,
    out: o.TableOut = None,
    telling: Telling,
    placing: o.Placing,
    reading: o.Reading,
    show: o.Show,
) -> None:
    """Tell what every letter, word, arc or column of rows adds to the decision value.

    Tab-separated: id, position (from 0), letter, what it adds. The letters of a row and its line "base" add up to the
    decision value. The name given by --out chooses the form: .bedgraph for genome browsers (ids such as
    chr1:100-300 or chr1:100-300(-) say where a row lies), .npz for arrays, anything else for the table.

    \b
    Examples:
      kernelweave explain sites.kw new.fa --out letters.tsv
      kernelweave explain sites.kw --bed peaks.bed --genome genome.fa --out peaks.bedgraph
      kernelweave explain sites.kw new.fa --top 5
      kernelweave explain sites.kw new.fa --mutate --out mutations.tsv
      kernelweave explain sites.kw new.fa --compare other.kw
      kernelweave explain sites.kw positives.fa --motifs motifs.meme
    """
    say = Output(show.json, show.quiet)
    out = None if out == "-" else out
    data, reading = rows_of(data, reading)
    check_readable(model, data, reading.symbols, reading.genome, telling.compare)
    placing.chosen()
    telling.check(out)
    from kernelweave.estimators import load
    from kernelweave.io import check_writable

    if out is not None:
        check_writable(out)
    fitted = placing.apply(load(model))
    if telling.plot is not None:
        check_drawing(telling.plot)
    if telling.motifs is not None:
        check_writable(telling.motifs)
        _motifs(fitted, data, telling, reading, say)
    elif telling.plot is not None:
        _picture(fitted, data, telling, reading, say)
    elif out is not None and out.endswith(ARRAYS):
        _arrays(fitted, data, out, telling, reading, say)
    else:
        _lines(fitted, data, out, telling, reading, say)


def _lines(fitted: Any, data: str, out: str | None, telling: Telling, reading: o.Reading, say: Output) -> None:
    """Write lines, block by block."""
    from kernelweave.cli.flow import Pace, new_blocks, writing

    n_rows, listed = 0, list[dict[str, Any]]()
    as_list = say.as_json and out is None
    with Pace("explaining", "rows", say.quiet or (out is None and on_terminal())) as pace, writing(out) as write:
        report = _report(fitted, telling, out)
        for names, X in new_blocks(data, fitted, reading):
            header, rows = report(names, X)
            if as_list:
                listed += [dict(zip(header, row)) for row in rows]
            else:
                if not n_rows and header:
                    write(["\t".join(header) + "\n"])
                write("\t".join(map(str, row)) + "\n" for row in rows)
            n_rows += len(names)
            pace.report(n_rows)
    if as_list:
        say.result({"data": data, "rows": n_rows, "explanations": listed}, [])
    elif out is not None:
        say.result({"data": data, "out": out, "rows": n_rows}, [("explained", f"{out}: {n_rows} rows")])


def _report(fitted: Any, telling: Telling, out: str | None) -> Any:
    """Return a function from names and rows to a header and lines."""
    from kernelweave.interpret.explain import files
    from kernelweave.interpret.explain.mutate import mutagenesis

    output = _output(fitted, telling.target)
    if telling.mutate:

        def mutated(names: list[str], X: Any) -> tuple[list[str], Iterable[list[Any]]]:
            found = mutagenesis(fitted, X)
            return files.mutation_header(found), files.mutation_rows(found, tuple(names))

        return mutated
    if telling.compare is not None:
        return _compared(fitted, telling, output)

    def told(names: list[str], X: Any) -> tuple[list[str], Iterable[list[Any]]]:
        found = _explained(fitted, names, X, telling.by_kernel)
        if out is not None and out.endswith(BEDGRAPH):
            return [], files.bedgraph_rows(found, output)
        if telling.compact:
            return ["id", "decision", "letters", "adds"], files.compact_rows(found, output)
        return files.table_header(found), files.table_rows(found, telling.top, output)

    return told


def _compared(fitted: Any, telling: Telling, output: int) -> Any:
    """Return a function that lists where two models disagree."""
    from kernelweave.estimators import load
    from kernelweave.interpret.explain.compare import compare

    other = load(str(telling.compare))

    def lines(names: list[str], X: Any) -> Iterator[list[Any]]:
        found = compare(_explained(fitted, names, X, False), _explained(other, names, X, False), output)
        for row, name in enumerate(names):
            for place, mine, theirs in found.top(row, telling.top or 10):
                yield [name, place.position, place.name, mine, theirs, place.value, float(found.agreement[row])]

    header = ["id", "position", "place", "this_model", "other_model", "difference", "agreement_of_row"]
    return lambda names, X: (header, lines(names, X))


def _explained(fitted: Any, names: list[str], X: Any, by_kernel: bool) -> Explanation:
    from dataclasses import replace

    from kernelweave.interpret.explain.rows import explain as explain_rows

    return replace(explain_rows(fitted, X, by_kernel=by_kernel), ids=tuple(names))


def _output(fitted: Any, target: str | None) -> int:
    """Return the number of the decision value of a class that was named on the command line."""
    from kernelweave.cli.explaining.learned import chosen_class
    from kernelweave.interpret.explain.rows import output_names
    from kernelweave.interpret.parts import last_step

    core = last_step(fitted)
    if target is None:
        return 0
    label = str(chosen_class(core, target))
    names = output_names(core)
    if label not in names:
        raise ValueError(
            f"--class {target}: a model of two classes has one decision value, which speaks for {names[0]}."
        )
    return names.index(label)


def _arrays(fitted: Any, data: str, out: str, telling: Telling, reading: o.Reading, say: Output) -> None:
    """Write arrays."""
    from kernelweave.cli.flow import new_blocks
    from kernelweave.interpret.explain.explanation import joined
    from kernelweave.interpret.explain.files import write_arrays

    parts = [_explained(fitted, names, X, telling.by_kernel) for names, X in new_blocks(data, fitted, reading)]
    if not parts:
        raise ValueError(f"{data} has no rows.")
    told = joined(parts)
    write_arrays(out, told)
    say.result({"data": data, "out": out, "rows": len(told)}, [("explained", f"{out}: {len(told)} rows")])


def _motifs(fitted: Any, data: str, telling: Telling, reading: o.Reading, say: Output) -> None:
    """Find motifs, write them for the MEME suite and list them."""
    from dataclasses import asdict

    from kernelweave.cli.explaining.learned import chosen_class
    from kernelweave.cli.flow import new_blocks, writing
    from kernelweave.data.kinds import kind_of
    from kernelweave.interpret.motifs.find import find_motifs, knows_strands
    from kernelweave.interpret.motifs.meme import letter_shares, meme_lines
    from kernelweave.interpret.parts import last_step

    parts = [X for _, X in new_blocks(data, fitted, reading)]
    if not parts:
        raise ValueError(f"{data} has no rows.")
    X = kind_of(parts[0]).concatenate(parts)
    target, path = chosen_class(last_step(fitted), telling.target), str(telling.motifs)
    found = find_motifs(fitted, X, telling.top or MOTIFS, target=target)
    if not found:
        raise ValueError(f"The letters of {data} that add most have no motif in common; are there enough rows?")
    with writing(path) as write:
        write(meme_lines(found, letter_shares(X), knows_strands(last_step(fitted))))
    if telling.plot is not None:
        from kernelweave.cli.evaluate import save_picture
        from kernelweave.plots import LogoDisplay

        save_picture(LogoDisplay.from_motifs(found[:LOGOS]).plot(), telling.plot)
    if say.as_json:
        say.result({"data": data, "out": path, "motifs": [asdict(motif) for motif in found]}, [])
        return
    rows = [[one.consensus, one.n_sites, f"{one.total:+.4f}", one.examples[0][3]] for one in found]
    say.table(["motif", "sites", "a site adds", "heaviest site"], rows)
    say.note("written", f"{path}: {len(found)} motifs")


def _picture(fitted: Any, data: str, telling: Telling, reading: o.Reading, say: Output) -> None:
    """Draw a few rows, or a map of many."""
    from kernelweave.cli.evaluate import save_picture
    from kernelweave.cli.flow import new_blocks
    from kernelweave.interpret.explain.explanation import joined

    told = joined([_explained(fitted, names, X, False) for names, X in new_blocks(data, fitted, reading)])
    plot = str(telling.plot)
    save_picture(drawing(told, _output(fitted, telling.target)).plot(), plot)
    say.result({"data": data, "plot": plot, "rows": len(told)}, [("drawn", f"{plot}: {len(told)} rows")])
