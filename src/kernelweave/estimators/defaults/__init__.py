"""Which kernels are used, and how they are scaled, where the user names none: decided here alone, with the reason."""

from kernelweave.estimators.defaults.divided import HOW, divided
from kernelweave.estimators.defaults.usual import Usual, on_views, usual_kernels, usual_scaling

__all__ = ["HOW", "Usual", "divided", "on_views", "usual_kernels", "usual_scaling"]
