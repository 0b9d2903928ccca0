"""Pictures of the numbers in `kernelweave.interpret`: displays that compute once and draw many times."""

from kernelweave.plots.curves import CurvesDisplay

__all__ = ["CurvesDisplay"]
