"""LS-GKM's model files, written so that `gkmpredict` scores rows as the model does (see `read` for the format)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.data.kinds import kind_of
from kernelweave.estimators.files.lsgkm.types import described
from kernelweave.estimators.one.classifier import KernelClassifier
from kernelweave.estimators.one.regressor import KernelRegressor

MOST_LETTERS = 2047
"""Longest row that LS-GKM reads."""
TYPES: dict[Any, str] = {KernelClassifier: "c_svc", KernelRegressor: "epsilon_svr"}
SPELLED = np.frombuffer(b"ACGT", np.uint8)


def write_lsgkm(model: Any, path: PathLike) -> None:
    """Write a fitted classifier of two classes, or a regressor, as a model file of LS-GKM.

    Parameters
    ----------
    model : a `KernelClassifier` or `KernelRegressor` whose kernel LS-GKM knows: `LSGKM` (or `GappedKmer`) trained with
        ``normalize="cosine"``, or an `InducedRBF` of that
    path : the file; a name that ends in .gz is compressed
    """
    kind = TYPES.get(type(model))
    if kind is None or not hasattr(model, "expansion_") or model.dual_coef_.shape[0] != 1:
        raise ValueError(
            f"Only a fitted KernelClassifier of two classes or a KernelRegressor becomes an LS-GKM model, and this "
            f"{type(model).__name__} is not one."
        )
    found = described(model.kernel_)
    coef, rows = _kept(model, found.fields["L"])
    fields = {"svm_type": kind, **found.fields, "nr_class": 2, "total_sv": len(coef)}
    fields["rho"] = repr(-float(model.intercept_[0]))
    if kind == "c_svc":
        fields |= {"label": "1 -1", "nr_sv": f"{int((coef > 0).sum())} {int((coef < 0).sum())}"}
    with open_aside(path) as file:
        file.write("".join(f"{name} {value}\n" for name, value in fields.items()).encode() + b"SV\n")
        for value, letters in zip((found.factor * coef).tolist(), rows):
            file.write(f"{value!r} ".encode() + letters + b"\n")


def _kept(model: Any, length: int) -> tuple[np.ndarray, list[bytes]]:
    """Return coefficients and letters of the support rows, positive ones first; rows without an l-mer add nothing."""
    X = model.reference_
    if kind_of(X).name != "sequences":
        raise ValueError(f"LS-GKM compares sequences, but this model compares {kind_of(X).noun}.")
    codes, offsets, coef = np.asarray(X.codes), np.asarray(X.offsets), model.dual_coef_[0]
    masked = np.flatnonzero(codes == X.alphabet.mask)
    if len(masked):
        row = int(np.searchsorted(offsets, masked[0], side="right")) - 1
        raise ValueError(
            f"Support row {row} has an unknown letter, which LS-GKM would read as an A; train on rows of A, C, G and "
            "T alone to write such a model."
        )
    if X.lengths.max(initial=0) > MOST_LETTERS:
        raise ValueError(f"LS-GKM reads rows of up to {MOST_LETTERS} letters; one support row has {X.lengths.max()}.")
    order = np.argsort(-np.sign(coef), kind="stable")
    used = order[(X.lengths[order] >= length) & (coef[order] != 0)]
    return coef[used], [SPELLED[codes[offsets[i] : offsets[i + 1]]].tobytes() for i in used]
