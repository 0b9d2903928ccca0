"""Motifs of explanations: places where rows get much, aligned and put together where they look alike.

1. Seqlets: in every row, the windows whose letters add most together (smoothed sums that exceed their mean by
   `SPREADS` standard deviations), as matrices letters x alphabet that hold what each letter adds.
2. Groups: the seqlet with most others like it (cosine of the matrices, best shift and strand) begins a group; the mean
   of its members replaces it a few times; what was taken is put aside, and the next group begins.
3. Groups whose means are alike become one; letters of the members, aligned, are counted.

Legend: w letters of a seqlet, A letters of the alphabet, s seqlets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave.interpret.explain.explanation import Explanation, Track
from kernelweave.interpret.explain.rows import explain
from kernelweave.interpret.motifs.align import Seqlets, best_alignment, shifted, turned_matrices
from kernelweave.interpret.parts import last_step, output
from kernelweave.kernels.base import Array
from kernelweave.kernels.tree import all_leaves

WIDTH = 16
"""Letters of a seqlet: a motif of eight to ten and what stands on both sides of it."""
CORE = 8
"""Letters whose contributions are added up to find a seqlet."""
SPREADS = 2.0
"""Standard deviations by which a smoothed sum must exceed the mean of all."""
PER_ROW = 4
MOST_SEQLETS = 4000
ALIKE, SAME = 0.72, 0.85
"""Cosine from which a seqlet belongs to a group, and from which two groups are one: two different motifs side by side
are like each of them by 0.707."""
OWN_STRAND = 0.95
"""Cosine of a motif and its reverse complement from which they are one; a palindrome beside other letters is below."""
ROUNDS = 4
CANDIDATES, COMPARED = 60, 600
"""Seqlets that may begin a group, and seqlets that each of them is compared with."""
FAILURES = 5
"""Groups that come out too small before the search ends."""
SURE, PLAIN = 0.3, 0.5
"""Bits from which a place belongs to a motif, and share of a letter from which it is written instead of a dot."""
EXAMPLES = 5


@dataclass(frozen=True)
class Motif:
    """What aligned seqlets have in common.

    Attributes
    ----------
    consensus : the letters that prevail, dots where none does
    counts : (w, A) how often each letter stands at each place; of motifs that are their own reverse complement, the
        mean of both strands
    adds : (w,) what the letters at each place add to the decision value, on average
    letters : of the alphabet
    n_sites : seqlets
    total : what a seqlet adds, on average
    examples : the heaviest ones: id of the row, first letter, strand, text
    """

    consensus: str
    counts: Array
    adds: Array
    letters: tuple[str, ...]
    n_sites: int
    total: float
    examples: tuple[tuple[str, int, str, str], ...]

    @property
    def frequencies(self) -> Array:
        """Shares of the letters at each place, (w, A), one count of each letter added."""
        return (self.counts + 1.0) / (self.counts + 1.0).sum(axis=1, keepdims=True)

    def __str__(self) -> str:
        return f"{self.total:+.4f}  {self.n_sites:>6}  {self.consensus}"


def find_motifs(
    model: Any,
    X: Any,
    n: int = 10,
    *,
    target: Any = None,
    against: bool = False,
    both_strands: bool | None = None,
    min_sites: int = 20,
) -> list[Motif]:
    """Find what the letters that decide have in common.

    Parameters
    ----------
    model : fitted on sequences, with kernels that can be divided among letters
    X : rows to explain, for example those of the class in question
    n : most motifs
    target : the class whose decision value is meant, for a model of several classes
    against : look for what speaks against the class
    both_strands : take a motif and its reverse complement as one; None to do so where a kernel of the model does
    min_sites : fewer seqlets make no motif

    Returns
    -------
    list of `Motif`, the one with most sites first

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_enhancers(400, length=80, random_state=0)
    >>> model = kw.KernelClassifier(kw.GappedKmer(8, 6, reverse_complement=True), normalize="cosine").fit(X, y)
    >>> [motif.n_sites > 20 for motif in find_motifs(model, X[y == 1], 1)]
    [True]
    """
    told, number, sign, both = searched(model, X, target, against, both_strands)
    return motifs_of(told, n, number, sign, both, min_sites)


def searched(
    model: Any, X: Any, target: Any, against: bool, both_strands: bool | None
) -> tuple[Explanation, int, float, bool]:
    """Return the explanation of rows, the number and sign of the decision value, and whether strands are one."""
    core, told = last_step(model), explain(model, X)
    number, sign = output(core, target)
    alphabet, both = _letters(told).rows.alphabet, knows_strands(core) if both_strands is None else both_strands
    if both and alphabet.complement is None:
        raise ValueError(f"There is no other strand: the {alphabet.name} alphabet has no complement.")
    return told, number, -sign if against else sign, both


def motifs_of(
    told: Explanation, n: int, number: int = 0, sign: float = 1.0, both: bool = False, min_sites: int = 20
) -> list[Motif]:
    """Return the motifs of an explanation; parameters as of `find_motifs`, `number` and `sign` of a decision value."""
    track = _letters(told)
    values = sign * track.values[:, number]
    found = seqlets(track, values)
    groups = _merged(found, _groups(found, n, both, min_sites), both)
    motifs = [_motif(found, members, told.ids, track, sign, both) for members in groups]
    return sorted((motif for motif in motifs if motif.consensus), key=lambda motif: -motif.n_sites)[:n]


def _letters(told: Explanation) -> Track:
    if len(told.tracks) != 1 or told.tracks[0].unit != "letter":
        raise ValueError("Motifs are made of letters of one view; this model divides its decision value otherwise.")
    return told.tracks[0]


def knows_strands(core: Any) -> bool:
    """Tell whether a kernel of a model takes l-mers and their reverse complements as one."""
    return any(getattr(leaf.kernel, "reverse_complement", False) for leaf in all_leaves(core.expansion_.kernels))


def seqlets(track: Track, values: Array) -> Seqlets:
    """Return the windows of rows whose letters add most.

    Parameters
    ----------
    values : (letters of all rows,) what each adds
    """
    offsets, alphabet = np.asarray(track.offsets), track.rows.alphabet
    running = np.concatenate([[0.0], np.cumsum(values)])
    sums = running[CORE:] - running[:-CORE] if len(values) >= CORE else np.empty(0)
    ends = np.repeat(offsets[1:], np.diff(offsets))
    inside = np.flatnonzero(np.arange(len(sums)) + CORE <= ends[: len(sums)])
    if not len(inside):
        return Seqlets.empty(WIDTH, alphabet)
    least = sums[inside].mean() + SPREADS * sums[inside].std()
    good = inside[sums[inside] > max(least, 0.0)]
    good = good[np.argsort(-sums[good], kind="stable")]
    rows = np.searchsorted(offsets, good, side="right") - 1
    taken: dict[int, list[int]] = {}
    chosen: list[tuple[int, int]] = []
    for place, row in zip(good.tolist(), rows.tolist()):
        known = taken.setdefault(row, [])
        if len(known) < PER_ROW and all(abs(place - other) >= CORE for other in known):
            known.append(place)
            chosen.append((row, place - (WIDTH - CORE) // 2))
            if len(chosen) == MOST_SEQLETS:
                break
    return Seqlets.cut(np.array(chosen, np.int64).reshape(-1, 2), WIDTH, track.rows.codes, offsets, values, alphabet)


def _groups(found: Seqlets, n: int, both: bool, least: int) -> list[Array]:
    """Return the members of groups: (members, 3) number, shift and strand of each."""
    left, groups, failures = np.arange(len(found.matrices)), list[Array](), 0
    while len(left) >= least and len(groups) < 2 * n and failures < FAILURES:
        some = found.matrices[left[np.linspace(0, len(left) - 1, min(len(left), COMPARED)).astype(int)]]
        like = [(best_alignment(some, found.matrices[k], both)[0] > ALIKE).sum() for k in left[:CANDIDATES]]
        centre = found.matrices[left[int(np.argmax(like))]]
        members = np.empty((0, 3), np.int64)
        for _ in range(ROUNDS):
            close, shifts, strands = best_alignment(found.matrices[left], centre, both)
            inside = np.flatnonzero(close > ALIKE)
            members = np.stack([left[inside], shifts[inside], strands[inside]], axis=1)
            if len(members) < least:
                break
            centre = _aligned(found, members).mean(axis=0)
        if len(members) < least:
            failures += 1
            left = np.delete(left, int(np.argmax(like)))
            continue
        groups.append(members)
        left = left[~np.isin(left, members[:, 0])]
    return groups


def _aligned(found: Seqlets, members: Array) -> Array:
    """Return the matrices of members, shifted and turned, (members, w, A)."""
    some = found.matrices[members[:, 0]]
    turn = np.flatnonzero(members[:, 2] < 0)
    some[turn] = turned_matrices(some[turn], found.partners)
    return shifted(some, members[:, 1])


def _merged(found: Seqlets, groups: list[Array], both: bool) -> list[Array]:
    """Put groups together whose means are alike; the smaller one moves."""
    out: list[Array] = []
    for members in sorted(groups, key=len, reverse=True):
        mean = _aligned(found, members).mean(axis=0)
        for place, other in enumerate(out):
            close, shift, strand = best_alignment(mean[None], _aligned(found, other).mean(axis=0), both, found.partners)
            if close[0] > SAME:
                moved = members.copy()
                if strand[0] < 0:
                    moved[:, 1:] *= -1
                moved[:, 1] += shift[0]
                out[place] = np.concatenate([other, moved])
                break
        else:
            out.append(members)
    return out


def _motif(found: Seqlets, members: Array, ids: Sequence[str], track: Track, sign: float, both: bool) -> Motif:
    """Return the motif of a group, without places at its ends where no letter prevails."""
    aligned, alphabet = _aligned(found, members), track.rows.alphabet
    mean, letters = aligned.mean(axis=0), found.aligned_letters(members)
    counts = _counted(letters, alphabet.size)
    if both and found.partners is not None:
        turned = turned_matrices(mean, found.partners)
        close, shift, _ = best_alignment(turned[None], mean, False)
        if close[0] > OWN_STRAND:  # its own other strand: which of them a site is on is chance
            other = turned_matrices(counts.astype(float)[None], found.partners)
            counts = (counts + shifted(other, shift)[0]) / 2
            mean = (mean + shifted(turned[None], shift)[0]) / 2
    shares = (counts + 0.25) / (counts.sum(axis=1, keepdims=True) + 0.25 * alphabet.size)
    bits = np.log2(alphabet.size) + (shares * np.log2(shares)).sum(axis=1)
    sure = np.flatnonzero((bits > SURE) & (counts.sum(axis=1) > len(members) / 2))
    span = slice(int(sure[0]), int(sure[-1]) + 1) if len(sure) else slice(0, 0)
    best = shares.argmax(axis=1)
    plain = shares.max(axis=1) >= PLAIN
    consensus = "".join(alphabet.letters[a] if p else "." for a, p in zip(best[span], plain[span])).strip(".")
    totals = aligned.sum(axis=(1, 2))
    heaviest = np.argsort(-totals, kind="stable")[:EXAMPLES]
    examples = tuple(_example(found, members[k], ids, track, span) for k in heaviest.tolist())
    adds = sign * mean.sum(axis=1)[span]
    return Motif(
        consensus, counts[span], adds, alphabet.letters, len(members), float(sign * totals.mean()), examples
    )  # fmt: skip


def _counted(letters: Array, size: int) -> Array:
    """Return how often each letter stands in each column of (sites, w) codes, (w, letters)."""
    return (letters[:, :, None] == np.arange(size)).sum(axis=0)


def _example(found: Seqlets, member: Array, ids: Sequence[str], track: Track, span: slice) -> tuple[str, int, str, str]:
    """Return the id of the row, the first letter, the strand and the text of a member."""
    number, shift, strand = member.tolist()
    row, start = found.places[number].tolist()
    width = found.matrices.shape[1]
    first = start + span.start - shift if strand > 0 else start + width - (span.stop - shift)
    begin, end = int(track.offsets[row]), int(track.offsets[row + 1])
    codes = track.rows.codes[max(first, begin) : min(first + span.stop - span.start, end)]
    if strand < 0:
        codes = track.rows.alphabet.complement_codes[np.minimum(codes, track.rows.alphabet.size)][::-1]
    return ids[row], max(first, begin) - begin, "+" if strand > 0 else "-", track.rows.alphabet.decode(codes)
