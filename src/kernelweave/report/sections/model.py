"""What was learned, from what, how near to the best it is proved to be, and what it is tried on."""

from __future__ import annotations

import inspect
import math
import re
from collections import Counter
from typing import Any

import numpy as np

from kernelweave.data.kinds import alphabet_of, blocks_of, kind_of
from kernelweave.kernels.tree import all_leaves
from kernelweave.report.html import clipped, facts, kernel_name, note, paragraph
from kernelweave.report.numbers import MINUS, count, share, short, tiny
from kernelweave.report.sections.base import Headline, Section, Writing, section
from kernelweave.report.subject import NOVELTY, NUMBERS, TWO, Subject
from kernelweave.selection.copies import copies_between_note

SHOWN = ("C", "nu", "norm", "loss", "penalty", "normalize", "class_weight", "tol", "solver")
"""Parameters that a reader asks for; those that are None are left out."""
MOST_KERNELS, MOST_CLASSES = 6, 12
MOST_COMPARED = 20_000
"""Rows up to which near copies of training rows are searched."""
DIGITS = re.compile(r"\d+\.\d{5,}(e-?\d+)?")
"""Numbers with more digits than are read."""
TASKS = {
    NUMBERS: "predicts a number for each row",
    NOVELTY: "tells rows that are like those it was trained on from novel ones",
}
PROBLEMS = {
    "svm": "one kernel, as it is given",
    "mkl": "the kernels together with their weights",
    "mixture": "a mixture of all columns of all kernels",
    "smoothed": "the smoothed problem that was asked for, in the place of the original one",
    "fixed weights": "the kernels at the weights that they have; whether other weights are better, it does not say",
    "mkl of factorised kernels": "kernels that were replaced by approximations of limited rank",
    "mixture of sampled columns": "a mixture of the columns that were sampled, not of all",
}
"""What a certificate is about, by the name that the model gives it."""


def model(w: Writing) -> Section:
    """Say what the model is, what it was trained on, and what it is tried on."""
    s = w.subject
    shown = {key: value for key, value in s.core.get_params(deep=False).items() if key in SHOWN and value is not None}
    told = ", ".join(f"{key} = {value}" for key, value in shown.items())
    parts: list[Any] = [facts([
        ("Estimator", f"{type(s.core).__name__} ({told})" if told else type(s.core).__name__),
        ("Kernel" if len(s.core.expansion_.kernels) == 1 else "Kernels", _kernels(s)),
        ("In words", _in_words(s)),
        ("Trained on", _trained(s)),
        ("Tried on", _rows(s)),
        ("Labels", _labels(s)),
        ("Letters", _letters(s)),
    ])]  # fmt: skip
    copies = None
    if len(s) <= MOST_COMPARED:
        copies = copies_between_note(s.prepared(), getattr(s.core, "reference_", None))
    parts += [note(f"{remark[0].upper()}{remark[1:].rstrip('.')}.") for remark in [*s.remarks, copies] if remark]
    of = "" if s.total == len(s) else f" of {s.total:,}"
    w.headlines.append(Headline("rows", f"{len(s):,}", f"scored{of}"))
    return section("model", "Model and data", parts)


def certificate(w: Writing) -> Section:
    """Say how near to the best the fit is proved to be."""
    core = w.subject.core
    gap, tol = float(core.duality_gap_), getattr(core, "tol", None)
    if not math.isfinite(gap):
        w.headlines.append(Headline("gap", "–", "no certificate"))
        why = "its file was made by another program and has no training rows"
        if math.isfinite(core.objective_):
            why = "training ended before a bound was found"
        if hasattr(core, "rows_seen_"):
            why = "the rows came in blocks; certify(X, y) of the model computes the gap on all of them"
        return section("certificate", "Certificate", [paragraph(f"This model has no certificate: {why}.")])
    problem = PROBLEMS.get(core.certifies_, core.certifies_)
    reached = "below" if core.converged_ else "above"
    asked = "" if tol is None else f", {reached} the {tiny(float(tol))} that were asked for"
    state = "reached" if core.converged_ else "not reached"
    words = (
        f"Training has one best result. This one is proved to be near it: no other choice of what was learned could "
        f"lower the objective by more than {tiny(gap).lstrip('<')} (the duality gap{asked}). "
        f"The proof is about {problem}. It says how well the training problem was solved, not how well the model does "
        "on new rows; that is what the other parts are for."
    )
    w.headlines.append(Headline("gap", tiny(gap), f"tolerance {state}"))
    bounds = f"{core.dual_objective_:.6g} ≤ optimum ≤ {core.objective_:.6g}".replace("-", MINUS)
    return section("certificate", "Certificate", [
        paragraph(words),
        facts([("Objective", bounds), ("Problem", core.certifies_), ("Converged", "yes" if core.converged_ else "no"),
               ("Iterations", f"{int(np.max(core.n_iter_)):,}"), ("Solver", getattr(core, "solver_", None))]),
    ])  # fmt: skip


def lead(s: Subject) -> str:
    """Say in a sentence what this is."""
    kernels = s.core.expansion_.kernels
    made = "one kernel" if len(kernels) == 1 else f"{count(len(kernels), 'kernel')}, whose weights were learned,"
    if not hasattr(s.core, "kernel_weights_") and len(kernels) > 1:
        made = f"a mixture of {count(len(kernels), 'kernel')}"
    names = [clipped(label) for label in s.classes]
    does = TASKS.get(s.task) or (
        f"tells {names[1]} from {names[0]}" if s.task == TWO else f"tells {len(names)} classes apart"
    )
    known = "whose labels are not known, so that nothing is scored"
    if s.y is not None:
        known = "whose numbers are known" if s.task == NUMBERS else "whose labels are known"
    return f"A model of {made} that {does}, tried on {count(s.total, 'row')} {known}."


def _kernels(s: Subject) -> str:
    names = getattr(s.core, "kernel_names_", None)
    shown = [str(n) for n in names] if names is not None else [repr(k) for k in s.core.expansion_.kernels]
    shown = [kernel_name(DIGITS.sub(lambda found: f"{float(found[0]):.4g}", one)) for one in shown]
    rest = len(shown) - MOST_KERNELS
    return "; ".join(shown[:MOST_KERNELS]) + (f"; and {rest} more" if rest > 0 else "")


def _in_words(s: Subject) -> str | None:
    """Return the first sentence about each class of kernels."""
    kinds = dict.fromkeys(type(leaf.kernel) for leaf in all_leaves(s.core.expansion_.kernels))
    said = [" ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split()) for kind in kinds]
    return " ".join(one for one in said[:MOST_KERNELS] if one).replace("`", "") or None


def _trained(s: Subject) -> str:
    """Say how many training rows there were, and how many of them the model keeps."""
    kept = len(s.core.support_) if s.core.expansion_.keeps_rows and hasattr(s.core, "support_") else None
    if not math.isfinite(s.core.objective_) and not hasattr(s.core, "rows_seen_"):
        return f"an unknown number of rows, {kept or 0:,} of them support vectors"
    rows = count(getattr(s.core, "rows_seen_", s.core.certificate_.alpha.shape[-1]), "row")
    return rows if kept is None else f"{rows}, {kept:,} of them support vectors"


def _rows(s: Subject) -> str:
    summary = kind_of(s.X).summary(s.X) if hasattr(s.X, "shape") else count(len(s), "row")
    lengths = getattr(s.X, "lengths", None)
    if lengths is None or lengths.min() == lengths.max():
        return summary
    return f"{summary}, median {int(np.median(lengths)):,}"


def _labels(s: Subject) -> str | None:
    if s.y is None:
        return "none"
    if s.task == NUMBERS:
        return f"{short(s.y.min())} to {short(s.y.max())}, mean {short(s.y.mean())}"
    counted = Counter(s.y.tolist())
    listed = [f"{clipped(label)}: {counted[label]:,}" for label in s.classes[:MOST_CLASSES]]
    return ", ".join(listed) + (f" and {len(s.classes) - MOST_CLASSES} more classes" if len(s.classes) > MOST_CLASSES
                                else "")  # fmt: skip


def _letters(s: Subject) -> str | None:
    """Say what share of the letters the model does not know, where there is any."""
    if not hasattr(s.X, "shape") or blocks_of(s.X) is not None or alphabet_of(s.X) is None:
        return None
    letters, masked = kind_of(s.X).letters(s.X)
    if not masked:
        return None
    return f"{share(masked / max(letters, 1), 2)} are not in the alphabet of the model and match nothing"
