"""Norms and sets for the kernel weights."""

from kernelweave.penalties.ball import LpBall, project_simplex

__all__ = ["LpBall", "project_simplex"]
