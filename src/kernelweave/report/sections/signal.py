"""Where the signal is: places, k-mers, n-grams, columns, as far as the kernels of the model can tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.data.kinds import kind_of
from kernelweave.interpret import (
    cell_weights,
    poim_lengths,
    readable,
    top_features,
    top_kmers,
    top_motifs,
    top_ngrams,
    weights_by_degree,
    weights_by_position,
)
from kernelweave.interpret.grams import counted
from kernelweave.interpret.motifs import needs_motifs
from kernelweave.interpret.parts import learned_parts
from kernelweave.interpret.positional import positional_kernels
from kernelweave.report.figures.bars import bar, signed_bar
from kernelweave.report.figures.curves import legend, lines
from kernelweave.report.figures.places import column_names
from kernelweave.report.html import clipped, join, note, paragraph, table, tag
from kernelweave.report.numbers import count, fixed, share, signed, written
from kernelweave.report.sections.base import Section, Writing, section
from kernelweave.report.sections.sample import Group
from kernelweave.report.subject import SEVERAL

LISTED, FEWER = 12, 6
"""k-mers that are listed: of a model of two classes, and of each of several."""
LONGEST = 3000
"""Places up to which they are drawn."""
IMPORTANCE = (1, 2, 3)
"""Lengths of the k-mers whose importance at each place is drawn."""
QUICK, QUICK_LETTERS = 20_000_000, 2_000_000
"""k-mers at places, and letters, of support rows that are read within some seconds."""


def signal(w: Writing, groups: list[Group]) -> Section | None:
    """Draw and list what the model goes by.

    Parameters
    ----------
    groups : explained rows of each class
    """
    parts = [*_profile(w, groups), *_learned(w), *_importance(w), *_listed(w), *_columns(w, groups)]
    if not parts:
        kernel = "kernel compares" if len(w.subject.core.expansion_.kernels) == 1 else "kernels compare"
        parts = [
            paragraph(f"The {kernel} whole rows; what they go by cannot be divided among places, k-mers or columns.")
        ]
    return section("signal", "Where the signal is", parts)


def _profile(w: Writing, groups: list[Group]) -> list[Any]:
    """Draw what letters add at each position, on average over the rows of each class."""
    heights = []
    for group in groups:
        tracks = group.told.tracks
        if len(tracks) != 1 or tracks[0].unit not in ("letter", "word"):
            return []
        sizes = np.diff(tracks[0].offsets)
        if not len(sizes) or (sizes != sizes[0]).any() or not 1 < sizes[0] <= LONGEST:
            return []
        heights.append(group.told.matrix(group.output).mean(axis=0))
    if len({len(height) for height in heights}) != 1:
        return []
    at = np.arange(len(heights[0])) - w.origin
    names = [group.name for group in groups]

    def say(place: int) -> str:
        each = ", ".join(f"{name}: {signed(float(height[place]), 4)}" for name, height in zip(names, heights))
        return f"position {written(at[place])}: {each}"

    drawn = lines(list(zip(names, heights)), at, ("position", "adds on average"), "What each position adds", say)
    of = " and ".join(count(len(group.told), "row") for group in groups)
    whose = "its own decision value" if w.subject.task == SEVERAL else "the decision value"
    said = f"What the letter at each position adds to {whose}, on average over {of} of these classes."
    if len(groups) == 1:
        said = f"What the letter at each position adds to the decision value, on average over {of}."
    return [w.figure(join([tag("div", drawn, class_="scroll"), legend(names)]), said)]


def _learned(w: Writing) -> list[Any]:
    """Draw learned weights by degree and position; those of one kernel are as given, and are not drawn."""
    core = w.subject.core
    if "positions" not in readable(core) or getattr(core, "kernel_weights_", None) is None:
        return []
    if len(core.expansion_.kernels) < 2 or np.ndim(core.kernel_weights_) != 1:
        return []
    try:
        degrees, places = weights_by_degree(core), weights_by_position(core)
    except ValueError:  # kernels of several views, which share no positions
        return []
    parts, each = [], places.per_position
    at = np.arange(len(each)) - w.origin

    def say(place: int) -> str:
        return f"position {written(at[place])}: {share(float(each[place]), 2)}"

    if degrees.learned and len(places.weights) > 1:
        drawn = lines([("weight", each)], at, ("position", "share of the weight"), "Learned weight by position", say)
        parts.append(w.figure(tag("div", drawn, class_="scroll"), "Learned weight of the windows of positions."))
    if degrees.learned and positional_kernels(core) > len(places.weights):
        top = float(degrees.weights.max())
        rows = [[name, bar(float(v), top), share(float(v))] for name, v in zip(degrees.names, degrees.weights)]
        made = table(["k", "", "share"], rows, caption="Learned weight by length of k-mer.", numbers=(2,))
        parts.append(tag("div", made, class_="bars"))
    return parts


def _importance(w: Writing) -> list[Any]:
    """Draw how important k-mers are at each position (POIM)."""
    core = w.subject.core
    if "positions" not in readable(core) or core.expansion_.outputs > 1 or not _quick(core):
        return []
    try:
        found = poim_lengths(core, IMPORTANCE)
    except (ValueError, TypeError):  # positions that several views share, rows too short, letters too many
        return []
    if found.values.shape[1] > LONGEST:
        return []
    at = np.arange(found.values.shape[1]) - w.origin
    names = [f"{k} letter{'s' * (k > 1)}" for k in found.lengths]

    def say(place: int) -> str:
        each = zip(names, found.values[:, place].tolist())
        return f"position {written(at[place])}: " + ", ".join(
            f"{name} {fixed(v, 3)}" for name, v in each if np.isfinite(v)
        )

    drawn = lines(list(zip(names, found.values)), at, ("position", "largest importance"), "Importance of k-mers", say)
    said = (
        "Positional oligomer importance: how far seeing the best k-mer at a position moves the decision value of rows "
        "with random letters, with all that it brings along."
    )
    return [w.figure(join([tag("div", drawn, class_="scroll"), legend(names)]), said)]


def _listed(w: Writing) -> list[Any]:
    """List the best k-mers, n-grams, motifs with wildcards or features."""
    core, shows = w.subject.core, readable(w.subject.core)
    if not shows and not needs_motifs(core):
        return []
    targets = [None] if core.expansion_.outputs == 1 else w.subject.classes[:4]
    n, parts = LISTED if len(targets) == 1 else FEWER, []
    for target in targets:
        of = "" if target is None else f" for {clipped(target)}"
        try:
            parts.append(_best(core, shows, n, target, of, w.origin))
        except (ValueError, TypeError) as error:  # kernels of several views, or nothing that has a weight
            return [note(f"k-mers are not listed: {str(error)[0].lower()}{str(error)[1:]}")]
    return parts


def _best(core: Any, shows: set[str], n: int, target: Any, of: str, origin: int) -> Any:
    """Return one table: of k-mers at places where there are some, else of motifs, n-grams or features."""
    if "positions" in shows:
        if not _quick(core, target):
            return note("k-mers at positions are not listed: the model has too many support rows to read them quickly.")
        kmers = top_kmers(core, n, target=target, repeats=False)
        lines = [(k.kmer, written(k.position - origin), k.weight) for k in kmers]
        return _weighted(["k-mer", "position"], lines, f"k-mers that tell classes apart most{of}.")
    if needs_motifs(core):
        lines = [(g.ngram, f"{g.rows:,}", g.weight) for g in top_motifs(core, n, target=target, repeats=False)]
        return _weighted(["motif", "support rows with it"], lines, f"Motifs with wildcards that weigh most{of}.")
    if "strings" in shows:
        rows = [term.rows for term in counted(learned_parts(core, target))]
        if sum(kind_of(X).letters(X)[0] for X in rows) > QUICK_LETTERS:
            return note("n-grams are not listed: the model has too many support rows to read them quickly.")
        lines = [(g.ngram, f"{g.rows:,}", g.weight) for g in top_ngrams(core, n, target=target)]
        return _weighted(["n-gram", "support rows with it"], lines, f"n-grams that tell classes apart most{of}.")
    features = [(str(f.feature), clipped(f.kernel), f.weight) for f in top_features(core, n, target=target)]
    return _weighted(["feature", "kernel"], features, f"Features that weigh most{of}.")


def _weighted(heads: list[str], lines: list[tuple[str, str, float]], caption: str) -> Any:
    """Return a table of things and what they add, the largest first."""
    lines = sorted(lines, key=lambda line: -abs(line[2]))
    largest = max((abs(value) for *_, value in lines), default=1.0)
    draw = bar if all(value >= 0 for *_, value in lines) else signed_bar
    rows = [[tag("code", clipped(name)), more, draw(value, largest), signed(value)] for name, more, value in lines]
    return tag("div", table([*heads, "", "adds"], rows, caption=caption, numbers=(1, 3)), class_="bars four")


def _columns(w: Writing, groups: list[Group]) -> list[Any]:
    """List the columns that move decision values most, over all rows that were explained."""
    tracks = [[t for t in group.told.tracks if t.unit == "column"] for group in groups]
    if not tracks or not tracks[0]:
        return []
    moved: dict[str, float] = {}
    rows = sum(len(group.told) for group in groups)
    for group, some in zip(groups, tracks):
        for track in some:
            n = len(group.told)
            sums = np.abs(track.values[:, group.output]).reshape(n, len(track.names)).sum(axis=0)
            for shown, value in zip(column_names(track), sums.tolist()):
                moved[shown] = moved.get(shown, 0.0) + value / rows
    best = sorted(moved.items(), key=lambda pair: -pair[1])[:LISTED]
    largest = best[0][1]
    if not largest > 0:
        return []
    each = [[clipped(name), bar(value, largest), fixed(value)] for name, value in best]
    said = f"Columns by the mean size of what they add to the decision value, over {count(rows, 'row')}."
    return [tag("div", table(["column", "", "moves it by"], each, caption=said, numbers=(2,)), class_="bars")]


def _quick(core: Any, target: Any = None) -> bool:
    """Tell whether the k-mers at places of all support rows can be read quickly."""
    try:
        return len(core.support_) * cell_weights(core, target=target).size <= QUICK
    except (ValueError, TypeError):
        return True  # what follows says in a sentence why it cannot
