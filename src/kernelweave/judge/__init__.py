"""The judge: certificates recomputed from the fitted model, the data and the kernels, without the solvers."""

from kernelweave.judge.report import Verification
from kernelweave.judge.verify import verify

__all__ = ["Verification", "verify"]
