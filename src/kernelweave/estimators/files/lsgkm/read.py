"""LS-GKM's model files, read: a header of `name value` lines up to the line SV, then `coefficient sequence` lines.

    f(x) = sum_i coefficient_i K(sequence_i, x) - rho,        a positive f means the first of the two labels

LS-GKM reads every letter other than A, C, G and T as an A, in its models as well as in new rows; here support rows are
read as LS-GKM does, and a masked letter of a new row matches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.data.kinds import describe
from kernelweave.data.strings.sequences import Sequences
from kernelweave.estimators.files.lsgkm.types import FILTERS, LONGEST, kernel_of
from kernelweave.estimators.fitting import Certificate
from kernelweave.estimators.one.base import KernelEstimator
from kernelweave.estimators.one.classifier import KernelClassifier
from kernelweave.estimators.one.regressor import KernelRegressor
from kernelweave.io.numbers import read_integer, read_number
from kernelweave.io.source import open_binary
from kernelweave.operators import Plan
from kernelweave.solvers.result import Trace

Array = np.ndarray
MACHINES = {"c_svc": KernelClassifier, "epsilon_svr": KernelRegressor}


def _number(text: str) -> float:
    """Return a number; what is none raises."""
    found = read_number(text)
    if found is None:
        raise ValueError
    return found


def _integer(text: str) -> int:
    """Return an integer; what is none raises."""
    found = read_integer(text)
    if found is None:
        raise ValueError
    return found


NUMBERS: dict[str, Any] = {
    **dict.fromkeys(("L", "k", "d", "norc", "M", "nr_class", "total_sv"), _integer),
    **dict.fromkeys(("gamma", "H", "rho"), _number),
}  # fmt: skip
"""Fields of one number."""
LISTS = ("label", "nr_sv", "probA", "probB")
NEEDED = ("svm_type", "kernel_type", "L", "k", "d", "rho", "total_sv")
LETTERS = np.full(256, 255, np.uint8)
"""Code of each letter, 255 for what is none."""
for _code, _both in enumerate(("Aa", "Cc", "Gg", "Tt")):
    LETTERS[[ord(letter) for letter in _both]] = _code
NO_LETTER = np.array([character < 33 or character > 126 for character in range(256)])
"""Bytes that no sequence holds: spaces, control characters and what is not ASCII."""
START = b"svm_type"


def is_lsgkm(path: PathLike) -> bool:
    """Tell whether a file begins as models of LS-GKM do, plain or gzip."""
    with open_binary(path) as file:
        return file.read(len(START)) == START


def read_lsgkm(path: PathLike) -> KernelEstimator:
    """Return a model of LS-GKM as a classifier, or as a regressor where `gkmtrain-svr` wrote it.

    Its decision values are those of `gkmpredict`.  It has no certificate: the training rows are not in the file.

    Parameters
    ----------
    path : a model file of `gkmtrain` or `gkmtrain-svr`, plain or gzip
    """
    with open_binary(path) as file:
        lines = ((number, line.rstrip(b"\r\n")) for number, line in enumerate(file, 1))
        fields = _header(path, lines)
        coef, rows = _support(path, lines, fields)
    kernel = kernel_of(fields)
    kernel.prepare(rows[:1])  # checks the parameters
    model: Any = MACHINES[fields["svm_type"]](kernel, normalize=None)
    sign = 1.0
    if fields["svm_type"] == "c_svc":
        labels = fields.get("label", [1, -1])
        model.classes_ = np.array(sorted(labels))
        sign = 1.0 if labels[0] == model.classes_[1] else -1.0
    _set_learned(model, sign * coef, -sign * fields["rho"], rows)
    return model


def _set_learned(model: Any, coef: Array, intercept: float, rows: Sequences) -> None:
    """Set what a fit would have set; a gap without bound says that nothing is proved."""
    model._input = describe(rows)
    model.kernel_, model.reference_ = model.kernel, rows
    model.support_, model.dual_coef_ = np.arange(len(rows)), coef[None, :]
    model.intercept_ = np.array([intercept])
    model.n_iter_, model.trace_, model.certifies_ = 0, Trace(), "nothing"
    model.solver_, model.solver_why_ = "LS-GKM", "the model was converted"
    model.memory_plan_ = Plan("none", 0, "the model was converted")
    model.objective_, model.dual_objective_, model.duality_gap_ = np.inf, -np.inf, np.inf
    model.certificate_ = Certificate(coef[None, :], model.intercept_.copy(), np.array([np.inf]), np.array([-np.inf]))
    model.converged_ = False
    model.expansion_ = model._expand()


def _header(path: PathLike, lines: Iterator[tuple[int, bytes]]) -> dict[str, Any]:
    """Return the fields up to the line SV."""
    fields: dict[str, Any] = {"norc": 0}
    for number, line in lines:
        name, *values = line.decode("ascii", "replace").split()[:1000] or [""]
        if name == "SV":
            _check(path, number, fields)
            return fields
        if not values or (name not in NUMBERS and name not in LISTS and name not in ("svm_type", "kernel_type")):
            raise ValueError(f"{path}:{number}: {_short(line)} is no field of an LS-GKM model.")
        try:
            if name in ("svm_type", "kernel_type"):
                fields[name] = values[0]
            else:
                fields[name] = [_number(v) for v in values] if name in LISTS else NUMBERS[name](values[0])
        except ValueError:
            raise ValueError(
                f"{path}:{number}: {name} of an LS-GKM model must be a number, not {_short(values[0].encode())}."
            ) from None
    raise ValueError(f"{path} is truncated or no LS-GKM model: it has no line SV.")


def _check(path: PathLike, number: int, fields: dict[str, Any]) -> None:
    """Raise unless the header is whole and describes a machine that can be read."""
    place = f"{path}:{number}"
    kind = fields.get("kernel_type")
    if kind is not None and kind not in FILTERS:
        raise ValueError(f"{place}: kernel_type {_short(kind.encode())} is not one of {', '.join(FILTERS)}.")
    needed = [*NEEDED, *(["gamma"] if str(kind).endswith("rbf") else []), *("MH" if str(kind).startswith("w") else "")]
    missing = [name for name in needed if name not in fields]
    if missing:
        raise ValueError(f"{place}: the header of this LS-GKM model lacks {', '.join(missing)}.")
    if fields["svm_type"] not in MACHINES:
        kind = _short(fields["svm_type"].encode())
        raise ValueError(f"{place}: svm_type {kind} cannot be converted; {', '.join(MACHINES)} can.")
    if fields["total_sv"] < 1 or fields.get("nr_class", 2) != 2:
        raise ValueError(f"{place}: an LS-GKM model of two classes with at least one support vector was expected.")
    for name, value in fields.items():
        if not np.all(np.isfinite([value] if not isinstance(value, list | str) else value if name in LISTS else [0.0])):
            raise ValueError(f"{place}: {name} is not finite.")
    for name, least, most in (
        ("L", 1, LONGEST),
        ("k", 1, fields["L"]),
        ("d", 0, fields["L"]),
        ("M", 1, 255),
        ("norc", 0, 1),
    ):
        if not least <= fields.get(name, least) <= most:
            raise ValueError(f"{place}: {name} is {fields[name]}, expected {least} to {most}.")
    labels = fields.get("label")
    if labels is not None:
        if len(set(labels)) != 2 or any(label != int(label) for label in labels):
            raise ValueError(f"{place}: label must hold two different whole numbers, not {labels}.")
        fields["label"] = [int(label) for label in labels]


def _support(path: PathLike, lines: Iterator[tuple[int, bytes]], fields: dict[str, Any]) -> tuple[Array, Sequences]:
    """Return the coefficients and the support rows."""
    coef, parts, number = list[float](), list[Array](), 0
    for number, line in lines:
        if not line:
            continue
        first, _, text = line.partition(b" ")
        codes = np.frombuffer(text.strip(), np.uint8)
        value = read_number(first.decode("ascii", "replace"))
        if value is None or not np.isfinite(value) or not len(codes) or NO_LETTER[codes].any():
            raise ValueError(f"{path}:{number}: {_short(line)} is not a coefficient and a sequence.")
        if len(codes) < fields["L"]:
            raise ValueError(f"{path}:{number}: the sequence has {len(codes)} letters, fewer than L = {fields['L']}.")
        coef.append(value)
        parts.append(LETTERS[codes])
    if len(coef) != fields["total_sv"]:
        raise ValueError(
            f"{path}:{number}: the file ends after {len(coef)} support vectors, but its header says "
            f"{fields['total_sv']}; it is truncated or was changed."
        )
    letters = np.concatenate(parts)
    letters[letters == 255] = 0
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    return np.array(coef), Sequences(letters, offsets, Sequences.from_strings(["A"], alphabet="dna").alphabet)


def _short(line: bytes) -> str:
    text = repr(line.decode("ascii", "replace"))
    return text if len(text) <= 60 else text[:57] + "..."
