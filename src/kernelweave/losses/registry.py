"""Losses by name, and how they are written: "hinge", "huber:0.5"."""

from __future__ import annotations

from typing import Any, TypeVar

from kernelweave.losses.base import Loss, Parameter

L = TypeVar("L", bound=type[Loss])
LOSSES: dict[str, type[Loss]] = {}
"""Every loss by its name, in the order in which `kernelweave.losses` imports them."""


def register(loss: L) -> L:
    """Enter a class into the registry."""
    LOSSES[loss.name] = loss
    return loss


def losses_for(task: str | None) -> list[str]:
    """Return the names of the losses of a task, or of all.

    Examples
    --------
    >>> losses_for("novelty")
    ['one_class']
    """
    return [name for name, loss in LOSSES.items() if task in (None, loss.task)]


def parameters_for(task: str | None) -> dict[str, Parameter]:
    """Return what the losses of a task, or all losses, depend on, by name."""
    return {one.name: one for name in losses_for(task) for one in LOSSES[name].parameters()}


def make_loss(text: str, task: str | None = None, /, **given: Any) -> Loss:
    """Return the loss that a text names.

    Parameters
    ----------
    text : a name, or a name and its parameters after colons, such as "huber:0.5"
    task : what the loss must be for; None for anything
    given : values for parameters that the text leaves open; what the loss does not have is left aside

    Examples
    --------
    >>> make_loss("epsilon_insensitive", epsilon=0.5, sigma=2.0)
    EpsilonInsensitive(epsilon=0.5)
    >>> make_loss("epsilon_insensitive:0.2", epsilon=0.5)
    EpsilonInsensitive(epsilon=0.2)
    """
    loss, spelled = _parse(text, task)
    own = {one.name: given[one.name] for one in loss.parameters() if one.name in given}
    return loss(**{**own, **spelled})


def open_parameters(text: str) -> set[str]:
    """Return the parameters of the loss that a text names, as far as the text leaves them open.

    Examples
    --------
    >>> open_parameters("smooth_hinge"), open_parameters("smooth_hinge:2")
    ({'sigma'}, set())
    """
    loss, spelled = _parse(text, None)
    return {one.name for one in loss.parameters()} - set(spelled)


def _parse(text: str, task: str | None) -> tuple[type[Loss], dict[str, float]]:
    """Return the class that a text names and the parameters that it gives."""
    name, *values = text.split(":") if isinstance(text, str) else (text,)
    if not isinstance(name, str) or name not in LOSSES:
        raise ValueError(f"loss={text!r} is unknown; choose one of {', '.join(losses_for(task))}.")
    loss = LOSSES[name]
    if task not in (None, loss.task):
        listed = ", ".join(losses_for(task))
        raise ValueError(f"loss={text!r} is for {loss.task}, not for {task}; choose one of {listed}.")
    known = loss.parameters()
    if len(values) > len(known):
        raise ValueError(f"loss={text!r} has too many values; write it as {loss.spelling()!r}.")
    return loss, {one.name: _number(text, one, value) for one, value in zip(known, values)}


def _number(text: str, one: Parameter, value: str) -> float:
    try:
        return one.check(float(value))
    except ValueError:
        kind = "non-negative" if one.zero else "positive"
        raise ValueError(f"loss={text!r}: {one.name} must be a {kind} number, not {value!r}.") from None
