"""Matrices that are no kernels: precomputed ones whose energies ``alpha'K alpha`` can be negative.

Without a feature space there is no primal problem, and the dual bounds nothing: such a matrix is refused.  Rounding is
not: a matrix of a kernel has eigenvalues a little below zero, those of single precision down to -1e-7 of its norm.

    n <= LARGEST   a Cholesky factor of ``K + shift`` proves that there are none beyond rounding
    beyond         the smallest Ritz value of a few Lanczos steps, which is never below the smallest eigenvalue

With weights alpha an eigenvalue of -d moves either objective by up to ``d |alpha|^2 / 2``.  So where C is so large
that this passes the tolerance, even small ones are refused, once alpha is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh_tridiagonal, eigvalsh

from kernelweave.data.blocks import spans
from kernelweave.engines import one_blas_thread
from kernelweave.kernels import Kernel, Precomputed
from kernelweave.kernels.abilities import representatives
from kernelweave.kernels.base import take
from kernelweave.kernels.given.function import Function
from kernelweave.solvers.result import Result

Array = np.ndarray
LARGEST = 3000
"""Rows up to which a matrix is factorised: about a second's work."""
LANCZOS_STEPS = 60
NOISE = 1e-6
"""Share of the Frobenius norm that single precision may leave below zero, with some room."""
ROUNDING = 16.0
"""Units of double precision, times rows and largest diagonal entry, that count as zero."""
STRIP = 1024


def refuse_indefinite(kernels: Sequence[Kernel], X: Any, who: str) -> None:
    """Raise where a precomputed matrix, or that of a function of the user's, has negative eigenvalues beyond rounding.

    Parameters
    ----------
    kernels : not scaled
    who : who needs kernels that are definite, for the message
    """
    for kernel in kernels if any(map(_given, representatives(kernels))) else ():
        if _given(kernel):
            lowest, norm = lowest_eigenvalue(kernel, X)
            if lowest < -NOISE * norm:
                raise ValueError(_sentence(kernel, lowest, who))


def refuse_if_noise_counts(kernels: Sequence[Kernel], X: Any, results: Iterable[Result], tol: float, who: str) -> None:
    """Raise where eigenvalues that would be rounding move the objectives by more than the tolerance."""
    if not any(map(_given, representatives(kernels))):
        return
    for result in results:
        weights = np.ones(len(kernels)) if result.primal.beta is None else np.asarray(result.primal.beta)
        points = (result.primal,) if result.dual is None else (result.primal, result.dual)
        squares = max(float((np.asarray(point.alpha) ** 2).sum()) for point in points)
        allowed = tol * abs(result.primal.value)
        for kernel, weight in zip(kernels, weights):
            if not _given(kernel) or weight == 0 or NOISE * float(kernel.diag(X).sum()) * weight * squares <= allowed:
                continue
            lowest, _ = lowest_eigenvalue(kernel, X)
            if -lowest * weight * squares > allowed:
                raise ValueError(_sentence(kernel, lowest, f"with so large a C, {who}"))


def lowest_eigenvalue(kernel: Kernel, X: Any) -> tuple[float, float]:
    """Return the smallest eigenvalue of a kernel on rows, 0 where none lies below zero, and its Frobenius norm.

    Examples
    --------
    >>> round(lowest_eigenvalue(Precomputed(), np.array([[1.0, 2.0], [2.0, 1.0]]))[0], 6)
    -1.0
    >>> lowest_eigenvalue(Precomputed(), np.eye(3))[0]
    0.0
    """
    prepared, n = kernel.prepare(X), X.shape[0]
    if n > LARGEST:
        return _ritz(kernel, prepared, n)
    K = kernel.block(prepared, prepared, np.float64)
    K = 0.5 * (K + K.T)
    norm = float(np.sqrt(np.einsum("ij,ij->", K, K)))
    shift = ROUNDING * np.finfo(float).eps * n * max(float(np.abs(K.diagonal()).max(initial=0.0)), norm / n)
    with one_blas_thread():
        try:
            cholesky(K + shift * np.eye(n), lower=True, check_finite=False, overwrite_a=True)
        except LinAlgError:
            lowest = float(eigvalsh(K, subset_by_index=[0, 0], check_finite=False)[0])
            return (lowest if lowest < -shift else 0.0), norm
    return 0.0, norm


def _ritz(kernel: Kernel, prepared: Any, n: int) -> tuple[float, float]:
    """Return the smallest Ritz value below rounding, and an estimate of the Frobenius norm, by Lanczos' method."""

    def times(v: Array) -> Array:
        return np.concatenate([kernel.block(take(prepared, s), prepared, np.float64) @ v for s in spans(n, STRIP)])

    basis, diagonal, beside = [np.random.default_rng(0).normal(size=n)], list[float](), list[float]()
    basis[0] /= np.linalg.norm(basis[0])
    for _ in range(LANCZOS_STEPS):
        w = times(basis[-1])
        diagonal.append(float(w @ basis[-1]))
        for _ in range(2):  # twice is enough to keep the basis orthogonal
            for v in basis:
                w -= (w @ v) * v
        length = float(np.linalg.norm(w))
        if length <= np.finfo(float).eps * n * max(map(abs, diagonal)):
            break
        beside.append(length)
        basis.append(w / length)
    values = eigh_tridiagonal(np.array(diagonal), np.array(beside[: len(diagonal) - 1]), eigvals_only=True)
    norm = float(np.sqrt((values**2).sum()))
    return (float(values[0]) if values[0] < -ROUNDING * np.finfo(float).eps * n * norm else 0.0), norm


def _given(kernel: Kernel) -> bool:
    return any(isinstance(leaf.kernel, Precomputed | Function) for leaf in kernel.leaves())


def _sentence(kernel: Kernel, lowest: float, who: str) -> str:
    return (
        f"{kernel!r} is not positive semi-definite: the matrix has the eigenvalue {lowest:.3g}, and {who}; set its "
        f"negative eigenvalues to zero, add {-1.01 * lowest:.3g} to its diagonal, or use a CG-Boost estimator, which "
        "takes any matrix."
    )
