"""The growing linear programme of cutting-plane methods, in HiGHS.

    min over beta, t   t
    subject to         t + 1/2 sum_k beta_k q_k^r >= d^r for every cut r,   sum beta = 1,   beta >= 0

Rows are added to a model that keeps its basis, so each solve starts hot; rows that have been slack for long are
dropped.  The dual variables of the cuts are the weights that combine past alphas into one that certifies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelweave.solvers.lp.highs import INFINITY, basis_of, precise_model, set_basis, solve
from kernelweave.solvers.state import record

Array = np.ndarray
PATIENCE = 30
"""Solves for which a cut may be slack before it is dropped."""
TIGHT = 1e-9
"""Dual variable from which on a cut counts as active."""


@record
@dataclass
class Cut:
    """A lower bound ``d - 1/2 q'beta`` and the alpha (outputs, n) it came from."""

    d: float
    q: Array
    alpha: Array
    idle: int = 0


class Master:
    """Cuts and the linear programme over them.

    Parameters
    ----------
    m : number of kernels
    scale : size of the objective; the programme is solved in units of it
    """

    def __init__(self, m: int, scale: float):
        self.m, self.scale = m, max(abs(scale), 1e-12)
        self.cuts: list[Cut] = []
        self.lp = precise_model()
        self.lp.addVars(m + 1, np.append(np.zeros(m), -INFINITY), np.append(np.ones(m), INFINITY))
        self.lp.changeColCost(m, 1.0)
        self.lp.addRow(1.0, 1.0, m, np.arange(m, dtype=np.int32), np.ones(m))

    def state(self) -> dict[str, Any]:
        """Return the cuts and the basis."""
        return {"scale": self.scale, "cuts": self.cuts, "basis": basis_of(self.lp)}

    @classmethod
    def resumed(cls, m: int, state: Mapping[str, Any]) -> Self:
        """Return the programme of a state, which goes on from its basis."""
        made = cls(m, state["scale"])
        for cut in state["cuts"]:
            made.add(cut.d, cut.q, cut.alpha)
        made.cuts = list(state["cuts"])
        set_basis(made.lp, state["basis"])
        return made

    def add(self, d: float, q: Array, alpha: Array) -> None:
        """Add a cut as a row."""
        self.cuts.append(Cut(d, q, alpha))
        row = np.append(0.5 * q / self.scale, 1.0)
        keep = np.flatnonzero(row)
        self.lp.addRow(d / self.scale, INFINITY, len(keep), keep.astype(np.int32), row[keep])

    def solve(self) -> tuple[Array, float, Array]:
        """Return the minimiser beta (m,), the bound that is proved, and the combination of cuts that proves it."""
        solution = solve(self.lp)
        beta = np.maximum(np.array(solution.col_value[: self.m]), 0.0)
        proof = np.maximum(np.array(solution.row_dual[1:]), 0.0)
        proof = proof / proof.sum()
        self._drop(proof)
        return beta / beta.sum(), self.proved(proof), proof

    def proved(self, proof: Array) -> float:
        """Return the bound that a convex combination of the cuts proves for all weights on the simplex.

        It holds whatever the accuracy of the linear programme that found the combination.
        """
        d, q = np.array([cut.d for cut in self.cuts]), np.stack([cut.q for cut in self.cuts])
        return float(proof @ d - 0.5 * (proof @ q).max())

    def combination(self, proof: Array) -> Array:
        """Return the convex combination of the alphas of the cuts, (outputs, n)."""
        return sum(weight * cut.alpha for weight, cut in zip(proof, self.cuts) if weight > 0)

    def _drop(self, proof: Array) -> None:
        """Count how long each cut has been slack; those past patience leave before the next solve."""
        for cut, weight in zip(self.cuts, proof):
            cut.idle = 0 if weight > TIGHT else cut.idle + 1

    def prune(self) -> None:
        """Delete the cuts that have been slack for long."""
        gone = [r for r, cut in enumerate(self.cuts) if cut.idle > PATIENCE]
        if gone:
            self.lp.deleteRows(len(gone), np.array(gone, dtype=np.int32) + 1)
            self.cuts = [cut for cut in self.cuts if cut.idle <= PATIENCE]
