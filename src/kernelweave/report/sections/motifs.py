"""What the letters that decide have in common, as logos."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.data.kinds import alphabet_of
from kernelweave.interpret.motifs.find import knows_strands, motifs_of
from kernelweave.report.figures.logo import stacked
from kernelweave.report.html import clipped, note, tag
from kernelweave.report.numbers import count, fixed, signed, written
from kernelweave.report.sections.base import Section, Writing, section
from kernelweave.report.sections.sample import Group
from kernelweave.report.subject import SEVERAL

MOST, FEWER = 6, 3
"""Motifs of a model of two classes, and of each of several."""
ALPHABETS = ("dna", "rna", "protein")
LEAST = 20
"""Places that make a motif."""


def motifs(w: Writing, groups: list[Group]) -> Section | None:
    """Draw motifs of the rows of the class that a decision value speaks for.

    Parameters
    ----------
    groups : explained rows of each class
    """
    parts: list[Any] = []
    for group in groups:
        track = group.told.tracks[0] if len(group.told.tracks) == 1 else None
        alphabet = None if track is None else alphabet_of(track.rows)
        if track is None or track.unit != "letter" or alphabet is None or alphabet.name not in ALPHABETS:
            return None
        both = knows_strands(w.subject.core) and alphabet.complement is not None
        n = FEWER if w.subject.task == SEVERAL else MOST
        against = group.label is not None and w.subject.task != SEVERAL and group.label != w.subject.positive
        found = motifs_of(group.told, n, group.output, -1.0 if against else 1.0, both, LEAST)
        whose = f"{count(len(group.told), 'row')}" + ("" if group.label is None else f" of class {group.name}")
        if not found:
            parts.append(note(f"What decides in {whose} has no motif in common that comes {LEAST} times."))
            continue
        drawn = tag("div", *(_motif(motif, w.origin) for motif in found), class_="motifs")
        does, strands = "take off" if against else "add", ", both strands as one" if both else ""
        said = f"Motifs: windows whose letters {does} most in {whose}, aligned and counted{strands}."
        bits = f"Letters are as high as their information, of at most {fixed(float(np.log2(alphabet.size)), 1)} bits."
        parts.append(w.figure(drawn, f"{said} {bits}"))
    return section("motifs", "Motifs", parts) if parts else None


def _motif(motif: Any, origin: int) -> Any:
    shares = motif.frequencies
    top = float(np.log2(shares.shape[1]))
    bits = top + (shares * np.log2(shares)).sum(axis=1, keepdims=True)
    said = []
    for place, line in enumerate(shares, 1):
        order = np.argsort(-line, kind="stable")[:4].tolist()
        said.append(f"{place}: " + ", ".join(f"{motif.letters[k]} {100 * line[k]:.0f}%" for k in order))
    name, start, strand, text = motif.examples[0]
    example = f"Strongest: {text} in {clipped(name)} at {written(start - origin)}" + (
        f" ({strand})" if strand == "-" else ""
    )
    return tag(
        "div", tag("h3", tag("code", motif.consensus)),
        tag("p", f"{count(motif.n_sites, 'site')}, {signed(motif.total, 2)} each", class_="dim"),
        stacked(shares * bits, motif.letters, said, top), tag("p", example, class_="dim"), class_="motif",
    )  # fmt: skip
