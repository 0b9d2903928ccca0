"""What every letter of a row adds to its scores, where kernels compare k-mers.

What a k-mer adds is divided evenly among its letters (of a gapped k-mer: those that count), so that the letters of a
row add up to its scores.

    k-mers with a place     the k-mer u at i adds w(i, u) (see `positional`); a new row is compared with every kept row,
                            and a run of m equal letters from i on gives letter i + t  sum_{t < k <= m} w_ik / k
    l-mers of four letters  what two l-mers give each other is divided among the letters they share (`lmers`)
    other k-mers, n-grams   features of a row are the sums of those of its windows (ability `Windowed`): every window is
                            looked up by itself in the weights of the codes

Where the kernel is normalised, letters are divided by the norm of their row; the constant of a centred kernel is
divided among all letters of a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.blocks import spans
from kernelweave.data.kinds import alphabet_of, kind_of
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels.abilities import Features, Hamming, Positional, Windowed
from kernelweave.kernels.base import Array
from kernelweave.kernels.tree import Leaf
from kernelweave.operators.expansion.base import Part, Share
from kernelweave.operators.expansion.lmers import letter_shares, new_norms, suits_table
from kernelweave.operators.expansion.terms import Term
from kernelweave.operators.expansion.weights import coded_weights
from kernelweave.operators.features.vocabulary import Vocabulary
from kernelweave.operators.kmers.prefixes import Spelling, has_masked, spread

if TYPE_CHECKING:
    from kernelweave.operators.expansion.base import Expansion

WINDOWS_TOGETHER = 4096
"""Windows whose features are made together."""


def letter_sums(expansion: Expansion, X: Any) -> Array:
    """Return what every letter adds to each output, (letters of all rows behind one another, outputs)."""
    leaves = [leaf for number in expansion.used for leaf in expansion.kernels[number].leaves()]
    for leaf in leaves:
        _check(leaf, leaves[0])
    seen = leaves[0].select(X) if leaves else X
    if alphabet_of(seen) is None or kind_of(seen).uncertain:
        raise TypeError("Only rows of sequences have letters with a place.")
    out = np.zeros((len(seen.codes), expansion.outputs))
    for output in range(expansion.outputs):
        for part in expansion.parts(output):
            for leaf, values in _of_part(part, expansion, seen):
                out[:, output] += np.repeat(1.0 / new_norms(leaf, X), seen.lengths) * values
    constants = [member for member in expansion.members if member.way == "constant"]
    if constants:
        total = sum(cast(Any, member).values for member in constants)
        out += np.repeat(1.0 / np.maximum(seen.lengths, 1), seen.lengths)[:, None] * total
    return out


def _check(leaf: Leaf, first: Leaf) -> None:
    """Raise where a kernel gives letters nothing, or letters of another view."""
    if not leaf.additive or not isinstance(leaf.kernel, Positional | Windowed | Hamming) or not _lengths(leaf):
        raise ValueError(
            f"What {leaf.name} adds cannot be divided among letters; expected kernels of k-mers or n-grams."
        )
    if leaf.view != first.view:
        raise ValueError(f"{first.name} and {leaf.name} look at different views, so that they share no letters.")
    if leaf.normalized and leaf.centred:
        raise ValueError(f"{leaf.name} is normalised and centred; what it adds cannot be divided among letters.")


def _lengths(leaf: Leaf) -> tuple[int, ...]:
    if isinstance(leaf.kernel, Positional):
        return (1,)
    return leaf.kernel.window_lengths() if isinstance(leaf.kernel, Windowed) else leaf.kernel.window()[:1]  # type: ignore


def _of_part(part: Part, expansion: Expansion, X: Sequences) -> Iterator[tuple[Leaf, Array]]:
    """Iterate over the innermost kernels of one kernel, with what each gives to the letters of all rows."""
    if part.weights is not None:
        leaves = list(part.kernel.leaves())
        if len(leaves) > 1 or isinstance(leaves[0].kernel, Positional) or part.codes is None:
            raise ValueError(f"Weights of the features of {part.kernel!r} cannot be divided among letters.")
        known = Vocabulary(part.codes.shape[1])
        known.number(part.codes)
        yield leaves[0], _by_window(leaves[0], known, np.sqrt(leaves[0].factor) * part.weights, X)
    for term in part.terms:
        coef = term.factor * np.asarray(term.coef)
        if term.norms is not None:
            coef = np.divide(coef, term.norms, out=np.zeros_like(coef), where=term.norms > 0)
        if isinstance(term.kernel, Positional):
            yield term.leaf, _by_place(term, coef, X)
        elif suits_table(term.leaf, expansion.rows[:1]):
            yield term.leaf, letter_shares(term, X)
        else:
            made = coded_weights(term.kernel, Share(0, np.arange(len(coef)), coef[:, None]), term.rows)
            yield term.leaf, _by_window(term.leaf, cast(Any, made.map).vocabulary, made.w[0], X)


def _by_place(term: Term, coef: Array, X: Sequences) -> Array:
    """Return what k-mers with a place give to the letters of rows of one length."""
    new, kept = term.kernel.prepare(X), term.kernel.prepare(term.rows)
    spelling = Spelling(kept.alphabet, has_masked(kept.codes, kept.alphabet) or has_masked(new.codes, new.alphabet))
    given = spread(term.kernel.cells(kept.codes.shape[1]), term.kernel.shift_weights())
    shares = np.concatenate([np.zeros((*given.shape[:2], 1)), given / np.arange(1, given.shape[2] + 1)], axis=2)
    out = np.zeros(new.codes.shape)
    _compare(
        spelling.symbols(new.codes), spelling.symbols(kept.codes), spelling.mask, coef, np.cumsum(shares, axis=2), out
    )
    return out.ravel()


def _by_window(leaf: Leaf, known: Vocabulary, w: Array, X: Sequences) -> Array:
    """Return what k-mers wherever they stand give to the letters of rows."""
    kernel, out = cast(Any, leaf.kernel), np.zeros(len(X.codes))
    for length in cast(Windowed, kernel).window_lengths():
        last = np.repeat(np.asarray(X.offsets[1:]), X.lengths) - length
        every = np.flatnonzero(np.arange(len(X.codes)) <= last)
        for cut in spans(len(every), WINDOWS_TOGETHER):
            _add_windows(kernel, known, w, X, every[cut], length, out)
    return out


def _add_windows(
    kernel: Any, known: Vocabulary, w: Array, X: Sequences, starts: Array, length: int, out: Array
) -> None:
    """Add what the windows that start at `starts` give to their letters."""
    letters = X.codes[starts[:, None] + np.arange(length)]
    windows = Sequences._trusted(letters.ravel(), np.arange(len(starts) + 1) * length, X.alphabet, None)
    found = cast(Features, kernel).counts(windows)
    place, window = known.find(found.codes), np.repeat(np.arange(len(starts)), np.diff(found.starts))
    spelled = kernel.letters(found.codes, X.alphabet)
    kept = np.flatnonzero((place >= 0) & ((spelled >= 0).sum(axis=1) == length))  # shorter ones have their own windows
    place, window, spelled = place[kept], window[kept], spelled[kept, :length]
    counts = spelled != X.alphabet.mask  # not the wildcards of a gapped k-mer
    turned = ~((spelled == letters[window]) | ~counts).all(axis=1) & ~counts.all(axis=1)
    counts[turned] = counts[turned][:, ::-1]  # found on the other strand: its places are mirrored
    share = w[place] * found.values[kept] / counts.sum(axis=1)
    entry, at = np.nonzero(counts)
    np.add.at(out, starts[window[entry]] + at, share[entry])


@jit
def _compare(new, symbols, mask, coef, shares, out):  # type: ignore[no-untyped-def]
    shifts, length, degree = shares.shape[0], shares.shape[1], shares.shape[2] - 1
    for i in range(len(new)):
        for j in range(len(symbols)):
            for position in range(length):
                for s in range(shifts):
                    source, k = position + s - shifts // 2, 0
                    longest = min(degree, length - max(position, source)) if source >= 0 else 0
                    while k < longest and new[i, position + k] == symbols[j, source + k]:
                        if new[i, position + k] == mask:
                            break
                        k += 1
                    for t in range(k):
                        out[i, position + t] += coef[j] * (shares[s, position, k] - shares[s, position, t])
