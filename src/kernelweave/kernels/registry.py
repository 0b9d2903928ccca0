"""Kernels by name: for model files, for the command line and for ``kernel="rbf"``.

A description is plain data (JSON), and building from one only calls the classes listed here.
"""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

import numpy as np

from kernelweave.kernels.approximate.cholesky import IncompleteCholesky
from kernelweave.kernels.approximate.fourier import Fourier
from kernelweave.kernels.approximate.nystrom import Nystrom
from kernelweave.kernels.base import Kernel
from kernelweave.kernels.compose import Cosine, On, Product, Scaled, Sum
from kernelweave.kernels.given.identity import Identity
from kernelweave.kernels.given.precomputed import Precomputed
from kernelweave.kernels.induced import InducedRBF
from kernelweave.kernels.positional.weighted_degree import WeightedDegree
from kernelweave.kernels.positional.windows import Windows
from kernelweave.kernels.strings.gappy.kernel import GappyNGram
from kernelweave.kernels.strings.inexact.gapped import GappedKmer
from kernelweave.kernels.strings.inexact.lsgkm import LSGKM
from kernelweave.kernels.strings.inexact.mismatch import Mismatch
from kernelweave.kernels.strings.ngram import NGram
from kernelweave.kernels.strings.rational.kernel import Rational
from kernelweave.kernels.strings.spectrum import Spectrum
from kernelweave.kernels.strings.tfidf import TfIdf
from kernelweave.kernels.tree import made_of_kernels
from kernelweave.kernels.vector.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid

KERNELS: dict[str, type[Kernel]] = {
    cls.__name__: cls
    for cls in (
        Linear, Polynomial, RBF, Laplacian, Sigmoid, Identity, Precomputed,
        Spectrum, Mismatch, GappedKmer, LSGKM, WeightedDegree, NGram, GappyNGram, Rational, TfIdf,
        On, Sum, Product, Scaled, Cosine, InducedRBF, IncompleteCholesky, Nystrom, Fourier,
    )
}  # fmt: skip
"""Every public kernel by the name of its class."""

ALIASES: dict[str, type[Kernel]] = {
    "linear": Linear,
    "poly": Polynomial,
    "rbf": RBF,
    "laplacian": Laplacian,
    "sigmoid": Sigmoid,
    "identity": Identity,
    "precomputed": Precomputed,
    "spectrum": Spectrum,
    "mismatch": Mismatch,
    "gkm": GappedKmer,
    "lsgkm": LSGKM,
    "wd": WeightedDegree,
    "ngram": NGram,
    "gappy": GappyNGram,
    "cholesky": IncompleteCholesky,
    "nystrom": Nystrom,
    "fourier": Fourier,
}
"""Short names, as typed by users."""

DEEPEST = 32
"""Kernels nested deeper than this are taken for a damaged description."""

_WORDS = {"true": True, "false": False, "none": None}


def register(cls: type[Kernel], short: str | None = None) -> type[Kernel]:
    """Enter a kernel, so that it can be named, described and kept in model files.

    Parameters
    ----------
    cls : the class
    short : the name that users type, as in ``kernel="rbf"``; None for none
    """
    taken = [name for name, known in ((cls.__name__, KERNELS), (short, ALIASES)) if name in known]
    if taken:
        raise ValueError(f"There already is a kernel named {taken[0]!r}.")
    KERNELS[cls.__name__] = cls
    if short is not None:
        ALIASES[short] = cls
    return cls


def parse(spec: str) -> Kernel:
    """Return the kernel that a short text names, or the windows of one.

    Parameters
    ----------
    spec : a name, then optionally a colon and parameters separated by commas or colons, by position or as name=value;
        or a kernel as it prints, such as "WeightedDegree(20)"; or several of them with `` + `` between, for their sum

    Examples
    --------
    >>> parse("rbf:width=2"), parse("poly:3"), parse("spectrum:6,cumulative=true")
    (RBF(width=2), Polynomial(), Spectrum(6, cumulative=True))
    >>> parse("ngram:5"), parse("gappy:3:0.25")
    (NGram(5), GappyNGram(3, decay=0.25))
    >>> parse("fourier:rbf,n_components=500")
    Fourier(RBF(), n_components=500)
    >>> parse("Windows(WeightedDegree(20), window=5)")
    Windows(WeightedDegree(20), window=5)
    >>> parse("wd:20 + spectrum:6")
    Sum([WeightedDegree(20), Spectrum(6)])
    """
    terms = _terms(spec)
    if len(terms) > 1:
        made = [parse(term) for term in terms]
        if not all(isinstance(kernel, Kernel) for kernel in made):
            raise ValueError(f"{spec!r}: Windows(...) stands for many kernels and cannot be part of a sum.")
        return Sum(made)
    if spec.strip().endswith(")"):
        return _parse_call(spec.strip())
    name, _, rest = spec.strip().partition(":")
    cls = ALIASES.get(name.strip().lower())
    if cls is None:
        raise ValueError(f"There is no kernel {name.strip()!r}; known ones are {', '.join(ALIASES)}.")
    known = cls._names()
    params: dict[str, Any] = {}
    for place, text in enumerate(rest.replace(":", ",").split(",") if rest.strip() else []):
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            key, value = (known[place] if place < len(known) else ""), key
        if key not in known or key in params or not value:
            raise ValueError(f"{text.strip()!r} in kernel {spec!r} is not understood; {name} has {_listed(known)}.")
        params[key] = parse(value) if key == "kernel" else _value(value)
    try:
        return cls(**params)
    except TypeError:
        raise ValueError(f"Kernel {spec!r} lacks a parameter; {name} has {_listed(known)}.") from None


def _terms(spec: str) -> list[str]:
    """Cut a text at each " + " outside of brackets."""
    terms, depth = [""], 0
    for piece in re.split(r"(\s\+\s)", spec):
        if depth == 0 and piece.strip() == "+":
            terms.append("")
            continue
        terms[-1] += piece
        depth += sum(map(piece.count, "([")) - sum(map(piece.count, ")]"))
    return terms


def _parse_call(spec: str) -> Any:
    """Read a kernel as it prints: calls of known kernels with literal arguments, nothing else."""
    try:
        made = _from_node(ast.parse(spec, mode="eval").body)
    except (SyntaxError, ValueError):
        made = None
    except _Misfit as fault:
        raise ValueError(f"Kernel {spec!r} lacks a parameter, or has one that it does not know; {fault}.") from None
    if not isinstance(made, Kernel | Windows):
        raise ValueError(f"{spec!r} is not a kernel; write it as it prints, such as 'RBF(width=2.0)'.")
    return made


class _Misfit(Exception):
    """Arguments that a kernel does not take; says which ones it does."""


def _from_node(node: ast.expr) -> Any:
    known = {**KERNELS, Windows.__name__: Windows}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in known:
        cls = known[node.func.id]
        keywords = {str(keyword.arg): _from_node(keyword.value) for keyword in node.keywords}
        try:
            return cls(*map(_from_node, node.args), **keywords)
        except TypeError:
            raise _Misfit(f"{cls.__name__} has {_listed(list(inspect.signature(cls).parameters))}") from None
    if isinstance(node, ast.List):
        return [_from_node(item) for item in node.elts]
    return ast.literal_eval(node)


def _listed(names: list[str]) -> str:
    return f"the parameters {', '.join(names)}" if names else "no parameters"


def _value(text: str) -> Any:
    """Read a number, true, false, none or a word."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def describe(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel as plain data that JSON can hold.

    Examples
    --------
    >>> describe(RBF(gamma=0.5).on("size"))["parameters"]["columns"]
    'size'
    """
    name = type(kernel).__name__
    if KERNELS.get(name) is not type(kernel):
        raise TypeError(f"{kernel!r} is not a kernel of this library and cannot be described.")
    params = kernel.get_params(deep=False)
    return {"kernel": name, "parameters": {key: _plain(value) for key, value in params.items()}}


def _plain(value: Any) -> Any:
    if isinstance(value, Kernel):
        return describe(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [_plain(item) for item in value]}
    if isinstance(value, slice):
        return {"slice": [_plain(part) for part in (value.start, value.stop, value.step)]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"The kernel parameter {value!r} cannot be described as plain data.")


def build(description: Any) -> Kernel:
    """Return the kernel that `describe` described.

    Examples
    --------
    >>> build({"kernel": "RBF", "parameters": {"gamma": 0.5}})
    RBF(gamma=0.5)
    """
    kernel = _read(description, DEEPEST)
    if not isinstance(kernel, Kernel):
        raise ValueError(f"A kernel description names a kernel, but got {_short(description)}.")
    return kernel


def _read(value: Any, depth: int) -> Any:
    if depth == 0:
        raise ValueError(f"The kernel description is nested deeper than {DEEPEST} levels.")
    if isinstance(value, list):
        return [_read(item, depth - 1) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"kernel", "parameters"}:
        return _read_kernel(value["kernel"], value["parameters"], depth)
    if len(value) == 1:
        ((kind, items),) = value.items()
        if kind == "tuple" and isinstance(items, list):
            return tuple(_read(item, depth - 1) for item in items)
        if kind == "slice" and isinstance(items, list) and len(items) == 3:
            return slice(*(_read(item, depth - 1) for item in items))
    raise ValueError(f"{_short(value)} in a kernel description is not understood.")


def _read_kernel(name: Any, parameters: Any, depth: int) -> Kernel:
    cls = KERNELS.get(name) if isinstance(name, str) else None
    if cls is None:
        raise ValueError(f"There is no kernel {_short(name)}; known ones are {', '.join(KERNELS)}.")
    if not isinstance(parameters, dict) or not set(parameters) <= set(cls._names()):
        raise ValueError(f"{name} has {_listed(cls._names())}, but its description has {_short(parameters)}.")
    params = {key: _read(value, depth - 1) for key, value in parameters.items()}
    if not made_of_kernels(params):
        raise ValueError(f"{name} needs kernels, but its description has {_short(parameters)}.")
    try:
        return cls(**params)
    except TypeError:
        raise ValueError(f"{name} has {_listed(cls._names())}, but its description lacks one.") from None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
