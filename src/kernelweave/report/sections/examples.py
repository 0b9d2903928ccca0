"""Ten rows, explained: where the model is most right, most wrong and least sure."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.interpret.explain.explanation import Explanation
from kernelweave.interpret.explain.rows import explain
from kernelweave.interpret.explain.stability import explanation_stability
from kernelweave.report.figures.ends import Ends
from kernelweave.report.figures.places import Scale, drawn_row
from kernelweave.report.html import clipped, note, paragraph, tag
from kernelweave.report.numbers import share, short, signed
from kernelweave.report.sections.base import Section, Writing, section
from kernelweave.report.subject import NOVELTY, NUMBERS, SEVERAL, Subject, rows_of

Array = np.ndarray
Pick = tuple[str, int]
FIRM = (
    "Behind a value stands the interval that holds 90% of {} refits on bootstrap samples of the training rows; letters "
    "whose interval leaves out zero are written bold below."
)
MOST = 10
"""Rows that are explained."""


def examples(w: Writing) -> Section:
    """Return the rows with what each place adds."""
    s = w.subject
    picks = picked(s)
    rows = rows_of(s.X, np.array([row for _, row in picks]))
    told = explain(s.model, rows)
    firm = _firm(w, rows, told)
    outputs = [_output(s, row) for _, row in picks]
    scale = Scale.of(told, outputs)
    parts: list[Any] = [paragraph(_words(told)), note(_signs(s)), note(FIRM.format(w.refits)) if firm else None]
    for place, ((kind, row), output) in enumerate(zip(picks, outputs)):
        head = tag(
            "header", tag("span", kind, class_="kind"), tag("h3", s.names[row]), tag("p", *_facts(s, row, output))
        )
        table = _cells(s, row)
        drawn = drawn_row(told, place, output, scale, w.origin, table, firm)
        parts.append(tag("article", head, drawn, _sum(told, place, output), class_="example"))
    return section("examples", "Ten rows, explained" if len(picks) == MOST else "Rows, explained", parts)


def _firm(w: Writing, rows: Any, told: Explanation) -> list[Ends | None]:
    """Return the ends of the intervals of what places add, for each track, where they were asked for."""
    if w.training is None or w.stability is not None:
        return []
    X, y = w.training
    found = explanation_stability(w.subject.model, X, y, rows, n_samples=w.refits, random_state=0)
    same = {(t.unit, t.view, t.kernel): k for k, t in enumerate(found.explanation.tracks)}
    places = [same.get((t.unit, t.view, t.kernel)) for t in told.tracks]
    return [None if k is None else (found.lower[k], found.upper[k]) for k in places]


def picked(s: Subject) -> list[Pick]:
    """Choose the rows: kinds with row numbers, ten of them where there are as many."""
    if s.task == NUMBERS and s.y is not None:
        error = np.abs(s.scores - s.y)
        wishes = [
            ("closest", error, 3),
            ("furthest off", -error, 4),
            ("largest", -s.scores, 2),
            ("smallest", s.scores, 1),
        ]
    elif s.task == NUMBERS:
        wishes = [("largest", -s.scores, 4), ("smallest", s.scores, 3),
                  ("in the middle", np.abs(s.scores - np.median(s.scores)), 3)]  # fmt: skip
    else:
        wishes = _of_classes(s)
    chosen: dict[int, str] = {}
    for kind, rank, many in wishes:
        many = min(many, MOST - len(chosen))
        order = [
            row for row in np.argsort(rank, kind="stable").tolist() if row not in chosen and np.isfinite(rank[row])
        ]
        chosen |= dict.fromkeys(order[:many], kind)
    return [(kind, row) for row, kind in chosen.items()]


def _of_classes(s: Subject) -> list[tuple[str, Array, int]]:
    """Return kinds, ranks (infinite for rows that are out of the question) and numbers, for models of classes."""
    margin, sure = _margins(s)
    if s.y is None:
        names = ("most novel", "least novel") if s.task == NOVELTY else (f"called {clipped(c)}" for c in s.classes)
        if s.task == SEVERAL:
            return [("clearest", -sure, 6), ("least sure", sure, 4)]
        return [*((f"{name}, clearest", rank, 3) for name, rank in zip(names, (margin, -margin))),
                ("least sure", sure, 4)]  # fmt: skip
    right = np.asarray(s.calls).astype(object) == s.y
    best: list[tuple[str, Array, int]] = []
    if s.task == SEVERAL:
        best = [("clearly right", np.where(right & (s.y == label), -sure, np.inf), 1) for label in s.classes[:4]]
    else:
        best = [("clearly right", np.where(right & (s.y == label), -sure, np.inf), 2) for label in s.classes[::-1]]
    return [*best, ("clearly wrong", np.where(right, np.inf, -sure), 3), ("least sure", sure, MOST)]


def _margins(s: Subject) -> tuple[Array, Array]:
    """Return the decision value beyond the threshold, and how far each row is from another call."""
    if s.task == SEVERAL:
        ranked = np.sort(s.scores, axis=1)
        lead = ranked[:, -1] - ranked[:, -2]
        return lead, lead
    margin = s.scores - s.threshold
    return margin, np.abs(margin)


def _output(s: Subject, row: int) -> int:
    """Return the decision value that speaks for the call of a row."""
    return s.classes.index(np.asarray(s.calls)[row]) if s.task == SEVERAL else 0


def _facts(s: Subject, row: int, output: int) -> list[Any]:
    said: list[tuple[str, str]] = []
    if s.y is not None:
        said.append(("true", short(float(s.y[row])) if s.task == NUMBERS else clipped(s.y[row])))
    if s.task == NUMBERS:
        said.append(("predicted", short(float(s.scores[row]))))
    else:
        call = np.asarray(s.calls)[row]
        said.append(("called", ("not novel" if call == 1 else "novel") if s.task == NOVELTY else clipped(call)))
        value = s.scores[row, output] if s.task == SEVERAL else s.scores[row]
        said.append(("decision value", signed(float(value))))
    if s.chances is not None:
        place = output if s.task == SEVERAL else 1
        said.append((f"probability of {clipped(s.classes[place])}", share(float(s.chances[row, place]))))
    wrong = s.task != NUMBERS and s.y is not None and np.asarray(s.calls).astype(object)[row] != s.y[row]
    shown = [tag("span", tag("i", f"{name} "), tag("b", value)) for name, value in said]
    return [*shown, tag("span", "wrong", class_="wrong")] if wrong else [*shown]


def _sum(told: Explanation, place: int, output: int) -> Any:
    """Say that everything adds up; nothing where there is nothing to add."""
    if not told.tracks and len(told.rest_names) == 1:
        return None
    base, total = float(told.base[output]), float(told.sums[place, output])
    return tag("p", f"Intercept {signed(base)} and all of the above add up to {signed(total)}.", class_="dim")


def _cells(s: Subject, row: int) -> dict[str, str] | None:
    """Return the values of a row of a table by column as they were given, None for other rows."""
    X = s.X.to_numpy() if hasattr(s.X, "iloc") else s.X
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return None
    names = getattr(s.X, "columns", range(X.shape[1]))
    return {
        str(name): short(float(v)) if isinstance(v, int | float) else clipped(v)
        for name, v in zip(names, X[row].tolist())
    }


def _words(told: Explanation) -> str:
    units = list(dict.fromkeys(track.unit for track in told.tracks))
    if not units and len(told.rest_names) == 1:
        return "The kernel compares whole rows, so that a decision value cannot be divided among parts of a row."
    spelled = " and ".join(f"{unit}s" for unit in units) or "kernels"
    rest = " What some kernels add cannot be divided, and is shown by kernel." if units and told.rest_names else ""
    return f"The decision value of a row is the intercept and what its {spelled} add.{rest}"


def _signs(s: Subject) -> str:
    if s.task == SEVERAL:
        whose = "the class that is called"
    elif s.task == NUMBERS:
        whose = "a larger number"
    else:
        whose = "a row that is not novel" if s.task == NOVELTY else f"class {clipped(s.positive)}"
    return (
        f"Blue, or above the line, speaks for {whose}; orange, or below, against. Point at anything to read its value; "
        "sizes can be compared between rows."
    )
