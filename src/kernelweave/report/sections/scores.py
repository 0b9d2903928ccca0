"""How well the model does on rows that it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.interpret import (
    Curves,
    bootstrap_curves,
    bootstrap_errors,
    bootstrap_scores,
    class_report,
    confusion,
    curves,
    reliability,
)
from kernelweave.report.figures.bars import confusion as crossed
from kernelweave.report.figures.curves import (
    histogram,
    legend,
    rate_curve,
    reliability_curve,
    scatter,
    steps,
    thinned,
)
from kernelweave.report.html import Markup, clipped, join, note, paragraph, table, tag
from kernelweave.report.numbers import count, fixed, interval, share, short, signed
from kernelweave.report.sections.base import Headline, Section, Writing, section
from kernelweave.report.subject import NOVELTY, NUMBERS, SEVERAL, Subject

GRID = np.linspace(0.0, 1.0, 101)
MEASURES = {
    "auroc": ("auROC", "how often a row of the class outscores another one"),
    "auprc": ("auPRC", "mean precision over all recalls"),
    "accuracy": ("Accuracy", "share of right calls at the threshold"),
    "balanced_accuracy": ("Balanced accuracy", "mean over the classes of the share of right calls"),
    "f1": ("F1", "harmonic mean of precision and recall"),
    "f1_macro": ("Macro F1", "mean of F1 over the classes"),
    "mcc": ("Matthews' correlation", "of calls and labels: 0 is guessing, 1 perfect"),
    "r2": ("R²", "share of the variance that is explained"),
    "mae": ("MAE", "mean absolute error"),
    "rmse": ("RMSE", "root mean square error"),
}
SAID = "Intervals hold 95% of the test sets that a bootstrap draws from these rows; the model stays as it is."
LEAD = "How far the decision value of the class that is called lies above the next one."
MOST_CLASSES = 30
"""Classes up to which all are listed against all."""
MOST_DOTS = 1500


def scores(w: Writing) -> Section:
    """Return what fits the task and what is known of the rows."""
    s = w.subject
    parts: list[Any]
    if s.y is None:
        parts = _without_labels(w)
    elif s.task == NUMBERS:
        parts = _errors(w, s.y)
    elif s.task == SEVERAL:
        parts = _classes(w, s.y)
    elif len(set(s.y.tolist())) < 2:
        only = clipped(s.y[0])
        parts = [paragraph(f"All rows are of one class, {only}; curves and scores need both."), *_calls_of_one(s)]
        w.headlines.append(Headline("called " + only, share(float(np.mean(s.calls == s.y[0]))), "of the rows"))
    else:
        parts = _two(w, s.y)
    if s.task == SEVERAL or (s.task != NUMBERS and (s.y is None or len(set(s.y.tolist())) < 2)):
        parts.append(_values(w))
    return section("scores", "How well it does" if s.y is not None else "What it says", parts)


def calibration(w: Writing) -> Section | None:
    """Compare probabilities with what was true; nothing for a model that gives none."""
    s = w.subject
    if s.chances is None or s.y is None or len(set(s.y.tolist())) < 2:
        return None
    parts: list[Any] = []
    lines = []
    for place, label in enumerate(s.classes if s.task == SEVERAL else s.classes[1:], s.task != SEVERAL):
        if not (s.y == label).any() or (s.y == label).all():
            continue
        found = reliability(s.y == label, s.chances[:, place], positive=True)
        lines.append([clipped(label), fixed(found.error), fixed(found.brier), fixed(found.log_loss)])
        if s.task != SEVERAL:
            title = f"Probabilities of {clipped(label)} against the share of rows that are {clipped(label)}"
            drawn = reliability_curve(found.predicted, found.observed, found.counts, title)
            caption = "Calibration: on the dashed line a probability is the share of rows that are positive."
            parts.append(w.figure(drawn, f"{caption} Bins hold about equally many rows; larger dots hold more."))
    heads = ["class", "calibration error", "Brier score", "log loss"]
    parts.append(table(heads, lines[:MOST_CLASSES], caption="How well probabilities keep their word: 0 is best.",
                       numbers=(1, 2, 3)))  # fmt: skip
    return section("calibration", "Probabilities", [tag("div", *parts, class_="pair")])


def _two(w: Writing, y: Any) -> list[Any]:
    s = w.subject
    draw: dict[str, Any] = {"n_resamples": w.resamples, "positive": s.positive}
    found = bootstrap_scores(y, s.scores, threshold=s.threshold, **draw)
    points, bands = curves(y, s.scores, positive=s.positive), bootstrap_curves(y, s.scores, GRID, **draw)
    calls = confusion(y, s.scores, threshold=s.threshold, positive=s.positive)
    for name in ("auprc", "auroc"):
        w.headlines.insert(0, Headline(MEASURES[name][0], fixed(found[name].value), interval(found[name])))
    shown = {name: found[name] for name in ("auroc", "auprc", "accuracy", "f1", "mcc")}
    labels = [clipped(label) for label in s.classes]
    counts = np.array([[calls.true_negatives, calls.false_positives], [calls.false_negatives, calls.true_positives]])
    rates = f"precision {fixed(calls.precision)}, recall {fixed(calls.recall)}"
    at = f"Calls at the threshold {fixed(calls.threshold)}: {rates}. A line for each true class."
    return [
        tag("div", *_curves(w, found, points, bands, float(np.mean(y == s.positive))), class_="pair"),
        _measured(shown),
        tag("div", _values(w), w.figure(crossed(labels, counts), at), class_="pair"),
    ]


def _curves(w: Writing, found: Any, points: Curves, bands: Any, prevalence: float) -> list[Markup]:
    """Draw the ROC and the precision-recall curve."""
    fpr, tpr = np.append(0.0, points.false_positive_rate), np.append(0.0, points.true_positive_rate)
    recall, precision = points.recall, points.precision
    step = np.minimum(np.searchsorted(recall, np.maximum(GRID, recall[recall > 0][0])), len(recall) - 1)
    roc = rate_curve(
        thinned(fpr, tpr), GRID, np.interp(GRID, fpr, tpr), bands["true_positive_rate"],
        ("false positive rate", "true positive rate"), (0.0, 1.0), f"ROC curve, area {fixed(found['auroc'].value)}",
    )  # fmt: skip
    prc = rate_curve(
        steps(np.append(0.0, recall), np.append(precision[0], precision)), GRID, precision[step], bands["precision"],
        ("recall", "precision"), (prevalence, prevalence),
        f"Precision-recall curve, area {fixed(found['auprc'].value)}",
    )  # fmt: skip
    band = "The band holds 95% of the bootstrap resamples at each rate, the dashed line is guessing."
    return [
        w.figure(roc, f"ROC curve, area {found['auroc']}. {band}"),
        w.figure(prc, f"Precision-recall curve, area {found['auprc']}. {band}"),
    ]


def _classes(w: Writing, y: Any) -> list[Any]:
    s = w.subject
    report = class_report(y, np.asarray(s.calls).astype(object), np.array(s.classes, object), n_resamples=w.resamples)
    for name in ("f1_macro", "accuracy"):
        i = report.scores[name]
        w.headlines.insert(0, Headline(MEASURES[name][0], fixed(i.value), interval(i)))
    names, sizes = [clipped(label) for label in s.classes], report.counts.sum(axis=1)
    each = [[name, f"{n:,}", fixed(p), fixed(r), fixed(f)] for name, n, p, r, f in
            zip(names, sizes.tolist(), report.precision, report.recall, report.f1)]  # fmt: skip
    parts = [_measured(report.scores), table(["class", "rows", "precision", "recall", "F1"], each,
             caption="Each class against all others.", numbers=(1, 2, 3, 4))]  # fmt: skip
    if len(names) <= MOST_CLASSES:
        said = (
            "Who is taken for whom: a line for each true class, a column for each call; tints are shares of the line."
        )
        parts.append(w.figure(crossed(names, report.counts), said))
    else:
        parts.append(note(f"Who is taken for whom is not drawn for more than {MOST_CLASSES} classes."))
    return parts


def _errors(w: Writing, y: Any) -> list[Any]:
    s = w.subject
    found = bootstrap_errors(y, s.scores, n_resamples=w.resamples)
    for name in ("mae", "r2"):
        w.headlines.insert(0, Headline(MEASURES[name][0], short(found[name].value), _between(found[name])))
    kept = np.arange(len(y))
    if len(y) > MOST_DOTS:
        kept = np.sort(np.random.default_rng(0).choice(len(y), MOST_DOTS, replace=False))
    of = "" if len(kept) == len(y) else f" {len(kept):,} of {len(y):,} rows are drawn."
    true, said = y[kept], s.scores[kept]
    drawn = scatter(true, said, ("true", "predicted"), "Predicted against true numbers", lambda place:
                    f"{s.names[kept[place]]}: true {short(true[place])}, predicted {short(said[place])}")  # fmt: skip
    errors = histogram([("rows", s.scores - y)], "predicted minus true", "How often errors come", threshold=0.0)
    return [
        _measured(found, short),
        tag("div", w.figure(drawn, f"Predicted against true; on the dashed line they agree.{of}"),
            w.figure(errors, "Errors."), class_="pair"),
    ]  # fmt: skip


def _without_labels(w: Writing) -> list[Any]:
    s = w.subject
    if s.task == NUMBERS:
        w.headlines.insert(0, Headline("mean", short(float(s.scores.mean())), "of the predictions"))
        drawn = histogram([("rows", s.scores)], "predicted", "How often predictions come")
        return [paragraph("The true numbers are not known, so that no errors can be told."),
                w.figure(drawn, "Predicted numbers.")]  # fmt: skip
    return [paragraph("The labels of these rows are not known, so that no score can be told."), *_calls_of_one(s)]


def _calls_of_one(s: Subject) -> list[Any]:
    calls = np.asarray(s.calls).astype(object)
    counted = [(clipped(label), int((calls == label).sum())) for label in s.classes]
    lines = [[name, f"{n:,}", share(n / len(s))] for name, n in counted if n][:MOST_CLASSES]
    return [table(["called", "rows", "share"], lines, caption="What the rows are called.", numbers=(1, 2))]


def _values(w: Writing) -> Markup:
    """Draw how often decision values come."""
    s = w.subject
    if s.task == SEVERAL:
        ranked = np.sort(s.scores, axis=1)
        lead = ranked[:, -1] - ranked[:, -2]
        if s.y is None:
            drawn = histogram([("rows", lead)], "lead of the first class", "How clear the calls are")
            return w.figure(drawn, LEAD)
        right = np.asarray(s.calls).astype(object) == s.y
        groups = [("right calls", lead[right]), ("wrong calls", lead[~right])]
        groups = [(name, values) for name, values in groups if len(values)]
        drawn = histogram(groups, "lead of the first class", "How clear right and wrong calls are")
        return w.figure(join([drawn, legend([name for name, _ in groups])]), LEAD)
    groups = [("rows", s.scores)]
    if s.y is not None:
        groups = [(clipped(label), s.scores[s.y == label]) for label in s.classes[::-1] if (s.y == label).any()]
    title = "How often decision values come"
    drawn = histogram(groups, "decision value", title, threshold=s.threshold)
    zero = f"The line marks the threshold {signed(s.threshold, 2)}"
    zero += (
        ": rows to its left are novel."
        if s.task == NOVELTY
        else f": rows to its right are called {clipped(s.positive)}."
    )
    if s.y is None or s.task == NOVELTY:
        above = int((s.scores >= s.threshold).sum())
        name = "not novel" if s.task == NOVELTY else f"called {clipped(s.positive)}"
        if s.y is None:
            w.headlines.insert(0, Headline(name, share(above / len(s)), count(above, "row")))
    return w.figure(join([drawn, legend([name for name, _ in groups])]), f"Decision values. {zero}")


def _measured(found: dict[str, Any], written: Any = fixed) -> Markup:
    """Return the table of scores."""
    lines = []
    for name, i in found.items():
        shown, means = MEASURES[name]
        between = interval(i) if written is fixed else _between(i)
        lines.append([tag("span", shown, title=means), written(i.value), between, tag("span", means, class_="dim")])
    return table(["measure", "value", "95% interval", "what it is"], lines, caption=f"Scores. {SAID}", numbers=(1, 2))


def _between(i: Any) -> str:
    return f"{short(i.low)} to {short(i.high)}"
