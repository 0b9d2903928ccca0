"""Kernels as the header of an LS-GKM model names them.

    kernel_type   gkm_cnt  gkm_estfull  gkm_esttrunc  gkmrbf  wgkm  wgkmrbf
    L, k, d, norc of all of them; gamma of the two with rbf; M and H of the two that begin with w

LS-GKM divides each of them by the norms of the two rows; its Gaussian of gamma is exp(gamma (K(x, y) - 1)), half of the
squared distance.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kernelweave.kernels import LSGKM, Cosine, GappedKmer, InducedRBF, Kernel
from kernelweave.kernels.tree import Scaled

FILTERS: dict[str, str | None] = {
    "gkm_cnt": None,
    "gkm_estfull": "full",
    "gkm_esttrunc": "truncated",
    "gkmrbf": "truncated",
    "wgkm": "truncated",
    "wgkmrbf": "truncated",
}
"""The filter of each type of kernel."""
LONGEST = 12
"""Longest l-mer of LS-GKM."""


class Described(NamedTuple):
    """A kernel in LS-GKM's words: fields of its header, and the factor in front of it."""

    fields: dict[str, Any]
    factor: float


def is_gaussian(kind: str) -> bool:
    """Tell whether a type of kernel is a Gaussian of another."""
    return kind.endswith("rbf")


def is_weighted(kind: str) -> bool:
    """Tell whether a type of kernel has weights by place."""
    return kind.startswith("w")


def kernel_of(fields: dict[str, Any]) -> Kernel:
    """Return the kernel that the fields of a header describe.

    Examples
    --------
    >>> kernel_of({"kernel_type": "gkmrbf", "L": 10, "k": 6, "d": 3, "norc": 1, "gamma": 2.0}).kernel.kernel
    LSGKM(l=10, k=6, reverse_complement=False, trusted=True)
    """
    kind = fields["kernel_type"]
    center = (fields["M"], fields["H"]) if is_weighted(kind) else None
    inner = LSGKM(fields["L"], fields["k"], fields["d"], FILTERS[kind], center, not fields["norc"], trusted=True)
    normed = Cosine(inner)
    return InducedRBF(normed, fields["gamma"] / 2) if is_gaussian(kind) else normed


def described(kernel: Kernel) -> Described:
    """Return a kernel in LS-GKM's words, or raise one sentence where it has none.

    Examples
    --------
    >>> described(2.0 * Cosine(LSGKM(center_weight=(50, 40.0))))
    Described(fields={'kernel_type': 'wgkm', 'L': 11, 'k': 7, 'd': 3, 'norc': 0, 'M': 50, 'H': 40.0}, factor=2.0)
    """
    whole, factor, extra = kernel, 1.0, dict[str, float]()
    while isinstance(kernel, Scaled):
        factor *= kernel.factor
        kernel = kernel.kernel
    gaussian = isinstance(kernel, InducedRBF)
    if isinstance(kernel, InducedRBF):
        extra["gamma"] = 2.0 * float(kernel.gamma)
        kernel = kernel.kernel
    if not isinstance(kernel, Cosine):
        raise ValueError(
            f"{whole!r} is no kernel of LS-GKM, which divides every kernel by the norms of both rows; train with "
            "normalize='cosine'."
        )
    inner = kernel.kernel
    if isinstance(inner, GappedKmer):
        inner = _as_lsgkm(inner)
    if not isinstance(inner, LSGKM):
        raise ValueError(f"{whole!r} is no kernel of LS-GKM; it knows those of LSGKM, and GappedKmer.")
    kind = _kind(inner, gaussian)
    if kind is None or inner.l > LONGEST:
        raise ValueError(
            f"LS-GKM has no such kernel as {whole!r}: it weights by place and takes Gaussians of the truncated filter "
            f"alone, and l is at most {LONGEST}."
        )
    most = len(inner.exact(4)) - 1
    fields = {"kernel_type": kind, "L": inner.l, "k": inner.k, "d": most, "norc": int(not inner.reverse_complement)}
    if inner.center_weight is not None:
        extra |= {"M": int(inner.center_weight[0]), "H": float(inner.center_weight[1])}
    return Described({**fields, **extra}, factor)


def _kind(kernel: LSGKM, gaussian: bool) -> str | None:
    if kernel.filter != "truncated":
        plain = {None: "gkm_cnt", "full": "gkm_estfull"}
        return None if gaussian or kernel.center_weight is not None else plain[kernel.filter]
    if kernel.center_weight is None:
        return "gkmrbf" if gaussian else "gkm_esttrunc"
    return "wgkmrbf" if gaussian else "wgkm"


def _as_lsgkm(kernel: GappedKmer) -> LSGKM:
    """Return gapped k-mers as LS-GKM counts them; it counts one that is its own reverse complement twice."""
    if kernel.reverse_complement and kernel.k % 2 == 0:
        raise ValueError(
            f"LS-GKM counts gapped k-mers that are their own reverse complement twice, and {kernel!r} has such ones; "
            f"train with LSGKM({kernel.l}, {kernel.k}, None, None)."
        )
    return LSGKM(kernel.l, kernel.k, None, None, reverse_complement=kernel.reverse_complement)
