"""Solvers for many kernels, by name, with the losses and norms each one is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelweave.losses import LOSSES, Loss
from kernelweave.solvers.mkl.active_set import ActiveSetMKL
from kernelweave.solvers.mkl.cutting.level import LevelMethod
from kernelweave.solvers.mkl.cutting.linear_program import LinearProgram
from kernelweave.solvers.mkl.cutting.silp import SILP
from kernelweave.solvers.mkl.cutting.silp_chunking import SILPChunking
from kernelweave.solvers.mkl.gradient.blocks.solver import BlockCoordinate
from kernelweave.solvers.mkl.gradient.proximal_gradient import ProximalGradient
from kernelweave.solvers.mkl.gradient.smooth.solver import Smooth
from kernelweave.solvers.mkl.gradient.subgradient.obscure import Obscure
from kernelweave.solvers.mkl.gradient.subgradient.ufo import UFO
from kernelweave.solvers.mkl.gradient.svrg.solver import SVRG
from kernelweave.solvers.mkl.weights.baselines import Alignment, BestSingle, Uniform
from kernelweave.solvers.mkl.weights.hessian import HessianMKL
from kernelweave.solvers.mkl.weights.lp import LpNorm
from kernelweave.solvers.mkl.weights.reduced_gradient import ReducedGradient


def any_loss(loss: Loss) -> bool:
    """Ask nothing of a loss."""
    return True


def boxed(loss: Loss) -> bool:
    """Ask for a dual that is a quadratic programme over a box."""
    return loss.boxed


def smooth(loss: Loss) -> bool:
    """Ask for a bounded second derivative."""
    return loss.smooth


def polyhedral(loss: Loss) -> bool:
    """Ask for a dual that is linear over a box: a loss of straight pieces."""
    return loss.boxed and not loss.smooth and bool(np.isfinite(loss.lipschitz))


def sparse(loss: Loss) -> bool:
    """Ask for outputs at which rows cost nothing, and coefficients that add up to zero."""
    return loss.sparse and loss.task != "novelty"


def lipschitz(loss: Loss) -> bool:
    """Ask for bounded slopes, which add up to zero at the optimum: a novelty detector's do not."""
    return bool(np.isfinite(loss.lipschitz)) and loss.task != "novelty"


@dataclass(frozen=True)
class Entry:
    """A solver and what it declares to be for.

    suits : tells from the properties of a loss whether the solver is for it
    certifies : "mkl" for the common objective, else the problem that it solves instead
    primal : whether it walks in the space of explicit features
    double : whether it needs these in double precision, whatever the tolerance
    rank_one : whether it is for kernels of rank one only
    sharded : whether it works through rows part by part
    """

    make: type
    suits: Callable[[Loss], bool] = any_loss
    largest_p: float = 1.0
    shared_weights: bool = True
    certifies: str = "mkl"
    primal: bool = False
    double: bool = False
    rank_one: bool = False
    sharded: bool = False

    @property
    def losses(self) -> tuple[str, ...]:
        """The losses it is for, by name."""
        return tuple(name for name, loss in LOSSES.items() if self.suits(loss()))

    @property
    def exact(self) -> bool:
        """Whether it solves the common objective."""
        return self.certifies == "mkl"


MKL_SOLVERS: dict[str, Entry] = {
    "silp": Entry(SILP),
    "silp_chunking": Entry(SILPChunking, boxed, shared_weights=False),
    "level": Entry(LevelMethod),
    "reduced_gradient": Entry(ReducedGradient),
    "hessian": Entry(HessianMKL),
    "linear_program": Entry(LinearProgram, polyhedral, shared_weights=False, rank_one=True),
    "lp": Entry(LpNorm, largest_p=np.inf),
    "active_set": Entry(ActiveSetMKL, sparse, largest_p=np.inf, shared_weights=False, sharded=True),
    "smooth": Entry(Smooth, boxed, shared_weights=False, certifies="smoothed"),
    "block_coordinate": Entry(
        BlockCoordinate, smooth, largest_p=np.inf, shared_weights=False, primal=True, double=True
    ),
    "svrg": Entry(SVRG, smooth, largest_p=np.inf, shared_weights=False, primal=True),
    "proximal_gradient": Entry(ProximalGradient, smooth, largest_p=np.inf, shared_weights=False, primal=True),
    "ufo": Entry(UFO, lipschitz, largest_p=np.inf, shared_weights=False, primal=True),
    "obscure": Entry(Obscure, lipschitz, largest_p=np.inf, shared_weights=False, primal=True),
    "uniform": Entry(Uniform, largest_p=np.inf, certifies="fixed weights"),
    "best_single": Entry(BestSingle, largest_p=np.inf, certifies="fixed weights"),
    "alignment": Entry(Alignment, largest_p=np.inf, certifies="fixed weights"),
}


def check_mkl_solver(name: str, loss: Loss, p: float) -> None:
    """Raise where a solver is unknown or not for this loss and norm."""
    if name not in MKL_SOLVERS:
        raise ValueError(f"solver={name!r} is unknown; choose one of auto, {', '.join(MKL_SOLVERS)}.")
    entry = MKL_SOLVERS[name]
    if p > entry.largest_p:
        raise ValueError(f"solver={name!r} is for norm=1, not norm={p:g}; use solver='lp'.")
    if not entry.suits(loss):
        others = [other for other in entry.losses if LOSSES[other].task == loss.task]
        if not others:
            raise ValueError(f"solver={name!r} is not for {loss.task}; use another solver.")
        known = f"loss {others[0]}" if len(others) == 1 else f"losses {', '.join(others)}"
        raise ValueError(f"solver={name!r} is for the {known}, not {loss.name!r}; use loss={others[0]!r}.")
