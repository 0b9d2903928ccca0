"""Options with their help, and groups of them: a dataclass whose fields are options of a command.

`grouped` turns a command that takes groups into one that takes their fields one by one, as typer asks for.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import shlex
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

import typer

DATA, LATTICES, LEARN, SCAN, SHOW = "Reading the data", "Reading lattices", "Learning", "Scanning", "Output"
WORK = "Where work runs"

Command = Callable[..., None]


def option(panel: str, help: str, *names: str, metavar: str | None = None, **more: Any) -> Any:
    """Return an option that is listed under a heading."""
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel, show_default=False, **more)


def grouped(*without: str) -> Callable[[Command], Command]:
    """Return a decorator for commands with parameters that are groups: dataclasses of options, which may hold others.

    The command line sees one option for each field, in their order, at the place of the group; the command is called
    with the groups filled in.

    Parameters
    ----------
    without : fields that are not options of this command; they keep their defaults
    """

    def decorate(command: Command) -> Command:
        groups = {name: kind for name, kind in get_type_hints(command).items() if dataclasses.is_dataclass(kind)}

        @functools.wraps(command)
        def run(**given: Any) -> None:
            filled = {name: _filled(kind, given) for name, kind in groups.items()}
            command(**given, **filled)

        parameters = list(_flat(command, without))
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return decorate


def _flat(described: Callable[..., Any], without: tuple[str, ...]) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a command or of a group, those of the groups in it in their place."""
    hints = get_type_hints(described, include_extras=True)
    for one in inspect.signature(described).parameters.values():
        kind = hints[one.name]
        if dataclasses.is_dataclass(kind):
            yield from _flat(kind, without)  # type: ignore[arg-type]
        elif one.name not in without:
            yield one.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)


def _filled(kind: Any, given: dict[str, Any]) -> Any:
    """Return a group with its fields taken out of what was given."""
    hints = get_type_hints(kind)
    values = {}
    for one in dataclasses.fields(kind):
        if dataclasses.is_dataclass(hints[one.name]):
            values[one.name] = _filled(hints[one.name], given)
        elif one.name in given:
            values[one.name] = given.pop(one.name)
    return kind(**values)


def as_option(name: str, value: Any) -> str:
    """Return a parameter of the library as the command line spells it.

    >>> as_option("unknown", "mask")
    '--unknown mask'
    """
    from kernelweave.data.errors import Metavar  # slow to import, and wherever it is asked for already there

    if name == "normalize" and value is True:  # of readers of lattices; that of kernels is a text or None
        return "leaving out --raw-weights"
    text = str(value) if isinstance(value, Metavar) else shlex.quote("none" if value is None else str(value))
    return f"--{name.replace('_', '-')} {text}".rstrip()
