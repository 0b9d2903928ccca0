"""Tables of the manual, made from the registries while it is built: what a registry lacks, the manual lacks.

A page asks for a table by its name, and for some of its rows by theirs:

    ```{registry-table} kernels Spectrum Mismatch
    ```

What a row says comes from the registry entry, from signatures and from the first paragraph of a docstring.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kernelweave.losses import Loss


class Table(NamedTuple):
    """The heads of the columns, and by name of the member what stands under each of them."""

    heads: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]


TABLES: dict[str, Callable[[], Table]] = {}


def table(function: Callable[[], Table]) -> Callable[[], Table]:
    """Enter a function that makes a table, under its own name."""
    TABLES[function.__name__] = function
    return function


def summary(thing: Any) -> str:
    """Return the first paragraph of a docstring, as a part of a sentence."""
    text = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return " ".join(text.split()).rstrip(".")


def code(text: str) -> str:
    """Return text in the type of code."""
    return f"`{text}`"


def listed(names: Iterable[str]) -> str:
    """Return names in the type of code, with commas between them."""
    return ", ".join(code(name) for name in names)


def parameters(make: Callable[..., Any]) -> str:
    """Return what can be set, with the defaults."""
    found = inspect.signature(make).parameters.values()
    return listed(f"{each.name}={each.default!r}" for each in found)


# --------------------------------------------------------------------------------------------------------- kernels


def call(kernel: type) -> str:
    """Return a kernel as it is called: the parameters that it needs."""
    found = inspect.signature(kernel).parameters.values()
    return f"{kernel.__name__}({', '.join(each.name for each in found if each.default is each.empty)})"


def short(alias: str, kernel: type) -> str:
    """Return a kernel as the command line writes it: the alias and the parameters that it needs."""
    found = inspect.signature(kernel).parameters.values()
    needed = [each.name.upper() for each in found if each.default is each.empty]
    return alias + (":" + ",".join(needed) if needed else "")


@table
def kernels() -> Table:
    """Return every kernel, with its alias."""
    from kernelweave.kernels.abilities import Features
    from kernelweave.kernels.registry import ALIASES, KERNELS

    aliases = {kernel: short(alias, kernel) for alias, kernel in ALIASES.items()}
    rows = {}
    for name, kernel in KERNELS.items():
        kind = kernel.kind if issubclass(kernel, Features) else ""
        features = kind if isinstance(kind, str) else "as the kernels inside"
        rows[name] = (code(call(kernel)), summary(kernel), features, code(aliases[kernel]) if kernel in aliases else "")
    return Table(("kernel", "what it compares, or is", "explicit features", "command line"), rows)


# ---------------------------------------------------------------------------------------------------------- losses


@table
def losses() -> Table:
    """Return every loss."""
    from kernelweave.losses import LOSSES

    rows = {
        name: (code(f'"{loss.spelling()}"'), summary(loss), loss.task, properties(loss()), meanings(loss))
        for name, loss in LOSSES.items()
    }
    return Table(("`loss=`", "value", "for", "properties", "parameters"), rows)


def properties(loss: Loss) -> str:
    """Return what solvers ask of a loss, as far as it has it."""
    bounded = loss.lipschitz < float("inf")
    asked = {"differentiable": loss.smooth, "Lipschitz": bounded, "quadratic dual over a box": loss.boxed}
    return ", ".join(word for word, has in asked.items() if has)


def meanings(loss: type[Loss]) -> str:
    """Return the parameters of a loss with their defaults and meanings."""
    return "; ".join(f"`{one.name}={one.default!r}`, {one.meaning}" for one in loss.parameters())


@table
def normalizations() -> Table:
    """Return every scaling of a kernel."""
    from kernelweave.estimators.normalize import NORMALIZATIONS

    rows = {name: (code(f'"{name}"'), text) for name, text in NORMALIZATIONS.items()}
    return Table(("`normalize=`", "the kernel"), {"none": ("`None`", "as it is"), **rows})


# --------------------------------------------------------------------------------------------------------- solvers


@table
def svm_solvers() -> Table:
    """Return the solvers for one kernel."""
    from kernelweave.solvers.loop import limits_of
    from kernelweave.solvers.svm import SVM_SOLVERS

    rows = {
        name: (code(f'"{name}"'), summary(make), limits_of(make).words(), parameters(make))
        for name, make in SVM_SOLVERS.items()
    }
    return Table(("`solver=`", "algorithm", "most iterations", "`solver_params=`"), rows)


@table
def mkl_solvers() -> Table:
    """Return the solvers for many kernels."""
    from kernelweave.losses import LOSSES
    from kernelweave.solvers.loop import limits_of
    from kernelweave.solvers.mkl import MKL_SOLVERS

    rows = {}
    for name, entry in MKL_SOLVERS.items():
        norm = "1" if entry.largest_p == 1.0 else "1 and more"
        some = "every" if set(entry.losses) == set(LOSSES) else listed(entry.losses)
        some += "; kernels of rank one" if entry.rank_one else ""
        proves = "" if entry.certifies == "mkl" else entry.certifies
        most = limits_of(entry.make).words()
        rows[name] = (code(f'"{name}"'), summary(entry.make), norm, some, proves, most, parameters(entry.make))
    heads = (
        "`solver=`", "algorithm", "`norm=`", "losses", "certifies another problem", "most iterations",
        "`solver_params=`",
    )  # fmt: skip
    return Table(heads, rows)


@table
def resuming() -> Table:
    """Return how each solver goes on from a checkpoint."""
    from kernelweave.solvers.mkl import MKL_SOLVERS
    from kernelweave.solvers.state import resumes_with_same_bits
    from kernelweave.solvers.svm import SVM_SOLVERS

    every = SVM_SOLVERS | {name: entry.make for name, entry in MKL_SOLVERS.items()}
    rows = {}
    for name, make in every.items():
        kept = "its state" if hasattr(make, "resume") else "the best point"
        ends = "the same bits" if resumes_with_same_bits(make) else "the same objective, within the gap"
        rows[name] = (code(f'"{name}"'), "one kernel" if name in SVM_SOLVERS else "many kernels", kept, ends)
    return Table(("`solver=`", "for", "goes on from", "ends with"), rows)


@table
def terminations() -> Table:
    """Return the rules that end a fit of CG-Boost."""
    from kernelweave.solvers.boost.rules import TERMINATIONS

    rows = {rule: (code(f'"{rule}"'), text) for rule, text in TERMINATIONS.items()}
    return Table(("rule", "the fit ends when"), rows)


# ----------------------------------------------------------------------------------------------- plans and stores


@table
def plans() -> Table:
    """Return the ways to hold kernels, in the order in which they are tried, with what asks for them."""
    from kernelweave.operators.planner.choose import CANDIDATES

    asked = {"parts": "many kernels", "design": "many kernels", "scores": "mixtures", "columns": "mixtures"}
    found: dict[str, dict[str, str]] = {}
    for candidate in CANDIDATES:
        found.setdefault(candidate.kind, {})[asked.get(candidate.needs[0], "one kernel")] = summary(type(candidate))
    rows = {}
    for kind, texts in found.items():
        several = [f"{use}: {text[0].lower()}{text[1:]}" for use, text in texts.items()]
        what = "; ".join(several) if len(texts) > 1 else next(iter(texts.values()))
        rows[kind] = (code(kind), what, ", ".join(texts))
    return Table(("`kind`", "what is in memory", "for"), rows)


@table
def chunking_stores() -> Table:
    """Return where chunking can keep the normal vector of weighted-degree kernels."""
    from kernelweave.operators.kmers.stores import STORES

    rows = {name: (code(f'"{name}"'), summary(store)) for name, store in STORES.items()}
    return Table(("`store`", "how the normal vector is kept"), rows)


@table
def descent_stores() -> Table:
    """Return where coordinate descent can keep the normal vector of kernels that count strings."""
    from kernelweave.operators.base import DESCENT_STORES

    rows = {name: (code(f'"{name}"'), text) for name, text in DESCENT_STORES.items()}
    return Table(("`store`", "how the normal vector is kept"), rows)


# ------------------------------------------------------------------------------------------------- rows and formats


@table
def row_kinds() -> Table:
    """Return every kind of rows."""
    from kernelweave.data.kinds import KINDS

    rows = {}
    for name, kind in KINDS.items():
        held = kind.rows if isinstance(kind.rows, tuple) else (kind.rows,)
        ours = [each for each in held if each.__module__.startswith("kernelweave.")]
        rows[name] = (name, listed(dict.fromkeys(each.__name__ for each in held)), summary((ours or [type(kind)])[0]))
    return Table(("rows", "held as", "what they are"), rows)


@table
def formats() -> Table:
    """Return every file format."""
    from kernelweave.io import FORMATS

    rows = {}
    for name, known in FORMATS.items():
        text, ends = summary(inspect.getmodule(known.machines or known.read)), " ".join(map(code, known.suffixes))
        kinds, write = ", ".join(known.holds), "yes" if known.write else "no"
        rows[name] = (code(name), kinds, text, ends, write, listed(known.options))
    return Table(("format", "holds", "what it is", "suffixes", "written", "options of the reader"), rows)


# ---------------------------------------------------------------------------------------------------- command line


def commands() -> dict[str, Any]:
    """Return the commands of the program, by name."""
    import typer

    from kernelweave.cli.app import app

    return typer.main.get_command(app).commands


def options(command: str) -> Table:
    """Return the arguments and options of a command, with their help."""
    rows = {}
    for each in commands()[command].params:
        argument = each.param_type_name == "argument"
        names = each.metavar if argument else ", ".join(each.opts)
        value = "" if argument or not each.metavar else f" {each.metavar}"
        rows[names] = (code(names + value), "" if argument else each.rich_help_panel or "", each.help or "")
    return Table(("option", "part", "what it does"), rows)


# -------------------------------------------------------------------------------------------------------- Markdown


def markdown(made: Table, members: Iterable[str] = ()) -> list[str]:
    """Return a table, or some of its rows, as lines of Markdown; columns in which nothing stands are left out."""
    chosen = list(members) or list(made.rows)
    unknown = [name for name in chosen if name not in made.rows]
    if unknown:
        raise ValueError(f"{', '.join(unknown)} is not in the table; it has {', '.join(made.rows)}.")
    filled = [place for place in range(len(made.heads)) if any(made.rows[name][place] for name in chosen)]
    lines = [[made.heads[place] for place in filled], ["---"] * len(filled)]
    lines += [[made.rows[name][place].replace("|", "\\|") for place in filled] for name in chosen]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def rendered(name: str, members: Iterable[str] = ()) -> list[str]:
    """Return the lines of the table of that name; ``options`` takes the command in place of members."""
    if name == "options":
        (command,) = members
        return markdown(options(command))
    if name not in TABLES:
        raise ValueError(f"There is no table {name!r}; there are options, {', '.join(TABLES)}.")
    return markdown(TABLES[name](), members)


def setup(app: Any) -> dict[str, Any]:
    """Enter the directive ``registry-table``."""
    from docutils import nodes
    from docutils.statemachine import StringList
    from sphinx.util.docutils import SphinxDirective

    class RegistryTable(SphinxDirective):
        required_arguments = 1
        final_argument_whitespace = True

        def run(self) -> list[nodes.Node]:
            name, *members = self.arguments[0].split()
            lines = StringList(rendered(name, members), source=self.env.docname)
            node = nodes.container()
            self.state.nested_parse(lines, self.content_offset, node)
            return node.children

    app.add_directive("registry-table", RegistryTable)
    return {"parallel_read_safe": True}
