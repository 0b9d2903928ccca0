"""Kernels that learn where the weight lies, by what is to be told apart: lengths, positions or views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from kernelweave.data.kinds import alphabet_of, blocks_of
from kernelweave.estimators.defaults.usual import LONGEST_KMER, Usual, usual_kernels
from kernelweave.kernels import Kernel, NGram, Spectrum, WeightedDegree

HOW = ("degrees", "positions", "lengths", "views")
"""What a weight may be learned for."""
MOST_WINDOWS = 40
"""Windows of positions that are compared; longer rows get longer windows."""
LENGTHS, WORDS = 6, 3
"""Longest k-mers, and longest n-grams of words, where no kernel says how long."""


def divided(how: str, asked: Sequence[Kernel], X: Any) -> Usual:
    """Return one kernel for each degree, window of positions, length of k-mers, or view.

    Parameters
    ----------
    how : "degrees" or "positions" of a weighted-degree kernel; "lengths" of k-mers or n-grams anywhere; "views"
    asked : the kernel to divide; none for the usual one
    X : the rows

    Examples
    --------
    >>> import kernelweave as kw
    >>> divided("lengths", [kw.Spectrum(2)], kw.Sequences.from_strings(["ACGT"])).kernels
    [Cosine(Spectrum(1)), Cosine(Spectrum(2))]
    """
    if how == "views":
        return _by_view(asked, X)
    if len(asked) > 1:
        raise ValueError(f"--kernels {how} divides one kernel, but --kernel was given {len(asked)} times.")
    alphabet = alphabet_of(X)
    if alphabet is None:
        raise ValueError(f"--kernels {how} is for sequences; for tables and views name each kernel with --kernel.")
    if how == "lengths":
        return _by_length(asked[0] if asked else None, X)
    kernel = asked[0] if asked else WeightedDegree(LONGEST_KMER)
    if not isinstance(kernel, WeightedDegree):
        raise ValueError(f"--kernels {how} divides a weighted-degree kernel such as wd:20, not {kernel!r}.")
    if not X.is_fixed_length:
        raise ValueError(f"--kernels {how} needs sequences of one length; use --kernels lengths.")
    length = X.shape[1]
    whole = WeightedDegree(**{**kernel.get_params(), "degree": min(kernel.degree, length)})
    if how == "degrees":
        return Usual(list(whole.per_degree()), "one for each length of k-mers at their place", "trace")
    window = -(-length // MOST_WINDOWS)
    kernels: list[Kernel] = list(cast(list[WeightedDegree], whole.per_position(window, length)))
    return Usual(kernels, f"one for each {window} positions" if window > 1 else "one for each position", "trace")


def _by_length(kernel: Kernel | None, X: Any) -> Usual:
    """Return the parts of a kernel of k-mers or n-grams, each scaled to length one a row."""
    words = X.alphabet.kind == "words"
    if kernel is None:
        both = X.alphabet.name == "dna" and X.alphabet.complement is not None
        kernel = NGram(WORDS) if words else Spectrum(LENGTHS, reverse_complement=both)
    if not isinstance(kernel, Spectrum):  # NGram is one
        raise ValueError(f"--kernels lengths divides a kernel such as spectrum:6 or ngram:3, not {kernel!r}.")
    name = kernel.length_name
    rest = {**kernel.get_params(), "cumulative": False, "weights": None}
    parts = [type(kernel)(**{**rest, name: k}).normalized() for k in range(1, int(rest[name]) + 1)]
    return Usual(parts, f"one for each length of {'n-grams' if words else 'k-mers'}", "trace")


def _by_view(asked: Sequence[Kernel], X: Any) -> Usual:
    views = blocks_of(X)
    if views is None:
        raise ValueError("--kernels views is for rows of several views, but these rows have one.")
    if not asked:
        return usual_kernels(X, many=True)
    return Usual([kernel.on(name) for name in views for kernel in asked], "as asked, on each view", "trace")
