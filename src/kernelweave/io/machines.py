"""Lattices as files tell them, on their way to `Lattices`.

A file gives scores: natural logarithms of weights, one for each arc and each final state.  With `normalize` a lattice
becomes a distribution over its strings, still in logarithms, so that scores of any size are safe:

    b(s) = log( exp(f(s)) + sum over arcs s -> t of exp(score + b(t)) )  =  top + log(mass)
    weight of an arc s -> t = exp(score + b(t) - b(s))          weight of ending in s = exp(f(s) - b(s))

where top is the largest exponent at s and mass the sum of their exponentials relative to it.

Arcs that lie on no path from the initial to a final state are left out; a cycle, a final state that no path leads to,
and weights beyond the range of doubles are errors that name file, line and lattice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from kernelweave.data.atomic import PathLike
from kernelweave.data.errors import Message, ParameterError
from kernelweave.io.numbers import read_number

State = int
LogSum = tuple[float, float]
"""Largest exponent and sum of exponentials relative to it."""

MAX_DIGITS = 18
"""State and symbol numbers beyond this length are mistakes, and slow to read."""

MAX_SCORE = 1e100
"""Scores beyond this size are mistakes; sums along a path stay finite below it."""


@dataclass
class Machine:
    """A weighted acceptor as it stands in a file.

    Parameters
    ----------
    path, line : where it begins; 0 in files that have no lines
    key : its name, or None
    label : its class as text, or None
    initial : the state where paths begin, any number
    sources, targets, words, scores, lines : of each arc; a score is a natural logarithm, the word "" spells nothing
    finals : state -> (score, line)
    """

    path: PathLike
    line: int
    key: str | None = None
    label: str | None = None
    initial: State = 0
    sources: list[State] = field(default_factory=list)
    targets: list[State] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    finals: dict[State, tuple[float, int]] = field(default_factory=dict)

    def add(self, source: State, target: State, word: str, score: float, line: int) -> None:
        """Add an arc."""
        self.sources.append(source)
        self.targets.append(target)
        self.words.append(word)
        self.scores.append(score)
        self.lines.append(line)

    def end(self, state: State, score: float, line: int) -> None:
        """Make a state final; a state is so once."""
        if state in self.finals:
            raise self.fault(line, f"state {state} was made final before, on line {self.finals[state][1]}")
        self.finals[state] = (score, line)

    def fault(self, line: int, reason: str | Message) -> ParameterError:
        """Return the error about a line of this machine."""
        name = "the lattice" if self.key is None else f"lattice {shown(self.key)}"
        place = f"{self.path}:{line}" if line else str(self.path)  # binary files have no lines
        return ParameterError("{place}: {name}: {reason}.", place=place, name=name, reason=reason)


LISTED = 200
"""Letters of a list of names in a sentence."""


def shown(text: str, longest: int = 40) -> str:
    """Return a text in quotes, cut where it is too long for a sentence."""
    return repr(text) if len(text) <= longest else repr(text[:longest]) + "..."


def shorter(text: str, longest: int = 40) -> str:
    """Return a text, cut where it is too long for a sentence."""
    return str(text) if len(text) <= longest else str(text)[:longest] + "..."


def read_state(text: str) -> State | None:
    """Return the number of a state or symbol, or None where the text is none."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= MAX_DIGITS else None


def read_score(text: str) -> float | None:
    """Return a number that may be a score, or None where the text is none: not a number, infinite, far too large."""
    value = read_number(text)
    return value if value is not None and -MAX_SCORE <= value <= MAX_SCORE else None  # no comparison with nan is true


def no_score(what: str, text: str) -> str:
    """Return the reason why a text is no score."""
    value = read_number(text)
    a_number = value is None or abs(value) <= MAX_SCORE
    return f"{what} {shown(text)} is " + ("not a number" if a_number else "not the logarithm of a probability")


@dataclass
class Built:
    """Arcs of a machine, states numbered from 0, the initial one; finals: state -> weight of ending there."""

    sources: list[int]
    targets: list[int]
    words: list[str]
    weights: list[float]
    n_states: int
    finals: dict[int, float]


def build(machine: Machine, normalize: bool, scale: float) -> Built:
    """Return the weights of a checked machine; arcs that no path leads to are left out.

    Parameters
    ----------
    machine : the machine
    normalize : whether weights become conditional probabilities, so that all strings together weigh one; an arc whose
        weight is too small for a double, or that leads to no end, gets zero
    scale : all scores are multiplied by it first
    """
    if not machine.finals:
        if machine.sources:
            raise machine.fault(machine.lines[-1], "it has arcs but no final state, as if the file were cut off")
        return Built([], [], [], [], 1, {})
    _check_sizes(machine, scale)
    rank = {state: place for place, state in enumerate(_topological(machine))}
    arcs = sorted(range(len(machine.sources)), key=lambda arc: rank[machine.sources[arc]])
    reached = _reached(machine, arcs)
    arcs = [arc for arc in arcs if machine.sources[arc] in reached]
    number = {state: place for place, state in enumerate(sorted(reached, key=rank.__getitem__))}
    sums = _log_sums(machine, arcs, scale) if normalize else None
    return Built(
        [number[machine.sources[arc]] for arc in arcs],
        [number[machine.targets[arc]] for arc in arcs],
        [machine.words[arc] for arc in arcs],
        [_arc_weight(machine, arc, sums, scale) for arc in arcs],
        len(number),
        {
            number[state]: _weight(machine, scale * score, line, None if sums is None else sums[state])
            for state, (score, line) in machine.finals.items()
        },
    )


def _check_sizes(machine: Machine, scale: float) -> None:
    """Raise if a scaled score is so large that sums of some would not be finite."""
    largest = MAX_SCORE / scale
    for score, line in [*zip(machine.scores, machine.lines), *machine.finals.values()]:
        if not -largest <= score <= largest:
            raise machine.fault(line, f"the score {scale * score:g} is not the logarithm of a probability")


def _topological(machine: Machine) -> list[State]:
    """Return all states, each behind those that lead to it."""
    sources, targets = machine.sources, machine.targets
    states = dict.fromkeys([machine.initial, *sources, *targets, *machine.finals])
    if all(map(int.__lt__, sources, targets)):
        return sorted(states)
    followers: dict[State, list[State]] = {state: [] for state in states}
    waiting = dict.fromkeys(states, 0)
    for source, target in zip(sources, targets):
        followers[source].append(target)
        waiting[target] += 1
    order = [state for state, count in waiting.items() if not count]
    for state in order:  # grows while it is gone through
        for target in followers[state]:
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    if len(order) < len(states):
        raise _cycle(machine, {state for state, count in waiting.items() if count})
    return order


def _cycle(machine: Machine, stuck: set[State]) -> ValueError:
    """Return the error about a cycle: going back from a state on or behind one stays among such states."""
    into = {t: arc for arc, (s, t) in enumerate(zip(machine.sources, machine.targets)) if s in stuck and t in stuck}
    arc = next(iter(into.values()))
    for _ in into:
        arc = into[machine.sources[arc]]
    source, target = machine.sources[arc], machine.targets[arc]
    return machine.fault(machine.lines[arc], f"the arc from {source} to {target} lies on a cycle; lattices have none")


def _reached(machine: Machine, arcs: list[int]) -> set[State]:
    """Return the states that paths lead to; each final state must be one.  arcs: numbers in topological order."""
    reached = {machine.initial}
    for arc in arcs:
        if machine.sources[arc] in reached:
            reached.add(machine.targets[arc])
    for state, (_, line) in machine.finals.items():
        if state not in reached:
            reason = f"no path leads from the initial state {machine.initial} to the final state {state}"
            raise machine.fault(line, reason)
    return reached


def _log_sums(machine: Machine, arcs: list[int], scale: float) -> dict[State, LogSum]:
    """Return b(s) of the states from which a path leads to an end; arcs: numbers in topological order."""
    sums = {state: (scale * score, 1.0) for state, (score, _) in machine.finals.items()}
    for arc in reversed(arcs):
        source, target = machine.sources[arc], machine.targets[arc]
        if target in sums:
            term = scale * machine.scores[arc] + _value(sums[target])
            top, mass = sums.get(source, (term, 0.0))
            if term > top:
                sums[source] = (term, mass * math.exp(top - term) + 1.0)
            else:
                sums[source] = (top, mass + math.exp(term - top))
    return sums


def _value(sum: LogSum) -> float:
    return sum[0] + math.log(sum[1])


def _arc_weight(machine: Machine, arc: int, sums: dict[State, LogSum] | None, scale: float) -> float:
    """Return the weight of an arc, 0 where no path leads on."""
    source, target, score = machine.sources[arc], machine.targets[arc], scale * machine.scores[arc]
    if sums is None:
        return _weight(machine, score, machine.lines[arc], None)
    if target not in sums:
        return 0.0
    return _weight(machine, score + _value(sums[target]), machine.lines[arc], sums[source])


def _weight(machine: Machine, exponent: float, line: int, sum: LogSum | None) -> float:
    """Return exp(exponent), as part of a sum of such: that may be zero, else a weight must be a positive double."""
    if sum is not None:
        return math.exp(exponent - sum[0]) / sum[1]
    try:
        weight = math.exp(exponent)
    except OverflowError:
        weight = math.inf
    if not 0 < weight < math.inf:
        size = "zero" if weight == 0 else "infinite"
        reason = f"the weight exp({exponent:g}) is {size} in double precision"
        remedy = "{reason}; {normalize} turns such scores into posterior probabilities"
        raise machine.fault(line, Message(remedy, {"normalize": True}, reason=reason))
    return weight
