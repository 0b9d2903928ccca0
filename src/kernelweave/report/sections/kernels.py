"""Which kernels count: learned weights, or columns of a mixture.  Weights that nobody learned are not drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.report.figures.bars import bar
from kernelweave.report.html import Markup, clipped, kernel_name, note, paragraph, table, tag
from kernelweave.report.numbers import aligned, count, fixed, share, short
from kernelweave.report.sections.base import Section, Writing, section

Array = np.ndarray
LISTED = 20
"""Kernels that are listed, the heaviest ones."""
MOST_CLASSES = 8
SCALE = (
    "A weight depends on the scale of its kernel: weights of kernels that were scaled alike (normalize) can be "
    "compared, and even then two kernels that are alike share what one of them would have alone."
)

FIRM = (
    " Intervals hold {} of {} refits on bootstrap samples of the training rows, and may lie to one side of the weight; "
    "selected: in what share of them the kernel has a weight."
)


def kernels(w: Writing) -> Section | None:
    """List learned weights; nothing for a model with one kernel."""
    core = w.subject.core
    if hasattr(core, "n_columns_per_kernel_"):
        return section("kernels", "Kernels", _columns(core))
    weights = getattr(core, "kernel_weights_", None)
    if weights is None or np.shape(weights)[-1] < 2:
        return None
    weights, names = np.asarray(weights), [kernel_name(name) for name in core.kernel_names_]
    rows = np.atleast_2d(weights)
    kept = np.argsort(-rows.max(axis=0), kind="stable")[:LISTED]
    used = int((rows.max(axis=0) > 0).sum())
    parts: list[Any] = [paragraph(f"{used:,} of {count(len(names), 'kernel')} have a weight.")]
    drawn = _by_class(w, rows, names, kept) if weights.ndim == 2 else _weights(w, weights, names, kept)
    parts.append(drawn)
    if len(names) > len(kept):
        largest = float(np.delete(rows, kept, axis=1).max())
        parts.append(note(f"{len(names) - len(kept):,} kernels of weight {short(largest)} or less are not listed."))
    parts += [note(SCALE), *_alike(w)]
    return section("kernels", "Kernels", parts)


def _weights(w: Writing, weights: Array, names: list[str], kept: Array) -> Markup:
    firm = w.stability
    largest = float(max(weights.max(), firm.high.max() if firm is not None else 0.0))
    heads, numbers = ["kernel", "", "weight"], [2]
    if firm is not None:
        heads, numbers = [*heads, "interval", "selected"], [2, 3, 4]
    shown, lines = aligned(weights[kept].tolist()), list[list[Any]]()
    for k, written in zip(kept.tolist(), shown):
        if firm is None:
            lines.append([names[k], bar(float(weights[k]), largest), written])
            continue
        low, high = float(firm.low[k]), float(firm.high[k])
        between = " to ".join(aligned([largest, low, high])[1:])
        lines.append([names[k], bar(float(weights[k]), largest, low, high), written, between,
                      share(float(firm.frequency[k]), 0)])  # fmt: skip
    said = "Learned weights of the kernels, the heaviest first."
    if firm is not None:
        said += FIRM.format(share(firm.confidence, 0), len(firm.weights))
    return tag("div", table(heads, lines, caption=said, numbers=numbers), class_="bars")


def _by_class(w: Writing, rows: Array, names: list[str], kept: Array) -> Markup:
    classes = [clipped(label) for label in w.subject.classes[:MOST_CLASSES]]
    top = float(rows.max()) or 1.0
    lines = [[names[k], *(_tinted(float(row[k]), top) for row in rows[: len(classes)])] for k in kept.tolist()]
    said = f"Learned weights of the kernels for each class{'' if len(classes) == len(rows) else ', the first ones'}."
    return table(["kernel", *classes], lines, caption=said, numbers=range(1, len(classes) + 1))


def _tinted(value: float, top: float) -> Markup:
    return tag("span", short(value), class_="tint", style=f"--v:{value / top:.3f}")


def _alike(w: Writing) -> list[Any]:
    """Say which kernels are too alike to be told apart, where that is known."""
    if w.stability is None or not w.stability.alike:
        return []
    pairs = [f"{kernel_name(w.stability.names[i])} and {kernel_name(w.stability.names[j])} ({fixed(r, 4)})"
             for i, j, r in w.stability.alike[:5]]  # fmt: skip
    return [note(f"Nearly the same kernel (correlation): {'; '.join(pairs)}. How weight is divided between them is not "
                 "firm.")]  # fmt: skip


def _columns(core: Any) -> list[Any]:
    """List how many columns of a mixture each kernel has."""
    counts = np.atleast_2d(core.n_columns_per_kernel_).sum(axis=0)
    names = [kernel_name(name) for name in core.kernel_names_]
    kept = np.argsort(-counts, kind="stable")[:LISTED]
    largest, total = float(counts.max()), int(counts.sum())
    lines = [[names[k], bar(float(counts[k]), largest), f"{int(counts[k]):,}"] for k in kept.tolist()]
    said = f"The mixture has {count(total, 'column')}, each of one kernel and one training row."
    if not total:
        return [paragraph("The mixture has no columns: it says the same of every row.")]
    return [tag("div", table(["kernel", "", "columns"], lines, caption=said, numbers=(2,)), class_="bars")]
