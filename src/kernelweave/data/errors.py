"""Errors that name parameters, spelled as the reader writes them: `unknown='mask'` in Python, `--unknown mask` in a
shell."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

Spelling = Callable[[str, Any], str]
"""From the name and the value of a parameter to the text that sets it."""


class Metavar(str):
    """A value that the reader is to choose, such as N; an empty one where the name alone says enough."""

    def __repr__(self) -> str:
        return str(self)


class Message:
    """A text that names parameters.

    Parameters
    ----------
    template : text with {name} where the parameter or the fact of this name belongs, in the form of `str.format`
    parameters : names and values of parameters, spelled for the reader
    facts : everything else that the template mentions; a fact may be a message, too

    Examples
    --------
    >>> message = Message("{path} has it; {unknown} keeps it", {"unknown": "mask"}, path="x.fa")
    >>> str(message)
    "x.fa has it; unknown='mask' keeps it"
    >>> message.spelled(lambda name, value: f"--{name} {value}")
    'x.fa has it; --unknown mask keeps it'
    """

    def __init__(self, template: str, parameters: Mapping[str, Any] | None = None, **facts: Any):
        self.template, self.parameters, self.facts = template, dict(parameters or {}), facts

    def __str__(self) -> str:
        return self.spelled(in_python)

    def spelled(self, spelling: Spelling) -> str:
        """Return the text with every parameter spelled in a certain way."""
        facts = {
            name: fact.spelled(spelling) if isinstance(fact, Message | ParameterError) else fact
            for name, fact in self.facts.items()
        }
        named = {name: spelling(name, value) for name, value in self.parameters.items()}
        return self.template.format(**facts, **named)


class Incomparable(ValueError):
    """Rows that a user handed in cannot be compared with others, whatever the state of the model."""


class ParameterError(ValueError):
    """A ValueError that names parameters; see `Message` for what it is made of.

    Examples
    --------
    >>> raise ParameterError("{unknown} is not valid; use 'error' or 'mask'.", {"unknown": "drop"})
    Traceback (most recent call last):
    ...
    kernelweave.data.errors.ParameterError: unknown='drop' is not valid; use 'error' or 'mask'.
    """

    def __init__(self, template: str, parameters: Mapping[str, Any] | None = None, **facts: Any):
        self.message = Message(template, parameters, **facts)
        super().__init__(str(self.message))

    def spelled(self, spelling: Spelling) -> str:
        """Return what the error says, with every parameter spelled in a certain way."""
        return self.message.spelled(spelling)

    def __reduce__(self) -> tuple[Any, ...]:
        message = self.message
        return functools.partial(ParameterError, message.template, message.parameters, **message.facts), ()


def in_python(name: str, value: Any) -> str:
    """Return a parameter as Python spells it.

    >>> in_python("unknown", "mask")
    "unknown='mask'"
    """
    return f"{name}={value!r}"


def preceded(error: ValueError | TypeError, place: str) -> ValueError | TypeError:
    """Return an error that says in front where it happened, and names the same parameters.

    >>> preceded(ParameterError("{unknown} is not valid.", {"unknown": "drop"}), "In x.fa").spelled(in_python)
    "In x.fa: unknown='drop' is not valid."
    """
    if isinstance(error, ParameterError):
        return ParameterError("{place}: {error}", place=place, error=error)
    return (TypeError if isinstance(error, TypeError) else ValueError)(f"{place}: {error}")
